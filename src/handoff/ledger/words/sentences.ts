// Sentences in any script, letter for letter.

import { lazyPattern } from '../../lazy-pattern.ts'

/** Of a longer text, most of which may be pasted, only so much is read: its beginning and its end. */
const longest = 12_000

export const listMark = /^\s*(?:[-*•–]|\(?(?:\d{1,2}|[a-z])[.)])\s+/i

const ends = /(?<=[.!?…][)"'”»*_]?)\s+|(?<=[。！？।۔؟፧]["”」』）]?)/u
/** Where sentences begin with a capital, a full stop before a small letter or a bracket is part of one: "etc. and", "{ … }". */
const endsBeforeCapital = lazyPattern(String.raw`(?<=[.!?…][)"'”»*_]?)\s+(?![\p{Ll}\])}])|(?<=[。！？।۔؟፧]["”」』）]?)`)

/** `edited`: whoever wrote it begins sentences with a capital, where the script has them. */
export function sentencesOf(text: string, edited = false): string[] {
  const read = text.length <= longest ? text : `${text.slice(0, longest / 2)}\n${text.slice(-longest / 2)}`
  return read.split('\n').flatMap((line) =>
    line
      .replace(listMark, '')
      .split(edited ? endsBeforeCapital() : ends)
      .map((sentence) => sentence.trim())
      .filter((sentence) => sentence !== ''),
  )
}

/** What semicolons part; Greek asks with one. */
export function partsOf(sentence: string): string[] {
  return asks(sentence) ? [sentence] : sentence.split(/(?<=;)\s+|(?<=；)\s*/)
}

/** How much a text says, counted in letters of an alphabet: a character of the scripts that write syllables or words says more. */
export function lengthOf(text: string): number {
  const dense = text.match(/[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Hangul}]/gu)?.length ?? 0
  return text.length + 2 * dense
}

const closing = '[\\s)"\'”»」』）*_`~\\p{Extended_Pictographic}\\uFE0F\\u200D]*$'
/** Greek asks with `;`; Chinese, Japanese and Korean have endings that ask, with a full stop or with nothing behind them. */
const question = lazyPattern(
  `(?:[?？؟՞፧]|(?<=\\p{Script=Greek}[^.;!?\\n]*);|(?<=\\p{Script=Hiragana})か[。．]?|吗[。．]?|(?:까요|습니까|입니까)[.。]?)(?=${closing})`,
)
/** One of these is in every question: looking for it is far cheaper. */
const questionHint = /[?;？؟՞፧か吗까]/
const announcement = lazyPattern(`[:：]${closing}`)

/** Whether a sentence is a question, by its mark. */
export function asks(sentence: string): boolean {
  return questionHint.test(sentence) && question().test(sentence)
}

/** The text up to the mark of the question that it ends with; nothing but closing marks may follow. */
export function upToQuestionMark(text: string): string | undefined {
  const found = questionHint.test(text) ? question().exec(text) : null
  return found === null ? undefined : text.slice(0, found.index + found[0].length)
}

/** Whether a sentence only announces what follows it: a list, a paste, a call of a tool. */
export function announces(sentence: string): boolean {
  return /[:：]/.test(sentence) && announcement().test(sentence)
}

/** The sentences of what an assistant wrote in Markdown; none of its code, tables, headings and quotes. */
export function proseOf(markdown: string): string[] {
  let fenced = false
  const lines = markdown.split('\n').filter((line) => {
    const fence = /^\s*(?:```|~~~)/.test(line)
    if (fence) fenced = !fenced
    return !fence && !fenced && !/^\s*(?:#|>|\||\*\*[^*]+\*\*\s*$)/.test(line)
  })
  return sentencesOf(lines.join('\n').replaceAll(/\*\*/g, ''), true)
}
