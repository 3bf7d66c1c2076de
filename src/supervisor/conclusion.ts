// A cycle that is over, as it is kept: what it replaced, what it took, and how it weighs for the cycles to come.

import type { Store } from '../store/index.ts'
import { recordEdge } from '../tape/index.ts'
import type { Done, Failed } from './cycle-state.ts'
import type { Observation } from './eyes.ts'
import type { Cycled } from './journal.ts'
import { type History, remembered } from './policy.ts'
import type { Timings } from './timings.ts'

export interface ConclusionOptions {
  readonly cycle: Done | Failed
  readonly look: Observation | undefined
  readonly history: History
  readonly timings: Timings
  /** Of all contexts so far. */
  readonly usd: number | undefined
  readonly now: number
}

export function conclusion({ cycle, look, history, timings, usd, now }: ConclusionOptions): Cycled {
  const { n, trigger, from, document } = cycle
  const outcome = cycle.at
  const progress = document?.progress ?? false
  const to = outcome === 'done' ? look?.session : undefined
  const after = look === undefined ? undefined : freshPercent(look)
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
    recent: [...history.cycles, { n, outcome, at: now, progress }].slice(-remembered),
    count: Math.max(history.count, n),
    usd: usd ?? 0,
  }
}

/** The tape of the fresh context goes on from that of the old one. */
export async function recordContinuation(
  store: Store,
  look: Observation | undefined,
  { from, document }: Done,
): Promise<void> {
  if (look?.file === undefined || from === undefined || look.session === undefined || look.session === from) return
  const { agent } = look.file
  await recordEdge(store, {
    parent: `${agent}:${from}`,
    child: `${agent}:${look.session}`,
    how: 'continue',
    anchor: `#${document.id}`,
  })
}

/** By the first reply of the context: a quick agent may have filled it again by the time that it is looked at. */
function freshPercent({ fresh, meter }: Observation): number | undefined {
  return fresh === undefined || meter.window === undefined ? meter.percent : (fresh / meter.window) * 100
}
