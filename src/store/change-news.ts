// Tells the watchers of this process that a tape may have grown: at once for its own writes, by a notification for those of
// other processes, and once a second in any case, since a notification is only a hint. `followTape` is how every engine
// watches a tape.

import { everySecond } from '../system/index.ts'
import type { Entry } from './entry.ts'

/** How an engine notifies other processes, and hears from them. */
export interface NewsChannel {
  notify(tapes: readonly string[]): Promise<void>
  /** `lost` is called when nothing more will be heard; the returned function ends it. */
  listen(heard: (tape: string) => void, lost: () => void): Promise<() => Promise<void>>
}

/** A few notifications at once, then one in so many milliseconds: each costs the server something. */
const burst = 10
const pauseMs = 3

export class ChangeNews {
  readonly #channel: NewsChannel
  readonly #listeners = new Map<string, Set<() => void>>()
  readonly #toNotify = new Set<string>()
  #left = burst
  #counted = 0
  #timer: NodeJS.Timeout | undefined
  #notified: Promise<unknown> = Promise.resolve()
  #isClosed = false
  #connection: Promise<(() => Promise<void>) | undefined> | undefined
  #stopSeconds: (() => void) | undefined

  constructor(channel: NewsChannel) {
    this.#channel = channel
  }

  /** This process has written to the tape. */
  changed(tape: string): void {
    this.#wake(tape)
    this.#toNotify.add(tape)
    this.#notify()
  }

  #notify(): void {
    if (this.#toNotify.size === 0 || this.#isClosed || this.#timer !== undefined) return
    if (this.#takeTurn()) return this.#notifyNow()
    this.#timer = setTimeout(() => {
      this.#timer = undefined
      this.#notify()
    }, pauseMs).unref()
  }

  #takeTurn(): boolean {
    const now = performance.now()
    const earned = Math.floor((now - this.#counted) / pauseMs)
    if (earned > 0) {
      this.#left = Math.min(burst, this.#left + earned)
      this.#counted = now
    }
    if (this.#left === 0) return false
    this.#left--
    return true
  }

  #notifyNow(): void {
    const names = [...this.#toNotify]
    this.#toNotify.clear()
    // A lost notification is made up for by the look once a second.
    const notified = this.#channel.notify(names).catch(() => {})
    this.#notified = Promise.all([this.#notified, notified])
  }

  /** Every entry that `read` gives after an id, and again whenever the tape may have grown, until the signal. */
  async *follow(
    tape: string,
    after: number | (() => number),
    ended: AbortSignal,
    read: (after: number) => AsyncIterable<Entry>,
  ): AsyncIterable<Entry> {
    yield* followTape({ after, ended, read, subscribe: (listener) => this.#subscribe(tape, listener) })
  }

  #subscribe(tape: string, listener: () => void): () => void {
    const listeners = this.#listeners.get(tape) ?? new Set()
    this.#listeners.set(tape, listeners.add(listener))
    this.#stopSeconds ??= everySecond(() => this.#everyone())
    this.#listen()
    return () => {
      listeners.delete(listener)
      if (listeners.size === 0) this.#listeners.delete(tape)
      if (this.#listeners.size > 0) return
      this.#stopSeconds?.()
      this.#stopSeconds = undefined
    }
  }

  #everyone(): void {
    this.#listen()
    for (const tape of this.#listeners.keys()) this.#wake(tape)
  }

  #listen(): void {
    if (this.#isClosed || this.#connection !== undefined) return
    const lost = () => {
      if (this.#connection === connection) this.#connection = undefined
    }
    const connection = this.#channel
      .listen((tape) => this.#wake(tape), lost)
      .then(
        (end) => {
          // What was written since the first look, and before notifications were heard, was not announced.
          for (const tape of this.#listeners.keys()) this.#wake(tape)
          return end
        },
        () => {
          lost()
          return undefined
        },
      )
    this.#connection = connection
  }

  #wake(tape: string): void {
    for (const listener of this.#listeners.get(tape) ?? []) listener()
  }

  async close(): Promise<void> {
    this.#isClosed = true
    this.#stopSeconds?.()
    clearTimeout(this.#timer)
    if (this.#toNotify.size > 0) this.#notifyNow()
    await this.#notified
    const end = await this.#connection
    await end?.()
  }
}

interface Following {
  /** As a function: the last entry that whoever follows has seen elsewhere by now, which is not given again. */
  readonly after: number | (() => number)
  readonly ended: AbortSignal
  /** Calls the listener when the tape may have grown, until the returned function is called. */
  readonly subscribe: (listener: () => void) => () => void
  readonly read: (after: number) => AsyncIterable<Entry> | Iterable<Entry>
}

/** Every entry that `read` gives after an id, and again whenever the tape may have grown, until the signal. */
export async function* followTape({ after, ended, subscribe, read }: Following): AsyncIterable<Entry> {
  const known = typeof after === 'number' ? () => after : after
  let last = known()
  let isChanged = false
  let wake = () => {}
  const stop = () => wake()
  const unsubscribe = subscribe(() => {
    isChanged = true
    wake()
  })
  ended.addEventListener('abort', stop)
  try {
    while (!ended.aborted) {
      isChanged = false
      for await (const entry of read(Math.max(last, known()))) {
        last = entry.id
        if (last <= known()) continue
        yield entry
        if (ended.aborted) return
      }
      if (!isChanged && !ended.aborted) await new Promise<void>((resolve) => (wake = resolve))
    }
  } catch (error) {
    // A store that closes fails a read that is under way: whoever follows was told of the end already.
    if (!ended.aborted) throw error
  } finally {
    ended.removeEventListener('abort', stop)
    unsubscribe()
  }
}
