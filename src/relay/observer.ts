// What the relay tells about itself while it works, for telemetry. Ids are in the facts for spans; they never belong into
// metric attributes.

import type { HandoffRequest, HandoffResponse, Mode } from './schema.ts'

/** Why a valid request was refused. */
export type Rejection =
  | 'item_limit'
  | 'pipeline_limit'
  | 'cooldown'
  | 'circular'
  | 'not_owner'
  | 'forbidden_route'
  | 'undeclared_route'
  | 'superseded'

export interface RequestFacts {
  readonly requestId: string
  readonly request: HandoffRequest
  readonly mode: Mode
  /** Of the caller, W3C. */
  readonly traceparent?: string | undefined
}

/** A `handoff.request` span. The first of its ends that is called is its end; a dead process calls none. */
export interface RequestSpan {
  /** What goes into the envelope, so that the target's spans belong to this one. */
  readonly traceparent?: string | undefined
  rejected(code: Rejection, response: HandoffResponse): void
  answered(response: HandoffResponse): void
  /** A person was asked: the span ends here and goes on in a linked one (`resumed`). */
  escalated(escalation: string): void
  /** The caller does not wait here. */
  left(): void
  failed(error: unknown): void
}

export interface WorkFacts {
  readonly requestId: string
  readonly request: HandoffRequest
  readonly worker: string
  /** From the envelope. */
  readonly traceparent?: string | undefined
}

/** A target at work on a request: a `handoff.response` span. */
export interface WorkSpan {
  /** For what the target itself calls. */
  readonly traceparent?: string | undefined
  /** Does the target's work, as a part of the span. */
  run<T>(work: () => T): T
  answered(response: HandoffResponse): void
  failed(error: unknown): void
}

export interface AnswerFacts {
  readonly requestId: string
  readonly request: HandoffRequest
  readonly response: HandoffResponse
  /** From the request to the answer, in milliseconds. */
  readonly durationMs: number
  readonly traceparent?: string | undefined
}

export interface ResumeFacts extends AnswerFacts {
  readonly escalation: string
}

export interface RelayObserver {
  /** A request that is no request; nothing was recorded. */
  invalid(error: unknown): void
  requested(facts: RequestFacts): RequestSpan
  working(facts: WorkFacts): WorkSpan
  /** An answer has become the answer, told once, by the process that recorded it; of rejected requests, too. */
  answered(
    facts: AnswerFacts & { readonly rejection?: Rejection | undefined; readonly timedOut?: boolean | undefined },
  ): void
  escalated(facts: RequestFacts & { readonly escalation: string }): void
  /** Whoever waited for a person has the answer. */
  resumed(facts: ResumeFacts): void
  /** An answer that came too late, or once more: it changed nothing. */
  ignored(facts: { readonly requestId: string; readonly why: 'late' | 'duplicate' }): void
}
