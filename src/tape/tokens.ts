// Tokens: how many a text takes. An exact count needs the tokenizer's vocabulary, so a caller who only wants to know how full a
// context is gets an estimate from bytes.

import fs from 'node:fs'
import { createRequire } from 'node:module'
import { fileURLToPath } from 'node:url'
import { wholeCharacter } from './content/blob.ts'

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

/**
 * Letters and digits are ASCII, and what else there is are signs: most texts. V8 needs milliseconds to compile the tokenizer's own
 * expression, with all letters there are.
 */
export const plainText = /^[\0-\x7F×·«»\u2010-\u2027\u2030-\u205E\u2190-\u23FF\u2500-\u2775\u2794-\u27BF]*$/
/** The words of such a text, as o200k cuts them. */
const plainWord =
  /[^\r\nA-Za-z0-9]?(?:[A-Z]*[a-z]+|[A-Z]+)(?:'(?:[sdmtSDMT]|[lL]{2}|[vV][eE]|[rR][eE]))?|\d{1,3}| ?[^\sA-Za-z0-9]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+/g

// The tokens of an encoding as a table that is used exactly as it is on disk: a program that counts a few words would take longer
// to build any other. Behind two numbers (of tokens and of slots) come the slots of a hash table, then where each token begins,
// then the bytes of all tokens, in the order of their ranks. A slot holds a rank plus one, and 0 if it is free.

const none = Number.POSITIVE_INFINITY

/** `text`: a line for each token, in base64, with a space and its rank behind it, in the order of the ranks. */
function makeTable(text: string): Buffer {
  const tokens = text.split('\n').flatMap((line) => (line === '' ? [] : [Buffer.from(line.split(' ')[0]!, 'base64')]))
  const slots = new Int32Array(1 << Math.ceil(Math.log2(tokens.length * 1.2)))
  const starts = new Int32Array(tokens.length + 1)
  tokens.forEach((token, rank) => {
    starts[rank + 1] = starts[rank]! + token.length
    let slot = hashOf(token, 0, token.length) & (slots.length - 1)
    while (slots[slot] !== 0) slot = (slot + 1) & (slots.length - 1)
    slots[slot] = rank + 1
  })
  const sizes = Int32Array.of(tokens.length, slots.length)
  return Buffer.concat([...[sizes, slots, starts].map((each) => Buffer.from(each.buffer)), ...tokens])
}

class Vocabulary {
  readonly #slots: Int32Array
  readonly #starts: Int32Array
  readonly #bytes: Buffer

  constructor(table: Buffer) {
    const aligned = table.byteOffset % 4 === 0 ? table : Buffer.from(new Uint8Array(table).buffer)
    const numbers = new Int32Array(aligned.buffer, aligned.byteOffset, aligned.length >> 2)
    const [tokens = 0, slots = 0] = numbers
    this.#slots = numbers.subarray(2, 2 + slots)
    this.#starts = numbers.subarray(2 + slots, 2 + slots + tokens + 1)
    this.#bytes = aligned.subarray((2 + slots + tokens + 1) * 4)
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
    const slots = this.#slots
    for (let slot = hashOf(word, from, to) & (slots.length - 1); ; slot = (slot + 1) & (slots.length - 1)) {
      const rank = slots[slot]! - 1
      if (rank < 0) return none
      if (this.#holds(rank, word, from, to)) return rank
    }
  }

  #holds(rank: number, word: Buffer, from: number, to: number): boolean {
    const start = this.#starts[rank]!
    if (this.#starts[rank + 1]! - start !== to - from) return false
    for (let i = from; i < to; i++) if (this.#bytes[start + i - from] !== word[i]) return false
    return true
  }
}

function hashOf(bytes: Buffer, from: number, to: number): number {
  let hash = 0x811c9dc5 | 0
  for (let i = from; i < to; i++) hash = Math.imul(hash ^ bytes[i]!, 0x01000193)
  return hash ^ (hash >>> 15)
}

let counter: CountTokens | undefined

/** Counts as o200k does, at most a token more per 2,000 characters; special tokens in a text are text. */
export async function tokenCounter(): Promise<CountTokens> {
  if (counter !== undefined) return counter
  const { O200K_TOKEN_SPLIT_REGEX: word } = await import('gpt-tokenizer/encodingParams/constants')
  const ranks = new Vocabulary(vocabularyTable())
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
      const part = text.slice(at, end)
      for (const each of part.match(plainText.test(part) ? plainWord : word) ?? []) count += countWord(each)
      at = end
    }
    return count
  }
  return counter
}

/** The build makes the table of the one vocabulary that is used; the sources make it from its package. */
function vocabularyTable(): Buffer {
  const built = fileURLToPath(new URL('../vendor/o200k.table', import.meta.url))
  if (fs.existsSync(built)) return fs.readFileSync(built)
  const file = createRequire(import.meta.url).resolve('gpt-tokenizer/data/o200k_base.tiktoken')
  return makeTable(fs.readFileSync(file, 'latin1'))
}
