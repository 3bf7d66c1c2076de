// The events that the relay writes on its tape. Two chains of keys order them: each request of a trace expects the one before,
// and so do the answer of a request and whatever changes who holds it. Only the first claim of a request expects nothing: there
// the order on the tape decides, so a worker takes many requests with one entry. Everything else may happen at the same time.

import { UnsupportedError } from '../../errors.ts'
import type { BlobRef, Draft, Entry, Expect, Json } from '../../store/index.ts'
import type { Beginning } from '../clock.ts'
import type { Envelope, HandoffResponse, Priority, Rejection } from '../schema.ts'
import type { TraceState } from '../request/trace-rules.ts'

export const tape = 'relay/handoffs'

/** A worker's hold on a request, which lasts for a lease. */
export interface Hold extends Beginning {
  readonly token: string
  readonly worker: string
  readonly leaseMs: number
}

/** A worker that took a request and did not come back. */
export interface LostDelivery {
  readonly worker: string
  /** When it last claimed the request or renewed its lease, in milliseconds. */
  readonly at: number
}

export interface Requested {
  readonly type: 'requested'
  readonly envelope: Envelope
  /** When it was accepted, by the clock of its machine that never jumps. */
  readonly steady?: Beginning['steady']
  /** The state of the trace, this request included. */
  readonly trace: TraceState
  /** The previous entry of the trace; 0 for none. A negative number counts back within the same batch. */
  readonly prev: number
  /** The caller chose the request id, and may repeat the request with it. */
  readonly isNamed?: true
  /** Identifies this attempt to write the entry. */
  readonly attempt: string
  /** A target that is a function of the requesting process holds the request from the start. */
  readonly hold?: Hold
  /** Why the request was refused; the answer that says so follows in the same batch. */
  readonly rejection?: Rejection
}

interface OfRequest {
  readonly requestId: string
}

/**
 * A worker takes requests that nobody holds. The first such entry on the tape that names a request holds it; in any later one the
 * request is passed over.
 */
export interface Taken {
  readonly type: 'taken'
  readonly agent: string
  readonly requestIds: readonly string[]
  /** The hold on each of them, see `holdOn`. */
  readonly hold: Hold
  /** One of them had waited for long, so workers that leave the work to others should help. */
  readonly isLate?: true
}

/** A worker takes over a request whose worker did not renew its lease. */
interface Claimed extends OfRequest {
  readonly type: 'claimed'
  readonly agent: string
  readonly hold: Hold
}

/** A heartbeat: the lease starts again. */
interface Extended extends OfRequest {
  readonly type: 'extended'
  readonly hold: Hold
}

interface Released extends OfRequest {
  readonly type: 'released'
  readonly worker: string
}

/** An agent hands a request on to a person. */
export interface Escalated extends OfRequest {
  readonly type: 'escalated'
  readonly traceId: string
  /** The entry of the request. */
  readonly request: number
  readonly via: string
  readonly recommendations?: readonly string[]
}

export interface Answered extends OfRequest {
  readonly type: 'answered'
  readonly traceId: string
  /** The entry of the request; written as -1 where it is the one before, in the same batch. */
  readonly request: number
  readonly response: HandoffResponse
  /** Holds `response.providedInputs` when they are too large for a line. */
  readonly inputsBlob?: BlobRef
  readonly by: string
  readonly durationMs: number
  /** The entry by which the worker that answered took the request. */
  readonly claim?: number
  readonly escalation?: string
  readonly rejection?: Rejection
  readonly timedOut?: true
  readonly cancelled?: true
  /** The workers that died with the request, which makes it a dead letter. */
  readonly dead?: readonly LostDelivery[]
}

/** A dead letter is open again, with a new deadline. */
export interface Retried extends OfRequest {
  readonly type: 'retried'
  readonly traceId: string
  /** The entry of the request. */
  readonly request: number
  readonly by: string
  readonly from: string
  readonly to: string
  readonly priority: Priority
  readonly acceptedAt: string
  readonly steady?: Beginning['steady']
  readonly deadline: string
}

/** A dead letter is no longer listed. */
interface Dropped extends OfRequest {
  readonly type: 'dropped'
  readonly traceId: string
  readonly by: string
}

interface Late extends OfRequest {
  readonly type: 'late'
  readonly response: HandoffResponse
  readonly inputsBlob?: BlobRef
  readonly by: string
  /** A hash of the answer, so that the same late answer is kept once. */
  readonly digest: string
}

/** An agent works with the answer; without a hold, the agent has given it back. */
export interface Resuming extends OfRequest {
  readonly type: 'resuming'
  readonly by: string
  readonly hold?: Hold
}

/** The answer is used up. */
export interface Resumed extends OfRequest {
  readonly type: 'resumed'
  readonly by: string
  readonly hold?: undefined
}

