// What the relay returns: to those who request, to those who work, and to those who answer.

import type { Envelope, HandoffRequest, HandoffResponse, MissingInput, Priority, Rejection } from './schema.ts'

interface Ended {
  readonly requestId: string
  readonly response: HandoffResponse
}

/** How a request ended, for the agent that made it. */
export type RequestOutcome =
  /** All that was asked for. */
  | (Ended & { readonly status: 'resolved'; readonly inputs: ProvidedInputs })
  /** Some of it. */
  | (Ended & { readonly status: 'partial'; readonly inputs: ProvidedInputs; readonly unresolved: readonly string[] })
  | (Ended & { readonly status: 'failed'; readonly reason: string; readonly cause?: 'timeout' | 'cancelled' | 'dead' })
  /** Refused by the relay, by the rule that `rejection` names. */
  | (Ended & { readonly status: 'rejected'; readonly reason: string; readonly rejection: Rejection })
  /** A person is asked; `wait(requestId)` gives the answer, today or next Monday. */
  | (Ended & { readonly status: 'escalated'; readonly escalation: string })
  /** Somebody will claim it from the inbox. */
  | { readonly status: 'pending'; readonly requestId: string }

export type ProvidedInputs = Readonly<NonNullable<HandoffResponse['providedInputs']>>

interface RequestRow {
  readonly traceId: string
  readonly from: string
  readonly to: string
  readonly priority: Priority
  readonly reason: string
  readonly summary: string
}

/** What a list says of a request. */
export function requestRow(request: HandoffRequest): RequestRow {
  const { traceId, sourceAgent: from, handoffTo: to, priority, reason, contextForTarget } = request
  return { traceId, from, to, priority, reason, summary: contextForTarget.summary }
}

/** A request as it lies in an inbox. */
export interface InboxItem extends RequestRow {
  readonly requestId: string
  readonly acceptedAt: string
  readonly deadline?: string | undefined
}

/** A worker's hold on a request, for as long as its lease lasts. */
export interface Claim {
  readonly requestId: string
  readonly agent: string
  readonly worker: string
  /** Identifies this hold: an answer with the token of an older hold is late. */
  readonly token: string
  readonly leaseMs: number
  readonly envelope: Envelope
  /** The entry of the request. */
  readonly entry: number
  /** The entry by which it was taken; undefined where the request came with the claim. */
  readonly claim?: number | undefined
  /** What its answer expects: the newest entry under the request's key, minus that of the request while there is none. */
  head: number
}

export type AnswerResult =
  | { readonly status: 'accepted'; readonly response: HandoffResponse }
  /** The same answer was given before: nothing was written. */
  | { readonly status: 'duplicate'; readonly response: HandoffResponse }
  /** Too late: it is kept on the tape, but changes nothing; `response` is the answer that counts, if there is one yet. */
  | { readonly status: 'late'; readonly response?: HandoffResponse | undefined }

export interface Escalation {
  readonly id: string
  readonly requestId: string
  readonly traceId: string
  readonly from: string
  readonly priority: Priority
  readonly reason: string
  readonly reasonDetail: string
  readonly summary: string
  readonly missing: readonly MissingInput[]
  readonly recommendations: readonly string[]
  readonly askedAt: string
  readonly ageMs: number
}

export interface EscalationDetail extends Escalation {
  readonly request: HandoffRequest
  /** The agent that handed the request on, when it was not addressed to a person. */
  readonly via?: string | undefined
  readonly answer?: { readonly by: string; readonly at: string; readonly response: HandoffResponse } | undefined
}
