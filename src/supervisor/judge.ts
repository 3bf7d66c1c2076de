// Decides what comes next, with all that the step function needs to know: the settings as they are now, the history, and
// whether a cycle may begin at all.

import path from 'node:path'
import { step } from './cycle.ts'
import type { Cycle, Policy, Seen, Sight, Stepped } from './cycle-state.ts'
import { documentsFolder, freePath } from './document-file.ts'
import type { Observation } from './eyes.ts'
import { type Circumstances, type Hold, holdOf, policyFor, thresholdOf } from './policy.ts'
import type { Hands, Run } from './run.ts'
import type { SupervisorSettings } from './settings.ts'
import type { Slots } from './slots.ts'
import { shareOf, type Standing } from './standing.ts'

export interface JudgeOptions {
  readonly run: Run
  readonly settings: () => SupervisorSettings
  readonly slots: Slots
  readonly standing: Standing
  /** Of the moment; another where one took over. */
  readonly hands: () => Hands | undefined
  readonly agent: () => string
  /** Whether it is being found out if the run has reached what it was to reach. */
  readonly checking: () => boolean
}

/** From here on a context is worth a closer look, as a part of its threshold. */
const near = 0.7

export class Judge {
  readonly #o: JudgeOptions
  #slot: (() => Promise<void>) | undefined
  /** A person wants a cycle. */
  wanted = false

  constructor(options: JudgeOptions) {
    this.#o = options
  }

  /** Where the threshold lies now, 0 to 1. */
  threshold(now: number): number {
    const settings = this.#o.settings()
    const at = this.#circumstances(now)
    return at === undefined ? settings.threshold : thresholdOf(settings, at)
  }

  isFull(look: Observation, now: number): boolean {
    return (shareOf(look) ?? 0) >= this.threshold(now)
  }

  isNear(look: Observation, now: number): boolean {
    return this.wanted || (shareOf(look) ?? 0) >= this.threshold(now) * near
  }

  /** The next step after something that is no sight of the session. */
  next(cycle: Cycle, seen: Seen, now: number): Stepped {
    return step(cycle, seen, this.#policy(cycle, now), now)
  }

  /** The next step after a sight; a cycle begins only with a slot. `hold`: why none begins though the context is full. */
  async judge(cycle: Cycle, sight: Sight, now: number): Promise<Stepped & { hold?: Hold }> {
    const settings = this.#o.settings()
    const at = this.#circumstances(now)
    const hold = this.#hold(settings, at)
    const stepped = step(cycle, sight, this.#policy(cycle, now, hold?.what), now)
    if (hold !== undefined && stepped.waits?.for === hold.what) return { ...stepped, hold }
    if (cycle.at === 'watching' && stepped.cycle.at === 'watching') await this.release()
    if (cycle.at !== 'watching' || stepped.cycle.at !== 'asked' || this.#slot !== undefined) return stepped
    this.#slot = await this.#o.slots.take(settings.concurrency, settings.staggerSeconds * 1000, now)
    if (this.#slot !== undefined) return stepped
    const others: Hold = { why: 'others', what: 'other sessions, which are cycled first' }
    return { ...step(cycle, sight, this.#policy(cycle, now, others.what), now), hold: others }
  }

  /** The cycle is over: another session may begin one. */
  async release(): Promise<void> {
    const free = this.#slot
    this.#slot = undefined
    await free?.()
  }

  #hold(settings: SupervisorSettings, at: Circumstances | undefined): Hold | undefined {
    // A run that is over needs no document.
    if (this.#o.checking()) return { why: 'check', what: 'the check of what it is to reach' }
    return this.wanted || at === undefined ? undefined : holdOf(settings, at)
  }

  #circumstances(now: number): Circumstances | undefined {
    const { run, standing, hands, agent } = this.#o
    const { look, history } = standing
    const adapter = hands()?.adapter
    if (adapter === undefined) return undefined
    const meter = look?.meter ?? { quotas: [] }
    return { run: { name: run.name, agent: agent() }, adapter, meter, session: look?.session, history, now }
  }

  #policy(cycle: Cycle, now: number, hold?: string): Policy {
    const { run, standing } = this.#o
    const settings = this.#o.settings()
    const { look } = standing
    const begins = cycle.at === 'watching' && hold === undefined && look !== undefined && this.isNear(look, now)
    const file = begins ? freePath(documentsFolder(run.cwd, run.name, settings.handoffs), new Date(now)) : ''
    const choices = { wanted: this.wanted, hold, path: file, project: path.basename(run.cwd) }
    return policyFor(settings, this.#circumstances(now)!, choices)
  }
}
