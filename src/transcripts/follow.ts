// Keeps a tape up to date while its session goes on, woken by the file system. Where `/clear` leaves the
// session for a new one, the tape continues with the new one.

import fs from 'node:fs'
import path from 'node:path'
import type { Store } from '../store/index.ts'
import { everySecond, watchFolder } from '../system/index.ts'
import { type SessionFile, agentNamed, type Fact } from '../agents/index.ts'
import { type Imported, importFile, type ImportOptions, markDraft, markOf, tapeFor } from './import.ts'
import { sessionFile } from './resolve.ts'
import { event, opening } from './facts-to-entries.ts'
import { listSessions, hinted } from './sessions.ts'
import { type Meter, meterOf } from './meter.ts'
import type { Models } from '../config/index.ts'
import { TranscriptReader } from './transcript-reader.ts'
import { addFact, emptyStats, type SessionStats } from './session-stats.ts'

export type Followed =
  | ({ readonly type: 'imported' } & Imported)
  | { readonly type: 'moved'; readonly from: string; readonly to: SessionFile }

interface FollowOptions extends ImportOptions {
  readonly signal: AbortSignal
  readonly env?: NodeJS.ProcessEnv
}

/** Runs until the signal is aborted. Yields the first import in any case, then only what is new. */
export async function* follow(store: Store, start: SessionFile, options: FollowOptions): AsyncGenerator<Followed> {
  const { signal, env = process.env } = options
  const tape = options.tape ?? tapeFor(start)
  let file = await current(store, tape, start)
  const changes = new FolderChanges(signal)
  changes.watch(path.dirname(file.path))
  try {
    let first = true
    while (!signal.aborted) {
      // A change from here on counts: what is written during the import is looked at once more.
      const changed = changes.next()
      const present = fs.statSync(file.path, { throwIfNoEntry: false }) !== undefined
      if (present) {
        const imported = await importFile(store, file, { ...options, tape })
        if (first || imported.entries > 0) yield { type: 'imported', ...imported }
        first = false
      }
      const successor = changes.hasNewFile() ? successorOf(file, env) : undefined
      if (successor !== undefined) {
        await moveOn(store, tape, file, successor)
        yield { type: 'moved', from: file.id, to: successor }
        file = successor
        changes.watch(path.dirname(file.path))
        continue
      }
      await changed
    }
  } finally {
    changes.close()
  }
}

/** The session that the tape follows by now, after a `/clear`. */
async function current(store: Store, tape: string, start: SessionFile): Promise<SessionFile> {
  const mark = await markOf(store, tape)
  if (mark?.moved?.includes(start.id) !== true) return start
  const stat = fs.statSync(mark.path, { throwIfNoEntry: false })
  return stat === undefined
    ? start
    : { agent: mark.agent, path: mark.path, id: mark.session, bytes: stat.size, changed: stat.mtimeMs }
}

function successorOf(file: SessionFile, env: NodeJS.ProcessEnv): SessionFile | undefined {
  const next = listSessions({ env, agent: file.agent, empty: true }).find((session) => session.clearedFrom === file.id)
  return next === undefined || next.path === file.path ? undefined : sessionFile(next)
}

async function moveOn(store: Store, tape: string, from: SessionFile, to: SessionFile): Promise<void> {
  const before = await markOf(store, tape)
  const moved = [...(before?.moved ?? []), from.id]
  await store.append(tape, [
    event('clear', { from: from.id, to: to.id }, undefined),
    opening({ owner: 'human', reason: 'clear', session: to.id }, undefined),
    markDraft({ agent: to.agent, session: to.id, path: to.path, moved }),
  ])
}

/** Waits for changes in the watched folders. */
class FolderChanges {
  readonly #stops = new Map<string, () => void>()
  readonly #signal: AbortSignal
  #wake: (() => void) | undefined
  #hasChanged = false
  #hasNewFile = true

