// The content of a message of Gemini CLI: a text, or parts in the form of its model.

import type { Part } from '../../tape/index.ts'
import { fields, type Fields, list, text } from '../fields.ts'

export function contentOf(content: unknown): string | Part[] {
  if (typeof content === 'string') return content
  const parts = list(Array.isArray(content) ? content : [content]).map(partOf)
  return parts.every((part) => part.type === 'text') ? wordsOf(content) : parts
}

/** The text of a message, without thoughts. */
export function wordsOf(content: unknown): string {
  return textsOf(content).join('')
}

/** The text of each part, without thoughts. */
export function textsOf(content: unknown): string[] {
  if (typeof content === 'string') return [content]
  return list(Array.isArray(content) ? content : [content]).flatMap((part) => {
    const { text: words, thought } = fields(part)
    if (typeof part === 'string') return [part]
    return typeof words === 'string' && thought !== true ? [words] : []
  })
}

export function thoughtsOf(line: Fields): string[] {
  const queued = list(line.thoughts).map((each) => {
    const { subject, description } = fields(each)
    return [text(subject), text(description)].filter((words) => words !== undefined).join(': ')
  })
  const parts = list(line.content).flatMap((part) => {
    const { text: words, thought } = fields(part)
    return typeof words === 'string' && thought === true ? [words] : []
  })
  return queued.length > 0 ? queued : parts
}

function partOf(value: unknown): Part {
  if (typeof value === 'string') return { type: 'text', text: value }
  const part = fields(value)
  if (typeof part.text === 'string') return { type: 'text', text: part.text }
  const inline = fields(part.inlineData)
  if (typeof inline.data === 'string') {
    const mediaType = text(inline.mimeType) ?? 'application/octet-stream'
    return { type: mediaType.startsWith('image/') ? 'image' : 'file', mediaType, data: inline.data }
  }
  return { ...part, type: 'unknown' }
}
