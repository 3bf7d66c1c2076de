// The part of a tape that is in memory: some hundred entries around the place a person looks at, however long the tape is. It
// grows at the end towards which they scroll and is cut at the other.

import type { LiveEntry } from '../../data/live.ts'
import { type AnswerOf, call } from '../../data/queries.ts'
import { value } from '../../data/store.ts'

export type Entry = LiveEntry

const pageSize = 120
const mostKept = 480

export interface EntryWindow {
  readonly entries: readonly Entry[]
  /** The last id of the tape. */
  readonly lastId: number
  readonly hasBefore: boolean
  readonly hasAfter: boolean
  readonly loading: boolean
  readonly error: unknown
  /** Changes whenever the entries are others than before, not just more of them; then `at` is to be shown. */
  readonly jump: { readonly n: number; readonly at: number | 'end' }
}

type Change =
  | { type: 'loading' }
  | { type: 'failed'; error: unknown }
  | { type: 'jumped'; at: number | 'end'; entries: Entry[]; hasBefore: boolean; hasAfter: boolean; lastId: number }
  | { type: 'before'; entries: Entry[]; more: boolean }
  | { type: 'after'; entries: Entry[]; more: boolean; lastId: number }
  | { type: 'live'; entries: Entry[]; lastId: number; cutStart: boolean }

const empty: EntryWindow = {
  entries: [],
  lastId: 0,
  hasBefore: false,
  hasAfter: false,
  loading: true,
  error: undefined,
  jump: { n: 0, at: 'end' },
}

function change(state: EntryWindow, event: Change): EntryWindow {
  switch (event.type) {
    case 'loading':
      return { ...state, loading: true }
    case 'failed':
      return { ...state, loading: false, error: event.error }
    case 'jumped': {
      const { entries, hasBefore, hasAfter, lastId, at } = event
      return {
        entries,
        hasBefore,
        hasAfter,
        lastId,
        loading: false,
        error: undefined,
        jump: { n: state.jump.n + 1, at },
      }
    }
    case 'before': {
      const all = [...event.entries, ...state.entries]
      const entries = all.slice(0, mostKept)
      return {
        ...state,
        entries,
        loading: false,
        hasBefore: event.more,
        hasAfter: state.hasAfter || all.length > mostKept,
      }
    }
    case 'after': {
      const all = [...state.entries, ...event.entries]
      const entries = all.slice(-mostKept)
      const hasBefore = state.hasBefore || all.length > mostKept
      return { ...state, entries, loading: false, hasAfter: event.more, hasBefore, lastId: event.lastId }
    }
    case 'live': {
      const lastId = Math.max(state.lastId, event.lastId)
      if (state.hasAfter) return { ...state, lastId }
      const all = [...state.entries, ...event.entries]
      // A person who reads further up keeps what they read; one who follows keeps the end.
      if (!event.cutStart && all.length > mostKept) return { ...state, lastId, hasAfter: true, entries: state.entries }
      return { ...state, lastId, entries: all.slice(-mostKept), hasBefore: state.hasBefore || all.length > mostKept }
    }
  }
}

/** Reads a tape for one view of it. Owned by that view, which ends it. */
export class EntryReader {
  readonly state = value<EntryWindow>(empty)
  /** The end of the tape is on the screen and shall stay there. */
  following = false
  /** Another place than the end was asked for and is not there yet: what is on the screen is about to go. */
  isJumping = false
  readonly #tape: string
  readonly #kinds: readonly string[] | undefined
  #running: AbortController | undefined
  // New entries are taken over once a frame: a tape may grow by thousands a second.
  #pending: Entry[] = []
  #pendingLast = 0
  #frame: number | undefined

  constructor(tape: string, kinds: readonly string[] | undefined) {
    this.#tape = tape
    this.#kinds = kinds
  }

  goTo(at: number | 'end'): void {
    this.isJumping = at !== 'end'
    void this.#work(async (read) => {
      if (at === 'end') {
        const { entries, next, lastId } = await read({ reverse: true, limit: pageSize })
        const hasBefore = next !== undefined
        return { type: 'jumped', at, entries: entries.toReversed(), hasBefore, hasAfter: false, lastId }
      }
      const [before, after] = await Promise.all([
        read({ before: at, reverse: true, limit: pageSize / 2 }),
        read({ after: at - 1, limit: pageSize / 2 }),
      ])
      return {
        type: 'jumped',
        at,
        entries: [...before.entries.toReversed(), ...after.entries],
        hasBefore: before.next !== undefined,
        hasAfter: after.next !== undefined,
        lastId: after.lastId,
      }
    })
  }

  readBefore(): void {
    const { entries, loading, hasBefore } = this.state.get()
    const first = entries[0]
    if (loading || !hasBefore || first === undefined) return
    void this.#work(async (read) => {
      const { entries, next } = await read({ before: first.id, reverse: true, limit: pageSize })
      return { type: 'before', entries: entries.toReversed(), more: next !== undefined }
    })
  }

  readAfter(): void {
    const { entries, loading, hasAfter } = this.state.get()
    const last = entries.at(-1)
    if (loading || !hasAfter || last === undefined) return
    void this.#work(async (read) => {
      const { entries, next, lastId } = await read({ after: last.id, limit: pageSize })
      return { type: 'after', entries, more: next !== undefined, lastId }
    })
  }

  /** An entry that was just written. */
  receive(entry: Entry): void {
    this.#pendingLast = entry.id
    if (this.#kinds === undefined || this.#kinds.includes(entry.kind)) {
      this.#pending.push(entry)
      if (this.#pending.length > 2 * mostKept) this.#pending = this.#pending.slice(-mostKept)
    }
    this.#frame ??= window.requestAnimationFrame(() => this.#takeOver())
  }

  stop(): void {
    this.#running?.abort()
    if (this.#frame !== undefined) window.cancelAnimationFrame(this.#frame)
    this.#frame = undefined
  }

  #takeOver(): void {
    const [entries, lastId] = [this.#pending, this.#pendingLast]
    this.#pending = []
    this.#frame = undefined
    const known = this.state.get().entries.at(-1)?.id ?? 0
    this.#change({ type: 'live', entries: entries.filter(({ id }) => id > known), lastId, cutStart: this.following })
  }

  #change(event: Change): void {
    this.state.set(change(this.state.get(), event))
  }

  async #work(task: (read: Read) => Promise<Change>): Promise<void> {
    this.#running?.abort()
    const own = new AbortController()
    this.#running = own
    this.#change({ type: 'loading' })
    const kinds = this.#kinds === undefined ? {} : { kinds: [...this.#kinds] }
    const read: Read = (range) => call('tapeRead')({ tape: this.#tape, ...kinds, ...range }, { signal: own.signal })
    try {
      const event = await task(read)
      if (!own.signal.aborted) this.#change(event)
    } catch (error) {
      if (!own.signal.aborted) this.#change({ type: 'failed', error })
    } finally {
      if (!own.signal.aborted) this.isJumping = false
    }
  }
}

type Read = (range: {
  after?: number
  before?: number
  reverse?: boolean
  limit: number
}) => Promise<AnswerOf<'tapeRead'>>
