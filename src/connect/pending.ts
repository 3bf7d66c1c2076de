// The handoff that waits for the next session of a project. It lies in the user's own folder, never in the project: what a
// cloned repository brings cannot open a session. The first session to claim it gets it. A hook that is killed before the agent has
// its answer has given nothing: the handoff then waits for the next session.

import { createHash } from 'node:crypto'
import fs from 'node:fs'
import path from 'node:path'
import { isDeepStrictEqual } from 'node:util'
import { stateFolder } from '../config/index.ts'
import { Lock, makeFolder, replaceFile } from '../system/index.ts'

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

/** A handoff that is being given to a session, and to no other meanwhile. */
export interface Claim {
  readonly pending: PendingHandoff
  /** To be called when the session has it: from then on nothing waits. */
  readonly given: () => void
}

/** Undefined if nothing waits, or another session is being given it. */
export function claimPending(env: NodeJS.ProcessEnv, project: string, claimant: string): Claim | undefined {
  const file = fileOf(env, project)
  if (!fs.existsSync(file)) return undefined
  // The kernel frees the lock of a hook that is killed.
  const lock = new Lock(`${file}.lock`, 0)
  const pending = lock.tryNow() ? read(file) : undefined
  if (pending === undefined) {
    lock.close()
    return undefined
  }
  const claimed = `${file}.${claimant}`
  const given = () => {
    const taken = move(file, claimed) ? read(claimed) : pending
    // Another one may have been prepared meanwhile, which nobody was given.
    if (taken !== undefined && !isDeepStrictEqual(taken, pending)) preparePending(env, taken)
    lock.close()
  }
  return { pending, given }
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
