// Supervises one session: sees it, obeys people, ends it at its bounds, brings it back when it crashes, and lets the
// conductor run its cycles. Everything reaches it through one mailbox, so that it does one thing at a time.

import { BatonError } from '../errors.ts'
import type { Store } from '../store/index.ts'
import { actionFor, adviceFor } from './advice.ts'
import { boundReached, nextBound } from './bounds.ts'
import { warmUp } from './document-store.ts'
import { Clock } from './clock.ts'
import { Conductor, type Outcome, type Report, tolerateDisk } from './conductor.ts'
import type { Control } from './control.ts'
import type { Cycle, Sight } from './cycle-state.ts'
import { messageOf } from './deeds.ts'
import type { Observation } from './eyes.ts'
import type { Health } from './health.ts'
import type { Journal, Past } from './journal.ts'
import { Judge } from './judge.ts'
import { Life } from './life.ts'
import type { Mail } from './mail.ts'
import { Mailbox } from './mailbox.ts'
import { afterLoss, inAnotherAgent, type Plight, type Rescued } from './rescue.ts'
import { RowWriter, type SessionRow } from './rows.ts'
import type { Ended, Hands, OpenHands, Run } from './run.ts'
import { sightOf } from './scene.ts'
import { pause } from '../system/processes.ts'
import type { Bounds, SupervisorSettings } from './settings.ts'
import type { Slots } from './slots.ts'
import { Standing } from './standing.ts'
import { TranscriptTape } from './transcript-tape.ts'
import { Vigil } from './vigil.ts'
import { Worries } from './worries.ts'

export interface RunnerOptions {
  readonly store: Store
  readonly run: Run
  readonly past: Past
  readonly journal: Journal
  readonly hands: OpenHands
  readonly settings: () => SupervisorSettings
  readonly health: Health
  readonly slots: Slots
  readonly signal: AbortSignal
  readonly onRow: (row: SessionRow) => void
  readonly onStep: (cycle: number, step: string, details: string) => void
}

/** Before what a full disk refused is tried again. */
const diskMs = 5_000
/** How often the screen of an agent that says nothing is looked at: it may ask something. */
const quietMs = 5_000

export class Runner {
  readonly #o: RunnerOptions
  readonly #mailbox: Mailbox<Mail>
  readonly #tape: TranscriptTape
  readonly #life: Life
  readonly #vigil: Vigil
  readonly #standing: Standing
  readonly #judge: Judge
  readonly #conductor: Conductor
  readonly #rows: RowWriter
  readonly #worries: Worries
  readonly #clock = new Clock()
  readonly #over = new AbortController()
  #hands: Hands | undefined
  #watching: AbortController | undefined
  #paused: boolean
  #restarts: readonly number[]
  #ended: Ended | undefined

