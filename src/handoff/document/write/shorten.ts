// Long texts, cut with a mark that says how much is missing.

import { wholeCharacter } from '../../../tape/index.ts'

/** Whether a text is so little over its limit that a cut, which has to say how much is missing, would save next to nothing. */
function nearlyFits(text: string, limit: number): boolean {
  return text.length <= limit + Math.min(mostOver, limit / 4)
}
const mostOver = 40

/** Head and tail, about `limit` characters in all. */
export function shorten(text: string, limit: number): string {
  if (nearlyFits(text, limit)) return text
  const head = boundary(text, Math.floor(limit * 0.7))
  const tail = wordAfter(text, text.length - Math.floor(limit * 0.2))
  return `${text.slice(0, head).trimEnd()} […${tail - head} characters…] ${text.slice(tail).trimStart()}`.trim()
}

/** Likewise for a text of ours with code in it: a span that is cut is closed and opened again. */
export function shortenProse(text: string, limit: number): string {
  if (nearlyFits(text, limit) || !text.includes('`')) return shorten(text, limit)
  const head = boundary(text, Math.floor(limit * 0.7))
  const tail = wordAfter(text, text.length - Math.floor(limit * 0.2))
  const close = openSpan(text.slice(0, head))
  const open = openSpan(text.slice(0, tail))
  const left = text.slice(0, head).trimEnd() + (close === '' ? '' : `${close.length > 1 ? ' ' : ''}${close}`)
  return `${left} […${tail - head} characters…] ${open === '' ? '' : `${open}${open.length > 1 ? ' ' : ''}`}${text.slice(tail).trimStart()}`.trim()
}

/** The backticks of the span that a text ends in; empty when it ends in none. */
function openSpan(text: string): string {
  let open = ''
  for (const [run] of text.matchAll(/`+/g)) {
    if (open === '') open = run
    else if (run === open) open = ''
  }
  return open
}

/** Keeps the end of a text, because the end of an output says what went wrong. */
export function shortenStart(text: string, limit: number): string {
  if (nearlyFits(text, limit)) return text
  let tail = wholeCharacter(text, text.length - limit)
  const line = text.indexOf('\n', tail)
  if (line >= 0 && line - tail < limit / 2) tail = line + 1
  return `[…${tail} characters…]\n${text.slice(tail)}`
}

/** Back to the start of a word, if it is near. */
function boundary(text: string, at: number): number {
  for (let back = at; back > at - 20 && back > 0; back--) if (/\s/.test(text[back]!)) return back
  return wholeCharacter(text, at)
}

/** On to the start of a word, if it is near. */
function wordAfter(text: string, at: number): number {
  for (let on = at; on < at + 20 && on < text.length; on++) if (/\s/.test(text[on - 1]!)) return on
  return wholeCharacter(text, at)
}

/** The beginning, with a code span closed where it is cut. */
export function clipEnd(text: string, limit: number): string {
  if (text.length <= limit) return text
  const head = text.slice(0, wholeCharacter(text, limit)).trimEnd()
  return `${head}…${head.split('`').length % 2 === 0 ? '`' : ''}`
}
