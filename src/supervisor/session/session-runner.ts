// The folder session/ supervises one session from its start to its end. The runner does one thing at a time: it takes what
// has happened from the mailbox, observes, decides, does and records. `session-state.ts` is all that is known of the session;
// `observing.ts` reads the agent; `bounds/`, `between-cycles.ts`, `crash-recovery.ts` and `cycle/` decide;
// `agent-lifecycle.ts` and `cycle/effects.ts` do; `records/` is what is written down, and what people are told.

import path from 'node:path'
import { BatonError } from '../../errors.ts'
import type { Store } from '../../store/index.ts'
import { pause, shellWord, timeText } from '../../system/index.ts'
import { CycleRunner } from '../cycle/cycle-runner.ts'
import type { Sighting } from '../cycle/cycle-state.ts'
import { EffectRunner, messageOf } from '../cycle/effects.ts'
import { sightingOf } from '../cycle/sighting.ts'
import type { Slots } from '../cycle/slots.ts'
import { documentsFolder } from '../documents/document-file.ts'
import { warmUp } from '../documents/document-store.ts'
import { TranscriptTape } from '../documents/transcript-tape.ts'
import type { Observation } from '../observe/observation.ts'
import type { AgentHandle, Ended, OpenAgent, Run } from '../run.ts'
import type { Bounds, SessionSettings } from '../settings.ts'
import { AgentLifecycle, type OpenedAgent } from './agent-lifecycle.ts'
import { BetweenCycles, check, type Need, type Trouble } from './between-cycles.ts'
import { type Bound, boundReached, BoundStop, nextBound } from './bounds/bounds.ts'
import type { Control } from './records/control.ts'
import { continueInAnotherAgent, type LostAgent, planRecovery } from './crash-recovery.ts'
import type { Health } from './records/health.ts'
import type { Journal, Past } from './records/journal.ts'
import { type Mail, Mailbox } from './mailbox.ts'
import { Obstacles } from './obstacles.ts'
import { Observing } from './observing.ts'
import { Recorder, tolerateDisk } from './records/recorder.ts'
import type { SessionRow } from './records/session-row.ts'
import { SessionState } from './session-state.ts'

export interface SessionRunnerOptions {
  readonly store: Store
  readonly run: Run
  readonly past: Past
  readonly journal: Journal
  readonly openAgent: OpenAgent
  /** An agent that cannot be opened ends the session rather than failing it. */
  readonly stopping: boolean
  readonly settings: () => SessionSettings
  readonly health: Health
  readonly slots: Slots
  readonly signal: AbortSignal
  readonly onRow: (row: SessionRow) => void
  readonly onStep: (cycle: number, step: string, details: string) => void
}

/** How long to wait before a write that a full disk refused is tried again. */
const diskMs = 5_000
/** How often the screen of a silent agent is read, because it may show a question. */
const quietMs = 5_000

export class SessionRunner {
  readonly #past: Past
  readonly #stopping: boolean
  /** Given when the supervisor lets go of the session. */
  readonly #released: AbortSignal
  readonly #over = new AbortController()
  /** Given then, or when the run is over. */
  readonly #signal: AbortSignal
  readonly #session: SessionState
  readonly #mailbox: Mailbox
  readonly #tape: TranscriptTape
  readonly #observing: Observing
  readonly #betweenCycles: BetweenCycles
  readonly #boundStop = new BoundStop()
  readonly #effects: EffectRunner
  readonly #cycleRunner: CycleRunner
  readonly #lifecycle: AgentLifecycle
  readonly #recorder: Recorder
  readonly #obstacles: Obstacles
  /** What is to be said to the agent as soon as nothing holds it back. */
  #unsaid: { readonly text: string; readonly session: string | undefined } | undefined
  /** What a person is to be told of the last turns, until it is written down. */
  #untold: { readonly trouble: Trouble | undefined } | undefined