interface Recovered extends OfRequest {
  readonly type: 'recovered'
  readonly traceId: string
  readonly action: string
  readonly reason: string
}

/** How far a worker is. */
export interface Progressed extends OfRequest {
  readonly type: 'progress'
  readonly by: string
  readonly text?: string
  readonly percent?: number
}

/** A worker asks back before it continues. */
export interface Questioned extends OfRequest {
  readonly type: 'question'
  readonly question: string
  readonly by: string
  readonly text: string
}

/** The asker's answer to a worker's question, or why there is none. */
export interface Replied extends OfRequest {
  readonly type: 'reply'
  readonly question: string
  readonly by: string
  readonly answer?: Json
  readonly refused?: string
}

/** Control of a trace was passed on without a request. */
export interface Owned {
  readonly type: 'owner'
  readonly traceId: string
  readonly owner: string
  readonly reason: string
  readonly trace: TraceState
  readonly prev: number
}

export type RelayEvent =
  | Requested
  | Taken
  | Claimed
  | Extended
  | Released
  | Escalated
  | Answered
  | Retried
  | Dropped
  | Late
  | Progressed
  | Questioned
  | Replied
  | Resuming
  | Resumed
  | Recovered
  | Owned

const types = new Set<string>([
  'requested',
  'taken',
  'claimed',
  'extended',
  'released',
  'escalated',
  'answered',
  'retried',
  'dropped',
  'late',
  'progress',
  'question',
  'reply',
  'resuming',
  'resumed',
  'recovered',
  'owner',
] satisfies RelayEvent['type'][])

export const requestKey = (requestId: string) => `request:${requestId}`
export const resumptionKey = (requestId: string) => `resumed:${requestId}`
export const questionKey = (requestId: string) => `question:${requestId}`
export const takenKey = (agent: string) => `taken:${agent}`
export const traceKey = (traceId: string) => `trace:${traceId}`

/**
 * What the next entry under a key expects. `head` is the newest one that its writer knows of; while there is none since the last archive,
 * it is the entry up to which the writer knows everything under that key, as a negative number. Then a later archive is a conflict: it may
 * hold entries that the writer has not seen.
 */
export function expected(key: string, head: number): Expect {
  return head > 0 ? { key, id: head } : { key, id: 0, since: -head }
}

/** The hold on one of the requests that were taken together; each has a token of its own. */
export function holdOn({ requestIds, hold }: Taken, requestId: string): Hold {
  return { ...hold, token: `${hold.token}.${requestIds.indexOf(requestId)}` }
}

export function draftOf(event: RelayEvent, date?: string): Draft {
  const { type, ...data } = event
  const idempotency = idempotencyOf(event)
  return {
    kind: 'event',
    payload: { name: `handoff.${type}`, data },
    meta: { key: keyOf(event), context: false, ...(idempotency === undefined ? {} : { idempotency }) },
    ...(date === undefined ? {} : { date }),
  }
}

function keyOf(event: RelayEvent): string {
  switch (event.type) {
    case 'requested':
      return traceKey(event.envelope.request.traceId)
    case 'owner':
      return traceKey(event.traceId)
    case 'taken':
      return takenKey(event.agent)
    case 'claimed':
    case 'extended':
    case 'released':
    case 'escalated':
    case 'answered':
    case 'retried':
      return requestKey(event.requestId)
    case 'resuming':
    case 'resumed':
      return resumptionKey(event.requestId)
    case 'question':
    case 'reply':
      return questionKey(event.requestId)
    case 'dropped':
    case 'progress':
    case 'late':
    case 'recovered':
      return `${event.type}:${event.requestId}`
  }
}

function idempotencyOf(event: RelayEvent): string | undefined {
  if (event.type === 'requested') return event.isNamed ? `request:${event.envelope.requestId}` : undefined
  return event.type === 'late' ? `late:${event.requestId}:${event.digest}` : undefined
}

/** The event in an entry; undefined for a snapshot, and for the note that a repair left in the place of a lost entry. */
export function eventIn(entry: Entry): RelayEvent | undefined {
  if (entry.kind !== 'event') return undefined
  const { name, data } = entry.payload as { name: string; data: object }
  const type = name.startsWith('handoff.') ? name.slice('handoff.'.length) : ''
  if (!types.has(type)) {
    throw new UnsupportedError(`${tape}#${entry.id} is a "${name}", which this version of Baton does not know`, {
      hint: 'A newer version wrote it; use that one.',
    })
  }
  const event = { type, ...data } as RelayEvent
  // Entries of one batch cannot know each other's ids, so they say how far back the other one is.
  if ('request' in event && event.request < 0) return { ...event, request: entry.id + event.request }
  if ('prev' in event && event.prev < 0) return { ...event, prev: entry.id + event.prev }
  return event
}
