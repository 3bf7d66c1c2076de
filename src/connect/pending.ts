// The handoff that waits for the next session of a project. It lies in the user's own folder, never in the project: what a
// cloned repository brings cannot open a session. The first session to claim it gets it, by renaming the file.

import { createHash } from 'node:crypto'
import fs from 'node:fs'
import path from 'node:path'
import { stateFolder } from '../config/index.ts'
import { makeFolder, replaceFile } from '../system/index.ts'

export interface PendingHandoff {
  /** The top folder of the project, with every link resolved. */
  readonly project: string
  /** The document as a file that an agent in the project may read. */
  readonly document: string
  /** Where it is saved: the tape and the entry. */
  readonly tape: string
  readonly entry: number
  readonly date: string
}

/** Opens the next session in the project with this document. It replaces one that was not claimed yet. */
export function preparePending(env: NodeJS.ProcessEnv, pending: PendingHandoff): void {
  makeFolder(folderIn(env))
  replaceFile(fileOf(env, pending.project), JSON.stringify(pending))
}

/** What waits for the next session of the project. */
export function pendingFor(env: NodeJS.ProcessEnv, project: string): PendingHandoff | undefined {
  return read(fileOf(env, project))
}

/** True if something was waiting. */
export function dropPending(env: NodeJS.ProcessEnv, project: string): boolean {
  return move(fileOf(env, project), `${fileOf(env, project)}.dropped`)
}

/** Gives the handoff to one session and to no other: undefined if there is none, or another session was first. */
export function claimPending(env: NodeJS.ProcessEnv, project: string, claimant: string): PendingHandoff | undefined {
  const file = fileOf(env, project)
  const claimed = `${file}.${claimant}`
  return move(file, claimed) ? read(claimed) : undefined
}

function folderIn(env: NodeJS.ProcessEnv): string {
  return path.join(stateFolder(env), 'pending')
}

function fileOf(env: NodeJS.ProcessEnv, project: string): string {
  const name = createHash('sha256').update(project).digest('hex').slice(0, 24)
  return path.join(folderIn(env), `${name}.json`)
}

function move(from: string, to: string): boolean {
  try {
    fs.renameSync(from, to)
    return true
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return false
    throw error
  }
}

function read(file: string): PendingHandoff | undefined {
  let text: string
  try {
    text = fs.readFileSync(file, 'utf8')
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT' || (error as NodeJS.ErrnoException).code === 'ENOTDIR')
      return undefined
    throw error
  }
  return JSON.parse(text) as PendingHandoff
}
