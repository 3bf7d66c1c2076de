// The folder session/ supervises one session from its start to its end. The runner observes it, obeys people, ends it at its
// bounds, brings it back when it crashes, and lets `cycle/cycle-runner.ts` run its cycles. Everything reaches it through one
// mailbox, so that it does one thing at a time.

import path from 'node:path'
import { BatonError } from '../../errors.ts'
import type { Store } from '../../store/index.ts'
import { pause, shellWord, timeText } from '../../system/index.ts'
import { Clock } from '../cycle/clock.ts'
import { type ActionOutcome, CycleRunner, type Report, tolerateDisk } from '../cycle/cycle-runner.ts'
import type { Cycle, Sighting } from '../cycle/cycle-state.ts'
import { messageOf } from '../cycle/effects.ts'
import { sightingOf } from '../cycle/sighting.ts'
import type { Slots } from '../cycle/slots.ts'
import { documentsFolder } from '../documents/document-file.ts'
import { warmUp } from '../documents/document-store.ts'
import { TranscriptTape } from '../documents/transcript-tape.ts'
import type { Observation } from '../observe/observation.ts'
import type { AgentHandle, Ended, OpenAgent, Run } from '../run.ts'
import type { Bounds, SessionSettings } from '../settings.ts'
import { AgentLifecycle, type OpenedAgent } from './agent-lifecycle.ts'
import { BetweenCycles } from './between-cycles.ts'
import { boundReached, nextBound } from './bounds.ts'
import type { Control } from './control.ts'
import { continueInAnotherAgent, type LostAgent, planRecovery } from './crash-recovery.ts'
import type { Health } from './health.ts'
import type { Journal, Past } from './journal.ts'
import { LimitWatch } from './limit-watch.ts'
import { type Mail, Mailbox } from './mailbox.ts'
import { actionFor, adviceFor, Obstacles } from './obstacles.ts'
import { RowWriter, type SessionRow } from './session-row.ts'
import { SessionStats } from './session-stats.ts'

export interface SessionRunnerOptions {
  readonly store: Store
  readonly run: Run
  readonly past: Past
  readonly journal: Journal
  readonly openAgent: OpenAgent
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
  readonly #options: SessionRunnerOptions
  readonly #mailbox: Mailbox<Mail>
  readonly #tape: TranscriptTape
  readonly #lifecycle: AgentLifecycle
  readonly #betweenCycles: BetweenCycles
  readonly #stats: SessionStats
  readonly #cycleRunner: CycleRunner
  readonly #rows: RowWriter
  readonly #obstacles: Obstacles
  readonly #clock = new Clock()
  readonly #limitWatch = new LimitWatch()
  readonly #over = new AbortController()
  #handle: AgentHandle | undefined
  /** When this handle was taken hold of, in milliseconds. */
  #heldAt = 0
  #watching: AbortController | undefined
  /** What is to be said to the agent as soon as nothing holds it back. */
  #unsaid: { readonly text: string; readonly session: string | undefined } | undefined
  #paused: boolean
  #restarts: readonly number[]
  #ended: Ended | undefined

