// A context made to fit a number of tokens. The oldest turns are left out, each as a whole, so that a call is never separated from its
// result. The state, the handoff document and the prompt that is being answered always stay; a note stands wherever something is missing.

import { LimitError } from '../../errors.ts'
import { shellWord } from '../../system/index.ts'
import { wholeCharacter } from '../content/blob.ts'
import { type Keep, outputMedia, outputText, type Piece, pieceText } from '../content/content.ts'
import type { ContextMessage, CallWithResult } from './pairing.ts'
import type { CountTokens } from '../tokens.ts'

/** Entries that are not in the context, by their ids. */
export interface Gap {
  readonly from: number
  readonly to: number
}

export interface Omitted extends Gap {
  readonly messages: number
}

/** What a message costs beyond its text: role, separators, the frame of a call. */
const frame = 8
/** What an image or a file counts as: its tokens depend on the provider. */
export const mediaTokens = 1_600

/** `unread` are entries of the context that were not even read, because they could not fit. */
export function fitInto(
  messages: readonly ContextMessage[],
  maxTokens: number,
  count: CountTokens,
  tape: string,
  unread: readonly Gap[],
): { messages: ContextMessage[]; omitted: Omitted | undefined } {
  const costs = messages.map((message) => costOf(message, count))
  if (total(costs) <= maxTokens && unread.length === 0) return { messages: [...messages], omitted: undefined }
  const notes = 2 * (count(note(tape, { from: 999_999_999, to: 999_999_999 })) + frame)
  const pinned = pinnedOf(messages)
  const fitting = shortenPinned(messages, pinned, maxTokens - notes, count)
  if (fitting === undefined) throw tooSmall(maxTokens)
  let { room } = fitting
  let kept = messages.length
  while (kept > 0 && (pinned.has(kept - 1) || costs[kept - 1]! <= room)) {
    kept -= 1
    if (!pinned.has(kept)) room -= costs[kept]!
  }
  const start = startOfTurn(messages, kept)
  return withNotes(fitting.messages, (i) => i >= start || pinned.has(i), tape, unread)
}

/** The state that opens the context, the newest of whatever else stays, and the last message. */
function pinnedOf(messages: readonly ContextMessage[]): Set<number> {
  const [first] = messages
  const opening = first?.role === 'user' && first.keep === 'state' ? 0 : -1
  const others = (['words', 'document', 'prompt'] as const).map((keep) => newest(messages, keep))
  return new Set([opening, ...others, messages.length - 1].filter((i) => i >= 0))
}

function newest(messages: readonly ContextMessage[], keep: Keep): number {
  return messages.findLastIndex((message) => message.role === 'user' && message.keep === keep)
}

/** The messages with the texts of the pinned ones cut as far as needed, and the room that is left beside those. */
function shortenPinned(
  messages: readonly ContextMessage[],
  pinned: ReadonlySet<number>,
  room: number,
  count: CountTokens,
): { messages: readonly ContextMessage[]; room: number } | undefined {
  const cost = (list: readonly ContextMessage[]) => total([...pinned].map((i) => costOf(list[i]!, count)))
  let left = room - cost(messages)
  if (left >= 0) return { messages, room: left }
  for (let limit = 64_000; limit >= 50; limit = Math.floor(limit / 2)) {
    const short = messages.map((message, i) => (pinned.has(i) ? cutTexts(message, limit) : message))
    left = room - cost(short)
    if (left >= 0) return { messages: short, room: left }
  }
  return undefined
}

/** What is shown without a gap begins with a turn, or within the turn whose prompt stands before the gap. */
function startOfTurn(messages: readonly ContextMessage[], from: number): number {
  const prompt = newest(messages, 'prompt')
  if (prompt >= 0 && prompt < from) return from
  for (let i = from; i < messages.length; i++) if (messages[i]!.role === 'user') return i
  return from
}

/** The messages that are shown, with a note in place of each run of those that are not. */
function withNotes(
  messages: readonly ContextMessage[],
  isShown: (i: number) => boolean,
  tape: string,
  unread: readonly Gap[],
): { messages: ContextMessage[]; omitted: Omitted | undefined } {
  const shown: ContextMessage[] = []
  const waiting = [...unread]
  let gap: Gap | undefined
  let omitted: Omitted | undefined
  const leave = ({ from, to }: Gap, left: number) => {
    gap = { from: gap?.from ?? from, to }
    omitted = { from: omitted?.from ?? from, to, messages: (omitted?.messages ?? 0) + left }
  }
  messages.forEach((message, i) => {
    const isOpening = message.role === 'user' && (message.keep === 'state' || message.keep === 'words') && i <= 1
    const before = isOpening ? 0 : waiting.filter(({ to }) => to < message.first).length
    for (const each of waiting.splice(0, before)) leave(each, 0)
    if (!isShown(i)) return leave({ from: message.first, to: message.last }, 1)
    if (gap !== undefined) shown.push(noteMessage(tape, gap))
    gap = undefined
    shown.push(message)
  })
  if (gap !== undefined) shown.push(noteMessage(tape, gap))
  return { messages: shown, omitted }
}

function noteMessage(tape: string, gap: Gap): ContextMessage {
  return { role: 'user', pieces: [{ type: 'text', text: note(tape, gap) }], first: gap.from, last: gap.to }
}

function note(tape: string, { from, to }: Gap): string {
  return `[Entries ${from} to ${to} are left out here to save space: baton show ${shellWord(`${tape}#${from}..${to}`)}]`
}

function costOf(message: ContextMessage, count: CountTokens): number {
  let cost = frame
  for (const piece of message.pieces) cost += piece.type === 'media' ? mediaTokens : count(pieceText(piece))
  if (message.role === 'user') return cost
  for (const { call, result } of message.steps) {
    cost += 2 * frame + count(call.name) + count(JSON.stringify(call.arguments)) + count(outputText(result.output))
    cost += outputMedia(result.output).length * mediaTokens
  }
  return cost
}

/** A state is data with a shape and is never cut. */
function cutTexts(message: ContextMessage, limit: number): ContextMessage {
  if (message.role === 'user' && message.keep === 'state') return message
  const pieces = message.pieces.map((piece): Piece =>
    piece.type === 'text' ? { ...piece, text: withoutMiddle(piece.text, limit) } : piece,
  )
  if (message.role === 'user') return { ...message, pieces }
  return { ...message, pieces, steps: message.steps.map((step) => shortStep(step, limit)) }
}

function shortStep({ call, result }: CallWithResult, limit: number): CallWithResult {
  const long = Object.entries(call.arguments).map(([key, value]) => [
    key,
    typeof value === 'string' ? withoutMiddle(value, limit) : value,
  ])
  return {
    call: { ...call, arguments: Object.fromEntries(long) as Record<string, unknown> },
    result: { ...result, output: withoutMiddle(outputText(result.output), limit) },
  }
}

/** The text with its middle left out, and a word on how much that is. */
export function withoutMiddle(text: string, limit: number): string {
  if (text.length <= limit) return text
  const half = Math.floor(limit / 2)
  const head = text.slice(0, wholeCharacter(text, half))
  return `${head}\n[… ${text.length - 2 * half} characters left out …]\n${text.slice(wholeCharacter(text, text.length - half))}`
}

function total(costs: readonly number[]): number {
  return costs.reduce((sum, cost) => sum + cost, 0)
}

function tooSmall(maxTokens: number): LimitError {
  return new LimitError(`${maxTokens} tokens are too few for any of this context`, {
    hint: 'Allow more with maxTokens, or hand off with a smaller state.',
  })
}
