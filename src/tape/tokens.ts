// Tokens: how many a text takes. An exact count needs the tokenizer's vocabulary, so a caller who only wants to know how full a
// context is gets an estimate from bytes.

import fs from 'node:fs'
import { createRequire } from 'node:module'
import { fileURLToPath } from 'node:url'
import { wholeCharacter } from './blob.ts'

/** Bytes of JSON per token, over English, code and tool output. */
const bytesPerToken = 3.6

export function estimateTokens(bytes: number): number {
  return Math.ceil(Math.max(0, bytes) / bytesPerToken)
}

export type CountTokens = (text: string) => number

/** Longer stretches are counted apart: the merging within one unbroken run of text takes quadratic time. */
const stretch = 2_000
/** How many words are remembered; beyond that, all are forgotten. */
const mostWords = 100_000

let counter: CountTokens | undefined

/** Counts as o200k does, at most a token more per 2,000 characters; special tokens in a text are text. */
export async function tokenCounter(): Promise<CountTokens> {
  if (counter !== undefined) return counter
  const { O200K_TOKEN_SPLIT_REGEX: word } = await import('gpt-tokenizer/encodingParams/constants')
  const ranks = new Vocabulary(fs.readFileSync(vocabularyFile()))
  const known = new Map<string, number>()
  const countWord = (text: string) => {
    const before = known.get(text)
    if (before !== undefined) return before
    if (known.size >= mostWords) known.clear()
    const count = ranks.count(Buffer.from(text))
    known.set(text, count)
    return count
  }
  counter = (text) => {
    let count = 0
    for (let at = 0; at < text.length;) {
      const end = wholeCharacter(text, at + stretch)
      for (const each of text.slice(at, end).match(word) ?? []) count += countWord(each)
      at = end
    }
    return count
  }
  return counter
}

/** The build puts the one vocabulary that is used into dist/vendor; the sources take it from its package. */
function vocabularyFile(): string {
  const built = fileURLToPath(new URL('../vendor/o200k_base.tiktoken', import.meta.url))
  if (fs.existsSync(built)) return built
  return createRequire(import.meta.url).resolve('gpt-tokenizer/data/o200k_base.tiktoken')
}

/**
 * The tokens of an encoding, looked up in the file itself: each line is a token in base64, a space and its rank, in the order
 * of the ranks. Two hundred thousand strings in a map take ten times as long to build as a table of places in the file.
 */
class Vocabulary {
  readonly #file: Buffer
  readonly #starts: Int32Array
  /** Open addressing; a slot holds a rank plus one, and 0 if it is free. */
  readonly #slots: Int32Array

  constructor(file: Buffer) {
    this.#file = file
    // No line is shorter than six bytes.
    this.#starts = new Int32Array(Math.ceil(file.length / 6))
    const slots = new Int32Array(1 << 19)
    let rank = 0
    for (let at = 0; at < file.length; at = file.indexOf(newline, at) + 1) {
      this.#starts[rank] = at
      let hash = hashStart
      for (let byte = file[at]!; byte !== space; byte = file[++at]!) hash = Math.imul(hash ^ byte, hashFactor)
      let slot = (hash ^ (hash >>> 15)) & (slots.length - 1)
      while (slots[slot] !== 0) slot = (slot + 1) & (slots.length - 1)
      slots[slot] = ++rank
    }
    this.#slots = slots
  }

  /** How many tokens a word becomes: neighbours are joined, those with the lowest rank first, as long as they make a token. */
  count(word: Buffer): number {
    if (this.#rank(word, 0, word.length) !== none) return 1
    const starts = Array.from({ length: word.length + 1 }, (_, i) => i)
    const joined = (i: number) => (i + 2 < starts.length ? this.#rank(word, starts[i]!, starts[i + 2]!) : none)
    const ranks = starts.map((_, i) => joined(i))
    for (;;) {
      let lowest = 0
      for (let i = 1; i < ranks.length; i++) if (ranks[i]! < ranks[lowest]!) lowest = i
      if (ranks[lowest] === none) return starts.length - 1
      starts.splice(lowest + 1, 1)
      ranks.splice(lowest, 1)
      ranks[lowest] = joined(lowest)
      if (lowest > 0) ranks[lowest - 1] = joined(lowest - 1)
    }
  }

  #rank(word: Buffer, from: number, to: number): number {
    const key = word.toString('base64', from, to)
    let hash = hashStart
    for (let i = 0; i < key.length; i++) hash = Math.imul(hash ^ key.charCodeAt(i), hashFactor)
    const slots = this.#slots
    for (let slot = (hash ^ (hash >>> 15)) & (slots.length - 1); ; slot = (slot + 1) & (slots.length - 1)) {
      const rank = slots[slot]! - 1
      if (rank < 0) return none
      if (this.#holds(this.#starts[rank]!, key)) return rank
    }
  }

  #holds(at: number, key: string): boolean {
    for (let i = 0; i < key.length; i++) if (this.#file[at + i] !== key.charCodeAt(i)) return false
    return this.#file[at + key.length] === space
  }
}

const newline = 10
const space = 32
const none = Number.POSITIVE_INFINITY
const hashStart = 0x811c9dc5 | 0
const hashFactor = 0x01000193
