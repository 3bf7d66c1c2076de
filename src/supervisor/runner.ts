// Runs the cycle of one session: looks, lets the step function decide, writes down what is meant, does it, and looks again.
// Everything reaches it through one mailbox, so that it does one thing at a time.

import path from 'node:path'
import { BatonError } from '../errors.ts'
import type { Store } from '../store/index.ts'
import { actionFor, adviceFor } from './advice.ts'
import { boundReached, nextBound } from './bounds.ts'
import { conclusion, recordContinuation } from './conclusion.ts'
import type { Control } from './control.ts'
import { restAfter, step } from './cycle.ts'
import type { Cycle, Effect, Policy, Seen, Sight, Stepped, Waits } from './cycle-state.ts'
import { type Deed, Deeds } from './deeds.ts'
import { Desk } from './desk.ts'
import { documentsFolder, freePath } from './document-file.ts'
import { restoreFile, warmUp } from './document-store.ts'
import type { Observation } from './eyes.ts'
import type { Check, Health } from './health.ts'
import type { Journal, Past } from './journal.ts'
import { Life } from './life.ts'
import { Mailbox } from './mailbox.ts'
import { type Circumstances, holdOf, isRaised, policyFor, thresholdOf } from './policy.ts'
import { lateText } from './prompts.ts'
import { afterLoss, inAnotherAgent, type Plight, type Rescued } from './rescue.ts'
import { revive } from './revive.ts'
import { RowWriter, type SessionRow } from './rows.ts'
import type { Ended, Hands, OpenHands, Run } from './run.ts'
import { evidenceOf, sightOf } from './scene.ts'
import type { SupervisorSettings } from './settings.ts'
import type { Slots } from './slots.ts'
import { shareOf, Standing } from './standing.ts'
import { Timings } from './timings.ts'
import { TranscriptTape } from './transcript-tape.ts'
import { Vigil } from './vigil.ts'

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

type Mail =
  | { readonly type: 'look'; readonly look: Observation }
  /** What came of a deed, and when that was written which it answered. */
  | { readonly type: 'seen'; readonly seen: Seen; readonly deed: Deed['do']; readonly evidence: number | undefined }
  | { readonly type: 'control'; readonly control: Control }
  /** Something has changed where documents arrive. */
  | { readonly type: 'file' }
  | { readonly type: 'say'; readonly text: string }
  | { readonly type: 'end'; readonly ended: Ended }
  | { readonly type: 'broken'; readonly error: unknown }

/** Before what a full disk refused is tried again. */
const diskMs = 5_000
/** How often the screen of an agent that says nothing is looked at: it may ask something. */
const quietMs = 5_000

export class Runner {
  readonly #o: RunnerOptions
  readonly #mailbox: Mailbox<Mail>
  readonly #tape: TranscriptTape
  readonly #life: Life
  readonly #deeds: Deeds
  readonly #desk: Desk
  readonly #vigil: Vigil
  readonly #standing: Standing
  readonly #rows: RowWriter
  readonly #timings = new Timings()
  readonly #over = new AbortController()
  #hands: Hands | undefined
  #watching: AbortController | undefined
  #cycle: Cycle
  #waits: Waits | undefined
  #paused: boolean
  /** A person wants a cycle. */
  #wanted: boolean
  #restarts: readonly number[]
  #slot: (() => Promise<void>) | undefined
  #question: string | undefined
  #ended: Ended | undefined

  constructor(options: RunnerOptions) {
    const { past, run, store, journal } = options
    const signal = AbortSignal.any([options.signal, this.#over.signal])
    this.#o = options
    this.#mailbox = new Mailbox(options.signal)
    this.#tape = new TranscriptTape(store)
    this.#standing = new Standing(run, past, Date.now())
    this.#rows = new RowWriter((row) => journal.write('row', row), options.onRow)
    this.#cycle = past.cycle
    this.#paused = past.paused
    this.#wanted = past.wanted
    this.#restarts = past.restarts
    this.#life = new Life({ ...options, tape: this.#tape, signal }, past.whereabouts?.agent ?? run.agent)
    this.#deeds = new Deeds({ ...options, tape: this.#tape, signal })
    this.#desk = new Desk(run.cwd, () => this.#mailbox.post({ type: 'file' }, ({ type }) => type === 'file'))
    this.#vigil = new Vigil(run, signal, {
      say: (text) => this.#mailbox.post({ type: 'say', text }),
      end: (ended) => this.#mailbox.post({ type: 'end', ended }),
    })
  }

