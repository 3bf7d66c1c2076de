// What the relay answers: to those who ask, to those who work, and to those who look.

import type { Rejection } from './observer.ts'
import type { Envelope, HandoffRequest, HandoffResponse, MissingInput, Mode, Priority } from './schema.ts'

/** Of a request, for the one who made it. */
export type Outcome =
  /** The target has answered; also `escalated`, when the target was an agent that handed it on to a person. */
  | { readonly status: 'answered'; readonly requestId: string; readonly response: HandoffResponse }
  /** Refused by the relay; `response` is a failed one that says why. */
  | {
      readonly status: 'rejected'
      readonly requestId: string
      readonly response: HandoffResponse
      readonly rejection: Rejection
    }
  /** A person is asked; `wait(requestId)` gives the answer, today or next Monday. */
  | {
      readonly status: 'escalated'
      readonly requestId: string
      readonly response: HandoffResponse
      readonly escalation: string
    }
  /** Somebody will claim it from the inbox. */
  | { readonly status: 'pending'; readonly requestId: string }

/** A request as it lies in an inbox. */
export interface InboxItem {
  readonly requestId: string
  readonly traceId: string
  readonly from: string
  readonly to: string
  readonly priority: Priority
  readonly reason: string
  readonly summary: string
  readonly acceptedAt: string
  readonly deadline?: string | undefined
}

/** A worker's hold on a request, for as long as its lease lasts. */
export interface Claim {
  readonly requestId: string
  readonly agent: string
  readonly worker: string
  /** Tells this hold from others; whoever answers without it answers for nobody's. */
  readonly token: string
  readonly leaseMs: number
  readonly envelope: Envelope
  /** The entry of the request. */
  readonly entry: number
  /** The newest entry of the request's chain, which its answer expects; a heartbeat moves it on. */
  head: number
}

export type AnswerResult =
  | { readonly status: 'accepted'; readonly response: HandoffResponse }
  /** The same answer once more: nothing was written. */
  | { readonly status: 'duplicate'; readonly response: HandoffResponse }
  /** Kept, but it changes nothing: `response` is the one that counts, if there is one yet. */
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

/** Where a request is. */
type RequestState = 'pending' | 'claimed' | 'escalated' | 'answered' | 'rejected'

export interface RequestStatus {
  readonly requestId: string
  readonly state: RequestState
  readonly envelope: Envelope
  readonly claim?: { readonly worker: string; readonly until: string } | undefined
  readonly escalation?: string | undefined
  readonly response?: HandoffResponse | undefined
  readonly rejection?: Rejection | undefined
}

export interface RelayStatus {
  readonly pending: number
  readonly claimed: number
  readonly escalated: number
  readonly counters: Counters
  /** Per agent with anything open, pending and claimed requests. */
  readonly agents: Readonly<Record<string, { readonly pending: number; readonly claimed: number }>>
}

/** Since the relay's first request, over all processes. */
export interface Counters {
  readonly requests: number
  readonly resolved: number
  readonly partial: number
  /** Rejected ones are among the failed. */
  readonly failed: number
  readonly escalated: number
  readonly rejected: number
  readonly circularBlocked: number
  readonly timedOut: number
  readonly late: number
}

export interface HistoryQuery {
  readonly traceId?: string
  /** ISO 8601 or milliseconds; older ones are left out. */
  readonly since?: string | number
  /** At most so many, the newest. */
  readonly limit?: number
}

/** Something that happened. */
export type HistoryRow = {
  readonly entry: number
  readonly date: string
  /** Where the entry itself says so: a claim, for one, only names its request. */
  readonly traceId?: string | undefined
  /** Empty where a trace changed hands without a request. */
  readonly requestId: string
} & (
  | { readonly type: 'requested'; readonly envelope: Envelope }
  | {
      readonly type: 'answered'
      readonly response: HandoffResponse
      readonly durationMs: number
      readonly rejection?: Rejection | undefined
      readonly timedOut?: boolean | undefined
    }
  | { readonly type: 'escalated'; readonly escalation: string }
  | { readonly type: 'claimed' | 'released'; readonly worker: string }
  | { readonly type: 'late'; readonly response: HandoffResponse }
  | { readonly type: 'resumed'; readonly by: string }
  | { readonly type: 'recovered'; readonly action: string; readonly reason: string }
  | { readonly type: 'owner'; readonly owner: string; readonly reason: string }
)

/** Who has a trace now. */
export interface Owner {
  readonly traceId: string
  readonly agent: string
  /** How the owner got it; undefined for the one who began. */
  readonly mode?: Mode | undefined
  /** Who gets it next, when the owner has only been called. */
  readonly returnsTo?: string | undefined
  readonly requestId?: string | undefined
}
