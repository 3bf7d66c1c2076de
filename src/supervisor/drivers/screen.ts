// The picture that tmux gives of a pane, with its colours, as lines: once as drawn, once without what is drawn faint.

import type { Screen } from '../../agents/index.ts'
import { InvalidError } from '../../errors.ts'
import { type StyledText, styledRows } from './picture.ts'

export function screenOf(picture: string): Screen {
  const lines: string[] = []
  const solid: string[] = []
  for (const row of styledRows(picture)) {
    lines.push(
      row
        .map(({ text }) => text)
        .join('')
        .trimEnd(),
    )
    const strong = row.map((each, i) => (isFaint(each, row[i + 1]) ? each.text.replaceAll(/\S/g, ' ') : each.text))
    solid.push(strong.join('').trimEnd())
  }
  return { lines, solid }
}

/** Agents that draw the cursor themselves draw it over the first letter of a hint, which is not faint then. */
function isFaint({ text, style }: StyledText, next: StyledText | undefined): boolean {
  const isCursor = style.inverse === true && text.length === 1 && next?.style.faint === true
  return style.faint === true || isCursor
}

/** What it says at its end. */
export function lastWords(lines: readonly string[]): string {
  const own = lines.map((line) => line.trim()).filter((line) => !line.startsWith('Pane is dead'))
  // What it asked before is not what it said last.
  const asked = own.findLastIndex((line) => /\b(Enter to (confirm|select|continue)|Esc to (cancel|exit))/i.test(line))
  const written = own.slice(asked + 1).filter((line) => /\w/.test(line) && !traceLine.test(line))
  const wrong = written.findLastIndex((line) => errorLine.test(line))
  if (wrong < 0) return written.slice(-4).join(' ').slice(-300)
  return written
    .slice(wrong, wrong + 4)
    .join(' ')
    .slice(0, 300)
}
/** Where in the program it went wrong is no news for its user. */
const traceLine = /^(?:at\s|\d+:\s|File ".*", line \d|stack backtrace:|Node\.js v\d)/i
const errorLine = /^(?:\S+ )?\S*(?:error|fatal|panic|exception)\S*:/i

/**
 * Whether a draft is that very text, typed by Baton and not sent: by a supervisor that died, or where an Enter was lost. Screens break
 * lines as they like, and some show only the end of a long one. A sign for a paste is ours where it gives the size of that text.
 */
export function isLeftDraft(draft: string, words: string): boolean {
  const sign = pasteSign.exec(draft)
  if (sign !== null) return sign[0] === draft.trim() && isSignOf(sign[0], words)
  const [drawn, meant] = [draft, words].map((each) => each.replaceAll(/\s+/g, ''))
  if (drawn === undefined || meant === undefined || drawn === '') return false
  return drawn === meant || (drawn.length >= 40 && meant.endsWith(drawn))
}

/** Some count the ends of lines, and some count a character beyond the first plane as two. A short text has the size of many others. */
function isSignOf(sign: string, words: string): boolean {
  const [, count, unit] = /\+?(\d+) (lines|chars)\]$/.exec(sign) ?? []
  if (unit === 'lines') {
    const lines = words.split('\n').length
    return lines >= 10 && [lines, lines - 1].includes(Number(count))
  }
  const characters = words.replaceAll(/[\u{10000}-\u{10FFFF}]/gu, '.').length
  return unit === 'chars' && words.length >= 200 && [words.length, characters].includes(Number(count))
}

/** As it will stand in the place to type: without anything that a terminal would take for a command. */
export function typable(text: string): string {
  const words = text
    .replaceAll('\r\n', '\n')
    .replaceAll(/[^\P{Cc}\n\t]/gu, '')
    .trim()
  if (words === '') throw new InvalidError('There is nothing to type')
  // A last word with @ opens a list, and Enter would choose from it.
  return /(^|\s)@\S*$/.test(words) ? `${words} ` : words
}

/** A sign that some agents show in place of a long paste. */
export const pasteSign = /\[(?:pasted|paste)\b.*\]/i

/** What stands before that text in the same draft: somebody was typing when it was pasted. Empty: nothing. */
export function wordsBefore(draft: string, words: string): string {
  const sign = pasteSign.exec(draft)
  if (sign !== null) return draft.slice(0, sign.index).trim()
  const [drawn, meant] = [draft, words].map((each) => each.replaceAll(/\s+/g, ''))
  return drawn!.slice(0, Math.max(0, drawn!.indexOf(meant!)))
}

/** What somebody typed right behind a text of ours; empty where it is not certain that they did, because agents show hints there too. */
export function wordsBehind(draft: string, words: string): string {
  const sign = pasteSign.exec(draft)
  const [drawn, meant] = [draft, words].map((each) => each.replaceAll(/\s+/g, ''))
  const last = words.split(/\s+/).at(-1)!
  const at = draft.lastIndexOf(last)
  // What shows only a part of a text shows nothing behind it.
  if (sign === null && (at < 0 || !drawn!.includes(meant!))) return ''
  const rest = sign === null ? draft.slice(at + last.length) : draft.slice(sign.index + sign[0].length)
  return /^\S/.test(rest) ? rest.trim() : ''
}

/** Whether a draft is that text, as far as a screen shows it: in rows of its own width, or as a sign for a long paste. */
export function isDraftOf(draft: string, words: string): boolean {
  const [drawn, meant] = [draft, words].map((each) => each.replaceAll(/\s+/g, ''))
  if (drawn === '' || drawn === undefined || meant === undefined) return false
  if (drawn.includes(meant) || pasteSign.test(draft)) return true
  // Some show one row of several.
  if (words.split('\n').some((row) => row.replaceAll(/\s+/g, '') === drawn)) return true
  return drawn.length >= 20 && (meant.includes(drawn) || meant.endsWith(drawn.slice(-40)))
}
