// Which of the user's words a document quotes: all of a short message, and of a long one what was typed; under what binds,
// the sentences that stand. What
// is left out is marked, what is quoted stays word for word.

import type { Instruction } from '../../ledger/facts.ts'
import { withoutPastes } from '../../ledger/words/pastes.ts'

/** Quotes up to this length are never cut, so what they say need not be said twice. */
export const wholeQuote = 160

/** A message longer than this is mostly pasted; the user's own words stand near its ends. */
const searched = 10_000

/** Of a message that is mostly pasted the lines that were typed, word for word. */
export function typedPart(text: string): string {
  if (text.length <= 2 * wholeQuote || text.length > 2 * searched) return text
  const typed = withoutPastes(text)
  return typed.length > text.length / 2 ? text : `${typed.trim().replaceAll(/\n{3,}/g, '\n\n')} […]`
}

/** Of a message the sentences that stand, word for word. */
export function standingPart({ text, standing }: Instruction): string {
  let quote = ''
  let end = 0
  for (const sentence of standing) {
    const at = text.indexOf(sentence, end)
    const gap = at > end && text.slice(end, at).trim() !== '' ? ' […] ' : ' '
    quote += `${quote === '' && gap === ' ' ? '' : gap}${sentence}`
    end = Math.max(end, at + sentence.length)
  }
  return `${quote}${text.slice(end).trim() === '' ? '' : ' […]'}`.trim()
}

/** Of a message what does not stand: the sentences that do are quoted under what binds. */
export function besidesStanding({ text, standing, supersededBy }: Instruction): string {
  if (supersededBy !== undefined) return text
  const rest = standing.reduce((left, sentence) => left.replace(sentence, '\n'), text)
  return rest
    .split('\n')
    .map((line) => line.trimEnd())
    .filter((line, at, lines) => line !== '' || (at > 0 && lines[at - 1] !== ''))
    .join('\n')
    .trim()
}

/** Whether a text is about one file: a wish for a single piece of work, more often than a rule for all of it. */
export function namesFile(text: string): boolean {
  return /[\w-]\/[\w./-]*\.\w{1,5}\b/.test(text)
}