  control(control: Control): void {
    this.#mailbox.post({ type: 'control', control })
  }

  /** Ends it with an error; the agent lives on. */
  break(error: unknown): void {
    this.#mailbox.post({ type: 'broken', error })
  }

  async run(): Promise<Ended> {
    try {
      await this.#begin()
      while (this.#ended === undefined) {
        const mail = await this.#mailbox.next()
        if (mail === 'over') return { why: 'released' }
        await this.#guarded(mail)
      }
      await this.#end(this.#ended)
      return this.#ended
    } finally {
      this.#watching?.abort()
      this.#over.abort()
      this.#desk.close()
      this.#mailbox.close()
      await this.#slot?.()
      await this.#hands?.eyes.close()
      await this.#hands?.driver.close()
    }
  }

  /** Takes up what a supervisor before has left, or begins. */
  async #begin(): Promise<void> {
    const now = Date.now()
    const before = this.#cycle
    const { cycle, effects, waits } = revive(before, now)
    this.#cycle = cycle
    this.#waits = waits
    if (cycle.at !== 'watching') this.#timings.begin(now)
    if ('document' in cycle && cycle.document !== undefined) {
      await restoreFile(this.#o.store, this.#o.run.name, cycle.document)
    }
    await this.#show('starting')
    this.#hold(await this.#life.open(this.#o.past.whereabouts))
    await this.#look()
    if (before.at === 'done' || before.at === 'failed') await this.#conclude(before, undefined)
    this.#perform(effects, undefined)
    this.#mailbox.post({ type: 'file' })
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
    } catch (error) {
      if (!BatonError.is(error) || !['storage', 'locked', 'unknown_outcome'].includes(error.code)) throw error
      await this.#report('storage', 'critical', `Nothing can be written down: ${error.message}`, 'disk').catch(
        () => undefined,
      )
      // What a look shows is seen again by looking; what came of a deed is not.
      if (mail !== 'time' && mail.type !== 'look' && mail.type !== 'file') {
        setTimeout(() => this.#mailbox.post(mail), diskMs).unref()
      }
      this.#mailbox.wakeAt(Date.now() + diskMs)
    }
  }

  async #take(mail: Mail | 'time'): Promise<void> {
    const now = Date.now()
    if (mail === 'time') await this.#look()
    else if (mail.type === 'broken') throw mail.error
    else if (mail.type === 'end') this.#ended = mail.ended
    else if (mail.type === 'control') await this.#obey(mail.control)
    else if (mail.type === 'look') await this.#see(mail.look)
    else if (mail.type === 'say') {
      await this.#apply(step(this.#cycle, { seen: 'say', text: mail.text }, this.#policy(now), now), undefined)
    } else if (mail.type === 'seen') {
      if (mail.seen.seen !== 'refused') this.#timings.did(mail.deed, mail.evidence, now)
      await this.#apply(step(this.#cycle, mail.seen, this.#policy(now), now), undefined)
      await this.#look()
    }
    await this.#consider()
  }

  async #obey({ wish }: Control): Promise<void> {
    const now = Date.now()
    if (wish === 'stop') {
      this.#ended = { why: 'stopped' }
      return
    }
    this.#standing.wished(now)
    if (wish === 'cycle') this.#wanted = true
    else this.#paused = wish === 'pause'
    if (wish === 'unpause' && 'since' in this.#cycle) this.#cycle = { ...this.#cycle, since: now }
  }

  async #look(): Promise<void> {
    if (this.#hands !== undefined) await this.#see(await this.#hands.eyes.look())
  }

  async #see(look: Observation): Promise<void> {
    const before = this.#standing.look
    this.#standing.see(look)
    const { session, turn, file } = look
    if (this.#hands !== undefined && session !== undefined) await this.#life.keepPlace(this.#hands, session)
    // Kept up to date while nobody waits for it.
    if (turn === 'idle' && before?.turn !== 'idle' && file !== undefined)
      void this.#tape.update(file).catch(() => undefined)
  }

  /** A question that only a person can answer, told once. */
  async #ask({ look, screen }: Sight): Promise<void> {
    const question = look.dialog?.question ?? (screen.is === 'dialog' ? screen.question : undefined)
    if (question === this.#question) return
    this.#question = question
    if (question === undefined) await this.#report('dialog', 'ok', 'No question is open', '')
    else await this.#report('dialog', 'warning', `It asks: ${question.slice(0, 200)}`, 'answer')
  }

  /** Looks at all there is, and takes the next step. */
  async #consider(): Promise<void> {
    const { look } = this.#standing
    const hands = this.#hands
    if (look === undefined || hands === undefined || this.#ended !== undefined) return
    const now = Date.now()
    const settings = this.#o.settings()
    const bounds = { ...settings.bounds, ...this.#o.run.bounds }
    this.#ended = boundReached(bounds, this.#standing.spent, now)
    if (this.#ended !== undefined) return
    if (!look.alive && !(await hands.driver.alive())) return this.#lost(hands)
    if (this.#paused) return this.#show('paused')
    if (look.state.state === 'limited') await this.#limited(hands, look)
    if (this.#cycle.at === 'watching') this.#vigil.watch(look, bounds, this.#cycle.say !== undefined)
    this.#desk.attend('path' in this.#cycle ? this.#cycle.path : undefined)
    const sight = await sightOf({
      hands: this.#hands ?? hands,
      look,
      cycle: this.#cycle,
      cwd: this.#o.run.cwd,
      tape: this.#tape,
      screen: this.#wantsScreen(look, now),
      submitMs: settings.submitSeconds * 1000,
      now,
    })
    await this.#ask(sight)
    await this.#apply(await this.#decide(sight, now), sight)
    const late = this.#desk.arrived(now)
    if (late !== undefined) await this.#lateDocument(late)
    await this.#show()
    const quiet = look.turn === 'idle' && this.#cycle.at === 'watching' ? undefined : now + quietMs
    const times = [this.#waits?.until, nextBound(bounds, this.#standing.spent), quiet, this.#vigil.tryAt]
    const [next] = times.filter((time) => time !== undefined).sort((a, b) => a - b)
    this.#mailbox.wakeAt(next === undefined ? undefined : Math.max(next, now + 50))
  }

  /** The screen matters where something is about to be typed, and where silence may be a question. */
  #wantsScreen(look: Observation, now: number): boolean {
    const saying = this.#cycle.at === 'watching' && this.#cycle.say !== undefined
    return saying || this.#isNear(look, now) || (look.turn !== 'idle' && now - (look.changed ?? 0) >= quietMs)
  }

  #isNear(look: Observation, now: number): boolean {
    return this.#wanted || (shareOf(look) ?? 0) >= this.#threshold(now) * 0.7
  }

  /** The next step; a cycle begins only with a slot. */
  async #decide(sight: Sight, now: number): Promise<Stepped> {
    const settings = this.#o.settings()
    const hold = this.#wanted ? undefined : holdOf(settings, this.#circumstances(now))
    const stepped = step(this.#cycle, sight, this.#policy(now, hold?.what), now)
    if (hold !== undefined && hold.why !== 'cooldown' && stepped.waits?.for === hold.what) {
      const status = hold.why === 'breaker' ? 'critical' : 'warning'
      await this.#report('context', status, `Its context is full, but a cycle waits for ${hold.what}`, 'cycle')
    }
    if (this.#cycle.at !== 'watching' || stepped.cycle.at !== 'asked' || this.#slot !== undefined) return stepped
    this.#slot = await this.#o.slots.take(settings.concurrency, settings.staggerSeconds * 1000, now)
    if (this.#slot !== undefined) return stepped
    return step(this.#cycle, sight, this.#policy(now, 'other sessions, which are cycled first'), now)
  }

  #circumstances(now: number): Circumstances {
    const { look, history } = this.#standing
    const run = { name: this.#o.run.name, agent: this.#life.agent }
    const { adapter } = this.#hands!
    return { run, adapter, meter: look?.meter ?? { quotas: [] }, session: look?.session, history, now }
  }

  #threshold(now: number): number {
    const settings = this.#o.settings()
    return this.#hands === undefined ? settings.threshold : thresholdOf(settings, this.#circumstances(now))
  }

  #policy(now: number, hold?: string): Policy {
    const { run, settings } = this.#o
    const { look } = this.#standing
    const begins = this.#cycle.at === 'watching' && hold === undefined && look !== undefined && this.#isNear(look, now)
    const file = begins ? freePath(documentsFolder(run.cwd, run.name, settings().handoffs), new Date(now)) : ''
    const choices = { wanted: this.#wanted, hold, path: file, project: path.basename(run.cwd) }
    return policyFor(settings(), this.#circumstances(now), choices)
  }

  /** Writes down what is meant, then lets it be done. */
  async #apply({ cycle, effects, waits }: Stepped, sight: Sight | undefined): Promise<void> {
    const before = this.#cycle
    const deeds = effects.filter((effect): effect is Deed => effect.do !== 'health')
    const means = this.#o.journal.mean.bind(this.#o.journal)
    if (deeds.length > 0)
      await means(
        cycle,
        deeds.map((deed) => deed.do),
      )
    // Nothing is done on the strength of the others: after a crash they are seen again.
    else if (isNews(before, cycle)) await means(cycle, []).catch(tolerateDisk)
    this.#cycle = cycle
    this.#waits = waits
    if (before.at === 'watching' && cycle.at === 'asked') {
      this.#wanted = false
      this.#desk.forget()
      this.#timings.begin(evidenceOf(sight) ?? Date.now())
      void warmUp()
    }
    if (before.at === 'documented' && cycle.at === 'clearing' && cycle.document.by === 'ledger') {
      this.#desk.promise(before.path, cycle.trigger.at)
    }
    if (cycle.at !== 'watching' && before.at !== cycle.at) this.#o.onStep(cycle.n, cycle.at, detailsOf(cycle, deeds))
    for (const effect of effects) {
      if (effect.do === 'health') await this.#report(effect.check, effect.status, effect.what, effect.advice)
    }
    this.#perform(deeds, sight)
    if (cycle.at === 'done' || cycle.at === 'failed') await this.#conclude(cycle, sight)
  }

  /** Not waited for: what comes of it arrives as mail. */
  #perform(effects: readonly Effect[], sight: Sight | undefined): void {
    const hands = this.#hands
    const { look } = this.#standing
    if (hands === undefined || look === undefined) return
    const evidence = evidenceOf(sight)
    for (const effect of effects) {
      if (effect.do === 'health') continue
      void this.#deeds.do(effect, hands, look).then((seen) => {
        this.#mailbox.post({ type: 'seen', seen, deed: effect.do, evidence })
      })
    }
  }

  async #conclude(cycle: Extract<Cycle, { at: 'done' | 'failed' }>, sight: Sight | undefined): Promise<void> {
    const now = Date.now()
    const { journal, store, settings } = this.#o
    const { look, history, usd } = this.#standing
    this.#timings.did('verify', evidenceOf(sight), now)
    const cycled = conclusion({ cycle, look, history, timings: this.#timings, usd, now })
    await journal.write('cycled', cycled)
    this.#standing.conclude(cycled, now)
    await journal.mean(restAfter(cycle), [])
    this.#cycle = restAfter(cycle)
    await this.#slot?.()
    this.#slot = undefined
    if (cycle.at === 'done') await recordContinuation(store, look, cycle)
    if (isRaised(settings(), this.#standing.history, now)) {
      const what = 'More than one cycle within an hour: the threshold is raised for a while'
      await this.#report('context', 'warning', what, 'logs')
    } else await this.#report('context', 'ok', 'Its context is fresh', '')
  }

  /** The document that an agent wrote after the ledger's was used. */
  async #lateDocument(file: string): Promise<void> {
    await this.#o.journal.write('late', { path: file })
    this.#mailbox.post({ type: 'say', text: lateText(file) })
  }

  #plight(hands: Hands, now: number): Plight {
    const { look, history } = this.#standing
    const full = look !== undefined && (shareOf(look) ?? 0) >= this.#threshold(now)
    const settings = this.#o.settings()
    const firstPrompt = this.#o.run.prompt
    return {
      hands,
      look,
      cycle: this.#cycle,
      restarts: this.#restarts,
      settings,
      full,
      n: history.count + 1,
      firstPrompt,
      now,
    }
  }

  /** The agent is no longer there. */
  async #lost(hands: Hands): Promise<void> {
    const now = Date.now()
    const { journal, signal } = this.#o
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
    await this.#show('restarting')
    this.#watching?.abort()
    await pause(rescue.afterMs, signal)
    if (!signal.aborted) await this.#goOn(hands, await rescue.act())
  }

  async #goOn(before: Hands, { hands, cycle, say }: Rescued): Promise<void> {
    await before.eyes.close()
    await before.driver.close()
    this.#cycle = cycle
    this.#hold(hands)
    await this.#look()
    if (say !== undefined) this.#mailbox.post({ type: 'say', text: say })
    this.#mailbox.post({ type: 'file' })
  }

  /** A limit holds the agent: it is waited for, or another agent goes on. */
  async #limited(hands: Hands, look: Observation): Promise<void> {
    const { quota } = this.#o.settings()
    const until = look.state.state === 'limited' ? look.state.until : undefined
    const what = `A limit is reached${until === undefined ? '' : `, until ${until}`}`
    this.#vigil.limit(look)
    if (quota === 'wait' || quota.continueIn === this.#life.agent)
      return this.#report('quota', 'warning', what, 'limit')
    await this.#report('quota', 'warning', `${what}; ${quota.continueIn} goes on`, 'logs')
    this.#watching?.abort()
    const meant = (cycle: Cycle) => this.#o.journal.mean(cycle, ['launch'])
    await this.#goOn(hands, await inAnotherAgent(this.#life, this.#plight(hands, Date.now()), quota.continueIn, meant))
  }

  async #report(check: Check['check_type'], status: Check['status'], what: string, advice: string): Promise<void> {
    const cycle = this.#cycle
    const details = cycle.at === 'watching' ? {} : { cycle: cycle.n, step: cycle.at }
    await this.#o.health.report({
      check_type: check,
      status,
      what,
      action_taken: status === 'ok' ? '' : actionFor(advice),
      ...(status === 'ok' ? {} : { advice: adviceFor(advice, this.#o.run.name, cycle) }),
      details,
    })
  }

  async #show(state?: SessionRow['state'], ended?: string): Promise<void> {
    const now = Date.now()
    const row = this.#standing.row({
      ...(state === undefined ? {} : { state }),
      agent: this.#life.agent,
      cycle: this.#cycle,
      waits: this.#waits,
      threshold: this.#threshold(now),
      place: this.#hands?.driver.place,
      ...(ended === undefined ? {} : { ended }),
      now,
    })
    await this.#rows.show(row).catch(tolerateDisk)
  }

  /** What ended the run ends the agent too; one that ended itself is left in peace. */
  async #end(ended: Ended): Promise<void> {
    if (ended.why === 'bound') await this.#report('bounds', 'warning', `The run is over: ${ended.details}`, 'restart')
    if (ended.why !== 'exited' && ended.why !== 'crashed') await this.#hands?.driver.stop()
    await this.#o.journal.write('ended', ended)
    await this.#show('ended', 'details' in ended ? `${ended.why}: ${ended.details}` : ended.why)
  }
}

/** A state that says more than the one before it. */
function isNews(before: Cycle, after: Cycle): boolean {
  const said = (cycle: Cycle) =>
    'prompt' in cycle ? cycle.prompt.state : cycle.at === 'watching' ? cycle.say?.state : ''
  return before.at !== after.at || said(before) !== said(after)
}

function tolerateDisk(error: unknown): void {
  if (!BatonError.is(error) || error.code === 'conflict') throw error
}

function detailsOf(cycle: Cycle, deeds: readonly Deed[]): string {
  if (cycle.at === 'failed') return cycle.reason
  if ('document' in cycle && cycle.document !== undefined) return cycle.document.path
  return deeds.map((deed) => ('text' in deed ? deed.text : deed.do)).join(', ')
}

function pause(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const timer = setTimeout(resolve, ms)
    signal.addEventListener('abort', () => (clearTimeout(timer), resolve()), { once: true })
  })
}
