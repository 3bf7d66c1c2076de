import type { OutgoingHttpHeaders } from 'node:http'
import type { Failure, Reply } from './reply.ts'
import type { AnyApi, Prompt } from './request.ts'
import type { Turn } from './turn.ts'

/** One provider's way of saying things: pure translation, no sockets and no timing. */
export interface Protocol {
  api: AnyApi
  /** Throws when the body is not one this protocol allows. */
  read(body: unknown, path: string): Prompt
  /** The answer to a question that the agent asks for itself, which no script is to see. */
  aside?(body: unknown): Reply | undefined
  /** The whole reply as the body of a plain answer to `body`. */
  whole(turn: Turn, body: unknown): unknown
  /** The whole reply as the events of a stream, from opening to end. */
  stream(turn: Turn, body: unknown): Frame[]
  failure(failure: Failure, turn: Pick<Turn, 'id' | 'model'>): HttpFailure
  /** The same failure inside a stream of which `sent` frames went out. */
  streamFailure(failure: Failure, turn: Turn, sent: number): Frame[]
}

export interface HttpFailure {
  status: number
  headers: OutgoingHttpHeaders
  body: unknown
}

/** One server-sent event; a `piece` carries content, the others are the envelope around it. */
export interface Frame {
  data: string
  piece: boolean
}

/** An event as Anthropic and the responses API write it: the type twice, in the event line and in the data. */
export function typedFrame(type: string, fields: object = {}, piece = false): Frame {
  return { data: `event: ${type}\ndata: ${JSON.stringify({ type, ...fields })}\n\n`, piece }
}

/** Where a stream stands once `count` pieces are out (all of them, if there are fewer): an index into `frames`. */
export function afterPieces(frames: readonly Frame[], count: number): number {
  const pieces = frames.flatMap((frame, at) => (frame.piece ? [at] : []))
  const last = pieces[Math.min(count, pieces.length) - 1]
  // With no piece sent, the opening events are: a client has seen the stream begin.
  return last === undefined ? (pieces[0] ?? 1) : last + 1
}
