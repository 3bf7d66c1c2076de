// How full the context is. Right after a call the figure is the provider's own; what has come since is estimated from
// bytes, and so is a phase in which nothing was counted yet.

import { estimateTokens, type Tape } from '../tape/index.ts'
import { usageKey } from '../tape/step.ts'

/** For shares of a window that nobody knows. */
export const assumedWindow = 128_000

/** How many bytes of one message a model is given whole: half its window, at four bytes to a token. */
export function largestMessage(window: number = assumedWindow): number {
  return window * 2
}

interface Count {
  readonly tokens: number
  /** What the estimate was when the provider counted, and in which phase. */
  readonly estimate: number
  readonly anchor: number
}

export class Gauge {
  /** Of the system prompt and the tools, which are not on the tape. */
  readonly overhead: number
  #last: Count | undefined

  constructor(overheadBytes: number) {
    this.overhead = estimateTokens(overheadBytes)
  }

  async read(tape: Tape): Promise<number> {
    const { estimate, anchor } = await this.#look(tape)
    this.#last ??= await recorded(tape, anchor, estimate)
    const last = this.#last
    if (last?.anchor !== anchor) return estimate
    return last.tokens + Math.max(0, estimate - last.estimate)
  }

  /** The provider says that the context holds so much now; 0 if it does not say. */
  async counted(tape: Tape, tokens: number): Promise<void> {
    if (tokens > 0) this.#last = { tokens, ...(await this.#look(tape)) }
  }

  async #look(tape: Tape): Promise<{ estimate: number; anchor: number }> {
    const { contextTokens } = await tape.info()
    return { estimate: contextTokens + this.overhead, anchor: await anchorOf(tape) }
  }
}

/** What the last process was told, if it was in this phase. */
async function recorded(tape: Tape, anchor: number, estimate: number): Promise<Count | undefined> {
  const entry = await tape.store.latest(tape.name, usageKey)
  if (entry === undefined || entry.id < anchor) return undefined
  const { input, output } = (entry.payload as { data: { input?: unknown; output?: unknown } }).data
  if (typeof input !== 'number' || typeof output !== 'number') return undefined
  return { tokens: input + output, estimate, anchor }
}

export async function anchorOf(tape: Tape): Promise<number> {
  return (await tape.store.info(tape.name))?.lastAnchor?.id ?? 0
}
