// What a text is about, told without a list of words of any language. The words that every sentence needs are short in
// every language, so a word weighs more the longer it is; names, numbers and paths weigh most. Scripts that put no spaces
// between words are taken apart by the dictionaries of Intl.Segmenter.

import { lazyPattern } from '../../lazy-pattern.ts'

/** The beginning of each word that weighs anything, in lower case, with its weight. */
export type Terms = ReadonlyMap<string, number>

/** The weight of a name, a path or a long word. */
const most = 5
const shortStem = 4
const longStem = 5

const unspaced =
  '\\p{Script=Han}\\p{Script=Hiragana}\\p{Script=Katakana}ー\\p{Script=Thai}\\p{Script=Lao}\\p{Script=Khmer}\\p{Script=Myanmar}'
const unspacedPattern = lazyPattern(`[${unspaced}]`)
const tokenPattern = lazyPattern(
  `[${unspaced}\\p{M}]+|(?:(?![${unspaced}])[\\p{L}\\p{N}_])(?:(?![${unspaced}])[\\p{L}\\p{M}\\p{N}_./@:%#+-])*`,
  'gu',
)
const asciiPattern = /[A-Za-z0-9_][\w./@:%#+-]*/g
let segmenter: Intl.Segmenter | undefined

export function termsOf(text: string): Map<string, number> {
  const terms = new Map<string, number>()
  const add = (stem: string, weight: number) => {
    if (weight > (terms.get(stem) ?? 0)) terms.set(stem, weight)
  }
  for (const token of text.match(isAscii(text) ? asciiPattern : tokenPattern()) ?? []) {
    if (token > '\u0DFF' && unspacedPattern().test(token)) {
      segmenter ??= new Intl.Segmenter('und', { granularity: 'word' })
      for (const { segment } of segmenter.segment(token)) add(segment, unspacedWeight(segment))
    } else {
      const { stem, weight } = termOf(token)
      if (weight > 0) add(stem, weight)
    }
  }
  return terms
}

/** Every word of a text in lower case, those that weigh nothing, too. */
export function wordsOf(text: string): string[] {
  return (text.match(isAscii(text) ? asciiPattern : tokenPattern()) ?? []).flatMap((token) => {
    if (isAscii(token) || !unspacedPattern().test(token)) return [token.replace(/[./:@+-]+$/, '').toLowerCase()]
    segmenter ??= new Intl.Segmenter('und', { granularity: 'word' })
    return [...segmenter.segment(token)].map(({ segment }) => segment)
  })
}

interface Term {
  readonly stem: string
  readonly weight: number
}

/** Most words of a text were seen before. Longer ones would keep the whole text alive that they were cut from. */
const knownTerms = new Map<string, Term>()
const longestKnown = 12
const mostKnown = 20_000

function termOf(token: string): Term {
  const known = knownTerms.get(token)
  if (known !== undefined) return known
  const word = /[./:@+-]$/.test(token) ? token.replace(/[./:@+-]+$/, '') : token
  const weight = weightOf(word)
  const term = { weight, stem: weight > 0 ? stemOf(word, weight) : '' }
  if (token.length > longestKnown) return term
  if (knownTerms.size >= mostKnown) knownTerms.clear()
  knownTerms.set(token, term)
  return term
}

/** The terms of several texts. */
export function stemsOf(texts: readonly { readonly terms: Terms }[]): Set<string> {
  const stems = new Set<string>()
  for (const { terms } of texts) for (const stem of terms.keys()) stems.add(stem)
  return stems
}

export function weightIn(terms: Terms): number {
  let sum = 0
  for (const weight of terms.values()) sum += weight
  return sum
}

/** Of the weight of `terms`, the part that the other terms have too; 0 when they weigh nothing. */
export function sharedWith(terms: Terms, others: Terms): number {
  let shared = 0
  for (const [stem, weight] of terms) if (isAmong(stem, others)) shared += weight
  return shared === 0 ? 0 : shared / weightIn(terms)
}

/** Whether a stem is one of the terms; a longer word has a longer stem. */
export function isAmong(stem: string, terms: Pick<Terms, 'has'>): boolean {
  return terms.has(stem) || (stem.length === longStem && terms.has(stem.slice(0, shortStem)))
}

/** The terms that a stem is one of by `isAmong`. */
export function asAmong(stem: string): string[] {
  return stem.length === longStem ? [stem, stem.slice(0, shortStem)] : [stem]
}

/** A text to look for terms in. */
export interface Haystack {
  readonly text: string
  readonly lower: string
}

export function haystackOf(text: string): Haystack {
  return { text, lower: text.toLowerCase() }
}

/** Whether a text has a word that begins with the stem; a longer stem may stand inside a word: `limit` in `maxlimit`. */
export function hasTerm({ text, lower }: Haystack, stem: string): boolean {
  let at = lower.indexOf(stem)
  // Most are not there: a long session looks for thousands in every reply.
  if (at < 0) return false
  if (stem.length > shortStem || (!isAscii(stem) && unspacedPattern().test(stem))) return true
  // A word begins behind anything but a letter, and in a name at a capital: `List` in `mdListItem`.
  while (at > 0 && /[\p{L}\p{N}]/u.test(lower[at - 1]!) && text[at] === lower[at]) at = lower.indexOf(stem, at + 1)
  return at >= 0
}

function isAscii(text: string): boolean {
  // oxlint-disable-next-line no-control-regex -- ASCII begins with control characters
  return !/[^\u0000-\u007F]/.test(text)
}

/** Whether a word is a name, a number or a path rather than a word of a language. */
export function isName(word: string): boolean {
  return /[_./@:%#\d]/.test(word) || /\p{Ll}\p{Lu}/u.test(word) || /^\p{Lu}{2,5}$/u.test(word)
}

function weightOf(word: string): number {
  const { length } = word
  if (/^\d+$/.test(word)) return length > 1 ? 3 : 1
  if (isName(word)) return most
  // These scripts write syllables, or no vowels: their words are shorter.
  if (/[\p{Script=Hangul}\p{Script=Arabic}\p{Script=Hebrew}]/u.test(word))
    return length < 2 ? 0 : Math.min(most, length)
  return Math.min(most, Math.max(0, length - 3))
}

/** In Chinese and Japanese a single character or a word in hiragana is grammar. */
function unspacedWeight(word: string): number {
  if (/^[\p{Script=Hiragana}ー]+$/u.test(word) || word.length < 2) return 0
  return /[\p{Script=Han}\p{Script=Katakana}]/u.test(word) ? most : Math.min(most, word.length - 2)
}

/** Languages bend the ends of their words: the beginning is the word. */
function stemOf(word: string, weight: number): string {
  const lower = word.toLowerCase()
  if (weight === most && isName(word)) return lower
  if (/\p{Script=Hangul}/u.test(lower)) return lower.slice(0, 2)
  return lower.slice(0, lower.length > 6 ? longStem : shortStem)
}

/** A longer word of the Latin script may stand in any language: a name, a term. */
const longestMark = 3

/**
 * What tells the language of a text: the short words that every sentence of it needs, and in other scripts than the Latin one
 * the script of each word.
 */
export function languageMarksOf(text: string): string[] {
  return (text.match(/[\p{L}\p{M}\p{N}_]+/gu) ?? []).flatMap((word) => {
    const script = scriptOf(word.codePointAt(0)!)
    if (script !== latin) return [script]
    return word.length <= longestMark && !/[\d_]/.test(word) ? [word.toLowerCase()] : []
  })
}

const latin = 'Latin'

/** By its place in Unicode, which has a block for each alphabet. */
function scriptOf(codePoint: number): string {
  if (codePoint < 0x250 || (codePoint >= 0x1e00 && codePoint < 0x1f00)) return latin
  if (codePoint >= 0xac00 && codePoint < 0xd7b0) return 'Hangul'
  return codePoint >= 0x2e80 ? 'Han and Kana' : String(codePoint >> 8)
}
