// What the screens of several agents have in common: rules around a place to type, and numbered answers to choose from.

import type { Look, Screen } from '../adapter.ts'

const rule = /^[\s╭╰│]*[─━═▄▀▁▔]{10,}/

/** The lines between the last two rules, where something is typed; `from` is the first of them. */
export function composerIn({ solid, lines }: Screen): { text: string[]; from: number; until: number } | undefined {
  const until = lines.findLastIndex((line) => rule.test(line))
  const from = lines.slice(0, Math.max(0, until)).findLastIndex((line) => rule.test(line)) + 1
  if (until < 0 || from === 0) return undefined
  return { text: solid.slice(from, until), from, until }
}

/** `❯ 1. Yes` or `› 1. Yes, proceed (y)`: one of several answers is marked. */
const marked = /^[\s│]*(?:❯|›|●|→|>)\s*\d+[.)]\s+\S/
const answer = /^[\s│]*(?:(?:❯|›|●|→|>)\s*)?\d+[.)]\s+\S/

/** A question with numbered answers in the lowest lines of the screen. */
export function questionIn(lines: readonly string[]): string | undefined {
  const last = lastWritten(lines)
  const at = lines.findLastIndex((line) => marked.test(line))
  if (at < 0 || last - at > 12) return undefined
  let first = at
  while (first > 0 && (answer.test(lines[first - 1]!) || lines[first - 1]!.trim() === '')) first--
  const answers = lines.slice(first, last + 1).filter((line) => answer.test(line))
  if (answers.length < 2) return undefined
  return words(lines.slice(Math.max(0, first - 8), first)) || words(answers)
}

export function lastWritten(lines: readonly string[]): number {
  return lines.findLastIndex((line) => line.trim() !== '')
}

/** The question itself: the last words before the answers, or the last of them that ask. */
function words(lines: readonly string[]): string {
  const own = lines.slice(lines.findLastIndex((line) => rule.test(line)) + 1)
  const said = own.map((line) => line.replaceAll(/[│╭╮╰╯]/g, ' ').trim()).filter((line) => line !== '')
  return said.join(' ').replaceAll(/\s+/g, ' ').slice(-300)
}

/** What kind of a question it is, by its words. */
export function aboutOf(question: string): Extract<Look, { is: 'dialog' }>['about'] {
  if (/\btrust\b|safety check/i.test(question)) return 'trust'
  if (/\b(usage|rate|spend|plan|quota)[- ]?limit|limit (reached|to reset)|hit your limit|quota/i.test(question))
    return 'limit'
  if (
    /do you want to|would you like to|allow|permission|proceed|approve|run the following|make this edit|create/i.test(
      question,
    )
  )
    return 'permission'
  return 'other'
}

/** One text of what was typed over several rows. */
export function draftOf(rows: readonly string[], mark: RegExp): string {
  return rows
    .map((row, i) => (i === 0 ? row.replace(mark, '') : row).replaceAll('\u00A0', ' ').trim())
    .join('\n')
    .trim()
}
