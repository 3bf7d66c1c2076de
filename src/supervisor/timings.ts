// What a cycle takes, and whose time it was. Baton's own is everything between the moment that the agent had written what
// was waited for and the end of what Baton did about it; the rest is the agent's.

export interface Timing {
  readonly step: string
  readonly ownMs: number
}

export class Timings {
  #began = 0
  #doneAt = 0
  #own = new Map<string, number>()

  begin(at: number): void {
    this.#began = at
    this.#doneAt = at
    this.#own = new Map()
  }

  /** Something was done in that step; `evidence`: when what it reacts to was written. */
  did(step: string, evidence: number | undefined, now: number): void {
    const since = evidence === undefined ? this.#doneAt : Math.min(now, Math.max(this.#doneAt, evidence))
    this.#own.set(step, (this.#own.get(step) ?? 0) + Math.max(0, now - since))
    this.#doneAt = now
  }

  /** From here on it is the agent's time. */
  over(now: number): void {
    this.#doneAt = Math.max(this.#doneAt, now)
  }

  sum(now: number): { totalMs: number; ownMs: number; timings: Timing[] } {
    const timings = [...this.#own].map(([step, ownMs]) => ({ step, ownMs: Math.round(ownMs) }))
    const ownMs = timings.reduce((sum, each) => sum + each.ownMs, 0)
    return { totalMs: this.#began === 0 ? 0 : now - this.#began, ownMs, timings }
  }
}
