// What a message says: its text, the question it may end with, and whether it answers one.

import { contentText } from '../../../tape/index.ts'
import { asks, lengthOf, listMark, sentencesOf, upToQuestionMark } from './sentences.ts'
import { sharedWith, termsOf } from './terms.ts'
import type { Quote, Reply } from '../facts.ts'

/** The text of a message, or the preview where the text lies in a blob. */
export function messageText(content: unknown): { text: string; blob?: string } {
  const { text, blob, hasImage } = contentText(content)
  return { text: text === '' && hasImage ? '[image]' : text, blob }
}

/** The question that a text ends with, in any script; choices may be listed below it. */
export function questionIn(text: string): string | undefined {
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
  const last = questionIn(text)
  if (last === undefined) return questionsBeforeRemark(text)
  const paragraph =
    text
      .trimEnd()
      .split(/\n\s*\n/)
      .at(-1) ?? ''
  const before = sentencesOf(paragraph).filter((sentence) => asks(sentence) && !last.includes(sentence))
  return [...before.slice(-2), last]
}

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
