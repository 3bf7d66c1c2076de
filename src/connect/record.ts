// What `baton connect` did, so that `disconnect` takes back exactly that: a file for each agent and place in the user's own folder,
// with a copy of every file that was edited. The status line reads it too, so it needs nothing but Node.

import { createHash } from 'node:crypto'
import fs from 'node:fs'
import path from 'node:path'
import type { Change } from '../agents/index.ts'
import { stateFolder } from '../config/index.ts'
import { makeFolder, replaceFile } from '../system/index.ts'

interface ConnectedFile {
  readonly path: string
  readonly sha256: string
}

/** A file of the user's in which entries were made. */
interface EditedFile extends ConnectedFile {
  /** A copy of the file as it was before; undefined if there was none. */
  readonly backup?: string
  readonly edits: readonly { readonly change: Exclude<Change, { type: 'file' }>; readonly before?: unknown }[]
}

export interface ConnectRecord {
  readonly agent: string
  readonly scope: 'user' | 'project'
  readonly project: string
  readonly date: string
  /** What the agent calls. */
  readonly self: readonly [string, string]
  readonly files: readonly ConnectedFile[]
  readonly edited: readonly EditedFile[]
  /** The command of the person's own status line, which Baton's calls. */
  readonly statusLine?: string
  /** Those that were made for the files; a record of an earlier version has none. */
  readonly folders?: readonly string[]
}

export function readRecord(env: NodeJS.ProcessEnv, agent: string, scope: 'user' | 'project', project: string) {
  return read(fileOf(env, agent, scope, project))
}

export function writeRecord(env: NodeJS.ProcessEnv, record: ConnectRecord): void {
  makeFolder(folderIn(env))
  replaceFile(fileOf(env, record.agent, record.scope, record.project), JSON.stringify(record, null, 2))
}

export function removeRecord(env: NodeJS.ProcessEnv, { agent, scope, project, edited }: ConnectRecord): void {
  fs.rmSync(fileOf(env, agent, scope, project), { force: true })
  for (const { backup } of edited) if (backup !== undefined) fs.rmSync(backup, { force: true })
}

/** Everything that is connected on this machine. */
export function allRecords(env: NodeJS.ProcessEnv): ConnectRecord[] {
  let names: string[]
  try {
    names = fs.readdirSync(folderIn(env)).filter((name) => name.endsWith('.json') && !name.startsWith('.'))
  } catch {
    return [] // nothing was ever connected
  }
  return names.sort().flatMap((name) => read(path.join(folderIn(env), name)) ?? [])
}

/** The command of the person's own status line. */
export function originalStatusLine(env: NodeJS.ProcessEnv, agent: string): string | undefined {
  return readRecord(env, agent, 'user', '')?.statusLine
}

/** A copy of a file of the user's, for `disconnect` and for the person. */
export function keepBackup(env: NodeJS.ProcessEnv, file: string, content: string): string {
  const folder = path.join(folderIn(env), 'backups')
  makeFolder(folder)
  const name = `${hash(file).slice(0, 12)}-${hash(content).slice(0, 12)}-${path.basename(file)}`
  const backup = path.join(folder, name)
  replaceFile(backup, content)
  return backup
}

export function hash(content: string): string {
  return createHash('sha256').update(content).digest('hex')
}

function folderIn(env: NodeJS.ProcessEnv): string {
  return path.join(stateFolder(env), 'connected')
}

function fileOf(env: NodeJS.ProcessEnv, agent: string, scope: 'user' | 'project', project: string): string {
  const where = scope === 'user' ? 'user' : hash(project).slice(0, 16)
  return path.join(folderIn(env), `${agent}-${where}.json`)
}

function read(file: string): ConnectRecord | undefined {
  try {
    return JSON.parse(fs.readFileSync(file, 'utf8')) as ConnectRecord
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined
    throw error
  }
}
