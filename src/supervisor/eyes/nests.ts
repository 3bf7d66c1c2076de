// Where an agent puts the transcripts of one project: the folders to watch, whether they are there yet or not.

import { createHash } from 'node:crypto'
import fs from 'node:fs'
import path from 'node:path'
import type { AgentName } from '../../transcripts/index.ts'

/** Below one of the agent's own folders; outer ones first, since the inner ones appear in them. */
export function nestsOf(agent: AgentName, root: string, cwd: string, since: number, now: number): string[] {
  switch (agent) {
    case 'claude':
      return [root, path.join(root, cwd.replaceAll(/[^A-Za-z0-9-]/g, '-'))]
    case 'pi':
      return [root, path.join(root, `--${cwd.replace(/^[/\\]/, '').replaceAll(/[/\\:]/g, '-')}--`)]
    case 'codex':
      // By days; the name of a file carries the time of the launch.
      return [...new Set([root, ...daysOf(root, since), ...daysOf(root, now)])]
    case 'gemini':
      return [root, ...projectsIn(root, cwd).flatMap((project) => [project, path.join(project, 'chats')])]
    case 'opencode':
      return [root]
  }
}

function daysOf(root: string, time: number): string[] {
  const date = new Date(time)
  const two = (number: number) => String(number).padStart(2, '0')
  const year = path.join(root, String(date.getFullYear()))
  const month = path.join(year, two(date.getMonth() + 1))
  return [year, month, path.join(month, two(date.getDate()))]
}

/** Those that say to be of that folder; older versions name them by a checksum of it. */
function projectsIn(root: string, cwd: string): string[] {
  const hash = createHash('sha256').update(cwd).digest('hex')
  let names: string[]
  try {
    names = fs.readdirSync(root)
  } catch {
    return []
  }
  return names
    .filter((name) => name === hash || rootOf(path.join(root, name)) === cwd)
    .map((name) => path.join(root, name))
}

function rootOf(project: string): string | undefined {
  try {
    return fs.readFileSync(path.join(project, '.project_root'), 'utf8').trim()
  } catch {
    return undefined
  }
}
