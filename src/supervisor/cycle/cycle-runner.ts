// Runs the cycle of one session: asks the step function, writes the intention to the journal, carries out the effects and
// records the finished cycle.

import path from 'node:path'
import { lateText } from '../../handoff/index.ts'
import type { Store } from '../../store/index.ts'
import { documentsFolder, freePath } from '../documents/document-file.ts'
import { restoreFile } from '../documents/document-store.ts'
import { DocumentWatch } from '../documents/document-watch.ts'
import type { TranscriptTape } from '../documents/transcript-tape.ts'
import type { Observation } from '../observe/observation.ts'
import type { AgentHandle } from '../run.ts'
import type { Note, Promised } from '../session/records/journal.ts'
import type { Mailbox } from '../session/mailbox.ts'
import { type Recorder, tolerateDisk } from '../session/records/recorder.ts'
import type { SessionState } from '../session/session-state.ts'
import { shifted } from './clock.ts'
import { cycleRecord, recordContinuation, Timings } from './cycle-record.ts'
import type { Cycle, CycleEvent, Effect, Policy, Sighting, StepResult } from './cycle-state.ts'
import { due, restAfter, step } from './cycle.ts'
import type { Action, EffectRunner } from './effects.ts'
import { type Hold, holdOf, isRaised, policyFor } from './policy.ts'
import { resumeCycle } from './resume-cycle.ts'
import { evidenceOf } from './sighting.ts'
import type { Slots } from './slots.ts'

