// The figures of a session: its last observation, the history of its cycles, its cost, and the row that lists show.

import type { Spent } from './bounds.ts'
import type { Cycle, Waits } from '../cycle/cycle-state.ts'
import type { AgentPlace } from '../drivers/driver.ts'
import type { Observation } from '../observe/observation.ts'
import type { Cycled, Past } from './journal.ts'
import type { History } from '../cycle/policy.ts'
import type { SessionRow } from './session-row.ts'
import type { Run } from '../run.ts'
import { WorkDone } from './progress.ts'
import { Spending, type SpendingRecord } from './spending.ts'

export class SessionStats {
  readonly #run: Run
  readonly #started: string
  #history: History
  #lastCycle: string | undefined
  readonly #spending: Spending
  readonly #openMs: number
  readonly #work: WorkDone
  #changedAt: number
  #observation: Observation | undefined

  constructor(run: Run, past: Past, now: number) {
    this.#run = run
    this.#started = past.started ?? new Date(now).toISOString()
    this.#changedAt = now
    const { place } = past.whereabouts ?? {}
    const takesOver = run.session !== undefined || (place?.driver === 'tmux' && place.adopted === true)
    this.#spending = new Spending(past.spending, takesOver)
    this.#openMs = past.openMs
    this.#work = new WorkDone(past.cycled?.work)
    this.#lastCycle = past.cycled?.date
    this.#history = { cycles: past.cycled?.recent ?? [], count: past.cycled?.count ?? 0 }
  }

  get history(): History {
    return this.#history
  }

  get observation(): Observation | undefined {
    return this.#observation
  }

  /** Returns true when what was spent is worth writing down: a context has been left for another. */
  update(agent: string, observation: Observation): boolean {
    const before = this.#observation
    this.#observation = observation
    this.#work.see(observation.session, observation.work)
    const isNew = this.#spending.update(agent, observation)
    if (observation.changed !== before?.changed || observation.turn !== before?.turn) this.#changedAt = observation.at
    const { baseline } = this.#history
    const { fresh, meter, session } = observation
    // A context that is full before any work was done in it would be no emptier after a cycle.
    if (fresh !== undefined && meter.window !== undefined && session !== undefined && baseline?.session !== session)
      this.#history = { ...this.#history, baseline: { session, share: fresh / meter.window } }
    return isNew
  }

  /** A person gave a command, which ends whatever held cycles back for a person. */
  overrideHolds(now: number): void {
    this.#history = { ...this.#history, overriddenAt: now }
  }

  conclude(cycled: Cycled, now: number): void {
    if (cycled.outcome === 'done') this.#work.leave(cycled.from)
    this.#lastCycle = new Date(now).toISOString()
    this.#history = { ...this.#history, cycles: cycled.recent, count: cycled.count }
  }

  /** Whether anything new was done in that context; undefined: nobody saw it. */
  hasProgress(session: string | undefined): boolean | undefined {
    return this.#work.isNew(session)
  }

  workWith(session: string | undefined): readonly string[] {
    return this.#work.recordWith(session)
  }

  get spending(): SpendingRecord {
    return this.#spending.record
  }

  /** The dollars of all contexts, the current one included. */
  get usd(): number | undefined {
    return this.#spending.usd
  }

  spent(now: number): Spent {
    return {
      usd: this.usd,
      ms: this.#openMs + now - Date.parse(this.#started),
      cycles: this.#history.count,
      turns: this.#spending.turns - (isAtWork(this.#observation) ? 1 : 0),
      changedAt: this.#changedAt,
    }
  }

  row(at: {
    readonly state?: SessionRow['state']
    readonly agent: string
    readonly cycle: Cycle
    readonly waits: Waits | undefined
    readonly threshold: number
    readonly place: AgentPlace | undefined
    readonly ended?: string
    readonly now: number
  }): SessionRow {
    const observation = this.#observation
    const { cycle, waits, threshold } = at
    const share = observation === undefined ? undefined : shareOf(observation)
    const limit = observation?.state.state === 'limited' ? observation.state.until : undefined
    const { tokens, window, growth } = observation?.meter ?? {}
    const left = turnsLeft(share, threshold, growth, window)
    const usd = this.usd
    return {
      name: this.#run.name,
      agent: at.agent,
      project: this.#run.cwd,
      state: at.state ?? stateOf(observation, cycle),
      ...(cycle.at === 'watching' ? {} : { step: `${cycle.at}: waits for ${waits?.for ?? 'nothing'}` }),
      ...(limit === undefined ? {} : { until: limit }),
      ...(share === undefined ? {} : { context_usage: Math.round(share * 1000) / 1000 }),
      ...(tokens === undefined ? {} : { tokens }),
      ...(window === undefined ? {} : { window }),
      threshold: Math.round(threshold * 1000) / 1000,
      last_check: new Date(at.now).toISOString(),
      ...(observation?.session === undefined ? {} : { session: observation.session }),
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

function isAtWork(observation: Observation | undefined): boolean {
  return observation?.turn === 'asked' || observation?.turn === 'working'
}

export function shareOf({ meter }: Observation): number | undefined {
  return meter.percent === undefined ? undefined : meter.percent / 100
}

function stateOf(observation: Observation | undefined, cycle: Cycle): SessionRow['state'] {
  if (observation === undefined) return 'starting'
  if (observation.dialog !== undefined) return 'dialog'
  if (observation.state.state === 'limited') return 'limited'
  if (cycle.at !== 'watching' && cycle.at !== 'done' && cycle.at !== 'failed') return 'cycling'
  return isAtWork(observation) ? 'working' : observation.turn === 'none' ? 'starting' : 'waiting'
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
