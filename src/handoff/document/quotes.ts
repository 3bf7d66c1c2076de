// Which of the user's words a document quotes: all of a short message, and of a long one what was typed and what binds. What
// is left out is marked, what is quoted stays word for word.

import { sentences } from '../ledger/cues.ts'
import type { Instruction } from '../ledger/facts.ts'
import { withoutPastes } from '../ledger/pastes.ts'

/** Quotes up to this length are never cut, so what they say need not be said twice. */
export const wholeQuote = 160

/** Past this, a message is a paste: what binds stands near its ends. */
const searched = 10_000

/** Of a message that is mostly pasted the lines that were typed, word for word. */
export function typedPart(text: string): string {
  if (text.length <= 2 * wholeQuote || text.length > 2 * searched) return text
  const typed = withoutPastes(text)
  return typed.length > text.length / 2 ? text : `${typed.trim()} […]`
}

/** Of a long message the sentences that bind, word for word, and of any without those that were taken back. */
export function excerpt({ text, amended = [] }: Instruction): string {
  if (text.length <= wholeQuote && amended.length === 0) return text
  const near = withoutPastes(
    text.length <= 2 * searched ? text : `${text.slice(0, searched)}\n${text.slice(-searched)}`,
  )
  const parts = near.split(/(?<=[.!?;])\s+|(?<=[。！？；])|\n+/u).filter((part) => part.trim() !== '')
  const takenBack = new Set(amended.map((one) => one.text.trim()))
  const standing = parts.map((part) => !takenBack.has(part.trim()))
  const binding = parts.map((part, at) => standing[at]! && binds(part))
  const kept = text.length > wholeQuote && binding.includes(true) ? binding : standing
  let quote = ''
  for (const [at, part] of parts.entries()) {
    if (kept[at]) quote += `${quote === '' || quote.endsWith('…] ') ? '' : ' '}${part.trim()}`
    else if (!quote.endsWith('[…] ')) quote += `${quote === '' ? '' : ' '}[…] `
  }
  if (near.length < text.length && !quote.includes('[…]')) quote += ' […]'
  return quote.length < text.length * 0.8 || takenBack.size > 0 ? quote.trim() : text
}

/** In so many words: never, only, must. */
export function bindsAll(text: string): boolean {
  return sentences(text.slice(0, 1_000)).some(({ binding }) => binding)
}

export function binds(part: string): boolean {
  return sentences(part.slice(0, 1_000)).some(({ binding, negative, takesBack }) => binding || negative || takesBack)
}
