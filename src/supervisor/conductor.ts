// Runs the cycle: lets the step function decide, writes down what is meant, has it done, and keeps what came of it.

import { BatonError } from '../errors.ts'
import type { Store } from '../store/index.ts'
import { shifted } from './clock.ts'
import { conclusion, recordContinuation } from './conclusion.ts'
import { restAfter } from './cycle.ts'
import type { Cycle, Effect, Seen, Sight, Stepped, Waits } from './cycle-state.ts'
import { type Deed, Deeds } from './deeds.ts'
import { Desk } from './desk.ts'
import { restoreFile } from './document-store.ts'
import type { Observation } from './eyes.ts'
import type { Check } from './health.ts'
import type { Journal, Note, Past, Promised } from './journal.ts'
import type { Judge } from './judge.ts'
import { isRaised } from './policy.ts'
import { lateText } from './prompts.ts'
import { revive } from './revive.ts'
import type { Hands, Run } from './run.ts'
import { evidenceOf } from './scene.ts'
import type { SupervisorSettings } from './settings.ts'
import type { Standing } from './standing.ts'
import { Timings } from './timings.ts'
import type { TranscriptTape } from './transcript-tape.ts'

export interface ConductorOptions {
  readonly store: Store
  readonly run: Run
  /** The entry with which the work began. */
  readonly since: number
  readonly journal: Journal
  readonly judge: Judge
  readonly standing: Standing
  readonly tape: TranscriptTape
  readonly settings: () => SupervisorSettings
  readonly hands: () => Hands | undefined
  readonly signal: AbortSignal
  readonly report: Report
  readonly onStep: (cycle: number, step: string, details: string) => void
  /** What came of a deed. */
  readonly onSeen: (outcome: Outcome) => void
  /** Something has changed where documents arrive. */
  readonly onFile: () => void
}

export type Report = (
  check: Check['check_type'],
  status: Check['status'],
  what: string,
  /** What a person should do; see `adviceFor`. */
  advice: string,
  /** Of the moment, unless given. */
  cycle?: Cycle,
) => Promise<void>

export interface Outcome {
  readonly seen: Seen
  readonly deed: Deed['do']
  /** When that was written which the deed answered. */
  readonly evidence: number | undefined
}

export class Conductor {
  readonly #o: ConductorOptions
  readonly #deeds: Deeds
  readonly #desk: Desk
  readonly #timings = new Timings()
  #cycle: Cycle
  #waits: Waits | undefined
  /** It could have begun before, but others came first. */
  #held = false
  /** Since when it cannot be typed to. */
  #obstacle: number | undefined
  #underWay: Promise<void> = Promise.resolve()
  /** What came of the last deed, until it has been taken. */
  #seen: Seen | undefined

  constructor(options: ConductorOptions, { cycle, promised }: Pick<Past, 'cycle' | 'promised'>) {
    this.#o = options
    this.#cycle = cycle
    this.#deeds = new Deeds(options)
    this.#desk = new Desk(options.run.cwd, options.onFile)
    if (promised !== undefined) this.#desk.promise(promised)
  }

  get cycle(): Cycle {
    return this.#cycle
  }

  get waits(): Waits | undefined {
    return this.#waits
  }

