// The record of a cycle that is over: what it replaced, how long it took, and what later cycles are judged by.

import type { Store } from '../../store/index.ts'
import { recordEdge } from '../../tape/index.ts'
import type { Observation } from '../observe/observation.ts'
import type { Cycled } from '../session/records/journal.ts'
import type { Done, Failed } from './cycle-state.ts'
import { type History, remembered } from './policy.ts'

export interface CycleRecordOptions {
  readonly cycle: Done | Failed
  readonly observation: Observation | undefined
  readonly history: History
  readonly timings: Timings
  /** Whether anything new was done in the context that was replaced; undefined: nobody saw it. */
  readonly progress: boolean | undefined
  readonly work: readonly string[]
  /** The dollars of all contexts so far. */
  readonly usd: number | undefined
  readonly now: number
}

export function cycleRecord(options: CycleRecordOptions): Cycled {
  const { cycle, observation, history, timings, work, usd, now } = options
  const { n, trigger, from, document } = cycle
  const outcome = cycle.at
  const progress = options.progress ?? document?.progress ?? false
  const to = outcome === 'done' ? observation?.session : undefined
  const after = observation === undefined ? undefined : freshPercent(observation)
  return {
    n,
    outcome,
    why: trigger.why,
    ...(cycle.at === 'failed' ? { reason: `${cycle.step}: ${cycle.reason}` } : {}),
    ...(from === undefined ? {} : { from }),
    ...(to === undefined ? {} : { to }),
    ...(document === undefined ? {} : { document }),
    ...(trigger.percent === undefined ? {} : { percentBefore: trigger.percent }),
    ...(after === undefined ? {} : { percentAfter: after }),
    ...timings.sum(now),
    progress,
    ...(work.length === 0 ? {} : { work }),
    recent: [...history.cycles, { n, outcome, at: now, progress }].slice(-remembered),
    count: Math.max(history.count, n),
    ...(usd === undefined ? {} : { usd }),
  }
}

/** The tape of the fresh context goes on from that of the old one. */
export async function recordContinuation(
  store: Store,
  observation: Observation | undefined,
  { from, document }: Done,
): Promise<void> {
  if (
    observation?.file === undefined ||
    from === undefined ||
    observation.session === undefined ||
    observation.session === from
  )
    return
  const { agent } = observation.file
  await recordEdge(store, {
    parent: `${agent}:${from}`,
    child: `${agent}:${observation.session}`,
    how: 'continue',
    anchor: `#${document.id}`,
  })
}

/** Taken from the first reply of the context, because a quick agent may have filled it again since. */
function freshPercent({ fresh, meter }: Observation): number | undefined {
  return fresh === undefined || meter.window === undefined ? meter.percent : (fresh / meter.window) * 100
}

export interface Timing {
  readonly step: string
  readonly ownMs: number
}

export class Timings {
  #began = 0
  #doneAt = 0
  #own = new Map<string, number>()

  begin(at: number): void {
    this.#began = at
    this.#doneAt = at
    this.#own = new Map()
  }

  /** Something was done in that step; `evidence`: when what it reacts to was written. */
  did(step: string, evidence: number | undefined, now: number): void {
    const since = evidence === undefined ? this.#doneAt : Math.min(now, Math.max(this.#doneAt, evidence))
    this.#own.set(step, (this.#own.get(step) ?? 0) + Math.max(0, now - since))
    this.#doneAt = now
  }

  /** From here on it is the agent's time. */
  over(now: number): void {
    this.#doneAt = Math.max(this.#doneAt, now)
  }

  sum(now: number): { totalMs: number; ownMs: number; timings: Timing[] } {
    const timings = [...this.#own].map(([step, ownMs]) => ({ step, ownMs: Math.round(ownMs) }))
    const ownMs = timings.reduce((sum, each) => sum + each.ownMs, 0)
    return { totalMs: this.#began === 0 ? 0 : now - this.#began, ownMs, timings }
  }
}