  constructor(options: SessionRunnerOptions) {
    const { store, run, past, journal, openAgent, slots } = options
    const { since } = past
    const signal = AbortSignal.any([options.signal, this.#over.signal])
    const session = new SessionState(run, past, options.settings, Date.now())
    const mailbox = new Mailbox(options.signal)
    const tape = new TranscriptTape(store)
    const recorder = new Recorder({ ...options, session, mailbox })
    const effects = new EffectRunner({ store, session, since, tape, signal, journal })
    this.#past = past
    this.#stopping = options.stopping
    this.#released = options.signal
    this.#signal = signal
    this.#session = session
    this.#mailbox = mailbox
    this.#tape = tape
    this.#recorder = recorder
    this.#observing = new Observing(session, mailbox, signal)
    this.#betweenCycles = new BetweenCycles(run)
    this.#effects = effects
    this.#cycleRunner = new CycleRunner({ store, session, recorder, effects, mailbox, slots, tape }, past.promised)
    this.#lifecycle = new AgentLifecycle({ store, session, since, openAgent, journal, tape, signal })
    this.#obstacles = new Obstacles(recorder)
  }

  control(control: Control): void {
    this.#mailbox.post({ type: 'control', control })
  }

  /** Something other than the session has changed. */
  wake(): void {
    this.#mailbox.wake()
  }

  /** Ends it with an error; the agent lives on. */
  break(error: unknown): void {
    this.#mailbox.post({ type: 'broken', error })
  }

  async run(): Promise<Ended> {
    const session = this.#session
    try {
      this.#recorder.show({ state: 'starting' })
      const opened = await this.#lifecycle.open(this.#past).catch((error: unknown) => {
        if (this.#stopping && BatonError.is(error) && error.code === 'not_found') return undefined
        throw error
      })
      if (opened === undefined) {
        session.ended = { why: 'stopped' }
        await this.#end(session.ended)
        return session.ended
      }
      const { handle, cycle } = opened
      this.#cycleRunner.replace(cycle)
      this.#observing.hold(handle)
      // The agent itself takes longer to start than this.
      void warmUp()
      await this.#observe()
      await this.#cycleRunner.takeUp()
      // Reports about the end of an earlier run no longer hold.
      await this.#recorder.report('bounds', 'ok', 'No bound is reached', '').catch(tolerateDisk)
      await this.#recorder.report('agent', 'ok', 'The agent is running', '').catch(tolerateDisk)
      this.wake()
      while (session.ended === undefined) {
        const mail = await this.#mailbox.next()
        if (mail === 'over') {
          await this.#cycleRunner.settle()
          await this.#recorder.spending()
          return { why: 'released' }
        }
        await this.#guarded(mail)
      }
      await this.#end(session.ended)
      return session.ended
    } finally {
      this.#observing.letGo()
      this.#over.abort()
      await this.#cycleRunner.close()
      this.#mailbox.close()
      await this.#recorder.flush()
      await session.handle?.observer.close()
      await session.handle?.driver.close()
    }
  }

  /** A full disk or a locked tape delays the next step, and a person is notified; the session goes on. */
  async #guarded(mail: Mail | 'time'): Promise<void> {
    try {
      await this.#take(mail)
      await this.#decide()
      await this.#obstacles.written()
    } catch (error) {
      if (!isDelay(error)) throw error
      await this.#obstacles.full(error)
      // A session can be observed again; the outcome of an action comes only once.
      if (mail !== 'time' && (mail.type === 'outcome' || mail.type === 'control')) {
        setTimeout(() => this.#mailbox.post(mail), diskMs).unref()
      }
      this.#mailbox.wakeAt(Date.now() + diskMs)
    }
  }

  /** Brings what is known of the session up to date with what has happened. */
  async #take(mail: Mail | 'time'): Promise<void> {
    const leap = this.#observing.leap()
    if (leap !== 0) this.#cycleRunner.shift(leap)
    if (mail === 'time') return this.#observe()
    switch (mail.type) {
      case 'broken':
        throw mail.error
      case 'control':
        return this.#obey(mail.control)
      case 'observation':
        return this.#observe(mail)
      case 'outcome':
        await this.#cycleRunner.take(mail.outcome, Date.now())
        return this.#observe()
      case 'checked': {
        this.#session.isChecking = false
        const { stallChecks } = this.#session.settings()
        return this.#meet(this.#betweenCycles.afterCheck(mail.check, stallChecks))
      }
      case 'file':
        return
    }
  }

