// What is known of a session at this moment: its last observation, its cycle, what people want of it, the history of its
// cycles and its cost. All parts of the shell share this one record; each field is written by one of them.

import type { Cycle, Waits } from '../cycle/cycle-state.ts'
import { awaitsPerson, type Circumstances, type History, thresholdOf } from '../cycle/policy.ts'
import type { AgentPlace } from '../drivers/driver.ts'
import type { Observation } from '../observe/observation.ts'
import type { AgentHandle, Ended, Run } from '../run.ts'
import type { SessionSettings } from '../settings.ts'
import type { Spent } from './bounds/bounds.ts'
import type { Cycled, Past } from './records/journal.ts'
import { WorkDone } from './bounds/progress.ts'
import type { SessionRow } from './records/session-row.ts'
import { Spending, type SpendingRecord } from './bounds/spending.ts'
import { thisProcess } from '../../system/index.ts'

/** The share of the threshold from which on a cycle counts as near. */
const near = 0.7

export class SessionState {
  readonly run: Run
  /** As they are now. */
  readonly settings: () => SessionSettings
  /** How the agent is reached; undefined before it was opened. */
  handle: AgentHandle | undefined
  /** When this handle was taken hold of, in milliseconds. */
  heldAt = 0
  /** The name of the current agent: another than the run's where it took over at a limit. */
  agent: string
  cycle: Cycle
  /** What the cycle waits for. */
  waits: Waits | undefined
  /** Whether the last sighting would have begun a cycle, had nothing held it back. */
  isCycleHeld = false
  /** A cycle is due that has not begun, whatever keeps it. */
  isCycleDue = false
  /** A person wants a cycle. */
  wanted: boolean
  paused: boolean
  /** When the agent was started again after a crash, in milliseconds. */
  restarts: readonly number[]
  /** Whether the command of `until` is running. */
  isChecking = false
  ended: Ended | undefined
  readonly #lastPlace: AgentPlace | undefined
  readonly #started: string
  #history: History
  #lastCycle: string | undefined
  readonly #spending: Spending
  readonly #openMs: number
  readonly #work: WorkDone
  #changedAt: number
  #observation: Observation | undefined

  constructor(run: Run, past: Past, settings: () => SessionSettings, now: number) {
    this.run = run
    this.settings = settings
    this.agent = past.whereabouts?.agent ?? run.agent
    this.cycle = past.cycle
    this.wanted = past.wanted
    this.paused = past.paused
    this.restarts = past.restarts
    this.#started = past.started ?? new Date(now).toISOString()
    this.#changedAt = now
    const { place } = past.whereabouts ?? {}
    this.#lastPlace = place
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
  update(observation: Observation): boolean {
    const before = this.#observation
    this.#observation = observation
    this.#work.see(observation.session, observation.work)
    const isNew = this.#spending.update(this.agent, observation)
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

  /** What the policy of a cycle goes by; undefined before the agent was opened. */
  circumstances(now: number): Circumstances | undefined {
    const adapter = this.handle?.adapter
    if (adapter === undefined) return undefined
    const { meter = { quotas: [] }, model, session } = this.#observation ?? {}
    const run = { ...this.run, agent: this.agent }
    return { run, adapter, meter, model, session, history: this.#history, now }
  }

  /** Where the threshold lies now, 0 to 1. */
  threshold(now: number): number {
    const at = this.circumstances(now)
    return at === undefined ? this.settings().threshold : thresholdOf(this.settings(), at)
  }

  /** Whether the context is past the threshold. */
  isFull(now: number): boolean {
    return shareOf(this.#observation) >= this.threshold(now)
  }

  /** Whether a cycle may begin soon, so that the screen and the tape are worth keeping up with. */
  isNear(now: number): boolean {
    return this.wanted || shareOf(this.#observation) >= this.threshold(now) * near
  }

  /**
   * Whether nothing may be said to the agent now: a cycle is due and waits, so that its context must not grow, or one has
   * failed and a person was asked.
   */
  get isHeld(): boolean {
    return this.isCycleHeld || this.isCycleDue || awaitsPerson(this.#history, this.#observation?.prompt?.at)
  }

  row(now: number, shown: { readonly state?: SessionRow['state']; readonly ended?: string } = {}): SessionRow {
    const { cycle, waits } = this
    const observation = this.#observation
    const threshold = this.threshold(now)
    const percent = observation?.meter.percent
    const share = percent === undefined ? undefined : percent / 100
    const { state } = observation ?? {}
    const limit = state?.state === 'limited' && state.chosen !== true ? state.until : undefined
    const { tokens, window, growth } = observation?.meter ?? {}
    const left = turnsLeft(share, threshold, growth, window)
    const usd = this.usd
    const place = this.handle?.driver.place ?? this.#lastPlace
    return {
      name: this.run.name,
      agent: this.agent,
      project: this.run.cwd,
      state: shown.state ?? stateOf(observation, cycle),
      ...(cycle.at === 'watching' ? {} : { step: `${cycle.at}: waits for ${waits?.for ?? 'nothing'}` }),
      ...(limit === undefined ? {} : { until: limit }),
      ...(share === undefined ? {} : { context_usage: Math.round(share * 1000) / 1000 }),
      ...(tokens === undefined ? {} : { tokens }),
      ...(window === undefined ? {} : { window }),
      threshold: Math.round(threshold * 1000) / 1000,
      last_check: new Date(now).toISOString(),
      ...(observation?.session === undefined ? {} : { session: observation.session }),
      cycles: this.#history.count,
      ...(this.#lastCycle === undefined ? {} : { lastCycle: this.#lastCycle }),
      ...(left === undefined ? {} : { nextCycleTurns: left }),
      ...(usd === undefined ? {} : { usd: Math.round(usd * 10_000) / 10_000 }),
      started: this.#started,
      host: thisProcess().host,
      ...(place === undefined ? {} : { place }),
      ...(shown.ended === undefined ? {} : { ended: shown.ended }),
    }
  }
}

function isAtWork(observation: Observation | undefined): boolean {
  return observation?.turn === 'asked' || observation?.turn === 'working'
}

/** How full the context is, 0 to 1; 0 where nobody knows. */
function shareOf(observation: Observation | undefined): number {
  return (observation?.meter.percent ?? 0) / 100
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
