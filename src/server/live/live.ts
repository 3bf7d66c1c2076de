// One connection through which a client follows many things: entries of tapes, which tapes have changed, what waits for a person.
// The id of an event holds the position on every tape, so a reader that comes back goes on where it was, also on a server that
// was started since. Activity and what waits are states, not histories: they are sent whole when a reader comes.

import type { Store, TapeInfo } from '../../store/index.ts'
import { Chunk } from '../http/exchange.ts'
import { HttpError } from '../http/problem.ts'
import { Feed, lastIdOf, type Piece, Wake } from './feed.ts'

const lookMs = 1_000
const mostTapes = 100

export interface LiveQuery {
  readonly tapes?: string
  readonly activity?: string
  readonly waiting?: string
  readonly after?: string
}

interface Row {
  readonly tape: string
  readonly entries: number
  readonly lastId: number
  readonly lastAnchor: string | undefined
  readonly date: string | undefined
}

export class Live {
  readonly #store: Store
  readonly #waiting: () => Promise<unknown>
  readonly #feeds = new Map<string, Feed>()
  readonly #wake = new Wake()
  readonly #onProblem: (error: unknown) => void
  /** Tape: what is known of it, and the look that saw it change. */
  readonly #rows = new Map<string, { row: Row; look: number }>()
  #looks = 0
  #waits = { text: '', look: 0 }
  #watchers = { activity: 0, waiting: 0 }
  #looking: NodeJS.Timeout | undefined
  #pending: Promise<void> | undefined
  readers = 0

  constructor(store: Store, waiting: () => Promise<unknown>, onProblem: (error: unknown) => void) {
    this.#store = store
    this.#waiting = waiting
    this.#onProblem = onProblem
  }

  /** The events for one reader, until the signal. Throws at once if the query is wrong. */
  async events(
    query: LiveQuery,
    lastEventId: string | undefined,
    signal: AbortSignal,
  ): Promise<AsyncGenerator<string | Chunk>> {
    const positions = await this.#positions(query, lastEventId ?? query.after)
    if (positions.size === 0 && query.activity !== '1' && query.waiting !== '1') {
      throw new HttpError('invalid', 'There is nothing to follow', {
        field: 'tapes',
        hint: 'Ask for tapes=main, activity=1 or waiting=1.',
      })
    }
    return this.#read(positions, { activity: query.activity === '1', waiting: query.waiting === '1' }, signal)
  }

