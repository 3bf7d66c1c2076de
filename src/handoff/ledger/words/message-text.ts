// What a message says: its text, the question it may end with, and whether it answers one.

import { contentText } from '../../../tape/index.ts'
import { asks, lengthOf, listMark, proseOf, sentencesOf, upToQuestionMark } from './sentences.ts'
import { sharedWith, termsOf } from './terms.ts'
import type { Quote, Reply } from '../facts.ts'

/** The text of a message, or the preview where the text lies in a blob. */
export function messageText(content: unknown): { text: string; blob?: string } {
  const { text, blob, hasImage } = contentText(content)
  return { text: text === '' && hasImage ? '[image]' : text, blob }
}

/** The question that a text ends with, in any script; choices may be listed below it. */
export function questionIn(text: string): string | undefined {
  const listed = listedQuestions(text).at(-1)
  if (listed !== undefined) return listed
  const last = text
    .slice(-800)
    .trimEnd()
    .replace(/(?:\n[ \t]*(?:[-*•]|\(?\w{1,2}[.)])[ \t][^\n]*)+$/, '')
  const end = upToQuestionMark(last)
  if (end === undefined) return undefined
  const stops = [...end.slice(0, -1).matchAll(/[.!?؟](?=\s|\p{Script=Han})|[。！？]/gu)].map(({ index }) => index)
  return end.slice(Math.max(end.lastIndexOf('\n'), stops.at(-1) ?? -1) + 1).trim()
}

/** The questions at the end of a text, which stand alone or in front of the one that it ends with. */
export function questionsIn(text: string): string[] {
  const listed = listedQuestions(text)
  if (listed.length > 0) return listed
  const last = questionIn(text)
  if (last === undefined) return questionsBeforeRemark(text)
  const before = sentencesOf(lastParagraph(text)).filter((sentence) => asks(sentence) && !last.includes(sentence))
  return [...before.slice(-2), last]
}

/** The questions of a list that a text ends with, if every item of it asks; an item may go on behind its question. */
function listedQuestions(text: string): string[] {
  const paragraph = lastParagraph(text)
  const lines = paragraph.split('\n')
  const first = lines.findIndex((line) => listMark.test(line))
  const items = lines.slice(first).filter((line) => listMark.test(line))
  // Choices below a question that ask themselves are its choices.
  if (first < 0 || items.length < 2 || (first > 0 && asks(lines[first - 1]!))) return []
  const questions = items.flatMap((item) => sentencesOf(item).findLast(asks) ?? [])
  return questions.length === items.length ? questions.slice(0, mostListed) : []
}

function lastParagraph(text: string): string {
  return (
    text
      .slice(-longestList)
      .trimEnd()
      .split(/\n\s*\n/)
      .at(-1) ?? ''
  )
}

/**
 * A question in the last words of a reply that says more behind it. The reply may answer it itself, so it is only a question that
 * the user may have been asked. Undefined where its words come back behind it.
 */
export function questionWithin(text: string): string | undefined {
  const prose = proseOf(text.slice(-longestList))
  const at = prose.findLastIndex(asks)
  const question = prose[at]
  if (question === undefined || at < prose.length - mostBehind || lengthOf(question) < leastQuestion) return undefined
  return isAnsweredBy(question, prose.slice(at + 1).join(' ')) ? undefined : question
}

const longestList = 2_000
/** Behind more sentences than this, a question was one on the way. */
const mostBehind = 4
/** "Why?" asks nobody. */
const leastQuestion = 24

/** A last paragraph that says more than this is no remark behind a question. */
const longestRemark = 160
const mostListed = 5

/**
 * Questions that only a remark follows: "Once I know this, I start." They stand in a list or a line of nothing but questions.
 * One within prose may be a question that the text answers itself, and so may a single one whose words come back in what
 * follows it.
 */
function questionsBeforeRemark(text: string): string[] {
  const paragraphs = text.trimEnd().split(/\n\s*\n/)
  const remark = paragraphs.at(-1) ?? ''
  if (paragraphs.length < 2 || remark.includes('\n') || lengthOf(remark) > longestRemark) return []
  const lines = (paragraphs.at(-2) ?? '').split('\n')
  const list = lines.filter((line) => listMark.test(line)).map((line) => line.replace(listMark, '').trim())
  const items = lines.length === 1 ? sentencesOf(lines[0]!) : list
  if (items.length === 0 || !items.every(asks)) return []
  return items.length > 1 || !isAnsweredBy(items[0]!, remark) ? items.slice(0, mostListed) : []
}

/** A heading that asks is answered by what stands below it, and so is a question whose words come back there. */
function isAnsweredBy(question: string, remark: string): boolean {
  return /^(?:#|\*\*)/.test(question) || sharedWith(termsOf(question), termsOf(remark)) >= answeredShare
}

const answeredShare = 0.25

const mostReplies = 100
const replyEnd = 600

/** What the assistant said last in each turn, the newest of them, with their middle left out where they are long. */
export class ReplyBook {
  readonly #replies: Reply[] = []

  add({ text, id }: Quote, cut: boolean): void {
    this.#replies.push({ text: text.length > 2 * replyEnd ? bothEnds(text) : text, id, ...(cut && { cut }) })
    if (this.#replies.length > mostReplies) this.#replies.shift()
  }

  facts(): Reply[] {
    return [...this.#replies]
  }
}

/** The beginning and the end of a text; no character is cut in half. */
function bothEnds(text: string): string {
  const head = text.slice(0, replyEnd).replace(/[\uD800-\uDBFF]$/, '')
  return `${head}\n…\n${text.slice(-replyEnd).replace(/^[\uDC00-\uDFFF]/, '')}`
}
