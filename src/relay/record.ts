// What the relay writes on its tape. Two chains of keys hold it together: a trace's requests expect each other, and so
// do the claims and the answer of a request; everything else is free to happen at the same time.

import { UnsupportedError } from '../errors.ts'
import type { Draft, Entry } from '../store/index.ts'
import type { Rejection } from './observer.ts'
import type { Envelope, HandoffResponse } from './schema.ts'
import type { TraceState } from './trace.ts'

export const tape = 'relay/handoffs'

/** A hold on a request. */
export interface Hold {
  readonly token: string
  readonly worker: string
  readonly leaseMs: number
  /** When the lease began, in milliseconds. */
  readonly at: number
}

export interface Requested {
  readonly type: 'requested'
  readonly envelope: Envelope
  /** The trace with this request in it. */
  readonly trace: TraceState
  /** The entry of the trace before this one; 0 for none, below 0 so many entries back, within the same batch. */
  readonly prev: number
  /** The caller gave it its id, and may come again with it. */
  readonly isNamed?: true
  /** Tells this attempt to write the entry from another one. */
  readonly attempt: string
  /** When a function of the requesting process is the target, it holds the request from the start. */
  readonly hold?: Hold
  /** The answer to a request that was refused follows in the same batch. */
  readonly rejection?: Rejection
}

interface OfRequest {
  readonly requestId: string
}

interface Claimed extends OfRequest {
  readonly type: 'claimed'
  readonly agent: string
  readonly hold: Hold
}

/** The lease begins anew. */
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
  readonly by: string
  readonly durationMs: number
  readonly escalation?: string
  readonly rejection?: Rejection
  readonly timedOut?: true
}

interface Late extends OfRequest {
  readonly type: 'late'
  readonly response: HandoffResponse
  readonly by: string
  /** Of what was answered, so that the same answer is kept once. */
  readonly digest: string
}

/** An agent works with the answer; without a hold it has given it back. */
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

/** Control of a trace was passed on without a request. */
export interface Owned {
  readonly type: 'owner'
  readonly traceId: string
  readonly owner: string
  readonly reason: string
  readonly trace: TraceState
  readonly prev: number
}

export type Fact =
  | Requested
  | Claimed
  | Extended
  | Released
  | Escalated
  | Answered
  | Late
  | Resuming
  | Resumed
  | Recovered
  | Owned

const types = new Set<string>([
  'requested',
  'claimed',
  'extended',
  'released',
  'escalated',
  'answered',
  'late',
  'resuming',
  'resumed',
  'recovered',
  'owner',
] satisfies Fact['type'][])

export const requestKey = (requestId: string) => `request:${requestId}`
export const resumptionKey = (requestId: string) => `resumed:${requestId}`
export const traceKey = (traceId: string) => `trace:${traceId}`

export function draftOf(fact: Fact, date?: string): Draft {
  const { type, ...data } = fact
  const idempotency = idempotencyOf(fact)
  return {
    kind: 'event',
    payload: { name: `handoff.${type}`, data },
    meta: { key: keyOf(fact), context: false, ...(idempotency === undefined ? {} : { idempotency }) },
    ...(date === undefined ? {} : { date }),
  }
}

function keyOf(fact: Fact): string {
  switch (fact.type) {
    case 'requested':
      return traceKey(fact.envelope.request.traceId)
    case 'owner':
      return traceKey(fact.traceId)
    case 'claimed':
    case 'extended':
    case 'released':
    case 'escalated':
    case 'answered':
      return requestKey(fact.requestId)
    case 'resuming':
    case 'resumed':
      return resumptionKey(fact.requestId)
    case 'late':
    case 'recovered':
      return `${fact.type}:${fact.requestId}`
  }
}

function idempotencyOf(fact: Fact): string | undefined {
  if (fact.type === 'requested') return fact.isNamed ? `request:${fact.envelope.requestId}` : undefined
  return fact.type === 'late' ? `late:${fact.requestId}:${fact.digest}` : undefined
}

/** What an entry says; undefined for a snapshot, which says nothing new. */
export function factIn(entry: Entry): Fact | undefined {
  if (entry.kind === 'anchor') return undefined
  const { name, data } = entry.payload as { name: string; data: object }
  const type = name.startsWith('handoff.') ? name.slice('handoff.'.length) : ''
  if (!types.has(type)) {
    throw new UnsupportedError(`${tape}#${entry.id} is a "${name}", which this version of Baton does not know`, {
      hint: 'A newer version wrote it; use that one.',
    })
  }
  const fact = { type, ...data } as Fact
  // Entries of one batch cannot know each other's ids, so they say how far back the other one is.
  if ('request' in fact && fact.request < 0) return { ...fact, request: entry.id + fact.request }
  if ('prev' in fact && fact.prev < 0) return { ...fact, prev: entry.id + fact.prev }
  return fact
}
