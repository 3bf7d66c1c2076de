// What a message says: its text, the question it may end with, and whether it answers one.

import type { Quote } from './facts.ts'
import { isFields } from './vocabulary.ts'

/** The text parts of a message, or the preview where the text lies in a blob. */
export function textOf(content: unknown): { text: string; blob?: string } {
  if (typeof content === 'string') return { text: content }
  if (!Array.isArray(content)) return { text: '' }
  const texts: string[] = []
  let blob: string | undefined
  let image = false
  for (const part of content as unknown[]) {
    if (!isFields(part)) continue
    const { type, text, preview, synthetic } = part
    // Put there by the agent's program: a file that was named, a reminder.
    if (synthetic === true) continue
    if (type === 'blob' && part['of'] === undefined && typeof preview === 'string') {
      texts.push(preview)
      if (typeof part['sha256'] === 'string') blob = part['sha256']
    } else if (type === 'image' || part['of'] !== undefined) image = true
    else if ((type === 'text' || type === 'input_text' || type === 'output_text') && typeof text === 'string') {
      texts.push(text)
    }
  }
  const text = texts.join('\n')
  return { text: text === '' && image ? '[image]' : text, ...(blob !== undefined && { blob }) }
}

/** The question that a text ends with, in any script; choices may be listed below it. */
export function questionIn(text: string): string | undefined {
  const last = text
    .slice(-800)
    .trimEnd()
    .replace(/(?:\n[ \t]*(?:[-*•]|\(?\w{1,2}[.)])[ \t][^\n]*)+$/, '')
  const mark = Math.max(last.lastIndexOf('?'), last.lastIndexOf('？'), last.lastIndexOf('؟'))
  // Only closing marks, stars of Markdown and pictures may follow.
  if (mark < 0 || !/^[*_)"'»”」\s\p{Extended_Pictographic}\uFE0F]*$/u.test(last.slice(mark + 1))) return undefined
  const end = last.slice(0, mark + 1)
  const stops = [...end.slice(0, -1).matchAll(/[.!?？。！؟](?=\s|\p{Script=Han})/gu)].map(({ index }) => index)
  return end.slice(Math.max(end.lastIndexOf('\n'), stops.at(-1) ?? -1) + 1).trim()
}

/** A choice, rather than a question in return, a task of its own or a command for the agent's program. */
export function isAnswer(text: string): boolean {
  return text.length <= 120 && !text.includes('\n') && !/[?？؟]/.test(text) && !/^\/[\w:-]*$/.test(text)
}

const mostReplies = 100
const replyEnd = 600

/** What the assistant said last in each turn, the newest of them, with their middle left out where they are long. */
export class ReplyBook {
  private readonly replies: Quote[] = []

  add({ text, id }: Quote): void {
    this.replies.push({ text: text.length > 2 * replyEnd ? bothEnds(text) : text, id })
    if (this.replies.length > mostReplies) this.replies.shift()
  }

  facts(): Quote[] {
    return [...this.replies]
  }
}

/** Never with half of a character. */
function bothEnds(text: string): string {
  const head = text.slice(0, replyEnd).replace(/[\uD800-\uDBFF]$/, '')
  return `${head}\n…\n${text.slice(-replyEnd).replace(/^[\uDC00-\uDFFF]/, '')}`
}
