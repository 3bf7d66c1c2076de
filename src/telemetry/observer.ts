// What a form of handoff reports about itself while it works. The relay calls it, and telemetry is one that listens. The types
// of requests and responses are parameters, because this room does not know the relay: here they are only what telemetry
// reads of them. Ids are reported for spans; they never become attributes of metrics.

import type { AgentShape, TokenUsage } from './conventions.ts'
import type { TraceContext } from './opentelemetry.ts'

interface RequestShape {
  readonly traceId: string
  readonly sourceAgent: string
  readonly handoffTo: string
  readonly reason: string
  readonly reasonDetail: string
  readonly priority: string
  readonly missingInputs?: readonly unknown[] | undefined
}

export interface ResponseShape {
  readonly status: string
  readonly respondingAgent: string
  readonly executionTimeMs: number
  readonly failureReason?: string | undefined
  readonly providedInputs?: Readonly<Record<string, unknown>> | undefined
  readonly unresolved?: readonly string[] | undefined
  readonly tokensUsed?: number | undefined
  readonly tokenUsage?: TokenUsage | undefined
}

/** A request, as every report names it. The trace context is that of the caller for a request, from the envelope for the work on it. */
export interface HandoffFacts<Request = RequestShape> extends TraceContext {
  readonly requestId: string
  readonly request: Request
}

export interface AnswerFacts<Request = RequestShape, Response = ResponseShape> extends HandoffFacts<Request> {
  readonly response: Response
  /** From the request to the answer, in milliseconds. */
  readonly durationMs: number
}

/** A `handoff.request` span. Its context goes into the envelope, so that the target's spans belong to it. The first of its ends that is called is its end; a dead process calls none. */
export interface HandoffRequestSpan<Response = ResponseShape, Rejection = string> extends TraceContext {
  rejected(code: Rejection, response: Response): void
  /** `cause`: why it failed, where that is known, as the metric has it. */
  answered(response: Response, cause?: 'timeout' | 'cancelled' | 'dead'): void
  /** A person was asked: the span ends here and continues in a linked one (`resumed`). */
  escalated(escalation: string): void
  /** The caller does not wait here. */
  left(): void
  failed(error: unknown): void
}

/** A target at work on a request: a `handoff.response` span, and in it the agent's own, `invoke_agent AGENT`. Its context is for what the target itself calls. */
export interface HandoffWorkSpan<Response = ResponseShape> extends TraceContext {
  /** Does the target's work as a part of the span, so that the spans of that work are below it. */
  run<T>(work: () => T): T
  answered(response: Response, cause?: 'timeout'): void
  failed(error: unknown): void
}

export interface HandoffObserver<
  Request = RequestShape,
  Response = ResponseShape,
  Rejection extends string = string,
  Mode extends string = string,
> {
  /** What was given is not a valid request; nothing was recorded. */
  invalid(error: unknown): void
  requested(
    facts: HandoffFacts<Request> & {
      readonly mode: Mode
      readonly agent?: AgentShape | undefined
      /** The target is an agent of another process. */
      readonly isRemote?: boolean
    },
  ): HandoffRequestSpan<Response, Rejection>
  working(
    facts: HandoffFacts<Request> & { readonly worker: string; readonly agent?: AgentShape | undefined },
  ): HandoffWorkSpan<Response>
  /** A request has its answer. The process that recorded it reports it once, for rejected requests, too. */
  answered(
    facts: AnswerFacts<Request, Response> & {
      readonly rejection?: Rejection | undefined
      readonly timedOut?: boolean | undefined
    },
  ): void
  escalated(facts: HandoffFacts<Request> & { readonly mode: Mode; readonly escalation: string }): void
  /** A request that waited for a person has its answer. */
  resumed(facts: AnswerFacts<Request, Response> & { readonly escalation: string }): void
  /** An answer that came too late, or once more: it changed nothing. */
  ignored(facts: { readonly requestId: string; readonly why: 'late' | 'duplicate' }): void
}
