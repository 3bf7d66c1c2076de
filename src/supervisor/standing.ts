// How a session stands: what was seen of it last, what its cycles came to, what it has cost, and the row that shows it.

import type { Spent } from './bounds.ts'
import type { Cycle, Waits } from './cycle-state.ts'
import type { Place } from './driver.ts'
import type { Observation } from './eyes.ts'
import type { Cycled, Past } from './journal.ts'
import type { History } from './policy.ts'
import type { SessionRow } from './rows.ts'
import type { Run } from './run.ts'

export class Standing {
  readonly #run: Run
  readonly #started: string
  #history: History
  #lastCycle: string | undefined
  /** Of the contexts that were replaced. */
  #usdBefore: number
  /** Of the runs before this one: bounds count from here. */
  readonly #before: Past['before']
  #changedAt: number
  #look: Observation | undefined

  constructor(run: Run, past: Past, now: number) {
    this.#run = run
    this.#started = past.started ?? new Date(now).toISOString()
    this.#changedAt = now
    this.#usdBefore = past.cycled?.usd ?? past.before.usd
    this.#before = past.before
    this.#lastCycle = past.cycled?.date
    this.#history = { cycles: past.cycled?.recent ?? [], count: past.cycled?.count ?? 0 }
  }

  get history(): History {
    return this.#history
  }

  get look(): Observation | undefined {
    return this.#look
  }

  see(look: Observation): void {
    const before = this.#look
    this.#look = look
    if (look.changed !== before?.changed || look.turn !== before?.turn) this.#changedAt = look.at
    const { baseline } = this.#history
    const { fresh, meter, session } = look
    // A context that is full before any work was done in it would be no emptier after a cycle.
    if (fresh === undefined || meter.window === undefined || session === undefined || baseline?.session === session)
      return
    this.#history = { ...this.#history, baseline: { session, share: fresh / meter.window } }
  }

  /** A person has had their say: what was held for one is held no more. */
  wished(now: number): void {
    this.#history = { ...this.#history, wishedAt: now }
  }

  conclude(cycled: Cycled, now: number): void {
    this.#usdBefore = cycled.usd
    this.#lastCycle = new Date(now).toISOString()
    this.#history = { ...this.#history, cycles: cycled.recent, count: cycled.count }
  }

  /** With what the current context has cost. */
  get usd(): number | undefined {
    const own = this.#look?.meter.cost?.usd
    return own === undefined && this.#usdBefore === 0 ? undefined : this.#usdBefore + (own ?? 0)
  }

  get spent(): Spent {
    return {
      usd: this.usd === undefined ? undefined : this.usd - this.#before.usd,
      startedAt: Date.parse(this.#started),
      cycles: this.#history.count - this.#before.cycles,
      changedAt: this.#changedAt,
    }
  }

  row(at: {
    readonly state?: SessionRow['state']
    readonly agent: string
    readonly cycle: Cycle
    readonly waits: Waits | undefined
    readonly threshold: number
    readonly place: Place | undefined
    readonly ended?: string
    readonly now: number
  }): SessionRow {
    const look = this.#look
    const { cycle, waits, threshold } = at
    const share = look === undefined ? undefined : shareOf(look)
    const limit = look?.state.state === 'limited' ? look.state.until : undefined
    const { tokens, window, growth } = look?.meter ?? {}
    const left = turnsLeft(share, threshold, growth, window)
    const usd = this.usd
    return {
      name: this.#run.name,
      agent: at.agent,
      project: this.#run.cwd,
      state: at.state ?? stateOf(look, cycle),
      ...(cycle.at === 'watching' ? {} : { step: `${cycle.at}: waits for ${waits?.for ?? 'nothing'}` }),
      ...(limit === undefined ? {} : { until: limit }),
      ...(share === undefined ? {} : { context_usage: Math.round(share * 1000) / 1000 }),
      ...(tokens === undefined ? {} : { tokens }),
      ...(window === undefined ? {} : { window }),
      threshold: Math.round(threshold * 1000) / 1000,
      last_check: new Date(at.now).toISOString(),
      ...(look?.session === undefined ? {} : { session: look.session }),
      cycles: this.#history.count,
      ...(this.#lastCycle === undefined ? {} : { lastCycle: this.#lastCycle }),
      ...(left === undefined ? {} : { nextCycleTurns: left }),
      ...(usd === undefined ? {} : { usd: Math.round(usd * 10_000) / 10_000 }),
      started: this.#started,
      ...(at.place === undefined ? {} : { place: at.place }),
      ...(at.ended === undefined ? {} : { ended: at.ended }),
    }
  }
}

export function shareOf({ meter }: Observation): number | undefined {
  return meter.percent === undefined ? undefined : meter.percent / 100
}

function stateOf(look: Observation | undefined, cycle: Cycle): SessionRow['state'] {
  if (look === undefined) return 'starting'
  if (look.dialog !== undefined) return 'dialog'
  if (look.state.state === 'limited') return 'limited'
  if (cycle.at !== 'watching' && cycle.at !== 'done' && cycle.at !== 'failed') return 'cycling'
  return look.turn === 'asked' || look.turn === 'working' ? 'working' : look.turn === 'none' ? 'starting' : 'waiting'
}

function turnsLeft(
  share: number | undefined,
  threshold: number,
  growth: number | undefined,
  window: number | undefined,
): number | undefined {
  if (share === undefined || window === undefined || growth === undefined || growth <= 0) return undefined
  return Math.max(0, Math.ceil((threshold - share) / (growth / window)))
}
