// What a command may use of the process that it runs in. Only main.ts passes the real process on; tests run many commands
// in one process, each with its own streams, environment and folder. This folder holds what all commands share.

import type { Readable, Writable } from 'node:stream'
import os from 'node:os'
import { spawnSync } from 'node:child_process'
import fs from 'node:fs'
import path from 'node:path'
import { type Person, personAtTerminal } from '../../system/index.ts'
import { InvalidError, CancelledError } from '../../errors.ts'

/** Standard input. A terminal can give each key as it is pressed. */
export interface InputStream extends Readable {
  readonly isTTY?: boolean
  setRawMode?(raw: boolean): this
}

/** Standard output or standard error. Only a terminal has a size. */
export interface OutputStream extends Writable {
  readonly isTTY?: boolean
  readonly columns?: number
  readonly rows?: number
}

type SignalName = 'SIGINT' | 'SIGTERM' | 'SIGHUP'

interface Signals {
  on(signal: SignalName, listener: () => void): unknown
  once(signal: SignalName, listener: () => void): unknown
  off(signal: SignalName, listener: () => void): unknown
}

export interface Io {
  readonly stdin: InputStream
  readonly stdout: OutputStream
  readonly stderr: OutputStream
  readonly env: NodeJS.ProcessEnv
  readonly signals: Signals
  /** The program and the arguments that start Baton again, for work in the background. */
  readonly self: readonly [string, string]
  /** The folder that the command was typed in. Throws if it is gone. */
  cwd(): string
  /** `code` is the exit code of the command, unless it throws; `now` ends the process without waiting for anything. */
  readonly exit: { code: number; readonly now: () => void }
  /** Tells that a person has typed the command, or throws; by the terminal of this process unless given. */
  readonly person?: () => Person
}

/** The person who has typed the command; refused if it was not a person. */
export function personAt(io: Io): Person {
  return (io.person ?? personAtTerminal)()
}

/** Returns the same io for a command that works in another folder. */
export function inFolder(io: Io, folder: string): Io {
  return { ...io, cwd: () => folder }
}

const stopSignals = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const

/**
 * Does work whose signal is aborted when the person ends the command: with Ctrl-C, or by closing the terminal. Who does so
 * a second time ends the process at once.
 */
export async function cancellable<T>({ signals }: Io, work: (signal: AbortSignal) => Promise<T>): Promise<T> {
  const stop = new AbortController()
  const end = () => stop.abort()
  for (const signal of stopSignals) signals.once(signal, end)
  try {
    return await work(stop.signal)
  } finally {
    for (const signal of stopSignals) signals.off(signal, end)
  }
}

/** As `cancellable`, for a command that runs until it is ended. */
export async function untilStopped(io: Io, work: (signal: AbortSignal) => Promise<void>): Promise<void> {
  await cancellable(io, work)
  io.exit.code = 130
}

/** The name of the user who runs the command. */
export function userName(): string {
  try {
    return os.userInfo().username
  } catch {
    throw new InvalidError('Your user has no name on this system', { hint: 'Give yours with --by.' })
  }
}

/** Returns what the person saved. An empty text or a failed editor cancels the command. */
export function edited(markdown: string, { env }: Io): string {
  const editor = env.VISUAL || env.EDITOR || 'vi'
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'baton-'))
  const file = path.join(folder, 'handoff.md')
  try {
    fs.writeFileSync(file, markdown, { mode: 0o600 })
    // The variable may hold arguments, as in "code --wait": the shell splits it, and the name of the file stays whole.
    const run = spawnSync('/bin/sh', ['-c', `${editor} "$1"`, 'sh', file], { env, stdio: 'inherit' })
    if (run.status !== 0) throw new CancelledError(`${editor} ended with ${run.status ?? run.signal}: cancelled`)
    const text = fs.readFileSync(file, 'utf8')
    if (text.trim() === '') throw new CancelledError('The document is empty: cancelled')
    return text
  } finally {
    fs.rmSync(folder, { recursive: true, force: true })
  }
}
