// The clock of the machine, which may be set while a cycle is under way, or stand still while the machine sleeps.

import type { Cycle, Prompt } from './cycle-state.ts'

/** Smaller corrections are normal synchronisation of the clock. */
const least = 5_000

export class Clock {
  #offset = offset()

  /** By how many milliseconds it was set since it was last asked; 0: it was not. */
  leap(): number {
    const now = offset()
    const by = now - this.#offset
    if (Math.abs(by) < least) return 0
    this.#offset = now
    return by
  }
}

function offset(): number {
  return Date.now() - performance.now()
}

/** A moment from which something counts. It moves back with a clock that is set back, and is never later than before. */
export class Moment {
  #at: number
  #offset = offset()

  constructor(at: number) {
    this.#at = at
  }

  get at(): number {
    const now = offset()
    if (this.#offset - now >= least) {
      this.#at -= this.#offset - now
      this.#offset = now
    }
    return this.#at
  }
}

/**
 * The cycle by the clock as it is now: what is waited for has as much time left as before. What was written before the
 * clock was set keeps its old date, so that the times from which something counts only ever move back.
 */
export function shifted(cycle: Cycle, by: number): Cycle {
  const back = Math.min(by, 0)
  const prompted = (prompt: Prompt): Prompt => ({ ...prompt, at: prompt.at + by, began: prompt.began + back })
  if (cycle.at === 'watching') {
    const { say, over, full, interrupted } = cycle
    return {
      ...cycle,
      ...(say === undefined ? {} : { say: prompted(say) }),
      ...(over === undefined ? {} : { over: over + by }),
      ...(full === undefined ? {} : { full: full + by }),
      ...(interrupted === undefined ? {} : { interrupted: interrupted + by }),
    }
  }
  const next = { ...cycle, trigger: { ...cycle.trigger, at: cycle.trigger.at + back } }
  if ('since' in next) next.since += by
  if ('interrupted' in next && next.interrupted !== undefined) next.interrupted += by
  if ('prompt' in next) next.prompt = prompted(next.prompt)
  if ('notBefore' in next && next.notBefore !== undefined) next.notBefore += by
  if (next.at === 'asked' && next.without !== undefined) next.without += by
  if (next.at === 'asked' && next.ready !== undefined) next.ready += by
  return next
}
