// One tape for many readers. The tape is watched once; what is new stays in memory for a while, and whoever has fallen behind
// that reads from the store. A reader holds a position and nothing else, so one that does not read costs nothing.

import type { Entry, Store } from '../../store/index.ts'

/** How much of what is new stays in memory. */
const keptEntries = 2_000
const keptBytes = 4 * 1024 * 1024
/** How much a reader is given at once. */
const pieceBytes = 256 * 1024
/** The more readers there are, the more entries are passed on together: every piece is a write for each of them. */
const readersPerMs = 4

export interface Fed {
  readonly id: number
  /** The entry as JSON. */
  readonly text: string
}

/** What one reader is given. Readers at the same position are given the same object. */
export interface Piece {
  readonly fed: readonly Fed[]
  /** Where to go on. */
  readonly upTo: number
}

/** Wakes everybody who waits. They share one promise: who stops waiting leaves nothing behind. */
export class Wake {
  #fire: () => void = () => {}
  #next: Promise<void> | undefined

  fire(): void {
    this.#next = undefined
    this.#fire()
  }

  wait(): Promise<void> {
    this.#next ??= new Promise((resolve) => (this.#fire = resolve))
    return this.#next
  }
}

export class Feed {
  readonly #store: Store
  readonly #tape: string
  readonly #stop = new AbortController()
  #kept: Fed[] = []
  #bytes = 0
  /** The first id that is in memory, or that will be. */
  #start = Number.POSITIVE_INFINITY
  #ready: Promise<void>
  /** What the last reader was given, and what was newest then. */
  #last: { id: number; newest: number; piece: Piece } = { id: -1, newest: -1, piece: { fed: [], upTo: 0 } }
  #readers = 0
  #timer: NodeJS.Timeout | undefined
  readonly #onNews: () => void

  constructor(store: Store, tape: string, onNews: () => void) {
    this.#store = store
    this.#tape = tape
    this.#onNews = onNews
    this.#ready = this.#open()
  }

  async #open(): Promise<void> {
    this.#start = (await lastIdOf(this.#store, this.#tape)) + 1
    void this.#follow().catch((error: unknown) => {
      // Readers go on from the store, and the next one to join opens a new feed.
      this.#start = Number.POSITIVE_INFINITY
      this.failure = error instanceof Error ? error : new Error(String(error))
      this.#onNews()
    })
  }

  failure: Error | undefined

  async #follow(): Promise<void> {
    for await (const entry of this.#store.watch(this.#tape, this.#start - 1, this.#stop.signal)) this.#take(entry)
  }

  #take(entry: Entry): void {
    const text = JSON.stringify(entry)
    this.#kept.push({ id: entry.id, text })
    this.#bytes += text.length
    while (this.#kept.length > keptEntries || (this.#bytes > keptBytes && this.#kept.length > 1)) {
      this.#bytes -= this.#kept.shift()!.text.length
      this.#start = this.#kept[0]!.id
    }
    this.#timer ??= setTimeout(
      () => {
        this.#timer = undefined
        this.#onNews()
      },
      Math.floor(this.#readers / readersPerMs),
    )
  }

  join(): void {
    this.#readers += 1
  }

  /** True when nobody reads any more: the feed is closed then. */
  leave(): boolean {
    this.#readers -= 1
    if (this.#readers > 0) return false
    this.#stop.abort()
    clearTimeout(this.#timer)
    return true
  }

  /** What comes behind an id, or nothing if there is none yet. */
  async after(id: number): Promise<Piece> {
    await this.#ready
    if (this.failure !== undefined) throw this.failure
    if (id >= this.#start - 1) {
      const newest = this.#kept.at(-1)?.id ?? 0
      if (this.#last.id === id && this.#last.newest === newest) return this.#last.piece
      const from = this.#kept.length === 0 ? 0 : id + 1 - this.#kept[0]!.id
      const fed = pieceOf(this.#kept, Math.max(0, from))
      const piece = { fed, upTo: fed.at(-1)?.id ?? id }
      this.#last = { id, newest, piece }
      return piece
    }
    const fed: Fed[] = []
    let bytes = 0
    const before = this.#start
    for await (const entry of this.#store.read(this.#tape, { after: id, before, archived: true, onDamage: () => {} })) {
      const text = JSON.stringify(entry)
      fed.push({ id: entry.id, text })
      bytes += text.length
      if (bytes > pieceBytes) return { fed, upTo: entry.id }
    }
    // Entries that were purged or lost are behind us now.
    return { fed, upTo: before - 1 }
  }
}

function pieceOf(kept: readonly Fed[], from: number): Fed[] {
  const fed: Fed[] = []
  for (let at = from, bytes = 0; at < kept.length && bytes <= pieceBytes; at++) {
    fed.push(kept[at]!)
    bytes += kept[at]!.text.length
  }
  return fed
}

export async function lastIdOf(store: Store, tape: string): Promise<number> {
  const info = await store.info(tape)
  if (info !== undefined) return info.lastId
  return Math.max(0, ...(await store.archives(tape)).map(({ lastId }) => lastId))
}
