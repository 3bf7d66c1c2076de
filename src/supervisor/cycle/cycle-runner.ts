// Runs the cycle of one session: asks the step function, writes the intention to the journal, carries out the effects and
// records the finished cycle.

import path from 'node:path'
import { BatonError } from '../../errors.ts'
import type { Store } from '../../store/index.ts'
import { documentsFolder, freePath } from '../documents/document-file.ts'
import { restoreFile } from '../documents/document-store.ts'
import { DocumentWatch } from '../documents/document-watch.ts'
import type { TranscriptTape } from '../documents/transcript-tape.ts'
import type { Observation } from '../observe/observation.ts'
import type { AgentHandle, Run } from '../run.ts'
import type { Check } from '../session/health.ts'
import type { Journal, Note, Past, Promised } from '../session/journal.ts'
import { type SessionStats, shareOf } from '../session/session-stats.ts'
import type { SessionSettings } from '../settings.ts'
import { shifted } from './clock.ts'
import { cycleRecord, recordContinuation, Timings } from './cycle-record.ts'
import type { Cycle, CycleEvent, Effect, Policy, Sighting, StepResult, Waits } from './cycle-state.ts'
import { restAfter, step } from './cycle.ts'
import { type Action, EffectRunner } from './effects.ts'
import { awaitsPerson, type Circumstances, type Hold, holdOf, isRaised, policyFor, thresholdOf } from './policy.ts'
import { lateText } from '../../handoff/index.ts'
import { resumeCycle } from './resume-cycle.ts'
import { evidenceOf } from './sighting.ts'
import type { Slots } from './slots.ts'

export interface CycleRunnerOptions {
  readonly store: Store
  readonly run: Run
  /** The entry with which the work began. */
  readonly since: number
  readonly journal: Journal
  readonly slots: Slots
  /** The name of the current agent: another than the run's where it took over at a limit. */
  readonly agent: () => string
  /** Whether the command of `until` is running. */
  readonly isChecking: () => boolean
  readonly stats: SessionStats
  readonly tape: TranscriptTape
  readonly settings: () => SessionSettings
  readonly handle: () => AgentHandle | undefined
  readonly signal: AbortSignal
  readonly report: Report
  readonly onStep: (cycle: number, step: string, details: string) => void
  /** Called with the outcome of each action. */
  readonly onOutcome: (outcome: ActionOutcome) => void
  /** Called when something changes in the folder of the documents. */
  readonly onFile: () => void
}

export type Report = (
  check: Check['check_type'],
  status: Check['status'],
  what: string,
  /** What a person should do; see `adviceFor`. */
  advice: string,
  /** The current one, unless given. */
  cycle?: Cycle,
) => Promise<void>

export interface ActionOutcome {
  readonly event: CycleEvent
  readonly action: Action['do']
  /** When the lines were written that the action reacted to. */
  readonly evidence: number | undefined
  /** The agent that was acted upon: if it has been replaced since, the outcome says nothing about the cycle. */
  readonly handle: AgentHandle
}

export class CycleRunner {
  readonly #options: CycleRunnerOptions
  readonly #effects: EffectRunner
  readonly #documents: DocumentWatch
  readonly #timings = new Timings()
  readonly #decision: StepDecision
  #cycle: Cycle
  #waits: Waits | undefined
  /** Whether the last sighting would have begun a cycle, had nothing held it back. */
  #held = false
  /** Since when nothing can be typed to the agent. */
  #obstacle: number | undefined
  #underWay: Promise<void> = Promise.resolve()
  /** The outcome of the last action, until `take` has handled it. */
  #event: CycleEvent | undefined

  constructor(options: CycleRunnerOptions, { cycle, promised, wanted }: Pick<Past, 'cycle' | 'promised' | 'wanted'>) {
    this.#options = options
    this.#cycle = cycle
    this.#decision = new StepDecision(options, wanted)
    this.#effects = new EffectRunner(options)
    this.#documents = new DocumentWatch(options.run.cwd, options.onFile)
    if (promised !== undefined) this.#documents.promise(promised)
  }

  get cycle(): Cycle {
    return this.#cycle
  }

  get waits(): Waits | undefined {
    return this.#waits
  }

