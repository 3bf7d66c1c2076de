// What the screens of several agents have in common: horizontal lines around the input, and numbered answers to choose from.

import type { ScreenState, Screen } from './agent.ts'

const rule = /^[\s╭╰│]*[─━═▄▀▁▔]{10,}/

/** The input: the rows between the last two horizontal lines, from `from` up to `until`. `border`: how such a line looks. */
export function composerIn(
  { solid, lines }: Screen,
  border = rule,
): { text: string[]; from: number; until: number } | undefined {
  const until = lines.findLastIndex((line) => border.test(line))
  const from = lines.slice(0, Math.max(0, until)).findLastIndex((line) => border.test(line)) + 1
  if (until < 0 || from === 0) return undefined
  return { text: solid.slice(from, until), from, until }
}

/** The marked one of several answers, such as `❯ 1. Yes` or `› 1. Yes, proceed (y)`. */
const marked = /^[\s│]*(?:❯|›|●|→|>)\s*\d+[.)]\s+\S/
const answer = /^[\s│]*(?:(?:❯|›|●|→|>)\s*)?\d+[.)]\s+\S/

/** A question and the answers that it offers, as they stand on the screen. */
interface Question {
  readonly question: string
  readonly answers: readonly string[]
}

/** A question with numbered answers at the bottom of the screen. Some answers have rows of their own below them that explain them. */
export function questionIn(lines: readonly string[]): Question | undefined {
  const last = lastWritten(lines)
  const at = lines.findLastIndex((line) => marked.test(line))
  if (at < 0 || last - at > 12) return undefined
  const one = lines.slice(0, at + 1).findLastIndex((line) => /\b1[.)]\s/.test(line) && answer.test(line))
  let first = at - one <= highest ? Math.max(0, one) : at
  while (first > 0 && (answer.test(lines[first - 1]!) || lines[first - 1]!.trim() === '')) first--
  const rows = lines.slice(first, last + 1).filter((line) => answer.test(line))
  if (rows.length < 2) return undefined
  const above = questionText(lines.slice(Math.max(0, first - 12), first), lines)
  return { question: above || questionText(rows, lines), answers: above === '' ? [] : rows.map(answerText) }
}

/** Answers with their explanations take no more rows than that. */
const highest = 24

function answerText(row: string): string {
  return textOf([row], [row]).replace(/^\D*\d+[.)]\s+(.*?)\.?$/, '$1')
}

/** What a screen with such a question says. That somebody may say yes or no to a permission, people know. */
export function dialogOf({ question, answers }: Question): Extract<ScreenState, { is: 'dialog' }> {
  const about = aboutOf(question)
  const isYesOrNo = about === 'permission' || about === 'trust' || answers.length === 0
  return { is: 'dialog', question, about, ...(!isYesOrNo && { answers }) }
}

/** The marked one of several answers without numbers, such as ` ❯ No, exit`. */
const markedPlain = /^(\s*)❯\s+(?=\S)/

/** A question whose answers have no numbers: one of them is marked, and below them stand the keys that choose one. Its answers are part of it. */
export function choiceIn(lines: readonly string[]): string | undefined {
  const keys = lines.findLastIndex((line) => /Enter to (confirm|select|continue)/i.test(line))
  const at = lines.slice(0, Math.max(0, keys)).findLastIndex((line) => markedPlain.test(line))
  if (at < 0) return undefined
  const column = markedPlain.exec(lines[at]!)![0].length
  const isAnswer = (line: string) => line.trim() !== '' && line.replace('❯', ' ').search(/\S/) === column
  let [first, last] = [at, at]
  while (first > 0 && isAnswer(lines[first - 1]!)) first--
  while (isAnswer(lines[last + 1]!)) last++
  const answers = lines.slice(first, last + 1).map((line) => line.replace('❯', ' ').trim())
  // What stands above it, such as the path of the folder, would hide the question in a short title.
  const asks = lines.slice(0, first).findIndex((line) => line.includes('?'))
  const question = questionText(lines.slice(asks < 0 ? 0 : paragraphAt(lines, asks), first), lines)
  return question === '' ? undefined : `${question} (${answers.join(' / ')})`
}

function paragraphAt(lines: readonly string[], row: number): number {
  return lines.slice(0, row).findLastIndex((line) => line.trim() === '') + 1
}

function lastWritten(lines: readonly string[]): number {
  return lines.findLastIndex((line) => line.trim() !== '')
}

/** In characters: a question of a few sentences, with the command that it is about. */
const longest = 500

/** The text of a question as a person reads it: without the frame around it, and without the lines of a file that it shows. */
function questionText(rows: readonly string[], screen: readonly string[]): string {
  const own = rows.slice(rows.findLastIndex((row) => rule.test(row) && !row.trimStart().startsWith('│')) + 1)
  // A frame may be all that is left of what was cut off above.
  const text = textOf(own, screen) || textOf(rows, screen)
  return text.length <= longest ? text : text.slice(-longest).replace(/^\S+\s/, '')
}

/** Frames take a few columns from the width of the screen. */
const frameWidth = 6

/**
 * Rows of a screen as one line, without the frame around them. A row that continues the one above follows it as it is; one that
 * begins something else, such as a command or the next question, is set off from a row that does not end a sentence itself.
 */
export function textOf(rows: readonly string[], screen: readonly string[]): string {
  const width = Math.max(...screen.map((line) => line.length)) - frameWidth
  let text = ''
  let above = ''
  for (const row of rows.map(withoutFrame)) {
    const words = row.replaceAll(/\s+/g, ' ').trim()
    const shown = isFileLine(words) ? '' : words
    if (shown !== '') {
      const isApart = !/[.?!:;,…]$/.test(text) && !isContinued(above, row, width)
      text += text === '' ? shown : `${isApart ? ' ·' : ''} ${shown}`
    }
    above = shown === '' ? '' : row
  }
  return text
}

/** Whether a row is the rest of the one above, broken where the screen ended. */
function isContinued(above: string, row: string, width: number): boolean {
  if (above === '') return false
  const [indent, first] = [row.search(/\S/), row.trim().split(/\s/)[0]!]
  const hadRoom = above.trimEnd().length + 1 + first.length <= width
  // Some break their rows earlier, but only within a sentence.
  return hadRoom ? indent === above.search(/\S/) && /^\p{Ll}/u.test(first) : !answer.test(row)
}

/** Without the lines of a frame, and without boxes to be ticked. */
function withoutFrame(row: string): string {
  return row.replaceAll(/[\u2500-\u259F\u2610-\u2612]/g, ' ')
}

/** A line of a file or of a change to it, with its number. */
function isFileLine(line: string): boolean {
  return /^\d+(\s*[-+])?(\s|$)/.test(line) && !answer.test(line)
}

/** What the question is about, judged by its words. */
export function aboutOf(question: string): Extract<ScreenState, { is: 'dialog' }>['about'] {
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

/** What is typed in the rows of an input, as one text. */
export function draftOf(rows: readonly string[], mark: RegExp): string {
  return rows
    .map((row, i) => (i === 0 ? row.replace(mark, '') : row).replaceAll('\u00A0', ' ').trim())
    .join('\n')
    .trim()
}
