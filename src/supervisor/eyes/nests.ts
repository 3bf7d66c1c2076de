// Where an agent puts the transcripts of one project: the folders to watch, whether they are there yet or not.

import { createHash } from 'node:crypto'
import fs from 'node:fs'
import path from 'node:path'
import { agentNamed } from '../../transcripts/agents.ts'
import type { AgentName, SessionFile } from '../../transcripts/index.ts'
import type { Adapter } from '../adapter.ts'

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

/** The transcript of a session by its id: looked for where it should be, then everywhere. */
export function transcriptOf(
  { transcript }: Adapter,
  env: NodeJS.ProcessEnv,
  cwd: string,
  session: string,
): SessionFile | undefined {
  const agent = agentNamed(transcript)
  const roots = agent.folders(env)
  const now = Date.now()
  const likely = roots.flatMap((root) => nestsOf(transcript, root, cwd, now, now).filter((nest) => nest !== root))
  for (const folder of [...likely, ...roots]) {
    const found = agent.find(folder).filter(({ id, parent }) => parent === undefined && fits(id, session))
    // Gemini begins another whenever a session is resumed, and goes on with the first.
    if (found.length > 0) return found.reduce((first, file) => (file.path < first.path ? file : first))
  }
  return undefined
}

/** Gemini's files are named by the beginning of an id. */
function fits(id: string, session: string): boolean {
  return id === session || (/-[0-9a-f]{8}$/.test(id) && id.endsWith(`-${session.slice(0, 8)}`))
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