  /** Takes up a cycle that a supervisor before has left in the middle. */
  async takeUp(): Promise<void> {
    const before = this.#cycle
    const now = Date.now()
    const { cycle, effects, waits } = revive(before, now)
    this.#cycle = cycle
    this.#waits = waits
    if (cycle.at !== 'watching') this.#timings.begin(now)
    if ('document' in cycle && cycle.document !== undefined) {
      await restoreFile(this.#o.store, this.#o.run.name, cycle.document)
    }
    if (before.at === 'done' || before.at === 'failed') await this.#conclude(before, undefined)
    this.#perform(effects, undefined)
  }

  /** The cycle goes on from there, with another agent or a new one. */
  replace(cycle: Cycle): void {
    this.#cycle = cycle
    this.#timings.begin(Date.now())
  }

  /** The clock was set. */
  shift(by: number): void {
    this.#cycle = shifted(this.#cycle, by)
  }

  /** Time that a person took does not count. */
  unhurry(): void {
    if ('since' in this.#cycle) this.#cycle = { ...this.#cycle, since: Date.now() }
  }

  async see(sight: Sight, now: number): Promise<void> {
    // A full disk may have kept it from being concluded.
    if (this.#cycle.at === 'done' || this.#cycle.at === 'failed') await this.#conclude(this.#cycle, sight)
    const { hold, ...stepped } = await this.#o.judge.judge(this.#cycle, sight, now)
    if (hold?.why === 'breaker' || hold?.why === 'futile') {
      const status = hold.why === 'breaker' ? 'critical' : 'warning'
      await this.#report('context', status, `Its context is full, but a cycle waits for ${hold.what}`, 'cycle')
    }
    await this.#apply(stepped, sight)
    this.#held = hold !== undefined
    await this.#tellObstacle(now)
    const free = this.#cycle.at === 'watching' && this.#cycle.say === undefined
    const late = free ? this.#desk.arrived(now) : undefined
    if (late === undefined) return
    const told = this.#o.judge.next(this.#cycle, { seen: 'say', text: lateText(late) }, now)
    await this.#apply(told, undefined, [{ name: 'late', data: { path: late } }])
    this.#desk.forget()
  }

  async take({ seen, deed, evidence }: Outcome, now: number): Promise<void> {
    this.#seen = undefined
    if (seen.seen !== 'refused') this.#timings.did(deed, evidence, now)
    const { look } = this.#o.standing
    if (deed === 'ask' && look !== undefined) this.#o.tape.keepUp(look)
    await this.#apply(this.#o.judge.next(this.#cycle, seen, now), undefined)
  }

  /** Tells the agent something, when there is no cycle under way. */
  async say(text: string, now: number): Promise<void> {
    await this.#apply(this.#o.judge.next(this.#cycle, { seen: 'say', text }, now), undefined)
  }

  close(): void {
    this.#desk.close()
  }

  /** Writes down what is meant, then lets it be done. */
  async #apply(
    { cycle, effects, waits }: Stepped,
    sight: Sight | undefined,
    notes: readonly Note[] = [],
  ): Promise<void> {
    const { journal, judge } = this.#o
    const before = this.#cycle
    const promised = promisedBy(before, cycle)
    const also = promised === undefined ? notes : [...notes, { name: 'promised' as const, data: promised }]
    const deeds = effects.filter((effect): effect is Deed => effect.do !== 'health')
    const names = deeds.map((deed) => deed.do)
    if (deeds.length > 0) await journal.mean(cycle, names, also)
    // Nothing is done on the strength of the others: after a crash they are seen again.
    else if (isNews(before, cycle)) await journal.mean(cycle, []).catch(tolerateDisk)
    this.#cycle = cycle
    // Another state looks for other things: what it waits for may be there already, and nothing more would tell.
    this.#waits = deeds.length === 0 && isNews(before, cycle) ? { for: waits?.for ?? '', until: Date.now() } : waits
    if (before.at === 'watching' && cycle.at === 'asked') {
      judge.wanted = false
      this.#desk.forget()
      // Having had to wait for its turn is no part of a cycle.
      this.#timings.begin((this.#held ? undefined : evidenceOf(sight)) ?? Date.now())
    }
    if (promised !== undefined) this.#desk.promise(promised)
    this.#desk.attend('path' in cycle ? cycle.path : undefined)
    if (cycle.at !== 'watching' && before.at !== cycle.at) this.#o.onStep(cycle.n, cycle.at, detailsOf(cycle, deeds))
    for (const effect of effects) {
      if (effect.do === 'health') await this.#report(effect.check, effect.status, effect.what, effect.advice)
    }
    this.#perform(deeds, sight)
    if (cycle.at === 'done' || cycle.at === 'failed') await this.#conclude(cycle, sight)
  }

  /** Not waited for: what comes of it is told. */
  #perform(effects: readonly Effect[], sight: Sight | undefined): void {
    const hands = this.#o.hands()
    const { look } = this.#o.standing
    if (hands === undefined || look === undefined) return
    const evidence = evidenceOf(sight)
    for (const effect of effects) {
      if (effect.do === 'health') continue
      const before = this.#underWay
      this.#underWay = this.#carryOut(effect, hands, look, evidence).then(() => before)
    }
  }

  async #carryOut(deed: Deed, hands: Hands, look: Observation, evidence: number | undefined): Promise<void> {
    const seen = await this.#deeds.do(deed, hands, look)
    this.#seen = seen
    this.#o.onSeen({ seen, deed: deed.do, evidence })
  }