  constructor(options: SessionRunnerOptions) {
    const { past, run, store, journal } = options
    const signal = AbortSignal.any([options.signal, this.#over.signal])
    this.#options = options
    this.#mailbox = new Mailbox(options.signal)
    this.#paused = past.paused
    this.#restarts = past.restarts
    const tape = new TranscriptTape(store)
    const stats = new SessionStats(run, past, Date.now())
    this.#tape = tape
    this.#stats = stats
    const writeRow = (row: SessionRow) =>
      journal
        .write('row', row)
        .catch(tolerateDisk)
        .catch((error: unknown) => this.break(error))
    this.#rows = new RowWriter(writeRow, options.onRow)
    this.#lifecycle = new AgentLifecycle(
      { ...options, since: past.since, tape, signal },
      past.whereabouts?.agent ?? run.agent,
    )
    const handle = () => this.#handle
    this.#betweenCycles = new BetweenCycles(run, signal, {
      say: (text) => this.#mailbox.post({ type: 'say', text }),
      end: (ended) => this.#mailbox.post({ type: 'end', ended }),
      trouble: (trouble) => this.#mailbox.post({ type: 'trouble', trouble }),
    })
    const cycleOptions = {
      ...options,
      since: past.since,
      agent: () => this.#lifecycle.agent,
      isChecking: () => this.#betweenCycles.isChecking,
      stats,
      tape,
      handle,
      signal,
      report: this.#report,
      onOutcome: (outcome: ActionOutcome) => this.#mailbox.post({ type: 'outcome', outcome }),
      onFile: () => this.wake(),
    }
    this.#cycleRunner = new CycleRunner(cycleOptions, past)
    this.#obstacles = new Obstacles(this.#report)
  }

  control(control: Control): void {
    this.#mailbox.post({ type: 'control', control })
  }

  /** Something other than the session has changed. */
  wake(): void {
    this.#mailbox.post({ type: 'file' }, ({ type }) => type === 'file')
  }

  /** Ends it with an error; the agent lives on. */
  break(error: unknown): void {
    this.#mailbox.post({ type: 'broken', error })
  }

  async run(): Promise<Ended> {
    try {
      this.#show('starting')
      const { handle, cycle } = await this.#lifecycle.open(this.#options.past)
      this.#cycleRunner.replace(cycle)
      this.#hold(handle)
      // The agent itself takes longer to start than this.
      void warmUp()
      await this.#observe()
      await this.#cycleRunner.takeUp()
      // Reports about the end of an earlier run no longer hold.
      await this.#report('bounds', 'ok', 'No bound is reached', '').catch(tolerateDisk)
      await this.#report('agent', 'ok', 'It runs', '').catch(tolerateDisk)
      this.wake()
      while (this.#ended === undefined) {
        const mail = await this.#mailbox.next()
        if (mail === 'over') {
          await this.#cycleRunner.settle()
          await this.#options.journal.write('spending', this.#stats.spending).catch(tolerateDisk)
          return { why: 'released' }
        }
        await this.#guarded(mail)
      }
      await this.#end(this.#ended)
      return this.#ended
    } finally {
      this.#watching?.abort()
      this.#over.abort()
      await this.#cycleRunner.close()
      this.#mailbox.close()
      await this.#rows.flush()
      await this.#handle?.observer.close()
      await this.#handle?.driver.close()
    }
  }

  /** Observes and drives the agent through this handle from now on. */
  #hold(handle: AgentHandle): void {
    this.#watching?.abort()
    const watching = new AbortController()
    this.#watching = watching
    this.#handle = handle
    this.#heldAt = Date.now()
    const signal = AbortSignal.any([watching.signal, this.#over.signal, this.#options.signal])
    void (async () => {
      try {
        for await (const observation of handle.observer.watch(signal)) {
          if (!signal.aborted)
            this.#mailbox.post({ type: 'observation', observation, handle }, ({ type }) => type === 'observation')
        }
      } catch (error) {
        if (!signal.aborted) this.break(error)
      }
    })()
  }

  /** A full disk or a locked tape delays the next step, and a person is notified; the session goes on. */
  async #guarded(mail: Mail | 'time'): Promise<void> {
    try {
      await this.#take(mail)
      await this.#obstacles.written()
    } catch (error) {
      if (!BatonError.is(error) || !['storage', 'locked', 'unknown_outcome'].includes(error.code)) throw error
      await this.#obstacles.full(error)
      // A session can be observed again; the outcome of an action comes only once.
      if (mail !== 'time' && mail.type !== 'observation' && mail.type !== 'file') {
        setTimeout(() => this.#mailbox.post(mail), diskMs).unref()
      }
      this.#mailbox.wakeAt(Date.now() + diskMs)
    }
  }

  async #take(mail: Mail | 'time'): Promise<void> {
    const leap = this.#clock.leap()
    if (leap !== 0) this.#cycleRunner.shift(leap)
    const now = Date.now()
    if (mail === 'time') await this.#observe()
    else if (mail.type === 'broken') throw mail.error
    else if (mail.type === 'end') this.#ended = mail.ended
    else if (mail.type === 'control') this.#applyControl(mail.control)
    // An observation of an agent that has been replaced says nothing about the one that runs now.
    else if (mail.type === 'observation')
      await (mail.handle === this.#handle ? this.#update(mail.observation) : this.#observe())
    // A full context is handed over before the agent is told to continue in it.
    else if (mail.type === 'say') this.#unsaid = { text: mail.text, session: this.#stats.observation?.session }
    else if (mail.type === 'trouble') await this.#obstacles.tell(mail.trouble)
    else if (mail.type === 'outcome') {
      await this.#cycleRunner.take(mail.outcome, now)
      await this.#observe()
    }
    await this.#consider()
  }

  #applyControl({ command }: Control): void {
    if (command === 'stop') {
      this.#ended = { why: 'stopped' }
      return
    }
    this.#stats.overrideHolds(Date.now())
    if (command === 'cycle') this.#cycleRunner.want()
    else this.#paused = command === 'pause'
    if (command === 'unpause') this.#cycleRunner.resetDeadline()
  }

  async #observe(): Promise<void> {
    if (this.#handle !== undefined) await this.#update(await this.#handle.observer.observe())
  }

  async #update(seen: Observation): Promise<void> {
    const before = this.#stats.observation
    const { limitSeconds, errorSeconds } = this.#options.settings()
    const observation = this.#limitWatch.apply(seen, {
      graceMs: limitSeconds * 1000,
      backoffMs: errorSeconds * 1000,
    })
    const isNew = this.#stats.update(this.#lifecycle.agent, observation)
    const { session, turn } = observation
    if (this.#handle !== undefined && session !== undefined) await this.#lifecycle.keepPlace(this.#handle, session)
    if (isNew) await this.#options.journal.write('spending', this.#stats.spending).catch(tolerateDisk)
    // The tape is updated while nobody waits for it; where a cycle is near, while the agent writes its document.
    if (turn === 'idle' && before?.turn !== 'idle' && !this.#cycleRunner.isNear(observation, observation.at))
      this.#tape.keepUp(observation)
  }

  /** Checks bounds, obstacles and limits, then lets the cycle take its next step. */
  async #consider(): Promise<void> {
    const { observation } = this.#stats
    const handle = this.#handle
    if (observation === undefined || handle === undefined || this.#ended !== undefined) return
    const now = Date.now()
    const settings = this.#options.settings()
    const bounds = { ...settings.bounds, ...this.#options.run.bounds }
    const spent = this.#stats.spent(now)
    this.#ended = boundReached(bounds, spent, now)
    if (this.#ended !== undefined) return
    if (bounds.maxUsd !== undefined && observation.meter.tokens !== undefined && spent.usd === undefined) {
      await this.#report('bounds', 'warning', 'What it costs is unknown: the bound on dollars cannot hold', 'logs')
    }
    const { cwd } = this.#options.run
    if (await this.#obstacles.lacksProject(cwd)) return this.#mailbox.wakeAt(now + quietMs)
    if (!observation.alive && !(await handle.driver.alive())) return this.#lost(handle)
    if (this.#paused) return this.#show('paused')
    if (observation.state.state === 'limited') {
      if (await this.#limited(handle, observation)) return
    } else if (observation.limit === undefined) await this.#report('quota', 'ok', 'No limit holds it', '')
    const { cycle } = this.#cycleRunner
    // A turn that Baton itself has cut off was no error.
    if (cycle.at === 'watching' && cycle.interrupted === undefined) {
      const { stallChecks, errorSeconds, handoffs } = settings
      const documents = path.dirname(documentsFolder(cwd, this.#options.run.name, handoffs))
      const rules = { until: bounds.until, errorMs: errorSeconds * 1000, stallChecks, documents }
      this.#betweenCycles.watch(observation, rules, cycle.say !== undefined, now)
    }
    const submitMs = settings.submitSeconds * 1000
    const screen = this.#wantsScreen(observation, cycle, now)
    const sighting = await sightingOf({ handle, observation, cycle, cwd, tape: this.#tape, screen, submitMs, now })
    await this.#obstacles.ask(sighting)
    await this.#cycleRunner.see(sighting, now)
    await this.#sayUnsaid(observation, now)
    this.#show()
    this.#wakeUp(sighting, bounds, now)
  }

  /** Says what waits to be said, unless a cycle has begun or waits: a fresh context has its document to go by. */
  async #sayUnsaid(observation: Observation, now: number): Promise<void> {
    const unsaid = this.#unsaid
    if (unsaid === undefined) return
    const { cycle, isHeld } = this.#cycleRunner
    if (cycle.at === 'watching' && isHeld) return
    this.#unsaid = undefined
    if (cycle.at === 'watching' && unsaid.session === observation.session) await this.#cycleRunner.say(unsaid.text, now)
  }

  /** Whether to read the screen: before something is typed, and where silence may mean a question. */
  #wantsScreen(observation: Observation, cycle: Cycle, now: number): boolean {
    const saying = cycle.at === 'watching' && cycle.say !== undefined
    return (
      saying ||
      observation.dialog !== undefined ||
      this.#cycleRunner.isNear(observation, now) ||
      (observation.turn !== 'idle' && now - (observation.changed ?? 0) >= quietMs)
    )
  }

  #wakeUp({ observation, screen }: Sighting, bounds: Bounds, now: number): void {
    const { cycle, waits } = this.#cycleRunner
    const quiet = observation.turn === 'idle' && cycle.at === 'watching' ? undefined : now + quietMs
    // A screen is drawn after the transcript is written, and no event announces it: it is read soon at first, then ever later.
    const late = Math.min(quietMs, Math.max(100, (now - (observation.changed ?? 0)) / 4))
    const drawn = observation.turn === 'idle' && screen.is === 'busy' ? now + late : undefined
    const remindMs = this.#options.settings().remindMinutes * 60_000
    this.#options.health.remind(remindMs, now)
    const times = [
      this.#options.health.nextReminder(remindMs),
      waits?.until,
      nextBound(bounds, this.#stats.spent(now), now),
      quiet,
      drawn,
      this.#betweenCycles.next,
    ]
    const next = Math.min(...times.map((time) => time ?? Infinity))
    this.#mailbox.wakeAt(Number.isFinite(next) ? Math.max(next, now + 50) : undefined)
  }

  #lostAgent(handle: AgentHandle, now: number): LostAgent {
    const { observation, history } = this.#stats
    return {
      handle,
      observation,
      cycle: this.#cycleRunner.cycle,
      restarts: this.#restarts,
      settings: this.#options.settings(),
      full: observation !== undefined && this.#cycleRunner.isFull(observation, now),
      n: history.count + 1,
      upMs: now - this.#heldAt,
      firstPrompt: this.#options.run.prompt,
      now,
    }
  }

  /** The agent is no longer there. */
  async #lost(handle: AgentHandle): Promise<void> {
    const now = Date.now()
    const { journal, signal } = this.#options
    await handle.driver.endRest?.()
    const rescue = await planRecovery(this.#lifecycle, this.#lostAgent(handle, now), (cycle) =>
      journal.writeIntent(cycle, ['launch']),
    )
    if (rescue.do === 'end') {
      if (rescue.ended.why === 'crashed')
        await this.#report('agent', 'critical', `${rescue.ended.details}; it is given up`, 'restart')
      this.#ended = rescue.ended
      return
    }
    await this.#report('agent', 'warning', `${rescue.how}; it is started again`, 'logs')
    this.#restarts = [...this.#restarts, now].slice(-20)
    await journal.write('restarts', { at: this.#restarts })
    this.#show('restarting')
    this.#watching?.abort()
    await pause(rescue.afterMs, signal)
    if (signal.aborted) return
    let rescued: OpenedAgent
    try {
      rescued = await rescue.act()
    } catch (error) {
      if (BatonError.is(error) && ['storage', 'locked', 'unknown_outcome', 'conflict'].includes(error.code)) throw error
      // The agent stays lost, and is started again until that has failed too often.
      await this.#report('agent', 'warning', `It cannot be started: ${messageOf(error)}`, 'logs')
      return this.#mailbox.wakeAt(Date.now() + 50)
    }
    await this.#continueWith(handle, rescued)
  }

  /** Returns true where another agent takes over; otherwise the session waits for the limit to end. */
  async #limited(handle: AgentHandle, observation: Observation): Promise<boolean> {
    const { quota } = this.#options.settings()
    const until = observation.state.state === 'limited' ? observation.state.until : undefined
    const what = `A limit is reached${until === undefined ? '' : `, until ${timeText(until)}`}`
    if (quota === 'wait' || quota.continueIn === this.#lifecycle.agent) {
      await this.#report('quota', 'warning', what, 'limit')
      return false
    }
    await this.#report('quota', 'warning', `${what}; ${quota.continueIn} goes on`, 'logs')
    this.#watching?.abort()
    const meant = (cycle: Cycle) => this.#options.journal.writeIntent(cycle, ['launch'])
    await this.#continueWith(
      handle,
      await continueInAnotherAgent(this.#lifecycle, this.#lostAgent(handle, Date.now()), quota.continueIn, meant),
    )
    return true
  }

  async #continueWith(before: AgentHandle, { handle, cycle }: OpenedAgent): Promise<void> {
    await before.observer.close()
    await before.driver.remove?.()
    await before.driver.close()
    this.#cycleRunner.replace(cycle)
    this.#hold(handle)
    await this.#observe()
    this.wake()
  }

  readonly #report: Report = async (check, status, what, advice, cycle = this.#cycleRunner.cycle) => {
    await this.#options.health.report({
      check_type: check,
      status,
      what,
      action_taken: status === 'ok' ? '' : actionFor(advice),
      ...(status === 'ok' ? {} : { advice: adviceFor(advice, this.#options.run.name, cycle) }),
      details: cycle.at === 'watching' ? {} : { cycle: cycle.n, step: cycle.at },
    })
  }

  #show(state?: SessionRow['state'], ended?: string): void {
    const now = Date.now()
    const { cycle, waits } = this.#cycleRunner
    const row = this.#stats.row({
      ...(state === undefined ? {} : { state }),
      agent: this.#lifecycle.agent,
      cycle,
      waits,
      threshold: this.#cycleRunner.threshold(now),
      place: this.#handle?.driver.place ?? this.#options.past.whereabouts?.place,
      ...(ended === undefined ? {} : { ended }),
      now,
    })
    this.#rows.show(row)
  }

  /** Stops the agent together with the run, unless the agent has ended by itself. */
  async #end(ended: Ended): Promise<void> {
    if (ended.why === 'finished') {
      const { name } = this.#options.run
      const [what, body] = ['It is finished', 'The command of --until succeeds. The agent was ended.']
      const advice = `See what it did: baton logs ${shellWord(name)}`
      this.#options.health.tell({ level: 'info', what, body, advice, key: `finished ${Date.now()}` })
    }
    if (ended.why === 'bound') await this.#report('bounds', 'warning', `The run is over: ${ended.details}`, 'over')
    await (ended.why === 'exited' || ended.why === 'crashed'
      ? this.#handle?.driver.remove?.()
      : this.#handle?.driver.stop())
    await this.#options.journal.write('spending', this.#stats.spending)
    await this.#options.journal.write('ended', ended)
    this.#show('ended', 'details' in ended ? `${ended.why}: ${ended.details}` : ended.why)
  }
}
