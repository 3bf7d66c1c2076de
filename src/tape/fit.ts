// Makes a context fit: the oldest turns go first, whole; never half of a call and its result. What was left out is said,
// with the command that shows it.

import { LimitError } from '../errors.ts'
import { shellWord } from '../store/shell-word.ts'
import type { Message, Step } from './pairing.ts'
import { outputText, type Piece, pieceText } from './pieces.ts'
import { type CountTokens, wholeCharacter } from './tokens.ts'

export interface Omitted {
  readonly from: number
  readonly to: number
  readonly messages: number
}

/** What a message costs beyond its text: role, separators, the frame of a call. */
const frame = 8
const mediaTokens = 1_600

export function fitInto(
  messages: readonly Message[],
  maxTokens: number,
  count: CountTokens,
  tape: string,
  unread: { from: number; to: number } | undefined,
): { messages: Message[]; omitted: Omitted | undefined } {
  const costs = messages.map((message) => costOf(message, count))
  const total = costs.reduce((sum, cost) => sum + cost, 0)
  if (total <= maxTokens && unread === undefined) return { messages: [...messages], omitted: undefined }
  // The state that opens the context stays as long as anything does.
  const opening = isState(messages[0]) ? 1 : 0
  let room = maxTokens - (opening === 1 ? costs[0]! : 0) - count(note(tape, 999_999_999, 999_999_999)) - frame
  let kept = messages.length
  while (kept > opening && costs[kept - 1]! <= room) room -= costs[--kept]!
  const start = startOfTurn(messages, kept)
  const last = messages.at(-1)
  if (start < messages.length) kept = start
  else if (kept === messages.length && last !== undefined && kept > opening) {
    const shortened = shorten(last, room, count)
    if (shortened === undefined) throw tooSmall(maxTokens)
    return withNote(messages.slice(0, opening), messages.slice(opening, -1), [shortened], tape, unread)
  }
  if (room < 0) throw tooSmall(maxTokens)
  return withNote(messages.slice(0, opening), messages.slice(opening, kept), messages.slice(kept), tape, unread)
}

function withNote(
  opening: readonly Message[],
  left: readonly Message[],
  kept: readonly Message[],
  tape: string,
  unread: { from: number; to: number } | undefined,
) {
  const from = unread?.from ?? left[0]?.first
  const to = left.at(-1)?.last ?? unread?.to
  if (from === undefined || to === undefined) return { messages: [...opening, ...kept], omitted: undefined }
  const pieces: Piece[] = [{ type: 'text', text: note(tape, from, to) }]
  const said: Message = { role: 'user', pieces, first: from, last: to }
  return { messages: [...opening, said, ...kept], omitted: { from, to, messages: left.length } }
}

function note(tape: string, from: number, to: number): string {
  return `[Entries ${from} to ${to} are left out here to save space: baton show ${shellWord(`${tape}#${from}..${to}`)}]`
}

/** The first message from there on that begins a turn; failing that, the first that may stand after the note. */
function startOfTurn(messages: readonly Message[], from: number): number {
  for (let i = from; i < messages.length; i++) if (messages[i]!.role === 'user') return i
  return from
}

function isState(message: Message | undefined): boolean {
  const piece = message?.role === 'user' ? message.pieces[0] : undefined
  return piece?.type === 'text' && piece.text.startsWith('<handoff anchor=')
}

function costOf(message: Message, count: CountTokens): number {
  let cost = frame
  for (const piece of message.pieces) cost += piece.type === 'media' ? mediaTokens : count(pieceText(piece))
  if (message.role === 'user') return cost
  for (const { call, result } of message.steps) {
    cost += 2 * frame + count(call.name) + count(JSON.stringify(call.arguments)) + count(outputText(result.output))
  }
  return cost
}

/** The last message alone is too large: its longest texts are cut in the middle, never its shape. */
function shorten(message: Message, room: number, count: CountTokens): Message | undefined {
  for (let limit = 64_000; limit >= 50; limit = Math.floor(limit / 2)) {
    const pieces = message.pieces.map((piece) =>
      piece.type === 'text' ? { ...piece, text: cut(piece.text, limit) } : piece,
    )
    const short: Message =
      message.role === 'user'
        ? { ...message, pieces }
        : { ...message, pieces, steps: message.steps.map((step) => shortStep(step, limit)) }
    if (costOf(short, count) <= room) return short
  }
  return undefined
}

function shortStep({ call, result }: Step, limit: number): Step {
  const long = Object.entries(call.arguments).map(([key, value]) => [
    key,
    typeof value === 'string' ? cut(value, limit) : value,
  ])
  return {
    call: { ...call, arguments: Object.fromEntries(long) as Record<string, unknown> },
    result: { ...result, output: cut(outputText(result.output), limit) },
  }
}

function cut(text: string, limit: number): string {
  if (text.length <= limit) return text
  const half = Math.floor(limit / 2)
  const head = text.slice(0, wholeCharacter(text, half))
  return `${head}\n[… ${text.length - 2 * half} characters left out …]\n${text.slice(wholeCharacter(text, text.length - half))}`
}

function tooSmall(maxTokens: number): LimitError {
  return new LimitError(`${maxTokens} tokens are too few for any of this context`, {
    hint: 'Allow more with maxTokens, or hand off with a smaller state.',
  })
}
