// How long a limit holds a session back. An agent names the minute of a reset, not the second, and says the same words again when
// it is asked too early: so it is asked shortly after the time that it names, and then ever later. What the agent does by
// itself lifts the limit at once.

import type { Observation } from '../observe/observation.ts'

export interface LimitPatience {
  /** After the reset that was named, before the agent is asked. */
  readonly graceMs: number
  /** Where no reset is known, or it has passed: the first wait, doubled for each further one. */
  readonly backoffMs: number
}

const longestMs = 900_000

export class LimitWatch {
  /** The limit that holds now: what it is known by, and when the agent may be asked again. */
  #limit: { readonly key: string; readonly until: number; readonly chosen: boolean } | undefined
  /** Limits in a row that were told after their reset, or without one. */
  #tries = 0
  /** Baton has had the agent keep trying, and counted that; a limit that it then tells of is no further one. */
  #keepsTrying = false

  /** Whether none holds. Where no reset was named, only a turn that ends well shows that. */
  get isOver(): boolean {
    return this.#limit === undefined && this.#tries === 0
  }

  /** The observation with the limit as it really holds. */
  apply(observation: Observation, { graceMs, backoffMs }: LimitPatience): Observation {
    const { limit, state, turn, error, at } = observation
    if (limit === undefined && state.state !== 'limited') {
      this.#limit = undefined
      if (turn === 'idle' && error === undefined) {
        this.#tries = 0
        this.#keepsTrying = false
      }
      return observation
    }
    const reset = Date.parse((state.state === 'limited' ? state.until : limit?.until) ?? '')
    const key = `${limit?.date ?? 'quota'} ${reset}`
    if (this.#limit?.key !== key) {
      const isAhead = reset > at
      if (!isAhead && !this.#keepsTrying) this.#tries++
      this.#keepsTrying = false
      this.#limit = { key, until: isAhead ? reset + graceMs : at + this.#waitMs(backoffMs), chosen: !isAhead }
    }
    const { until, chosen } = this.#limit
    if (at < until) {
      const state = { state: 'limited', until: new Date(until).toISOString(), ...(chosen && { chosen }) } as const
      return { ...observation, state }
    }
    // The next prompt, or the next try, will show whether it still holds.
    return state.state === 'limited' ? { ...observation, state: { state: 'waiting' } } : observation
  }

  /** Whether the agent is to keep trying now. It may be refused again, at once and in the same words. */
  keepTrying(at: number, { backoffMs }: LimitPatience): boolean {
    if (this.#limit === undefined || at < this.#limit.until) return false
    this.#tries++
    this.#keepsTrying = true
    this.#limit = { ...this.#limit, until: at + this.#waitMs(backoffMs), chosen: true }
    return true
  }

  #waitMs(backoffMs: number): number {
    return Math.min(backoffMs * 2 ** (this.#tries - 1), longestMs)
  }
}