  /** A write went through this server: look soon rather than at the next second. */
  nudge(): void {
    if (this.#watchers.activity + this.#watchers.waiting > 0) void this.#look()
  }

  async *#read(
    positions: Map<string, number>,
    states: { activity: boolean; waiting: boolean },
    signal: AbortSignal,
  ): AsyncGenerator<string | Chunk> {
    const feeds = new Map([...positions.keys()].map((tape) => [tape, this.#join(tape)]))
    this.#watch(states, 1)
    // Whoever waits, waits for the same news, so that one who leaves costs nothing but a look of all others.
    signal.addEventListener('abort', () => this.#wake.fire(), { once: true })
    const seen = { activity: 0, waiting: 0 }
    try {
      if (states.activity || states.waiting) await this.#look()
      yield 'retry: 1000\n\n'
      while (!signal.aborted) {
        // Taken before looking, so that what comes meanwhile wakes us.
        const news = this.#wake.wait()
        let isNew = false
        for (const [tape, feed] of feeds) {
          const before = positions.get(tape)
          const events = await entryEvents(tape, feed, positions)
          isNew ||= positions.get(tape) !== before
          if (events !== undefined) yield events
        }
        const text =
          (states.activity ? this.#activityEvent(seen) : '') + (states.waiting ? this.#waitingEvent(seen) : '')
        if (text !== '') yield text
        else if (!isNew) await news
      }
    } finally {
      this.#watch(states, -1)
      for (const [tape, feed] of feeds) if (feed.leave() && this.#feeds.get(tape) === feed) this.#feeds.delete(tape)
    }
  }

  #join(tape: string): Feed {
    let feed = this.#feeds.get(tape)
    if (feed === undefined || feed.failure !== undefined) {
      feed = new Feed(this.#store, tape, () => this.#wake.fire())
      this.#feeds.set(tape, feed)
    }
    feed.join()
    return feed
  }

  #watch({ activity, waiting }: { activity: boolean; waiting: boolean }, by: 1 | -1): void {
    this.readers += by
    if (activity) this.#watchers.activity += by
    if (waiting) this.#watchers.waiting += by
    const wanted = this.#watchers.activity + this.#watchers.waiting > 0
    if (wanted) this.#looking ??= setInterval(() => void this.#look(), lookMs).unref()
    else {
      clearInterval(this.#looking)
      this.#looking = undefined
    }
  }

  /** One look at a time: who asks during one shares it. */
  #look(): Promise<void> {
    this.#pending ??= this.#lookNow()
      .catch(this.#onProblem)
      .finally(() => (this.#pending = undefined))
    return this.#pending
  }

  async #lookNow(): Promise<void> {
    const look = this.#looks + 1
    let changed = false
    if (this.#watchers.activity > 0) {
      for await (const info of this.#store.list()) {
        if (info.tape.startsWith('server/') || this.#rows.get(info.tape)?.row.lastId === info.lastId) continue
        this.#rows.set(info.tape, { row: rowOf(info), look })
        changed = true
      }
    }
    if (this.#watchers.waiting > 0) {
      const text = JSON.stringify(await this.#waiting())
      if (text !== this.#waits.text) {
        this.#waits = { text, look }
        changed = true
      }
    }
    this.#looks = look
    if (changed) this.#wake.fire()
  }

  #activityEvent(seen: { activity: number }): string {
    const complete = seen.activity === 0
    if (seen.activity === this.#looks) return ''
    const since = seen.activity
    seen.activity = this.#looks
    const tapes = [...this.#rows.values()].filter(({ look }) => look > since).map(({ row }) => row)
    if (tapes.length === 0 && !complete) return ''
    return `event: activity\ndata: ${JSON.stringify({ complete, tapes })}\n\n`
  }

  #waitingEvent(seen: { waiting: number }): string {
    if (this.#waits.look === 0 || seen.waiting >= this.#waits.look) return ''
    seen.waiting = this.#waits.look
    return `event: waiting\ndata: ${this.#waits.text}\n\n`
  }

  /** Tape: the last entry that the reader has seen. */
  async #positions({ tapes = '' }: LiveQuery, last: string | undefined): Promise<Map<string, number>> {
    const positions = new Map<string, number>()
    const seen = last === undefined || last === '' ? new Map<string, number>() : parseEventId(last)
    for (const word of tapes.split(',').filter((word) => word !== '')) {
      const [, named = word, from] = /^(.+)#(\d{1,15})$/s.exec(word) ?? []
      const at = seen.get(named) ?? (from === undefined ? undefined : Number(from))
      positions.set(named, at ?? (await lastIdOf(this.#store, named)))
    }
    if (positions.size > mostTapes) {
      throw new HttpError('invalid', `One stream follows at most ${mostTapes} tapes`, {
        field: 'tapes',
        hint: 'Open another.',
      })
    }
    return positions
  }
}

/** The events of a piece for readers of one tape, which are the same for all of them. */
const shared = new WeakMap<Piece, Chunk>()

/** What is new for a reader, who is at the end of it then. */
async function entryEvents(tape: string, feed: Feed, positions: Map<string, number>): Promise<Chunk | undefined> {
  const piece = await feed.after(positions.get(tape)!)
  const { fed, upTo } = piece
  const isAlone = positions.size === 1
  let events = isAlone ? shared.get(piece) : undefined
  if (events === undefined && fed.length > 0) {
    let text = ''
    const name = JSON.stringify(tape)
    for (const { id, text: entry } of fed) {
      positions.set(tape, id)
      text += `event: entry\nid: ${eventId(positions)}\ndata: {"tape":${name},"entry":${entry}}\n\n`
    }
    events = new Chunk(text)
    if (isAlone) shared.set(piece, events)
  }
  positions.set(tape, upTo)
  return events
}

function eventId(positions: ReadonlyMap<string, number>): string {
  let id = ''
  for (const [tape, at] of positions) id += `${id === '' ? '' : '&'}${encodeURIComponent(tape)}=${at}`
  return id
}

function parseEventId(text: string): Map<string, number> {
  const positions = new Map<string, number>()
  for (const [tape, at] of new URLSearchParams(text)) {
    if (!/^\d{1,15}$/.test(at)) {
      throw new HttpError('invalid', 'Last-Event-ID is not the id of an event of this stream', {
        field: 'Last-Event-ID',
        hint: 'Leave it out to begin with what is new.',
      })
    }
    positions.set(tape, Number(at))
  }
  return positions
}

function rowOf({ tape, entries, lastId, lastAnchor, date }: TapeInfo): Row {
  return { tape, entries, lastId, lastAnchor: lastAnchor?.name, date }
}