  constructor(signal: AbortSignal) {
    this.#signal = signal
    signal.addEventListener('abort', this.#onAbort)
  }

  readonly #onAbort = () => this.#wake?.()

  watch(folder: string): void {
    if (this.#stops.has(folder)) return
    const stop = watchFolder(folder, (_name, isNewOrGone) => this.#onChange(isNewOrGone))
    // Where the folder cannot be watched, it is looked at every second.
    this.#stops.set(folder, stop ?? everySecond(() => this.#onChange(true)))
  }

  #onChange(isNewOrGone: boolean): void {
    if (isNewOrGone) this.#hasNewFile = true
    this.#hasChanged = true
    this.#wake?.()
  }

  /** Resolves at the next change, or at once if there was one since this was asked last, or at the end. */
  next(): Promise<void> {
    if (this.#signal.aborted) return Promise.resolve()
    return new Promise((resolve) => {
      this.#wake = () => {
        this.#hasChanged = false
        this.#wake = undefined
        resolve()
      }
      if (this.#hasChanged) this.#wake()
    })
  }

  /** Whether files came or went: asked until the file that came has said what it is. */
  hasNewFile(): boolean {
    return this.#hasNewFile
  }

  close(): void {
    this.#signal.removeEventListener('abort', this.#onAbort)
    for (const stop of this.#stops.values()) stop()
  }
}

/** A session that its agent is still writing: each look at it reads only what is new. */
export class LiveSession {
  readonly file: SessionFile
  #reader: TranscriptReader | undefined
  #stats: SessionStats = emptyStats()
  #inode = -1
  #bytes = -1
  #stamp = ''

  constructor(file: SessionFile) {
    this.file = file
  }

  /** The facts that were written since the last call. `anew`: the file was replaced, and these are all its facts. */
  read(): { readonly facts: readonly Fact[]; readonly anew: boolean } {
    const now = this.#look()
    if (now === undefined || now.stamp === this.#stamp) return { facts: [], anew: false }
    const replaced = this.#reader !== undefined && (now.inode !== this.#inode || now.bytes < this.#bytes)
    // A database may shrink and is still the same session.
    if (replaced && !now.hasLog) this.#forget()
    this.#inode = now.inode
    this.#bytes = now.bytes
    const before = this.#reader
    const reader = (this.#reader ??= new TranscriptReader(agentNamed(this.file.agent), this.file))
    const facts: Fact[] = []
    for (const step of reader.steps()) facts.push(...step.facts)
    for (const fact of facts) addFact(this.#stats, fact)
    // Remembered only after a successful read, so that a failed one is tried again.
    this.#stamp = now.stamp
    return { facts, anew: before === undefined }
  }

  /** Whether `read` would return anything; this only looks at the size and time of the file. */
  hasNews(): boolean {
    const now = this.#look()
    return now !== undefined && now.stamp !== this.#stamp
  }

  get stats(): Readonly<SessionStats> {
    return this.#stats
  }

  meter(models: Models = {}): Meter {
    this.#stats = hinted(agentNamed(this.file.agent), this.file, this.#stats)
    return meterOf(this.file.agent, this.#stats, models)
  }

  close(): void {
    this.#reader?.close()
    this.#reader = undefined
  }

  #look(): { inode: number; bytes: number; hasLog: boolean; stamp: string } | undefined {
    const stat = fs.statSync(this.file.path, { throwIfNoEntry: false })
    if (stat === undefined) return undefined
    // The newest rows of a database are in its log.
    const logFile = agentNamed(this.file.agent).logOf?.(this.file.path)
    const log = logFile === undefined ? undefined : fs.statSync(logFile, { throwIfNoEntry: false })
    const stamp = `${stat.ino} ${stat.size} ${stat.mtimeMs} ${log?.size} ${log?.mtimeMs}`
    return { inode: stat.ino, bytes: stat.size, hasLog: log !== undefined, stamp }
  }

  #forget(): void {
    this.close()
    this.#stats = emptyStats()
  }
}