  /** Takes up a cycle that an earlier supervisor left unfinished. */
  async takeUp(): Promise<void> {
    const before = this.#cycle
    const now = Date.now()
    const { cycle, effects, waits } = resumeCycle(before, now)
    this.#cycle = cycle
    this.#waits = waits
    if (cycle.at !== 'watching') this.#timings.begin(now)
    if ('document' in cycle && cycle.document !== undefined) {
      await restoreFile(this.#options.store, this.#options.run.name, cycle.document)
    }
    if (before.at === 'done' || before.at === 'failed') await this.#conclude(before, undefined)
    this.#perform(effects, undefined)
  }

  /** Continues with this cycle, in an agent that was started or reopened. */
  replace(cycle: Cycle): void {
    this.#cycle = cycle
    this.#event = undefined
    this.#timings.begin(Date.now())
  }

  /** The clock of the machine was set by so many milliseconds. */
  shift(by: number): void {
    this.#cycle = shifted(this.#cycle, by)
  }

  /** Restarts the deadline of the current state, because time that a person took does not count. */
  resetDeadline(): void {
    if ('since' in this.#cycle) this.#cycle = { ...this.#cycle, since: Date.now() }
  }

  async see(sighting: Sighting, now: number): Promise<void> {
    // A full disk may have kept the last cycle from being recorded.
    if (this.#cycle.at === 'done' || this.#cycle.at === 'failed') await this.#conclude(this.#cycle, sighting)
    const { hold, ...stepped } = await this.#decision.afterSighting(this.#cycle, sighting, now)
    if (hold?.why === 'breaker' || hold?.why === 'futile') {
      const status = hold.why === 'breaker' ? 'critical' : 'warning'
      await this.#report('context', status, `Its context is full, but a cycle waits for ${hold.what}`, 'cycle')
    }
    await this.#apply(stepped, sighting)
    this.#held = hold !== undefined
    await this.#tellObstacle(now)
    const free = this.#cycle.at === 'watching' && this.#cycle.say === undefined
    const late = free ? this.#documents.arrived(now) : undefined
    if (late === undefined) return
    const told = this.#decision.next(this.#cycle, { type: 'say', text: lateText(late) }, now)
    await this.#apply(told, undefined, [{ name: 'late', data: { path: late } }])
    this.#documents.forget()
  }

  async take({ event, action, evidence, handle }: ActionOutcome, now: number): Promise<void> {
    if (handle !== this.#options.handle()) return
    this.#event = undefined
    if (event.type !== 'refused') this.#timings.did(action, evidence, now)
    const { observation } = this.#options.stats
    if (action === 'ask' && observation !== undefined) this.#options.tape.keepUp(observation)
    await this.#apply(this.#decision.next(this.#cycle, event, now), undefined)
  }

  /**
   * Whether nothing may be said to the agent now: a cycle is due and held back, so that its context must not grow, or one has
   * failed and a person was asked.
   */
  get isHeld(): boolean {
    const { history, observation } = this.#options.stats
    return this.#held || awaitsPerson(history, observation?.prompt?.at)
  }

  /** Delivers a prompt, if no cycle is under way. */
  async say(text: string, now: number): Promise<void> {
    await this.#apply(this.#decision.next(this.#cycle, { type: 'say', text }, now), undefined)
  }

  /** A person wants a cycle now. */
  want(): void {
    this.#decision.wanted = true
  }

  /** Where the threshold lies now, 0 to 1. */
  threshold(now: number): number {
    return this.#decision.threshold(now)
  }

  isFull(observation: Observation, now: number): boolean {
    return (shareOf(observation) ?? 0) >= this.threshold(now)
  }

  /** Whether a cycle may begin soon, so that the screen and the tape are worth keeping up with. */
  isNear(observation: Observation, now: number): boolean {
    return this.#decision.isNear(observation, now)
  }

  async close(): Promise<void> {
    this.#documents.close()
    await this.#decision.release()
  }

  /** Writes the new state to the journal, then starts its effects. */
  async #apply(
    { cycle, effects, waits }: StepResult,
    sighting: Sighting | undefined,
    notes: readonly Note[] = [],
  ): Promise<void> {
    const { journal } = this.#options
    const before = this.#cycle
    const promised = promisedBy(before, cycle)
    const also = promised === undefined ? notes : [...notes, { name: 'promised' as const, data: promised }]
    const actions = effects.filter((effect): effect is Action => effect.do !== 'health')
    const names = actions.map((action) => action.do)
    if (actions.length > 0) await journal.writeIntent(cycle, names, also)
    // States without an action need not be durable: after a crash they are observed again.
    else if (isNews(before, cycle)) await journal.writeIntent(cycle, []).catch(tolerateDisk)
    this.#cycle = cycle
    // What the new state waits for may be there already, and no further event would announce it: observe again at once.
    this.#waits = actions.length === 0 && isNews(before, cycle) ? { for: waits?.for ?? '', until: Date.now() } : waits
    if (before.at === 'watching' && cycle.at === 'asked') {
      this.#decision.wanted = false
      this.#documents.forget()
      // The time for which other sessions held the cycle back does not count.
      this.#timings.begin((this.#held ? undefined : evidenceOf(sighting)) ?? Date.now())
    }
    if (promised !== undefined) this.#documents.promise(promised)
    this.#documents.attend('path' in cycle ? cycle.path : undefined)
    if (cycle.at !== 'watching' && before.at !== cycle.at)
      this.#options.onStep(cycle.n, cycle.at, detailsOf(cycle, actions))
    for (const effect of effects) {
      if (effect.do === 'health') await this.#report(effect.check, effect.status, effect.what, effect.advice)
    }
    this.#perform(actions, sighting)
    if (cycle.at === 'done' || cycle.at === 'failed') await this.#conclude(cycle, sighting)
  }

  /** Starts the actions without waiting for them; `onOutcome` is called with what came of each. */
  #perform(effects: readonly Effect[], sighting: Sighting | undefined): void {
    const handle = this.#options.handle()
    const { observation } = this.#options.stats
    if (handle === undefined || observation === undefined) return
    const evidence = evidenceOf(sighting)
    for (const effect of effects) {
      if (effect.do === 'health') continue
      const before = this.#underWay
      this.#underWay = this.#carryOut(effect, handle, observation, evidence).then(() => before)
    }
  }

  async #carryOut(
    action: Action,
    handle: AgentHandle,
    observation: Observation,
    evidence: number | undefined,
  ): Promise<void> {
    const event = await this.#effects.run(action, handle, observation)
    if (handle !== this.#options.handle()) return
    this.#event = event
    this.#options.onOutcome({ event, action: action.do, evidence, handle })
  }

  /** Reports an obstacle to typing that has lasted long, since only a person can remove it; questions are reported elsewhere. */
  async #tellObstacle(now: number): Promise<void> {
    const what = /^a chance to .*/.exec(this.#waits?.for ?? '')?.[0]
    if (what === undefined) {
      if (this.#obstacle !== undefined) await this.#report('prompt', 'ok', 'It can be typed to', '')
      this.#obstacle = undefined
      return
    }
    this.#obstacle ??= now
    if (now - this.#obstacle < this.#options.settings().submitSeconds * 3_000) return
    await this.#report('prompt', 'warning', `It has waited long for ${what}`, 'attach')
  }

  /** Waits for running actions and writes their outcome down, so that the next supervisor need not find it out. */
  async settle(): Promise<void> {
    await this.#underWay
    if (this.#event === undefined) return
    const { cycle, effects } = this.#decision.next(this.#cycle, this.#event, Date.now())
    if (effects.length === 0 && isNews(this.#cycle, cycle))
      await this.#options.journal.writeIntent(cycle, []).catch(tolerateDisk)
  }

  async #conclude(cycle: Extract<Cycle, { at: 'done' | 'failed' }>, sighting: Sighting | undefined): Promise<void> {
    const { journal, store, settings, stats } = this.#options
    const now = Date.now()
    const { observation, history, usd } = stats
    this.#timings.did('verify', evidenceOf(sighting), now)
    const [progress, work] = [stats.hasProgress(cycle.from), stats.workWith(cycle.from)]
    const cycled = cycleRecord({ cycle, observation, history, timings: this.#timings, progress, work, usd, now })
    // This comes first, because a recorded cycle is never looked at again.
    if (cycle.at === 'done') await recordContinuation(store, observation, cycle)
    await journal.write('cycled', cycled)
    stats.conclude(cycled, now)
    await journal.writeIntent(restAfter(cycle), [])
    this.#cycle = restAfter(cycle)
    // The fresh context may have reached the threshold already and be idle: no event would announce it.
    this.#waits = { for: 'the threshold', until: now }
    await this.#decision.release()
    if (cycle.at === 'failed') return
    if (isRaised(settings(), stats.history, now)) {
      const raised = settings().raise > 0 ? ': the threshold is raised for a while' : ''
      const what = `More than one cycle within an hour${raised}`
      await this.#report('context', 'warning', what, 'logs')
    } else await this.#report('context', 'ok', 'Its context is fresh', '')
  }

  #report(check: Check['check_type'], status: Check['status'], what: string, advice: string): Promise<void> {
    return this.#options.report(check, status, what, advice, this.#cycle)
  }
}

/** The document that the agent was asked for and that may still arrive after the clear. */
function promisedBy(before: Cycle, after: Cycle): Promised | undefined {
  if (before.at !== 'documented' || after.at !== 'clearing' || after.document.by !== 'ledger') return undefined
  return { path: before.path, since: after.trigger.at, n: after.n }
}

/** Whether the new state is worth an entry. */
function isNews(before: Cycle, after: Cycle): boolean {
  const said = (cycle: Cycle) =>
    'prompt' in cycle ? cycle.prompt.state : cycle.at === 'watching' ? cycle.say?.state : ''
  return before.at !== after.at || said(before) !== said(after)
}

/** Tolerates a failure to write what can be observed again; a conflict is never tolerated, because somebody else writes. */
export function tolerateDisk(error: unknown): void {
  if (!BatonError.is(error) || error.code === 'conflict') throw error
}

function detailsOf(cycle: Cycle, actions: readonly Action[]): string {
  if (cycle.at === 'failed') return cycle.reason
  if ('document' in cycle && cycle.document !== undefined) return cycle.document.path
  return actions.map((action) => ('text' in action ? action.text : action.do)).join(', ')
}

/** The share of the threshold from which on a cycle counts as near. */
const near = 0.7

/**
 * Decides what comes next, with all that the step function needs to know: the settings as they are now, the history, and
 * whether a cycle may begin at all.
 */
class StepDecision {
  readonly #options: CycleRunnerOptions
  #slot: (() => Promise<void>) | undefined
  /** A person wants a cycle. */
  wanted: boolean

  constructor(options: CycleRunnerOptions, wanted: boolean) {
    this.#options = options
    this.wanted = wanted
  }

  /** Where the threshold lies now, 0 to 1. */
  threshold(now: number): number {
    const settings = this.#options.settings()
    const at = this.#circumstances(now)
    return at === undefined ? settings.threshold : thresholdOf(settings, at)
  }

  isNear(observation: Observation, now: number): boolean {
    return this.wanted || (shareOf(observation) ?? 0) >= this.threshold(now) * near
  }

  /** The next step after an event that is no sighting of the session. */
  next(cycle: Cycle, event: CycleEvent, now: number): StepResult {
    return step(cycle, event, this.#policy(cycle, now), now)
  }

  /** The next step after a sighting; a cycle begins only with a slot. `hold`: why none begins though the context is full. */
  async afterSighting(cycle: Cycle, sighting: Sighting, now: number): Promise<StepResult & { hold?: Hold }> {
    const settings = this.#options.settings()
    const at = this.#circumstances(now)
    const hold = this.#hold(settings, at)
    const stepped = step(cycle, sighting, this.#policy(cycle, now, hold?.what), now)
    if (hold !== undefined && stepped.waits?.for === hold.what) return { ...stepped, hold }
    if (cycle.at === 'watching' && stepped.cycle.at === 'watching') await this.release()
    if (cycle.at !== 'watching' || stepped.cycle.at !== 'asked' || this.#slot !== undefined) return stepped
    this.#slot = await this.#options.slots.take(settings.concurrency, settings.staggerSeconds * 1000, now)
    if (this.#slot !== undefined) return stepped
    const others: Hold = { why: 'others', what: 'other sessions, which are cycled first' }
    return { ...step(cycle, sighting, this.#policy(cycle, now, others.what), now), hold: others }
  }

  /** The cycle is over: another session may begin one. */
  async release(): Promise<void> {
    const free = this.#slot
    this.#slot = undefined
    await free?.()
  }

  #hold(settings: SessionSettings, at: Circumstances | undefined): Hold | undefined {
    // While the check runs, the run may turn out to be finished, and then it needs no document.
    if (this.#options.isChecking()) return { why: 'check', what: 'the check of what it is to reach' }
    return this.wanted || at === undefined ? undefined : holdOf(settings, at)
  }

  #circumstances(now: number): Circumstances | undefined {
    const { run, stats, handle, agent } = this.#options
    const { observation, history } = stats
    const adapter = handle()?.adapter
    if (adapter === undefined) return undefined
    const meter = observation?.meter ?? { quotas: [] }
    const about = { ...run, agent: agent() }
    return { run: about, adapter, meter, model: observation?.model, session: observation?.session, history, now }
  }

  #policy(cycle: Cycle, now: number, hold?: string): Policy {
    const { run, stats } = this.#options
    const settings = this.#options.settings()
    const { observation } = stats
    const begins =
      cycle.at === 'watching' && hold === undefined && observation !== undefined && this.isNear(observation, now)
    const file = begins ? freePath(documentsFolder(run.cwd, run.name, settings.handoffs), new Date(now)) : ''
    const choices = { wanted: this.wanted, hold, path: file, project: path.basename(run.cwd) }
    return policyFor(settings, this.#circumstances(now)!, choices)
  }
}
