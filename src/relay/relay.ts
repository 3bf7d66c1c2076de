// The relay as agents, people and doors hold it.

import type { Store } from '../store/index.ts'
import type { RelayObserver } from './observer.ts'
import type {
  AnswerResult,
  Claim,
  Counters,
  Escalation,
  EscalationDetail,
  HistoryQuery,
  HistoryRow,
  InboxItem,
  Outcome,
  Owner,
  RelayStatus,
  RequestStatus,
} from './outcome.ts'
import type { Envelope, HandoffAnswer, HandoffRequest, HandoffResponse, Mode } from './schema.ts'
import type { RelaySettings } from './settings.ts'

/** An agent as a function of this process. */
export type Handler = (
  request: HandoffRequest,
  context: { readonly envelope: Envelope; readonly signal: AbortSignal; readonly traceparent?: string | undefined },
) => Promise<HandoffAnswer> | HandoffAnswer

export interface RelayOptions {
  readonly store: Store
  readonly settings: RelaySettings
  readonly telemetry?: RelayObserver
  /** Told when a person is asked. */
  readonly notify?: (escalation: Escalation) => Promise<void> | void
  readonly now?: () => number
  readonly handlers?: Readonly<Record<string, Handler>>
}

export interface RequestOptions {
  /** Unless given: wait for agents, not for people. */
  readonly wait?: boolean
  readonly signal?: AbortSignal
  /** Makes a repeated request the same one; a random one unless given. */
  readonly requestId?: string
  readonly traceparent?: string
  readonly mode?: Mode
}

export interface Relay {
  readonly settings: RelaySettings
  request(request: unknown, options?: RequestOptions): Promise<Outcome>
  /** Several handoffs out of one turn: one wins, by priority, then by order; the others are recorded as rejected. */
  requestOne(requests: readonly unknown[], options?: Omit<RequestOptions, 'requestId'>): Promise<Outcome[]>
  /** The answer, once there is one; also in another process than the one that asked. */
  wait(requestId: string, options?: { signal?: AbortSignal }): Promise<HandoffResponse>
  /** The same, for whoever acts on it: the first to ask gets it, any other a conflict. */
  resume(requestId: string, options: { by: string; signal?: AbortSignal }): Promise<HandoffResponse>

  inbox(agent: string, options?: { limit?: number }): Promise<InboxItem[]>
  /** Every request as it becomes claimable, those that are so already first. */
  watchInbox(agent: string, signal: AbortSignal): AsyncIterable<InboxItem>
  claim(agent: string, options: { worker: string; leaseMs?: number; requestId?: string }): Promise<Claim | undefined>
  /** Makes the lease last from now on; false when the claim is somebody else's by now, or settled. */
  heartbeat(claim: Claim): Promise<boolean>
  answer(
    requestId: string,
    answer: unknown,
    options?: { claim?: Pick<Claim, 'token'>; by?: string },
  ): Promise<AnswerResult>
  /** Puts a claimed request back into the inbox. */
  release(requestId: string, options?: { claim?: Pick<Claim, 'token'> }): Promise<void>
  /** Claims, works and answers until aborted. */
  serve(
    agent: string,
    handler: Handler,
    options: { signal: AbortSignal; worker?: string; leaseMs?: number; concurrency?: number },
  ): Promise<void>

  readonly escalations: {
    list(): Promise<Escalation[]>
    show(id: string): Promise<EscalationDetail>
    answer(
      id: string,
      inputs: unknown,
      options: { by: string; status?: 'resolved' | 'partial' | 'failed'; reason?: string },
    ): Promise<AnswerResult>
  }

  status(): Promise<RelayStatus>
  status(requestId: string): Promise<RequestStatus>
  counters(): Promise<Counters>
  history(query?: HistoryQuery): AsyncIterable<HistoryRow>

  owner(traceId: string): Promise<Owner>
  passControl(traceId: string, change: { from: string; to: string; reason: string }): Promise<Owner>
  returnToCaller(traceId: string, change: { from: string; reason: string }): Promise<Owner>

  close(): Promise<void>
}