  constructor(options: RunnerOptions) {
    const { past, run, store, journal } = options
    const signal = AbortSignal.any([options.signal, this.#over.signal])
    this.#o = options
    this.#mailbox = new Mailbox(options.signal)
    this.#paused = past.paused
    this.#restarts = past.restarts
    const tape = new TranscriptTape(store)
    const standing = new Standing(run, past, Date.now())
    this.#tape = tape
    this.#standing = standing
    const writeRow = (row: SessionRow) =>
      journal
        .write('row', row)
        .catch(tolerateDisk)
        .catch((error: unknown) => this.break(error))
    this.#rows = new RowWriter(writeRow, options.onRow)
    this.#life = new Life({ ...options, since: past.since, tape, signal }, past.whereabouts?.agent ?? run.agent)
    const hands = () => this.#hands
    const checking = () => this.#vigil.isChecking
    this.#judge = new Judge({ ...options, standing, hands, agent: () => this.#life.agent, checking })
    this.#judge.wanted = past.wanted
    this.#vigil = new Vigil(run, signal, {
      say: (text) => this.#mailbox.post({ type: 'say', text }),
      end: (ended) => this.#mailbox.post({ type: 'end', ended }),
      trouble: (trouble) => this.#mailbox.post({ type: 'trouble', trouble }),
    })
    const conductor = {
      ...options,
      since: past.since,
      judge: this.#judge,
      standing,
      tape,
      hands,
      signal,
      report: this.#report,
      onSeen: (outcome: Outcome) => this.#mailbox.post({ type: 'outcome', outcome }),
      onFile: () => this.wake(),
    }
    this.#conductor = new Conductor(conductor, past)
    this.#worries = new Worries(this.#report)
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
      const { hands, cycle } = await this.#life.open(this.#o.past)
      this.#conductor.replace(cycle)
      this.#hold(hands)
      // The agent itself takes longer to start than this.
      void warmUp()
      await this.#look()
      await this.#conductor.takeUp()
      // What was told of an end before this start is over.
      await this.#report('bounds', 'ok', 'No bound is reached', '').catch(tolerateDisk)
      await this.#report('agent', 'ok', 'It runs', '').catch(tolerateDisk)
      this.wake()
      while (this.#ended === undefined) {
        const mail = await this.#mailbox.next()
        if (mail === 'over') {
          await this.#conductor.settle()
          return { why: 'released' }
        }
        await this.#guarded(mail)
      }
      await this.#end(this.#ended)
      return this.#ended
    } finally {
      this.#watching?.abort()
      this.#over.abort()
      this.#conductor.close()
      this.#mailbox.close()
      await this.#rows.flush()
      await this.#judge.release()
      await this.#hands?.eyes.close()
      await this.#hands?.driver.close()
    }
  }

  /** Sees and touches the agent through these from now on. */
  #hold(hands: Hands): void {
    this.#watching?.abort()
    const watching = new AbortController()
    this.#watching = watching
    this.#hands = hands
    const signal = AbortSignal.any([watching.signal, this.#over.signal, this.#o.signal])
    void (async () => {
      try {
        for await (const look of hands.eyes.watch(signal)) {
          if (!signal.aborted) this.#mailbox.post({ type: 'look', look }, ({ type }) => type === 'look')
        }
      } catch (error) {
        if (!signal.aborted) this.break(error)
      }
    })()
  }

  /** A disk that is full or a tape that is locked stops nothing but the next step, and a person is told. */
  async #guarded(mail: Mail | 'time'): Promise<void> {
    try {
      await this.#take(mail)
      await this.#worries.written()
    } catch (error) {
      if (!BatonError.is(error) || !['storage', 'locked', 'unknown_outcome'].includes(error.code)) throw error
      await this.#worries.full(error)
      // What a look shows is seen again by looking; what came of a deed is not.
      if (mail !== 'time' && mail.type !== 'look' && mail.type !== 'file') {
        setTimeout(() => this.#mailbox.post(mail), diskMs).unref()
      }
      this.#mailbox.wakeAt(Date.now() + diskMs)
    }
  }

  async #take(mail: Mail | 'time'): Promise<void> {
    const leap = this.#clock.leap()
    if (leap !== 0) this.#conductor.shift(leap)
    const now = Date.now()
    if (mail === 'time') await this.#look()
    else if (mail.type === 'broken') throw mail.error
    else if (mail.type === 'end') this.#ended = mail.ended
    else if (mail.type === 'control') this.#obey(mail.control)
    else if (mail.type === 'look') await this.#see(mail.look)
    // A full context is handed over before it is told to go on.
    else if (mail.type === 'say') await this.#consider().then(() => this.#conductor.say(mail.text, now))
    else if (mail.type === 'trouble') await this.#worries.tell(mail.trouble)
    else if (mail.type === 'outcome') {
      await this.#conductor.take(mail.outcome, now)
      await this.#look()
    }
    await this.#consider()
  }

  #obey({ wish }: Control): void {
    if (wish === 'stop') {
      this.#ended = { why: 'stopped' }
      return
    }
    this.#standing.wished(Date.now())
    if (wish === 'cycle') this.#judge.wanted = true
    else this.#paused = wish === 'pause'
    if (wish === 'unpause') this.#conductor.unhurry()
  }

  async #look(): Promise<void> {
    if (this.#hands !== undefined) await this.#see(await this.#hands.eyes.look())
  }

  async #see(look: Observation): Promise<void> {
    const before = this.#standing.look
    this.#standing.see(look)
    const { session, turn } = look
    if (this.#hands !== undefined && session !== undefined) await this.#life.keepPlace(this.#hands, session)
    // Kept up to date while nobody waits for it; where a cycle is near, while the agent thinks about it.
    if (turn === 'idle' && before?.turn !== 'idle' && !this.#judge.isNear(look, look.at)) this.#tape.keepUp(look)
  }

  /** Looks at all there is, and lets the next step be taken. */
  async #consider(): Promise<void> {
    const { look } = this.#standing
    const hands = this.#hands
    if (look === undefined || hands === undefined || this.#ended !== undefined) return
    const now = Date.now()
    const settings = this.#o.settings()
    const bounds = { ...settings.bounds, ...this.#o.run.bounds }
    this.#ended = boundReached(bounds, this.#standing.spent, now)
    if (this.#ended !== undefined) return
    if (bounds.maxUsd !== undefined && look.meter.tokens !== undefined && this.#standing.spent.usd === undefined) {
      await this.#report('bounds', 'warning', 'What it costs is unknown: the bound on dollars cannot hold', 'logs')
    }
    const { cwd } = this.#o.run
    if (await this.#worries.lacksProject(cwd)) return this.#mailbox.wakeAt(now + quietMs)
    if (!look.alive && !(await hands.driver.alive())) return this.#lost(hands)
    if (this.#paused) return this.#show('paused')
    if (look.state.state === 'limited' && (await this.#limited(hands, look))) return
    const { cycle } = this.#conductor
    const errorMs = settings.errorSeconds * 1000
    if (cycle.at === 'watching') this.#vigil.watch(look, { ...bounds, errorMs }, cycle.say !== undefined, now)
    const submitMs = settings.submitSeconds * 1000
    const screen = this.#wantsScreen(look, cycle, now)
    const sight = await sightOf({ hands, look, cycle, cwd, tape: this.#tape, screen, submitMs, now })
    await this.#worries.ask(sight)
    await this.#conductor.see(sight, now)
    this.#show()
    this.#wakeUp(sight, bounds, now)
  }

  /** The screen matters where something is about to be typed, and where silence may be a question. */
  #wantsScreen(look: Observation, cycle: Cycle, now: number): boolean {
    const saying = cycle.at === 'watching' && cycle.say !== undefined
    return saying || this.#judge.isNear(look, now) || (look.turn !== 'idle' && now - (look.changed ?? 0) >= quietMs)
  }

  #wakeUp({ look, screen }: Sight, bounds: Bounds, now: number): void {
    const { cycle, waits } = this.#conductor
    const quiet = look.turn === 'idle' && cycle.at === 'watching' ? undefined : now + quietMs
    // A screen is drawn behind the transcript, and nothing tells when: soon at first, then ever later.
    const late = Math.min(quietMs, Math.max(100, (now - (look.changed ?? 0)) / 4))
    const drawn = look.turn === 'idle' && screen.is === 'busy' ? now + late : undefined
    const times = [waits?.until, nextBound(bounds, this.#standing.spent), quiet, drawn, this.#vigil.next]
    const next = Math.min(...times.map((time) => time ?? Infinity))
    this.#mailbox.wakeAt(Number.isFinite(next) ? Math.max(next, now + 50) : undefined)
  }

  #plight(hands: Hands, now: number): Plight {
    const { look, history } = this.#standing
    return {
      hands,
      look,
      cycle: this.#conductor.cycle,
      restarts: this.#restarts,
      settings: this.#o.settings(),
      full: look !== undefined && this.#judge.isFull(look, now),
      n: history.count + 1,
      firstPrompt: this.#o.run.prompt,
      now,
    }
  }

  /** The agent is no longer there. */
  async #lost(hands: Hands): Promise<void> {
    const now = Date.now()
    const { journal, signal } = this.#o
    await hands.driver.endRest?.()
    const rescue = await afterLoss(this.#life, this.#plight(hands, now), (cycle) => journal.mean(cycle, ['launch']))
    if (rescue.do === 'end') {
      if (rescue.ended.why === 'crashed')
        await this.#report('agent', 'critical', `${rescue.how}; it is given up`, 'restart')
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
    let rescued: Rescued
    try {
      rescued = await rescue.act()
    } catch (error) {
      if (BatonError.is(error) && ['storage', 'locked', 'unknown_outcome', 'conflict'].includes(error.code)) throw error
      // It is lost as before: tried again until it has been lost too often.
      await this.#report('agent', 'warning', `It cannot be started: ${messageOf(error)}`, 'logs')
      return this.#mailbox.wakeAt(Date.now() + 50)
    }
    await this.#goOn(hands, rescued)
  }

  /** True where another agent goes on in its place; else the limit is waited for. */
  async #limited(hands: Hands, look: Observation): Promise<boolean> {
    const { quota } = this.#o.settings()
    const until = look.state.state === 'limited' ? look.state.until : undefined
    const what = `A limit is reached${until === undefined ? '' : `, until ${until}`}`
    if (quota === 'wait' || quota.continueIn === this.#life.agent) {
      await this.#report('quota', 'warning', what, 'limit')
      return false
    }
    await this.#report('quota', 'warning', `${what}; ${quota.continueIn} goes on`, 'logs')
    this.#watching?.abort()
    const meant = (cycle: Cycle) => this.#o.journal.mean(cycle, ['launch'])
    await this.#goOn(hands, await inAnotherAgent(this.#life, this.#plight(hands, Date.now()), quota.continueIn, meant))
    return true
  }

  async #goOn(before: Hands, { hands, cycle, say }: Rescued): Promise<void> {
    await before.eyes.close()
    await before.driver.close()
    this.#conductor.replace(cycle)
    this.#hold(hands)
    await this.#look()
    if (say !== undefined) this.#mailbox.post({ type: 'say', text: say })
    this.wake()
  }

  readonly #report: Report = async (check, status, what, advice, cycle = this.#conductor.cycle) => {
    await this.#o.health.report({
      check_type: check,
      status,
      what,
      action_taken: status === 'ok' ? '' : actionFor(advice),
      ...(status === 'ok' ? {} : { advice: adviceFor(advice, this.#o.run.name, cycle) }),
      details: cycle.at === 'watching' ? {} : { cycle: cycle.n, step: cycle.at },
    })
  }

  #show(state?: SessionRow['state'], ended?: string): void {
    const now = Date.now()
    const { cycle, waits } = this.#conductor
    const row = this.#standing.row({
      ...(state === undefined ? {} : { state }),
      agent: this.#life.agent,
      cycle,
      waits,
      threshold: this.#judge.threshold(now),
      place: this.#hands?.driver.place,
      ...(ended === undefined ? {} : { ended }),
      now,
    })
    this.#rows.show(row)
  }

  /** What ended the run ends the agent too; one that ended itself is left in peace. */
  async #end(ended: Ended): Promise<void> {
    if (ended.why === 'bound') await this.#report('bounds', 'warning', `The run is over: ${ended.details}`, 'restart')
    if (ended.why !== 'exited' && ended.why !== 'crashed') await this.#hands?.driver.stop()
    await this.#o.journal.write('ended', ended)
    this.#show('ended', 'details' in ended ? `${ended.why}: ${ended.details}` : ended.why)
  }
}
