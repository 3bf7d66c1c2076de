// The newest state of each trace, read by its key. A writer expects the state that it saw, and tries again when another was
// faster. Requests of one trace take turns within this process, because two that start from the same state would conflict.

import { BatonError } from '../../errors.ts'
import type { Entry } from '../../store/index.ts'
import type { Journal } from '../journal/journal.ts'
import { type RelayEvent, eventIn, type Owned, type Requested, traceKey } from '../journal/events.ts'
import { newTrace, type TraceState } from './trace-rules.ts'

/** How many traces are kept in memory. */
const remembered = 1_000

export interface TraceHead {
  /** The entry that holds the state; 0 when there is none since the last archive. */
  readonly entry: number
  readonly state: TraceState
}

/** Makes the events that follow a state; none when there is nothing to write. */
type Next = (head: TraceHead) => readonly RelayEvent[] | Promise<readonly RelayEvent[]>

const nothing: TraceHead = { entry: 0, state: newTrace }

export class TraceLog {
  readonly #journal: Journal
  readonly #heads = new Map<string, TraceHead>()
  readonly #turns = new Map<string, Promise<unknown>>()

  constructor(journal: Journal) {
    this.#journal = journal
  }

  async head(traceId: string): Promise<TraceHead> {
    const entry = await this.#journal.latest(traceKey(traceId))
    if (entry === undefined) {
      this.#heads.delete(traceId) // what is remembered is in an archive by now
      return this.#archived(traceId)
    }
    const head = headOf(entry)
    this.#remember(traceId, head)
    return head
  }

  /** The state of a trace that has no entry since the last archive. */
  async #archived(traceId: string): Promise<TraceHead> {
    const archived = await this.#journal.archivedTrace(traceId)
    return archived === undefined ? nothing : { entry: 0, state: archived.state }
  }

  /** Writes the events that `next` makes of the newest state; when another process was faster, `next` is called again. */
  async update(traceId: string, next: Next): Promise<Entry[]> {
    const before = this.#turns.get(traceId)
    const turn = before === undefined ? this.#write(traceId, next) : before.then(() => this.#write(traceId, next))
    const settled = turn.catch(() => {})
    this.#turns.set(traceId, settled)
    try {
      return await turn
    } finally {
      if (this.#turns.get(traceId) === settled) this.#turns.delete(traceId)
    }
  }

  async #write(traceId: string, next: Next): Promise<Entry[]> {
    // A trace that is not in memory is most likely new. If it is not, the store reports a conflict, and the state is read.
    for (let known = this.#heads.get(traceId), isFirst = true; ; isFirst = false) {
      // All that is decided on below takes the archives up to here into account; a later one is a conflict.
      await this.#journal.segment()
      const since = this.#journal.openRequests.archived
      const head = known ?? (isFirst ? await this.#archived(traceId) : await this.head(traceId))
      const events = await next(head)
      if (events.length === 0) return []
      try {
        const entries = await this.#journal.append(events, { key: traceKey(traceId), id: head.entry, since })
        const newest = entries.findLast((entry) => entry.meta.key === traceKey(traceId))
        if (newest !== undefined && newest.id > head.entry) this.#remember(traceId, headOf(newest))
        return entries
      } catch (error) {
        this.#heads.delete(traceId)
        if (!BatonError.is(error) || error.code !== 'conflict') throw error
        known = undefined
      }
    }
  }

  #remember(traceId: string, head: TraceHead): void {
    this.#heads.delete(traceId)
    this.#heads.set(traceId, head)
    if (this.#heads.size > remembered) this.#heads.delete(this.#heads.keys().next().value!)
  }
}

function headOf(entry: Entry): TraceHead {
  return { entry: entry.id, state: (eventIn(entry) as Requested | Owned).trace }
}
