// How many tokens the context holds. Right after a call the figure is the provider's own; entries that came later are estimated
// from their bytes, and so is a phase in which the provider has not counted yet.

import { estimateTokens, type Tape } from '../../tape/index.ts'
import { usageKey } from '../../tape/index.ts'

/** The size that is assumed where the model's window is unknown. */
export const assumedWindow = 128_000

/** How many bytes of one message a model is given whole: half its window, at four bytes to a token. */
export function largestMessage(window: number = assumedWindow): number {
  return window * 2
}

interface Count {
  readonly tokens: number
  /** The estimate at the time of the provider's count, and the anchor of its phase. */
  readonly estimate: number
  readonly anchor: number
}

export class ContextSize {
  /** The tokens of the system prompt and the tools, which are not on the tape. */
  readonly overhead: number
  readonly #wholeText: number
  #last: Count | undefined

  /** `wholeText`: how many bytes of one message the model is given whole. */
  constructor(overheadBytes: number, wholeText: number) {
    this.overhead = estimateTokens(overheadBytes)
    this.#wholeText = wholeText
  }

  async read(tape: Tape): Promise<number> {
    const { estimate, anchor } = await this.#look(tape)
    this.#last ??= await recorded(tape, anchor, estimate)
    const last = this.#last
    if (last?.anchor !== anchor) return estimate
    return last.tokens + Math.max(0, estimate - last.estimate)
  }

  /** Takes the provider's count of the context; 0 means that it gave none. */
  async counted(tape: Tape, tokens: number): Promise<void> {
    if (tokens > 0) this.#last = { tokens, ...(await this.#look(tape)) }
  }

  async #look(tape: Tape): Promise<{ estimate: number; anchor: number }> {
    const { contextTokens } = await tape.info({ wholeText: this.#wholeText })
    return { estimate: contextTokens + this.overhead, anchor: await anchorOf(tape) }
  }
}

/** The count that the last process recorded, if it was in this phase. */
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
