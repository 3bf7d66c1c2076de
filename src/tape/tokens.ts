// Tokens: how many a text takes. An exact count needs the tokenizer's vocabulary, so a caller who only wants to know how full a
// context is gets an estimate from bytes.

import fs from 'node:fs'
import { createRequire } from 'node:module'
import { fileURLToPath } from 'node:url'
import { wholeCharacter } from './content/blob.ts'
import { makeTable, Vocabulary } from './vocabulary.ts'

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
