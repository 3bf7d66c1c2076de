// How full the context is. Between calls it is estimated from bytes on the tape, corrected by what the provider counted in
// its last answer: right after a call the figure is the provider's own.

import { estimateTokens, type Tape } from '../tape/index.ts'

export class Gauge {
  /** Of the system prompt and the tools, which are not on the tape. */
  readonly overhead: number
  #factor = 1

  constructor(overheadBytes: number) {
    this.overhead = estimateTokens(overheadBytes)
  }

  async read(tape: Tape): Promise<number> {
    return Math.round((await this.#estimate(tape)) * this.#factor)
  }

  /** `counted`: what the provider says the context holds now. */
  async correct(tape: Tape, counted: number): Promise<void> {
    if (counted <= 0) return
    const factor = counted / Math.max(1, await this.#estimate(tape))
    this.#factor = Math.min(10, Math.max(0.1, factor))
  }

  async #estimate(tape: Tape): Promise<number> {
    return (await tape.info()).contextTokens + this.overhead
  }
}