  #obey({ command }: Control): void {
    const session = this.#session
    if (command === 'stop') {
      session.ended = { why: 'stopped' }
      return
    }
    session.overrideHolds(Date.now())
    if (command === 'cycle') session.wanted = true
    else session.paused = command === 'pause'
    if (command === 'unpause') this.#cycleRunner.resetDeadline()
  }

  async #observe(seen?: { readonly observation: Observation; readonly handle: AgentHandle }): Promise<void> {
    const observed = await this.#observing.observe(seen)
    if (observed === undefined) return
    const session = this.#session
    const { observation, isNewContext, isTurnOver } = observed
    if (observation.session !== undefined) await this.#lifecycle.keepPlace(session.handle!, observation.session)
    if (isNewContext) await this.#recorder.spending()
    // The tape is updated while nobody waits for it; where a cycle is near, while the agent writes its document.
    if (isTurnOver && !session.isNear(observation.at)) this.#tape.keepUp(observation)
  }

  /** Decides what comes next, in the order of what matters most, and does it: the run's end, the agent's, a limit, the cycle. */
  async #decide(): Promise<void> {
    const session = this.#session
    const { observation, handle, run } = session
    if (observation === undefined || handle === undefined || session.ended !== undefined) return
    const now = Date.now()
    const settings = session.settings()
    const bounds = { ...settings.bounds, ...run.bounds }
    const spent = session.spent(now)
    const bound = this.#boundStop.bound ?? boundReached(bounds, spent, now)
    if (bound !== undefined) return this.#stopAt(bound, handle, observation, now)
    if (bounds.maxUsd !== undefined && observation.meter.tokens !== undefined && spent.usd === undefined) {
      await this.#recorder.report(
        'bounds',
        'warning',
        'The agent does not report what it costs, so the bound on dollars has no effect',
        'logs',
      )
    }
    if (await this.#obstacles.lacksProject(run.cwd)) return this.#mailbox.wakeAt(now + quietMs)
    if (!observation.alive && !(await handle.driver.alive())) return this.#bringBack(handle)
    if (session.paused) return this.#recorder.show({ state: 'paused' })
    if (observation.state.state === 'limited') {
      if (await this.#atLimit(handle, observation)) return
    } else if (observation.limit?.asks === true) {
      if (this.#observing.keepTrying(now)) await this.#effects.keepTrying(handle)
    } else if (this.#observing.isLimitOver) await this.#recorder.report('quota', 'ok', 'No usage limit', '')
    this.#meet(...this.#needs(observation, bounds, now))
    if (this.#isOver()) return
    if (this.#untold !== undefined) await this.#obstacles.tell(this.#untold.trouble)
    this.#untold = undefined
    const sighting = await this.#sighting(handle, observation, now)
    await this.#obstacles.ask(sighting)
    await this.#cycleRunner.see(sighting, now)
    await this.#sayUnsaid(observation, now)
    this.#recorder.show()
    this.#wakeUp(sighting, bounds, now)
  }

  /** Ends the run at a bound, as soon as no command runs whose output would be lost. */
  async #stopAt(bound: Bound, handle: AgentHandle, observation: Observation, now: number): Promise<void> {
    const rules = {
      callsShow: handle.adapter.callsShowLate !== true,
      commandMs: this.#session.settings().backgroundSeconds * 1000,
    }
    const next = this.#boundStop.step(bound, observation, rules, now)
    if (next.do === 'end') {
      this.#session.ended = next.ended
      return
    }
    if (next.do === 'interrupt') await this.#effects.run({ do: 'interrupt' }, handle, observation)
    this.#mailbox.wakeAt(next.until)
  }

  #isOver(): boolean {
    return this.#session.ended !== undefined
  }

  #needs(observation: Observation, { until }: Bounds, now: number): readonly Need[] {
    const { cycle, isChecking, settings } = this.#session
    // A turn that Baton itself has cut off was no error.
    if (cycle.at !== 'watching' || cycle.interrupted !== undefined) return []
    const rules = { until, errorMs: settings().errorSeconds * 1000, isChecking, isSaying: cycle.say !== undefined }
    return this.#betweenCycles.needs(observation, rules, now)
  }

  #meet(...needs: readonly Need[]): void {
    for (const need of needs) {
      // A full context is handed over before the agent is told to continue in it.
      if (need.do === 'say') this.#unsaid = { text: need.text, session: this.#session.observation?.session }
      else if (need.do === 'end') this.#session.ended = need.ended
      else if (need.do === 'tell') this.#untold = { trouble: need.trouble }
      else void this.#check(need)
    }
  }

  async #check(need: Extract<Need, { do: 'check' }>): Promise<void> {
    const { run, settings } = this.#session
    this.#session.isChecking = true
    const documents = path.dirname(documentsFolder(run.cwd, run.name, settings().handoffs))
    const checked = await check(need, run.cwd, documents, this.#signal)
    if (!this.#signal.aborted) this.#mailbox.post({ type: 'checked', check: checked })
  }

  #sighting(handle: AgentHandle, observation: Observation, now: number): Promise<Sighting> {
    const { cycle, run, settings } = this.#session
    const submitMs = settings().submitSeconds * 1000
    const screen = this.#wantsScreen(observation, now)
    return sightingOf({ handle, observation, cycle, cwd: run.cwd, tape: this.#tape, screen, submitMs, now })
  }

  /** Whether to read the screen: before something is typed, and where silence may mean a question. */
  #wantsScreen(observation: Observation, now: number): boolean {
    const { cycle } = this.#session
    const saying = cycle.at === 'watching' && cycle.say !== undefined
    return (
      saying ||
      !this.#obstacles.hasLooked ||
      observation.dialog !== undefined ||
      this.#session.isNear(now) ||
      (observation.turn !== 'idle' && now - (observation.changed ?? 0) >= quietMs)
    )
  }

  /**
   * Says what waits to be said, unless a cycle has begun or waits: a fresh context has its document to go by. An agent that
   * is at work again, because somebody has typed or it compacts its context, needs no word to continue.
   */
  async #sayUnsaid(observation: Observation, now: number): Promise<void> {
    const unsaid = this.#unsaid
    if (unsaid === undefined) return
    const { cycle, isHeld } = this.#session
    if (cycle.at === 'watching' && isHeld) return
    this.#unsaid = undefined
    const isSame = unsaid.session === observation.session && observation.turn === 'idle'
    if (cycle.at === 'watching' && isSame) await this.#cycleRunner.say(unsaid.text, now)
  }

  #wakeUp({ observation, screen }: Sighting, bounds: Bounds, now: number): void {
    const { cycle, waits } = this.#session
    const quiet = observation.turn === 'idle' && cycle.at === 'watching' ? undefined : now + quietMs
    // A screen is drawn after the transcript is written, and no event announces it: it is read soon at first, then ever later.
    const late = Math.max(100, (now - (observation.changed ?? 0)) / 4)
    const drawn = observation.turn === 'idle' && screen.is === 'busy' ? now + Math.min(quietMs, late) : undefined
    const unseen = this.#obstacles.hasLooked ? undefined : now + late
    const bound = nextBound(bounds, this.#session.spent(now), now)
    const times = [this.#recorder.remind(now), waits?.until, bound, quiet, drawn, unseen, this.#betweenCycles.next]
    const next = Math.min(...times.map((time) => time ?? Infinity))
    this.#mailbox.wakeAt(Number.isFinite(next) ? Math.max(next, now + 50) : undefined)
  }

  #lostAgent(handle: AgentHandle, now: number): LostAgent {
    const { observation, history, cycle, restarts, settings, heldAt, run } = this.#session
    return {
      handle,
      observation,
      cycle,
      restarts,
      settings: settings(),
      full: this.#session.isFull(now),
      n: history.count + 1,
      upMs: now - heldAt,
      wasAsking: this.#obstacles.isAsking,
      firstPrompt: run.prompt,
      now,
    }
  }

  /** The agent is no longer there. */
  async #bringBack(handle: AgentHandle): Promise<void> {
    const now = Date.now()
    const [session, recorder] = [this.#session, this.#recorder]
    await handle.driver.endRest?.()
    const plan = await planRecovery(this.#lifecycle, this.#lostAgent(handle, now))
    if (plan.do === 'end') {
      session.ended = plan.ended
      return
    }
    await recorder.report('agent', 'warning', `${plan.how}; Baton is restarting it`, 'logs')
    // The context may be left for good, and what it had cost is not to be forgotten with this supervisor.
    await recorder.spending()
    session.restarts = [...session.restarts, now].slice(-20)
    await recorder.journal.write('restarts', { at: session.restarts })
    recorder.show({ state: 'restarting' })
    this.#observing.letGo()
    await pause(plan.afterMs, this.#released)
    if (this.#released.aborted) return
    let opened: OpenedAgent
    try {
      opened = await plan.act()
    } catch (error) {
      if (BatonError.is(error) && ['storage', 'locked', 'unknown_outcome', 'conflict'].includes(error.code)) throw error
      // The agent stays lost, and is started again until that has failed too often.
      await recorder.report('agent', 'warning', `The agent cannot be started: ${messageOf(error)}`, 'logs')
      return this.#mailbox.wakeAt(Date.now() + 50)
    }
    await this.#continueWith(handle, opened)
  }

  /** Returns true where another agent takes over; otherwise the session waits for the limit to end. */
  async #atLimit(handle: AgentHandle, observation: Observation): Promise<boolean> {
    const { quota } = this.#session.settings()
    const { state, limit } = observation
    const until = state.state === 'limited' && state.chosen !== true ? state.until : undefined
    const what =
      until !== undefined
        ? `Usage limit reached, until ${timeText(until)}`
        : limit?.until === undefined
          ? 'Usage limit reached; the agent does not say until when'
          : `The usage limit still holds after its reset at ${timeText(limit.until)}`
    if (quota === 'wait' || quota.continueIn === this.#session.agent) {
      await this.#recorder.report('quota', 'warning', what, 'limit')
      return false
    }
    await this.#recorder.report('quota', 'warning', `${what}; continuing in ${quota.continueIn}`, 'logs')
    this.#observing.letGo()
    const lost = this.#lostAgent(handle, Date.now())
    await this.#continueWith(handle, await continueInAnotherAgent(this.#lifecycle, lost, quota.continueIn))
    return true
  }

  async #continueWith(before: AgentHandle, { handle, cycle }: OpenedAgent): Promise<void> {
    await before.observer.close()
    await before.driver.remove?.()
    await before.driver.close()
    this.#cycleRunner.replace(cycle)
    this.#observing.hold(handle)
    await this.#observe()
    this.wake()
  }

  /** Stops the agent together with the run, unless the agent has ended by itself. */
  async #end(ended: Ended): Promise<void> {
    const { run, handle, spending, settings } = this.#session
    const { journal } = this.#recorder
    if (ended.why === 'finished') {
      const advice = `See what it did: baton log ${shellWord(run.name)}`
      this.#recorder.finished('Finished: the --until command succeeded', advice)
    }
    if (ended.why === 'exited') this.#recorder.exited((run.bounds?.until ?? settings().bounds.until) !== undefined)
    if (ended.why === 'crashed')
      await this.#recorder
        .report('agent', 'critical', `Baton gave up on the agent: ${ended.details}`, 'restart')
        .catch(tolerateDisk)
    if (ended.why === 'bound')
      await this.#recorder
        .report('bounds', 'warning', `The run is over: ${ended.details}`, `over-${ended.bound}`)
        .catch(tolerateDisk)
    await (ended.why === 'exited' || ended.why === 'crashed' ? handle?.driver.remove?.() : handle?.driver.stop())
    await this.#insist(() => journal.write('spending', spending))
    await this.#insist(() => journal.write('ended', ended))
    this.#recorder.show({ state: 'ended', ended: 'details' in ended ? `${ended.why}: ${ended.details}` : ended.why })
  }

  /** Writes what has to be on the tape before the run is over, however long the disk is full: the next supervisor would start the agent again. */
  async #insist(write: () => Promise<unknown>): Promise<void> {
    for (;;) {
      try {
        await write()
        return
      } catch (error) {
        if (!isDelay(error) || this.#released.aborted) throw error
        await this.#obstacles.full(error)
        await pause(diskMs, this.#released)
      }
    }
  }
}

/** Whether it can be tried again later: the disk is full, or the tape is locked. */
function isDelay(error: unknown): boolean {
  return BatonError.is(error) && ['storage', 'locked', 'unknown_outcome'].includes(error.code)
}
