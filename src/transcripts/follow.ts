// Keeps a tape up to date while its session goes on: woken by the file system, never by a clock. Where `/clear` leaves the
// session for a new one, the tape goes on with that one.

import fs from 'node:fs'
import path from 'node:path'
import type { Store } from '../store/index.ts'
import type { SessionFile } from './agent.ts'
import { type Imported, importFile, type ImportOptions, markDraft, markOf, tapeFor } from './import.ts'
import { sessionFile } from './resolve.ts'
import { event, opening } from './scribe.ts'
import { listSessions } from './sessions.ts'

export type Followed =
  | ({ readonly type: 'imported' } & Imported)
  | { readonly type: 'moved'; readonly from: string; readonly to: SessionFile }

export interface FollowOptions extends ImportOptions {
  readonly signal: AbortSignal
  readonly env?: NodeJS.ProcessEnv
}

/** Ends when the signal does. Yields only what is new, but always the first state. */
export async function* follow(store: Store, start: SessionFile, options: FollowOptions): AsyncGenerator<Followed> {
  const { signal, env = process.env } = options
  const tape = options.tape ?? tapeFor(start)
  let file = await current(store, tape, start)
  const bell = new Bell(signal)
  bell.watch(path.dirname(file.path))
  try {
    let first = true
    while (!signal.aborted) {
      // Rung from here on counts: what is written during the import is looked at once more.
      const rung = bell.next()
      const present = fs.statSync(file.path, { throwIfNoEntry: false }) !== undefined
      if (present) {
        const imported = await importFile(store, file, { ...options, tape })
        if (first || imported.entries > 0) yield { type: 'imported', ...imported }
        first = false
      }
      const successor = bell.hasNewFile() ? successorOf(file, env) : undefined
      if (successor !== undefined) {
        await moveOn(store, tape, file, successor)
        yield { type: 'moved', from: file.id, to: successor }
        file = successor
        bell.watch(path.dirname(file.path))
        continue
      }
      await rung
    }
  } finally {
    bell.close()
  }
}

/** The session that a tape has moved on to, if it has. */
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

/** Rings when something in the watched folders changes. */
class Bell {
  readonly #watchers = new Map<string, fs.FSWatcher>()
  readonly #signal: AbortSignal
  #ring: (() => void) | undefined
  #rung = false
  #newFile = true

  constructor(signal: AbortSignal) {
    this.#signal = signal
    signal.addEventListener('abort', this.#onAbort)
  }

  readonly #onAbort = () => this.#ring?.()

  watch(folder: string): void {
    if (this.#watchers.has(folder)) return
    const watcher = fs.watch(folder, { persistent: true }, (type) => {
      if (type === 'rename') this.#newFile = true
      this.#rung = true
      this.#ring?.()
    })
    // A folder that goes away says so once; its files are then gone too.
    watcher.on('error', () => this.#ring?.())
    this.#watchers.set(folder, watcher)
  }

  /** Resolves at the next change, or at once if there was one since this was asked last, or at the end. */
  next(): Promise<void> {
    if (this.#signal.aborted) return Promise.resolve()
    return new Promise((resolve) => {
      this.#ring = () => {
        this.#rung = false
        this.#ring = undefined
        resolve()
      }
      if (this.#rung) this.#ring()
    })
  }

  /** Whether files came or went: asked until the file that came has said what it is. */
  hasNewFile(): boolean {
    return this.#newFile
  }

  close(): void {
    this.#signal.removeEventListener('abort', this.#onAbort)
    for (const watcher of this.#watchers.values()) watcher.close()
  }
}
