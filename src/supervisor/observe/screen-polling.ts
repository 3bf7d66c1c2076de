// Reads the screen where the transcript is silent and only the screen can show why: rarely, and ever more rarely while nothing
// changes.

import type { ScreenState } from '../../agents/index.ts'
import type { Driver } from '../drivers/driver.ts'
import type { Observation } from './observation.ts'

/** Milliseconds of silence after which the screen is read for the first time, the second time and so on. */
const steps = [1_000, 3_000, 6_000, 12_000, 24_000]
const longest = 15_000
/** How often the screen is read while it shows a question. */
const whileAsked = 1_000
/** How often while it shows a limit. */
const whileLimited = 5_000
/** How long the screen takes to show what the transcript says. */
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

export class ScreenPolling {
  readonly #driver: Driver
  #last: ScreenState = { is: 'unknown' }
  #at = Number.NEGATIVE_INFINITY
  /** How often in a row the screen has shown an idle agent since the last change. */
  #rests = 0
  #restsSince: number | undefined
  #asked: string | undefined
  #changed: number | undefined
  #limitedSince: number | undefined

  constructor(driver: Driver) {
    this.#driver = driver
  }

  /** `quiet`: since when nothing was written. `tells`: the agent itself says whether it waits. */
  isDue(quiet: number, turn: Observation['turn'], tells: boolean): boolean {
    const now = Date.now()
    if (this.#last.is === 'dialog') return now - this.#at >= whileAsked
    const seen = now - this.#at
    if (this.#last.is === 'limited') return seen >= whileLimited
    if (tells) return this.#last.is === 'unknown' && seen > longest
    // After a turn one reading suffices, for a question that came with its end.
    if (turn === 'idle') return quiet >= steps[0]! && seen > quiet - steps[0]! && seen > steps[0]!
    if (quiet > steps.at(-1)!) return seen >= longest
    return steps.some((step) => quiet >= step && seen > quiet - step)
  }

  /** `changed`: when it was written to last; what was seen before then says nothing about now. */
  async poll({ quiet, turn, asks, failed, unclear, changed }: Reasons): Promise<void> {
    const news = asks !== this.#asked
    this.#asked = asks
    const hasMoved = changed !== this.#changed
    if (hasMoved) {
      this.#changed = changed
      this.#rests = 0
      this.#restsSince = undefined
    }
    if (unclear && this.#rests === 0 && quiet < settling) return
    const mayBeOver = hasMoved && this.#last.is === 'limited'
    const asked = news || failed || mayBeOver || (unclear && this.#rests === 0)
    const isOpen = this.#last.is === 'dialog' || this.#last.is === 'limited'
    if (!asked && !isOpen && quiet < steps[0]!) return
    if (!asked && !this.isDue(quiet, turn, false)) return
    const screen = await this.#driver.screenState().catch((): ScreenState => ({ is: 'unknown' }))
    const now = Date.now()
    this.#rests = screen.is === 'prompt' ? this.#rests + 1 : 0
    if (this.#rests < 2) this.#restsSince = undefined
    else this.#restsSince ??= now
    if (screen.is !== 'limited') this.#limitedSince = undefined
    else this.#limitedSince ??= now
    this.#last = screen
    this.#at = now
  }

  /** Whether the screen has shown an agent at rest since the last change. */
  get isAtRest(): boolean {
    return this.#rests > 0
  }

  shows(what: ScreenState['is']): boolean {
    return this.#last.is === what
  }

  /** Since when the screen has shown an agent at rest, seen more than once. */
  restsSince(): number | undefined {
    return this.#restsSince
  }

  /** What the screen says of a limit, and since when. */
  limit(): { readonly words: string; readonly date: string } | undefined {
    if (this.#last.is !== 'limited' || this.#limitedSince === undefined) return undefined
    return { words: this.#last.words, date: new Date(this.#limitedSince).toISOString() }
  }

  dialog(asks: string | undefined): string | undefined {
    if (this.#last.is === 'dialog') return this.#last.question
    return asks
  }
}
