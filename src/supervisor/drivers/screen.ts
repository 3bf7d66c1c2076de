// The picture that tmux gives of a pane, with its colours, as lines: once as drawn, once without what is drawn faint.

import type { Screen } from '../../agents/index.ts'
import { InvalidError } from '../../errors.ts'

/** A command for the terminal: the only control characters in a picture begin or end one. */
const escape = /\p{Cc}(?:\[([\d;:]*)([A-Za-z])|\][^\p{Cc}]*\p{Cc}\\?|[()][A-Z0-9]|.)/gu

export function screenOf(picture: string): Screen {
  const lines: string[] = []
  const solid: string[] = []
  let faint = false
  for (const row of picture.split('\n')) {
    let all = ''
    let strong = ''
    let at = 0
    const take = (until: number) => {
      const text = row.slice(at, until)
      all += text
      strong += faint ? text.replaceAll(/\S/g, ' ') : text
    }
    for (const match of row.matchAll(escape)) {
      take(match.index)
      at = match.index + match[0].length
      if (match[2] === 'm') faint = isFaint(match[1] ?? '', faint)
    }
    take(row.length)
    lines.push(all.trimEnd())
    solid.push(strong.trimEnd())
  }
  return { lines, solid }
}

function isFaint(codes: string, before: boolean): boolean {
  let faint = before
  const list = codes.split(';')
  for (let i = 0; i < list.length; i++) {
    const code = list[i]!
    if (code === '38' || code === '48') i += list[i + 1] === '5' ? 2 : 4
    else if (code === '' || code === '0' || code === '22') faint = false
    else if (code === '2') faint = true
  }
  return faint
}

/** What it says at its end. */
export function lastWords(lines: readonly string[]): string {
  const written = lines.map((line) => line.trim()).filter((line) => /\w/.test(line) && !line.startsWith('Pane is dead'))
  return written.slice(-4).join(' ').slice(-300)
}

/**
 * Whether a draft is that very text, typed by a supervisor that died before it sent it. Screens break lines as they like,
 * and some show only the end of a long one; a sign for a paste may stand for anything, and is nobody's.
 */
export function isLeftDraft(draft: string, words: string): boolean {
  const [drawn, meant] = [draft, words].map((each) => each.replaceAll(/\s+/g, ''))
  if (drawn === undefined || meant === undefined || drawn === '') return false
  return drawn === meant || (drawn.length >= 40 && meant.endsWith(drawn))
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

/** Whether a draft is that text, as far as a screen shows it: in rows of its own width, or as a sign for a long paste. */
export function isDraftOf(draft: string, words: string): boolean {
  const [drawn, meant] = [draft, words].map((each) => each.replaceAll(/\s+/g, ''))
  if (drawn === '' || drawn === undefined || meant === undefined) return false
  if (drawn.includes(meant) || /\[(pasted|paste)\b.*\]/i.test(draft)) return true
  // Some show one row of several.
  if (words.split('\n').some((row) => row.replaceAll(/\s+/g, '') === drawn)) return true
  return drawn.length >= 20 && (meant.includes(drawn) || meant.endsWith(drawn.slice(-40)))
}
