// When the screen is looked at: only where the transcript is silent and only the screen can say why. Seldom, and ever more
// seldom while nothing changes.

import type { Look } from '../adapter.ts'
import type { Driver } from '../driver.ts'
import type { Observation } from '../eyes.ts'

/** Milliseconds of silence after which it is looked, for the first time and for each further one. */
const steps = [1_000, 3_000, 6_000, 12_000, 24_000]
const longest = 15_000
/** While a question stands there, its end is awaited. */
const whileAsked = 1_000
/** What a line tells of shows on the screen a moment later. */
export const settling = 100

interface Reasons {
  /** Milliseconds since anything was written. */
  readonly quiet: number
  readonly turn: Observation['turn']
  /** What the agent itself says it waits for. */
  readonly asks: string | undefined
  readonly failed: boolean
  /** Only the screen can say whether the turn is over. */
  readonly unclear: boolean
  readonly changed: number | undefined
}

export class Glances {
  readonly #driver: Driver
  #last: Look = { is: 'unknown' }
  #at = Number.NEGATIVE_INFINITY
  /** Looks in a row since the last change that showed an agent at rest. */
  #rests = 0
  #restsSince: number | undefined
  #asked: string | undefined
  #changed: number | undefined

  constructor(driver: Driver) {
    this.#driver = driver
  }

  /** `quiet`: since when nothing was written. `tells`: the agent itself says whether it waits. */
  isDue(quiet: number, turn: Observation['turn'], tells: boolean): boolean {
    const now = Date.now()
    if (this.#last.is === 'dialog') return now - this.#at >= whileAsked
    const seen = now - this.#at
    if (tells) return this.#last.is === 'unknown' && seen > longest
    // At rest one look suffices, for a question that came with the end of the turn.
    if (turn === 'idle') return quiet >= steps[0]! && seen > quiet - steps[0]! && seen > steps[0]!
    if (quiet > steps.at(-1)!) return seen >= longest
    return steps.some((step) => quiet >= step && seen > quiet - step)
  }

  /** `changed`: when it was written to last; what was seen before then says nothing about now. */
  async look({ quiet, turn, asks, failed, unclear, changed }: Reasons): Promise<void> {
    const news = asks !== this.#asked
    this.#asked = asks
    if (changed !== this.#changed) {
      this.#changed = changed
      this.#rests = 0
      this.#restsSince = undefined
    }
    if (unclear && this.#rests === 0 && quiet < settling) return
    const asked = news || failed || (unclear && this.#rests === 0)
    if (!asked && this.#last.is !== 'dialog' && quiet < steps[0]!) return
    if (!asked && !this.isDue(quiet, turn, false)) return
    const look = await this.#driver.look().catch((): Look => ({ is: 'unknown' }))
    const now = Date.now()
    this.#rests = look.is === 'prompt' ? this.#rests + 1 : 0
    if (this.#rests < 2) this.#restsSince = undefined
    else this.#restsSince ??= now
    this.#last = look
    this.#at = now
  }

  /** Whether the screen has shown an agent at rest since the last change. */
  get rests(): boolean {
    return this.#rests > 0
  }

  sees(what: Look['is']): boolean {
    return this.#last.is === what
  }

  /** Since when the screen has shown an agent at rest, seen more than once. */
  restsSince(): number | undefined {
    return this.#restsSince
  }

  dialog(asks: string | undefined): string | undefined {
    if (this.#last.is === 'dialog') return this.#last.question
    return asks
  }
}
