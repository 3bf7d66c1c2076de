// What telemetry has to know of a handoff: a part of what the relay knows, so that this room need not know the relay.

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
}

export interface Facts {
  readonly requestId: string
  readonly request: RequestShape
  readonly traceparent?: string | undefined
}

export interface AnswerFacts extends Facts {
  readonly response: ResponseShape
  readonly durationMs: number
}