export interface CycleRunnerOptions {
  readonly store: Store
  readonly session: SessionState
  readonly recorder: Recorder
  readonly effects: EffectRunner
  readonly mailbox: Mailbox
  readonly slots: Slots
  readonly tape: TranscriptTape
}

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
  readonly #documents: DocumentWatch
  readonly #timings = new Timings()
  /** Gives back the place among the sessions that may cycle at the same time. */
  #slot: (() => Promise<void>) | undefined
  /** Since when something keeps Baton from typing; null: nothing does. */
  #obstacle: number | null | undefined
  #underWay: Promise<void> = Promise.resolve()
  /** The outcome of the last action, until `take` has handled it. */
  #event: CycleEvent | undefined

  constructor(options: CycleRunnerOptions, promised: Promised | undefined) {
    this.#options = options
    this.#documents = new DocumentWatch(options.session.run.cwd, () => options.mailbox.wake())
    if (promised !== undefined) this.#documents.promise(promised)
  }

  /** Takes up a cycle that an earlier supervisor left unfinished. */
  async takeUp(): Promise<void> {
    const { session, store } = this.#options
    const before = session.cycle
    const now = Date.now()
    const { cycle, effects, waits } = resumeCycle(before, now)
    session.cycle = cycle
    session.waits = waits
    if (cycle.at !== 'watching') this.#timings.begin(now)
    if ('document' in cycle && cycle.document !== undefined) {
      await restoreFile(store, session.run.name, cycle.document)
    }
    if (before.at === 'done' || before.at === 'failed') await this.#conclude(before, undefined)
    this.#perform(effects, undefined)
  }

  /** Continues with this cycle, in an agent that was started or reopened. */
  replace(cycle: Cycle): void {
    this.#options.session.cycle = cycle
    this.#event = undefined
    this.#timings.begin(Date.now())
  }

  /** The clock of the machine was set by so many milliseconds. */
  shift(by: number): void {
    const { session } = this.#options
    session.cycle = shifted(session.cycle, by)
  }

  /** Restarts the deadline of the current state, because time that a person took does not count. */
  resetDeadline(): void {
    const { session } = this.#options
    if ('since' in session.cycle) session.cycle = { ...session.cycle, since: Date.now() }
  }

  async see(sighting: Sighting, now: number): Promise<void> {
    const { session, recorder } = this.#options
    // A full disk may have kept the last cycle from being recorded.
    if (session.cycle.at === 'done' || session.cycle.at === 'failed') await this.#conclude(session.cycle, sighting)
    const { hold, ...stepped } = await this.#afterSighting(session.cycle, sighting, now)
    if (hold?.because !== undefined) {
      const [status, advice] =
        hold.why === 'breaker' ? (['critical', 'breaker'] as const) : (['warning', 'cycle'] as const)
      await recorder.report('context', status, `Its context is due for a handoff, but ${hold.because}`, advice)
    }
    await this.#apply(stepped, sighting)
    session.isCycleHeld = hold !== undefined
    session.isCycleDue = session.cycle.at === 'watching' && due(sighting, this.#policy(now), now) !== undefined
    await this.#tellObstacle(now)
    const free = session.cycle.at === 'watching' && session.cycle.say === undefined
    const late = free ? this.#documents.arrived(now) : undefined
    if (late === undefined) return
    const told = this.#next({ type: 'say', text: lateText(late) }, now)
    await this.#apply(told, undefined, [{ name: 'late', data: { path: late } }])
    this.#documents.forget()
  }

  async take({ event, action, evidence, handle }: ActionOutcome, now: number): Promise<void> {
    const { session, tape } = this.#options
    if (handle !== session.handle) return
    this.#event = undefined
    if (event.type !== 'refused') this.#timings.did(action, evidence, now)
    if (action === 'ask' && session.observation !== undefined) tape.keepUp(session.observation)
    await this.#apply(this.#next(event, now), undefined)
  }

  /** Delivers a prompt, if no cycle is under way. */
  async say(text: string, now: number): Promise<void> {
    await this.#apply(this.#next({ type: 'say', text }, now), undefined)
  }

  async close(): Promise<void> {
    this.#documents.close()
    await this.#release()
  }

  /** Writes the new state to the journal, then starts its effects. */
  async #apply(
    { cycle, effects, waits }: StepResult,
    sighting: Sighting | undefined,
    notes: readonly Note[] = [],
  ): Promise<void> {
    const { session, recorder } = this.#options
    const { journal } = recorder
    const before = session.cycle
    const promised = promisedBy(before, cycle)
    const actions = effects.filter((effect): effect is Action => effect.do !== 'health')
    const names = actions.map((action) => action.do)
    const also: readonly Note[] = [
      ...notes,
      ...(promised === undefined ? [] : [{ name: 'promised' as const, data: promised }]),
      // A supervisor that takes over behind a clear never sees the old context again, nor what it had cost.
      ...(names.includes('clear') ? [{ name: 'spending' as const, data: session.spending }] : []),
    ]
    if (actions.length > 0) await journal.writeIntent(cycle, names, also)
    // States without an action need not be durable: after a crash they are observed again.
    else if (isNews(before, cycle)) await journal.writeIntent(cycle, []).catch(tolerateDisk)
    session.cycle = cycle
    // What the new state waits for may be there already, and no further event would announce it: observe again at once.
    session.waits = actions.length === 0 && isNews(before, cycle) ? { for: waits?.for ?? '', until: Date.now() } : waits
    if (before.at === 'watching' && cycle.at === 'asked') {
      session.wanted = false
      this.#documents.forget()
      // The time for which other sessions held the cycle back does not count.
      this.#timings.begin((session.isCycleHeld ? undefined : evidenceOf(sighting)) ?? Date.now())
    }
    if (promised !== undefined) this.#documents.promise(promised)
    this.#documents.attend('path' in cycle ? cycle.path : undefined)
    if (cycle.at !== 'watching' && before.at !== cycle.at) recorder.step(cycle, detailsOf(cycle, actions))
    for (const effect of effects) {
      if (effect.do === 'health') await recorder.report(effect.check, effect.status, effect.what, effect.advice)
    }
    this.#perform(actions, sighting)
    if (cycle.at === 'done' || cycle.at === 'failed') await this.#conclude(cycle, sighting)
  }

  /** Starts the actions without waiting for them; what came of each reaches the mailbox. */
  #perform(effects: readonly Effect[], sighting: Sighting | undefined): void {
    const { handle, observation } = this.#options.session
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
    const { session, effects, mailbox } = this.#options
    const event = await effects.run(action, handle, observation)
    if (handle !== session.handle) return
    this.#event = event
    mailbox.post({ type: 'outcome', outcome: { event, action: action.do, evidence, handle } })
  }

  /** Reports an obstacle to typing that has lasted long, since only a person can remove it; questions are reported elsewhere. */
  async #tellObstacle(now: number): Promise<void> {
    const { session, recorder } = this.#options
    const what = /^a chance to .*/.exec(session.waits?.for ?? '')?.[0]
    if (what === undefined) {
      // An earlier supervisor may have reported one that is gone.
      if (this.#obstacle !== null) await recorder.report('prompt', 'ok', 'Baton can type to it again', '')
      this.#obstacle = null
      return
    }
    this.#obstacle ??= now
    if (now - this.#obstacle < session.settings().submitSeconds * 3_000) return
    await recorder.report('prompt', 'warning', `Still waiting for ${what}`, 'attach')
  }

  /** Waits for running actions and writes their outcome down, so that the next supervisor need not find it out. */
  async settle(): Promise<void> {
    await this.#underWay
    if (this.#event === undefined) return
    const { session, recorder } = this.#options
    const { cycle, effects } = this.#next(this.#event, Date.now())
    if (effects.length === 0 && isNews(session.cycle, cycle))
      await recorder.journal.writeIntent(cycle, []).catch(tolerateDisk)
  }

  async #conclude(cycle: Extract<Cycle, { at: 'done' | 'failed' }>, sighting: Sighting | undefined): Promise<void> {
    const { session, recorder, store } = this.#options
    const { journal } = recorder
    const now = Date.now()
    const { observation, history, usd, settings } = session
    this.#timings.did('verify', evidenceOf(sighting), now)
    const [progress, work] = [session.hasProgress(cycle.from), session.workWith(cycle.from)]
    const cycled = cycleRecord({ cycle, observation, history, timings: this.#timings, progress, work, usd, now })
    // This comes first, because a recorded cycle is never looked at again.
    if (cycle.at === 'done') await recordContinuation(store, observation, cycle)
    await journal.write('cycled', cycled)
    session.conclude(cycled, now)
    await journal.writeIntent(restAfter(cycle), [])
    session.cycle = restAfter(cycle)
    // The fresh context may have reached the threshold already and be idle: no event would announce it.
    session.waits = { for: 'the threshold', until: now }
    await this.#release()
    if (cycle.at === 'failed') return
    if (isRaised(settings(), session.history, now)) {
      const raised = settings().raise > 0 ? ': the threshold is raised for a while' : ''
      const what = `More than one cycle within an hour${raised}`
      await recorder.report('context', 'warning', what, 'logs')
    } else await recorder.report('context', 'ok', 'Its context is fresh', '')
  }

  /** The next step after an event that is no sighting of the session. */
  #next(event: CycleEvent, now: number): StepResult {
    const { cycle } = this.#options.session
    return step(cycle, event, this.#policy(now), now)
  }

  /** The next step after a sighting; a cycle begins only with a slot. `hold`: why none begins though the context is due for a handoff. */
  async #afterSighting(cycle: Cycle, sighting: Sighting, now: number): Promise<StepResult & { hold?: Hold }> {
    const { session, slots } = this.#options
    const hold = this.#hold(now)
    const stepped = step(cycle, sighting, this.#policy(now, hold?.what), now)
    if (hold !== undefined && stepped.waits?.for === hold.what) return { ...stepped, hold }
    if (cycle.at === 'watching' && stepped.cycle.at === 'watching') await this.#release()
    if (cycle.at !== 'watching' || stepped.cycle.at !== 'asked' || this.#slot !== undefined) return stepped
    const { concurrency, staggerSeconds } = session.settings()
    this.#slot = await slots.take(concurrency, staggerSeconds * 1000, now)
    if (this.#slot !== undefined) return stepped
    const others: Hold = { why: 'others', what: 'other sessions, which are cycled first' }
    return { ...step(cycle, sighting, this.#policy(now, others.what), now), hold: others }
  }

  /** The cycle is over: another session may begin one. */
  async #release(): Promise<void> {
    const free = this.#slot
    this.#slot = undefined
    await free?.()
  }

  #hold(now: number): Hold | undefined {
    const { session } = this.#options
    const at = session.circumstances(now)
    // While the check runs, the run may turn out to be finished, and then it needs no document.
    if (session.isChecking) return { why: 'check', what: 'the check of what it is to reach' }
    return session.wanted || at === undefined ? undefined : holdOf(session.settings(), at)
  }

  #policy(now: number, hold?: string): Policy {
    const { session } = this.#options
    const { run, cycle, observation, wanted } = session
    const settings = session.settings()
    const begins = cycle.at === 'watching' && hold === undefined && observation !== undefined && session.isNear(now)
    const file = begins ? freePath(documentsFolder(run.cwd, run.name, settings.handoffs), new Date(now)) : ''
    const choices = { wanted, hold, path: file, project: path.basename(run.cwd) }
    return policyFor(settings, session.circumstances(now)!, choices)
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

function detailsOf(cycle: Cycle, actions: readonly Action[]): string {
  if (cycle.at === 'failed') return cycle.reason
  if ('document' in cycle && cycle.document !== undefined) return cycle.document.path
  return actions.map((action) => ('text' in action ? action.text : action.do)).join(', ')
}
