// How long streams live: until the caller is gone, its token was revoked, or the server closes. One timer looks after all of them.

import type { Token, Tokens } from '../access/tokens.ts'

const lookMs = 1_000

export interface Life {
  readonly signal: AbortSignal
  /** To be called when the stream has ended by itself. */
  readonly end: () => void
}

export class Lives {
  readonly #tokens: Tokens
  readonly #closing: AbortSignal
  readonly #open = new Map<AbortController, Token>()

  constructor(tokens: Tokens, closing: AbortSignal) {
    this.#tokens = tokens
    this.#closing = closing
    const look = setInterval(() => this.#look(), lookMs).unref()
    closing.addEventListener('abort', () => clearInterval(look), { once: true })
  }

  begin(token: Token, request: AbortSignal): Life {
    const revoked = new AbortController()
    const signal = AbortSignal.any([request, this.#closing, revoked.signal])
    const end = () => void this.#open.delete(revoked)
    this.#open.set(revoked, token)
    signal.addEventListener('abort', end, { once: true })
    return { signal, end }
  }

  #look(): void {
    for (const [stream, { id }] of this.#open) if (!this.#tokens.isValid(id)) stream.abort()
  }
}
