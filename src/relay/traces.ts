// The newest state of traces: read by key, changed by whoever saw it last. Requests of one trace take turns here, for
// two that start from the same state would only refuse each other.

import { BatonError } from '../errors.ts'
import type { Entry } from '../store/index.ts'
import type { Journal } from './journal.ts'
import { type Fact, factIn, type Owned, type Requested, traceKey } from './record.ts'
import { newTrace, type TraceState } from './trace.ts'

/** How many traces are kept in memory. */
const remembered = 1_000

export interface TraceHead {
  /** The entry that holds the state; 0 for a new trace. */
  readonly entry: number
  readonly state: TraceState
}

type Next = (head: TraceHead) => readonly Fact[] | Promise<readonly Fact[]>

const nothing: TraceHead = { entry: 0, state: newTrace }

export class Traces {
  readonly #journal: Journal
  readonly #heads = new Map<string, TraceHead>()
  readonly #turns = new Map<string, Promise<unknown>>()

  constructor(journal: Journal) {
    this.#journal = journal
  }

  async head(traceId: string): Promise<TraceHead> {
    const entry = await this.#journal.latest(traceKey(traceId))
    if (entry === undefined) return nothing
    const head = headOf(entry)
    this.#remember(traceId, head)
    return head
  }

  /** Writes what `next` makes of the newest state; when somebody was faster, it is asked again with what they wrote. */
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
    // What is not known is most likely new; if it is not, the store says so, and it is read.
    for (let known: TraceHead | undefined = this.#heads.get(traceId) ?? nothing; ; known = undefined) {
      const head = known ?? (await this.head(traceId))
      const facts = await next(head)
      try {
        const entries = await this.#journal.append(facts, { key: traceKey(traceId), id: head.entry })
        const newest = entries.findLast((entry) => entry.meta.key === traceKey(traceId))
        if (newest !== undefined && newest.id > head.entry) this.#remember(traceId, headOf(newest))
        return entries
      } catch (error) {
        this.#heads.delete(traceId)
        if (!BatonError.is(error) || error.code !== 'conflict') throw error
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
  return { entry: entry.id, state: (factIn(entry) as Requested | Owned).trace }
}
