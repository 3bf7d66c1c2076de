// Tokens: how many a text takes. An exact count needs a tokenizer, which takes a while to load, so a caller who only wants to know
// how full a context is gets an estimate from bytes.

import { wholeCharacter } from './blob.ts'

/** Bytes of JSON per token, over English, code and tool output. */
const bytesPerToken = 3.6

export function estimateTokens(bytes: number): number {
  return Math.ceil(Math.max(0, bytes) / bytesPerToken)
}

export type CountTokens = (text: string) => number

/** Longer stretches are counted apart: the merging within one unbroken run of text takes quadratic time. */
const stretch = 2_000

let counter: CountTokens | undefined

/** Counts as o200k does, at most a token more per 2,000 characters; special tokens in a text are text. */
export async function tokenCounter(): Promise<CountTokens> {
  if (counter !== undefined) return counter
  const { encode } = await import('gpt-tokenizer/encoding/o200k_base')
  const options = { disallowedSpecial: new Set<string>() }
  counter = (text) => {
    let count = 0
    for (let at = 0; at < text.length;) {
      const end = wholeCharacter(text, at + stretch)
      count += encode(text.slice(at, end), options).length
      at = end
    }
    return count
  }
  return counter
}
