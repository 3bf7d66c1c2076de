// Gemini CLI writes its whole history again whenever anything but its end has changed: when it starts or is resumed, when a
// prompt fails or is cancelled (which removes it), when it compacts. The prompts show which of these happened: they are the
// same, fewer, or others.

import { createHash } from 'node:crypto'
import type { Draft } from '../../store/index.ts'
import type { Fact, Rewound } from '../fact.ts'
import { type Fields, given, text, fields, list } from '../fields.ts'
import type { Part } from '../../tape/index.ts'

/** Which parts of a message were already reported as facts. */
export interface Shown {
  id: string
  words: boolean
  thoughts: number
  calls: number
  results: number
  used: boolean
}

interface Prompt {
  /** The id of its line on the tape. */
  id: string
  /** The id that Gemini CLI uses by now, if it has changed. */
  now?: string
  /** A checksum of its words. */
  sum: string
  /** The size of the context before it, where that is known. */
  tokens?: number
}

/** Plain JSON. */
export interface Memory {
  /** The last messages, with what was reported of each. */
  shown: Shown[]
  /** The last calls that have a result. */
  answered: string[]
  /** What the person said last in this context. */
  prompts: Prompt[]
  /** What they said before that, as one checksum: each mark of an import repeats this memory. */
  earlier?: { readonly count: number; readonly sum: string }
  /** The size of the context after the last reply. */
  tokens?: number
  /** The history is being repeated. */
  replays?: boolean
  /** The program was started again, and has not written yet with which history. */
  begins?: boolean
  titled?: boolean
}

/** A message grows while its turn lasts; only the last few can still grow. */
export const remembered = 64

/** Takes note of a prompt. */
export function remindOf(line: Fields, memory: Memory): void {
  for (const { id, sum } of promptsIn([line])) memory.prompts.push({ id, sum, ...given({ tokens: memory.tokens }) })
  const old = memory.prompts.splice(0, memory.prompts.length - remembered)
  if (old.length > 0) memory.earlier = summed(old, memory.earlier)
}

function summed(prompts: readonly Pick<Prompt, 'sum'>[], before = none): { count: number; sum: string } {
  return { count: before.count + prompts.length, sum: prompts.reduce((all, { sum }) => sumOf(all + sum), before.sum) }
}

const none = { count: 0, sum: '' }

export function rewoundTo(id: string, memory: Memory): Rewound {
  const at = memory.prompts.findIndex((each) => each.id === id || each.now === id)
  memory.shown = []
  if (at >= 0) return cut(at, memory)
  if (memory.earlier !== undefined) {
    // One that is no longer remembered; so the next history that is written counts as a new one.
    memory.prompts = []
    delete memory.earlier
  }
  return { type: 'rewound', to: undefined, before: id }
}

type Tell = (line: Fields, memory: Memory) => Fact[]

export function renewed(messages: readonly Fields[], memory: Memory, tell: Tell): Fact[] {
  const told = promptsIn(messages)
  const { prompts, begins, earlier = none } = memory
  delete memory.replays
  delete memory.begins
  // A resumed session begins with an empty history, and writes the earlier one later.
  if (begins === true && told.length === 0) return []
  const last = told.slice(earlier.count)
  const goesOn = told.length >= earlier.count && summed(told.slice(0, earlier.count)).sum === earlier.sum
  if (!goesOn || last.length > prompts.length || last.some(({ sum }, i) => sum !== prompts[i]!.sum))
    return [replaced(messages, memory, tell)]
  last.forEach(({ id }, i) => {
    if (id !== prompts[i]!.id) prompts[i]!.now = id
  })
  return last.length === prompts.length ? [] : [cut(last.length, memory)]
}

function cut(at: number, memory: Memory): Rewound {
  const [first] = memory.prompts.splice(at)
  const { id, tokens } = first!
  if (tokens === undefined) delete memory.tokens
  else memory.tokens = tokens
  return { type: 'rewound', to: undefined, before: id, ...given({ tokens }) }
}

function replaced(messages: readonly Fields[], memory: Memory, tell: Tell): Fact {
  const scratch: Memory = { shown: [], answered: [], prompts: [], titled: true }
  const kept: Draft[] = []
  let summary = ''
  for (const [i, line] of messages.entries()) {
    const words = wordsOf(line.content)
    if (line.type === 'user' && words.startsWith('<session_context>') && promptsIn([line]).length === 0) continue
    if (summary === '' && line.type === 'user' && isSummary(words, messages[i + 1])) {
      summary = words
      remindOf(line, scratch)
      continue
    }
    for (const fact of tell(withoutOpening(line), scratch))
      if (fact.type === 'said' && fact.draft.kind !== 'event')
        kept.push({ ...fact.draft, ...given({ source: fact.source }) })
  }
  memory.shown = scratch.shown
  memory.answered = scratch.answered
  memory.prompts = scratch.prompts
  memory.earlier = scratch.earlier
  delete memory.tokens
  return { type: 'compacted', summary, kept }
}

/** Whether the message is a summary by the model, which a fixed answer follows. */
function isSummary(words: string, next: Fields | undefined): boolean {
  return words.includes('<state_snapshot>') || wordsOf(next?.content).startsWith('Got it. Thanks for the additional')
}

/** The first prompt may be in one message with what Gemini CLI says about the folder. */
function withoutOpening(line: Fields): Fields {
  if (line.type !== 'user' || !Array.isArray(line.content)) return line
  const [first, ...rest] = line.content as unknown[]
  return rest.length > 0 && wordsOf([first]).startsWith('<session_context>') ? { ...line, content: rest } : line
}

function promptsIn(messages: readonly Fields[]): { id: string; sum: string }[] {
  return messages.flatMap((line) => {
    if (line.type !== 'user') return []
    const texts = textsOf(line.content).filter((words) => !words.startsWith('<session_context>'))
    return texts.map((words) => ({ id: text(line.id) ?? '', sum: sumOf(words) }))
  })
}

function sumOf(words: string): string {
  return createHash('sha256').update(words).digest('base64').slice(0, 12)
}

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
function textsOf(content: unknown): string[] {
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
