// The tape of a supervised session: what is run, where, how far its cycle is, what came of the cycles before. Every entry is
// keyed, so that a supervisor takes up a session from a handful of reads, however long its tape is.

import type { Entry, Store } from '../../../store/index.ts'
import type { Timing } from '../../cycle/cycle-record.ts'
import type { Cycle, Stored } from '../../cycle/cycle-state.ts'
import { atRest } from '../../cycle/cycle.ts'
import type { PastCycle } from '../../cycle/policy.ts'
import type { AgentPlace } from '../../drivers/driver.ts'
import { type Ended, type Run, sessionTape } from '../../run.ts'
import type { Bounds } from '../../settings.ts'
import { lastControl } from './control.ts'
import type { SpendingRecord } from '../bounds/spending.ts'

/** How a session began, or began again. */
export interface Opening {
  readonly run: Run
  /** The entry with which its work began: another run of the same name is another matter. Its own unless given. */
  readonly since?: number
  /** How long it was open before, in milliseconds. */
  readonly openMs?: number
}

/** Where the agent runs, and what it writes. */
export interface Whereabouts {
  readonly place: AgentPlace
  /** The agent's id of its session, as far as it was known. */
  readonly session?: string
  /** Where a limit made another agent take over. */
  readonly agent: string
}

/** Where an agent is about to be started: proven by what is found there, and by the whereabouts that follow. */
export interface Launching {
  readonly place: AgentPlace
  /** The id that its session is to have. */
  readonly session?: string
  readonly agent: string
}

/** A document that was not waited for any longer: it may still come, until the next one is asked for. */
export interface Promised {
  readonly path: string
  /** When it was asked for, in milliseconds. */
  readonly since: number
  /** In which cycle. */
  readonly n: number
}

/** A cycle that is over. */
export interface Cycled {
  readonly n: number
  readonly outcome: 'done' | 'failed'
  readonly why: string
  readonly reason?: string
  readonly from?: string
  readonly to?: string
  readonly document?: Stored
  readonly percentBefore?: number
  readonly percentAfter?: number
  readonly totalMs: number
  /** All that was not the agent's: from what was seen to what was done about it. */
  readonly ownMs: number
  readonly timings: readonly Timing[]
  readonly progress: boolean
  /** What was done in the contexts before: see `WorkDone`. */
  readonly work?: readonly string[]
  /** The last ones with this one, for whoever takes up the session. */
  readonly recent: readonly PastCycle[]
  readonly count: number
  /** Dollars spent so far, in all contexts; missing: unknown. */
  readonly usd?: number
}

export interface Past {
  readonly run: Run | undefined
  readonly started: string | undefined
  /** The entry with which the work began; what lies before is of another. */
  readonly since: number
  /** How long the run was open before it was started or reopened last, in milliseconds. */
  readonly openMs: number
  readonly spending: SpendingRecord | undefined
  readonly whereabouts: Whereabouts | undefined
  /** A start of which nobody wrote down whether it took place. */
  readonly launching: Launching | undefined
  readonly promised: Promised | undefined
  readonly cycle: Cycle
  readonly cycled: (Cycled & { readonly date: string }) | undefined
  readonly restarts: readonly number[]
  readonly paused: boolean
  /** A person wants a cycle that has not begun yet. */
  readonly wanted: boolean
  readonly stopped: boolean
  readonly ended: (Ended & { readonly date: string }) | undefined
}

/** What is read again when a session is taken up, by its key. */
interface Kept {
  readonly run: Opening
  readonly whereabouts: Whereabouts
  readonly launching: Launching
  readonly promised: Promised
  readonly late: { readonly path: string }
  readonly cycle: { readonly cycle: Cycle }
  readonly cycled: Cycled
  readonly restarts: { readonly at: readonly number[] }
  /** Bounds that replace those that the run began with. */
  readonly bounds: Bounds
  readonly spending: SpendingRecord
  readonly ended: Ended
}

export type Name =
  | 'run'
  | 'whereabouts'
  | 'launching'
  | 'cycle'
  | 'cycled'
  | 'restarts'
  | 'bounds'
  | 'spending'
  | 'ended'
  | 'row'
  | 'promised'
  | 'late'
  | 'overruled'
  | 'snapshot'

