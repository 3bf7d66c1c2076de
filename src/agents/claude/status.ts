// What running Claude Code processes say of themselves, in `sessions/<pid>.json` beside their projects: the best there is
// to tell which session a process writes, and what it waits for. Versions that keep no such files say nothing.

import fs from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { isThere } from '../../system/index.ts'
import type { AgentStatus, Live, SessionFile, StatusFiles } from '../agent.ts'
import { number, text } from '../fields.ts'
import { fieldsIn } from '../files.ts'

/** What such a file says. It is read at every list of sessions, so by hand: a schema would take longer to make than all else. */
interface Told {
  readonly session: string
  readonly pid: number | undefined
  /** Missing where it runs without a screen. */
  readonly is: string | undefined
  readonly waitingFor: string | undefined
  readonly at: number | undefined
}

/** The clock of a file system lags behind by so many milliseconds. */
const tick = 20

export const status: StatusFiles = {
  folders: (env) => [path.dirname(projectsIn(env)), statusFolder(env)],
  pidIn: (name) => (/^\d+\.json$/.test(name) ? Number.parseInt(name, 10) : undefined),
  read: statusOf,
  transcript,
  running,
}

/** Where it keeps its transcripts: a folder for each project. */
export function projectsIn(env: NodeJS.ProcessEnv): string {
  return path.join(env.CLAUDE_CONFIG_DIR || path.join(env.HOME || os.homedir(), '.claude'), 'projects')
}

export function projectFolder(projects: string, cwd: string): string {
  return path.join(projects, cwd.replaceAll(/[^A-Za-z0-9-]/g, '-'))
}

function statusFolder(env: NodeJS.ProcessEnv): string {
  return path.join(path.dirname(projectsIn(env)), 'sessions')
}

function statusOf(env: NodeJS.ProcessEnv, pids: readonly number[], since = 0): AgentStatus | undefined {
  for (const pid of pids) {
    const file = path.join(statusFolder(env), `${pid}.json`)
    const { mtimeMs = 0 } = fs.statSync(file, { throwIfNoEntry: false }) ?? {}
    if (mtimeMs < since - tick) continue
    const told = read(file)
    if (told === undefined) continue
    const { session, is, waitingFor, at } = told
    return { session, is, waitingFor, at }
  }
  return undefined
}

/** Every session that a process is in; undefined where this version keeps no such files. */
function running(env: NodeJS.ProcessEnv): Map<string, Live> | undefined {
  const folder = statusFolder(env)
  let names: string[]
  try {
    names = fs.readdirSync(folder)
  } catch {
    return undefined
  }
  const live = new Map<string, Live>()
  for (const name of names) {
    if (!name.endsWith('.json')) continue
    const told = read(path.join(folder, name))
    if (told?.pid === undefined || !isThere(told.pid)) continue
    // Without a status it runs without a screen: there is nobody to wait for.
    live.set(told.session, told.is === 'idle' || told.is === 'waiting' ? 'idle' : 'busy')
  }
  return live
}

/** Its transcript, wherever it was started: a session may have been moved to another project. */
function transcript(env: NodeJS.ProcessEnv, cwd: string, session: string): SessionFile | undefined {
  const projects = projectsIn(env)
  const name = `${session}.jsonl`
  const usual = path.join(projectFolder(projects, cwd), name)
  const file = fs.existsSync(usual) ? usual : inAnyProject(projects, name)
  if (file === undefined) return undefined
  const { size = 0, mtimeMs = Date.now() } = fs.statSync(file, { throwIfNoEntry: false }) ?? {}
  return { agent: 'claude', path: file, id: session, bytes: size, changed: mtimeMs }
}

function inAnyProject(projects: string, name: string): string | undefined {
  let folders: string[]
  try {
    folders = fs.readdirSync(projects)
  } catch {
    return undefined // no session was ever begun
  }
  const found = folders.find((folder) => fs.existsSync(path.join(projects, folder, name)))
  return found === undefined ? undefined : path.join(projects, found, name)
}

/** Undefined for a file that is not there, is being written, or says nothing that is understood. */
function read(file: string): Told | undefined {
  const { sessionId, pid, status, waitingFor, statusUpdatedAt } = fieldsIn(file)
  const session = text(sessionId)
  if (session === undefined) return undefined
  return { session, pid: number(pid), is: text(status), waitingFor: text(waitingFor), at: number(statusUpdatedAt) }
}