  /** What is in the way for long, and is no question that is told of anyway, only a person can put away. */
  async #tellObstacle(now: number): Promise<void> {
    const what = /^a chance to .*/.exec(this.#waits?.for ?? '')?.[0]
    if (what === undefined) {
      if (this.#obstacle !== undefined) await this.#report('prompt', 'ok', 'It can be typed to', '')
      this.#obstacle = undefined
      return
    }
    this.#obstacle ??= now
    if (now - this.#obstacle < this.#o.settings().submitSeconds * 3_000) return
    await this.#report('prompt', 'warning', `It has waited long for ${what}`, 'attach')
  }

  /** Lets what is under way come to its end, and keeps what came of it: the next supervisor need not find out. */
  async settle(): Promise<void> {
    await this.#underWay
    if (this.#seen === undefined) return
    const { cycle, effects } = this.#o.judge.next(this.#cycle, this.#seen, Date.now())
    if (effects.length === 0 && isNews(this.#cycle, cycle)) await this.#o.journal.mean(cycle, []).catch(tolerateDisk)
  }

  async #conclude(cycle: Extract<Cycle, { at: 'done' | 'failed' }>, sight: Sight | undefined): Promise<void> {
    const { journal, store, settings, standing, judge } = this.#o
    const now = Date.now()
    const { look, history, usd } = standing
    this.#timings.did('verify', evidenceOf(sight), now)
    const cycled = conclusion({ cycle, look, history, timings: this.#timings, usd, now })
    // First, since a cycle that is over is not looked at again.
    if (cycle.at === 'done') await recordContinuation(store, look, cycle)
    await journal.write('cycled', cycled)
    standing.conclude(cycled, now)
    await journal.mean(restAfter(cycle), [])
    this.#cycle = restAfter(cycle)
    // It may have come to the threshold again meanwhile, and rest there: nothing would tell.
    this.#waits = { for: 'the threshold', until: now }
    await judge.release()
    if (cycle.at === 'failed') return
    if (isRaised(settings(), standing.history, now)) {
      const raised = settings().raise > 0 ? ': the threshold is raised for a while' : ''
      const what = `More than one cycle within an hour${raised}`
      await this.#report('context', 'warning', what, 'logs')
    } else await this.#report('context', 'ok', 'Its context is fresh', '')
  }

  #report(check: Check['check_type'], status: Check['status'], what: string, advice: string): Promise<void> {
    return this.#o.report(check, status, what, advice, this.#cycle)
  }
}

/** A session is cleared without the document that its agent was asked for. */
function promisedBy(before: Cycle, after: Cycle): Promised | undefined {
  if (before.at !== 'documented' || after.at !== 'clearing' || after.document.by !== 'ledger') return undefined
  return { path: before.path, since: after.trigger.at, n: after.n }
}

/** A state that says more than the one before it. */
function isNews(before: Cycle, after: Cycle): boolean {
  const said = (cycle: Cycle) =>
    'prompt' in cycle ? cycle.prompt.state : cycle.at === 'watching' ? cycle.say?.state : ''
  return before.at !== after.at || said(before) !== said(after)
}

/** What can be seen again need not be written down at all costs; that somebody else writes is another matter. */
export function tolerateDisk(error: unknown): void {
  if (!BatonError.is(error) || error.code === 'conflict') throw error
}

function detailsOf(cycle: Cycle, deeds: readonly Deed[]): string {
  if (cycle.at === 'failed') return cycle.reason
  if ('document' in cycle && cycle.document !== undefined) return cycle.document.path
  return deeds.map((deed) => ('text' in deed ? deed.text : deed.do)).join(', ')
}