/** An entry that is written together with an intention, or not at all. */
export interface Note {
  readonly name: 'promised' | 'late' | 'spending'
  readonly data: Kept['promised'] | Kept['late'] | Kept['spending']
}

export class Journal {
  readonly tape: string
  readonly #store: Store
  readonly #name: string
  /** The last entry of the cycle: if an append finds another one, somebody else supervises the session too. */
  #cycleId = 0

  constructor(store: Store, name: string) {
    this.#store = store
    this.#name = name
    this.tape = sessionTape(name)
  }

  async load(): Promise<Past> {
    const [
      run,
      whereabouts,
      launching,
      promised,
      late,
      cycle,
      cycled,
      restarts,
      bounds,
      spending,
      ended,
      stop,
      pause,
      wanted,
    ] = await Promise.all([
      this.#latest('run'),
      this.#latest('whereabouts'),
      this.#latest('launching'),
      this.#latest('promised'),
      this.#latest('late'),
      this.#latest('cycle'),
      this.#latest('cycled'),
      this.#latest('restarts'),
      this.#latest('bounds'),
      this.#latest('spending'),
      this.#latest('ended'),
      lastControl(this.#store, this.#name, 'stop'),
      lastControl(this.#store, this.#name, 'pause'),
      lastControl(this.#store, this.#name, 'cycle'),
    ])
    this.#cycleId = cycle?.id ?? 0
    // What was written before the session was started anew is no longer so.
    const since = <T extends { id: number }>(entry: T | undefined) =>
      entry !== undefined && entry.id > (run?.id ?? 0) ? entry : undefined
    const { cycle: state = atRest } = since(cycle)?.data ?? {}
    const n = 'n' in state ? state.n : (cycled?.data.n ?? 0)
    const work = run?.data.since ?? run?.id ?? 0
    return {
      run: run && { ...run.data.run, ...(since(bounds) === undefined ? {} : { bounds: since(bounds)!.data }) },
      started: run?.date,
      whereabouts: since(whereabouts)?.data,
      launching: (launching?.id ?? 0) > (whereabouts?.id ?? 0) ? since(launching)?.data : undefined,
      promised: (promised?.id ?? 0) > (late?.id ?? 0) && promised?.data.n === n ? since(promised)?.data : undefined,
      cycle: state,
      since: work,
      openMs: run?.data.openMs ?? 0,
      spending: spending !== undefined && spending.id > work ? spending.data : undefined,
      cycled: cycled !== undefined && cycled.id > work ? { ...cycled.data, date: cycled.date } : undefined,
      restarts: since(restarts)?.data.at ?? [],
      paused: since(pause)?.command === 'pause',
      wanted: (since(wanted)?.id ?? 0) > Math.max(cycle?.id ?? 0, cycled?.id ?? 0),
      stopped: since(stop) !== undefined,
      ended: since(ended) && { ...ended!.data, date: ended!.date },
    }
  }

  /** Resolves when durable. */
  async write(name: Exclude<Name, 'cycle'>, data: unknown): Promise<Entry> {
    const [entry] = await this.#store.append(this.tape, [draft(name, data)])
    return entry!
  }

  /** Writes down an intention before it is carried out. A `ConflictError` means that somebody else supervises the session. */
  async writeIntent(cycle: Cycle, effects: readonly string[], also: readonly Note[] = []): Promise<void> {
    const expect = { key: 'cycle', id: this.#cycleId }
    const drafts = [...also.map(({ name, data }) => draft(name, data)), draft('cycle', { cycle, effects })]
    const entries = await this.#store.append(this.tape, drafts, { expect })
    this.#cycleId = entries.at(-1)!.id
  }

  async lastId(): Promise<number> {
    return (await this.#store.info(this.tape))?.lastId ?? 0
  }

  async #latest<K extends keyof Kept>(key: K): Promise<{ id: number; date: string; data: Kept[K] } | undefined> {
    const entry = await this.#store.latest(this.tape, key)
    return entry && { id: entry.id, date: entry.date, data: (entry.payload as { data: Kept[K] }).data }
  }
}

function draft(name: Name, data: unknown) {
  return { kind: 'event', payload: { name, data }, meta: { key: name, context: false } }
}
