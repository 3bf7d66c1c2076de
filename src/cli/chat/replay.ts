// What a person sees of a session that is continued: its last exchanges, and their own lines for the editor's history.

import type { Entry } from '../../store/index.ts'
import type { Tape } from '../../tape/index.ts'
import { isBlob } from '../../tape/index.ts'
import { contentText, itemsOf, pieceText } from '../../tape/index.ts'
import type { MessagePayload } from '../../tape/index.ts'
import type { ChatLog } from './screen/chat-log.ts'

const shownExchanges = 3
const readEntries = 200
const kinds = ['message', 'tool_call', 'tool_result']

/** Shows the end of a tape; returns how many entries of the conversation were shown. */
export async function replay(tape: Tape, log: ChatLog): Promise<number> {
  const entries: Entry[] = []
  let exchanges = 0
  for await (const entry of tape.entries({ kinds, reverse: true, limit: readEntries })) {
    entries.unshift(entry)
    if (isTyped(entry) && ++exchanges === shownExchanges) break
  }
  for (const entry of entries) show(entry, log)
  return entries.length
}

/** What the person typed on this tape, oldest first. */
export async function typedOn(tape: Tape, limit = 100): Promise<string[]> {
  const typed: string[] = []
  for await (const entry of tape.entries({ kinds: ['message'], reverse: true, limit: limit * 4 })) {
    // A large paste is stored as a blob and only its preview is here, which nobody wants to send again.
    if (isTyped(entry) && !isLarge(entry)) typed.unshift(wordsOf(entry))
    if (typed.length === limit) break
  }
  return typed
}

function isTyped(entry: Entry): boolean {
  const { role, customType } = entry.payload as MessagePayload
  return entry.kind === 'message' && role === 'user' && customType === undefined
}

function isLarge(entry: Entry): boolean {
  const { content } = entry.payload as MessagePayload
  return Array.isArray(content) && content.some((part) => isBlob(part) && part.of === undefined)
}

/** The text of a message, without the images that went along. */
function wordsOf(entry: Entry): string {
  return contentText((entry.payload as MessagePayload).content).text
}

/** The notice that a fork of this tape is complete. */
export function isCompletion(entry: Entry): boolean {
  return entry.kind === 'message' && entry.meta.completed !== undefined
}

export function textOf(entry: Entry): string {
  return itemsOf(entry)
    .flatMap((item) => ('pieces' in item ? item.pieces : []))
    .filter((piece) => piece.type !== 'reasoning')
    .map(pieceText)
    .join('\n')
}

function show(entry: Entry, log: ChatLog): void {
  const { customType, display } = entry.payload as MessagePayload
  if (display === false) return
  if (customType === 'handoff') return log.document(textOf(entry).replaceAll(/^<\/?handoff-context>$/gm, ''))
  if (customType !== undefined) return log.notice(textOf(entry))
  for (const item of itemsOf(entry)) {
    if (item.type === 'calls') for (const call of item.calls) log.toolStart(call.id, call.name, call.arguments)
    else if (item.type === 'results')
      for (const { callId, output, isError } of item.results) log.toolEnd(callId, output, isError)
    else if (item.type === 'user') log.user(textOf(entry))
    else if (item.type === 'assistant' && textOf(entry) !== '') log.answer(textOf(entry))
  }
}
