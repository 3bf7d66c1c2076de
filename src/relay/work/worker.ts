// Runs an agent that is a function: it works on a request under a claim, whose lease is kept for as long as the work takes, until
// the request is overdue or cancelled. What the function returns or throws becomes the answer; a transport failure is
// tried again first.

import { BatonError, CancelledError } from '../../errors.ts'
import type { Json } from '../../store/index.ts'
import type { RelayContext, WorkSpan } from '../context.ts'
import type { Answered } from '../journal/events.ts'
import { sameTargetRetry } from '../recovery.ts'
import type { Answers } from '../request/answers.ts'
import { failedResponse, responseTo } from '../request/response.ts'
import type { AnswerResult, Claim } from '../results.ts'
import type { Envelope, HandoffAnswer, HandoffRequest, HandoffResponse } from '../schema.ts'
import { after, keepLease, onAbort, pause } from '../timers.ts'
import type { Claims } from './claims.ts'
import type { ProgressUpdate, Questions } from './questions.ts'

/** An agent as a function. Its signal is aborted when the request is cancelled or overdue, or when the claim is lost. */
export type HandoffHandler = (
  request: HandoffRequest,
  context: HandoffHandlerContext,
) => Promise<HandoffAnswer> | HandoffAnswer

export interface HandoffHandlerContext {
  readonly envelope: Envelope
  readonly signal: AbortSignal
  /** The trace context for what the agent itself calls. */
  readonly traceparent?: string | undefined
  readonly tracestate?: string | undefined
  /** The token of the claim, for a worker that passes it on to another process. */
  readonly token: string
  /** Tells the agent that asked how far the work is; durable when resolved. */
  readonly progress: (update: ProgressUpdate) => Promise<void>
  /** Asks the agent that asked, and resolves with its reply; rejects when it answers no questions. */
  readonly clarify: (question: string) => Promise<Json>
}

/** Why work ended before it was done. */
type CutShort = 'time is up' | 'cancelled' | 'claim lost'

export class Workers {
  readonly #context: RelayContext
  readonly #answers: Answers
  readonly #claims: Claims
  readonly #questions: Questions
  /** By request, what ends the work on it when it is answered by somebody else. */
  readonly #running = new Map<string, (answer: Answered) => void>()

  constructor(context: RelayContext, answers: Answers, claims: Claims, questions: Questions) {
    this.#context = context
    this.#answers = answers
    this.#claims = claims
    this.#questions = questions
    context.journal.openRequests.listen((change) => {
      if (change.type === 'answered') this.#running.get(change.requestId)?.(change.answer)
      else if (change.type === 'reloaded' && this.#running.size > 0) context.inBackground(this.#lookAgain())
    })
  }

  /** Finds what was answered by somebody else while everything was read again. */
  async #lookAgain(): Promise<void> {
    const { journal } = this.#context
    for (const requestId of this.#running.keys()) {
      if (journal.openRequests.byId.has(requestId)) continue
      const event = (await journal.newestOf(requestId))?.event
      if (event?.type === 'answered') this.#running.get(requestId)?.(event)
    }
  }

  /**
   * Works on a claimed request and answers it; undefined when it was cancelled or taken away. `onHandled` is called when the
   * function is done; its answer is written when that resolves.
   */
  async work(
    claim: Claim,
    handler: HandoffHandler,
    signal?: AbortSignal,
    onHandled: () => Promise<void> | void = () => {},
  ): Promise<AnswerResult | undefined> {
    const { envelope, requestId, worker } = claim
    const agent = this.#context.settings.agents[envelope.request.handoffTo]
    const span = this.#context.observer.working({ ...envelope, worker, agent })
    try {
      const end = await this.#run(claim, handler, span, signal)
      await onHandled()
      if (end === 'cancelled' || end === 'claim lost') {
        span.failed(new CancelledError(`The work on ${requestId} ended: ${end}`))
        return undefined
      }
      const result = end === 'time is up' ? await this.#timeOut(claim) : await this.#settle(claim, end)
      const cause = end === 'time is up' ? 'timeout' : undefined
      if (result.response !== undefined) span.answered(result.response, cause)
      else span.failed(new CancelledError(`The answer to ${requestId} came too late`))
      return result
    } catch (error) {
      span.failed(error)
      throw error
    }
  }

  async #timeOut({ requestId }: Claim): Promise<AnswerResult> {
    await this.#answers.timeOut(requestId)
    const newest = (await this.#context.journal.newestOf(requestId))?.event
    return newest?.type === 'answered' ? { status: 'accepted', response: newest.response } : { status: 'late' }
  }

  /** An answer that cannot be stored is a failure of the request, not of the worker. */
  async #settle(claim: Claim, response: HandoffResponse): Promise<AnswerResult> {
    try {
      return await this.#write(claim, response)
    } catch (error) {
      if (!BatonError.is(error) || (error.code !== 'limit' && error.code !== 'invalid')) throw error
      const reason = `The answer of ${claim.agent} cannot be stored: ${error.message}`
      return this.#write(claim, this.#failed(claim, reason, response.executionTimeMs))
    }
  }

  async #write(claim: Claim, response: HandoffResponse): Promise<AnswerResult> {
    const { requestId, worker } = claim
    const open = this.#context.journal.openRequests.byId.get(requestId)
    const isOverdue = open !== undefined && this.#answers.isOverdue(open)
    const result = isOverdue ? undefined : await this.#answers.settle(claim, response, { by: worker })
    return result ?? this.#answers.answer(requestId, response, { claim, by: worker })
  }

  async #run(
    claim: Claim,
    handler: HandoffHandler,
    span: WorkSpan,
    outer: AbortSignal | undefined,
  ): Promise<HandoffResponse | CutShort> {
    const { envelope, requestId } = claim
    const controller = new LazyAbort()
    const started = this.#context.monotonic()
    return new Promise((resolve) => {
      let isCut = false
      const cut = (why: CutShort, reason: string = why) => {
        isCut = true
        end(why)
        controller.abort(new CancelledError(reason))
      }
      const end = (how: HandoffResponse | CutShort) => {
        this.#running.delete(requestId)
        stopTimer()
        stopBeating()
        ignore()
        resolve(how)
      }
      const cancel = () => cut('cancelled')
      const stopTimer = this.#deadline(claim, () => cut('time is up'))
      const stopBeating = keepLease(
        claim.leaseMs,
        () => this.#claims.heartbeat(claim),
        () => cut('claim lost'),
      )
      const ignore = outer?.aborted === true ? () => {} : onAbort(outer, cancel)
      if (outer?.aborted === true) return cancel()
      this.#running.set(requestId, ({ cancelled, timedOut, response }) => {
        if (timedOut === true) cut('time is up')
        else cut('claim lost', cancelled === true ? response.failureReason : 'claim lost')
      })
      const context = this.#handlerContext(claim, span, controller)
      const finish = (answer: () => HandoffResponse) => {
        const response = this.#orFailure(claim, answer, this.#context.monotonic() - started)
        if (isCut) this.#context.inBackground(this.#answers.answer(requestId, response, { claim, by: claim.worker }))
        else end(response)
      }
      const by = () => ({ agent: claim.agent, tookMs: this.#context.monotonic() - started })
      const isOver = () => isCut
      this.#attempt(claim, () => span.run(() => handler(envelope.request, context)), controller, isOver).then(
        (given) => finish(() => responseTo(this.#context, envelope.request, given, by())),
        // An error after the signal was aborted is only the end of the work.
        (error: unknown) => {
          if (!isCut) finish(() => raise(error))
        },
      )
    })
  }

  /** Calls the function, again after a while when the way to what it needs was cut: that is no answer of the agent. */
  async #attempt<T>(
    { requestId, envelope }: Claim,
    work: () => T | Promise<T>,
    controller: LazyAbort,
    isOver: () => boolean,
  ): Promise<T> {
    const { times, backoffMs } = sameTargetRetry(this.#context.settings)
    for (let attempt = 0; ; attempt++) {
      try {
        return await work()
      } catch (error) {
        if (attempt >= times || isOver() || !isTransportFailure(error)) throw error
        const { traceId, handoffTo } = envelope.request
        const reason = `${handoffTo} failed on the way: ${messageOf(error)}`
        const event = { type: 'recovered', requestId, traceId, action: 'retry_same_target', reason } as const
        await this.#context.journal.append([event])
        await pause(backoffMs * 2 ** attempt, controller.signal)
        if (isOver()) throw error
      }
    }
  }

  #handlerContext(claim: Claim, span: WorkSpan, controller: LazyAbort): HandoffHandlerContext {
    const { envelope, requestId, worker, token } = claim
    return {
      envelope,
      token,
      traceparent: span.traceparent,
      tracestate: span.tracestate,
      get signal() {
        return controller.signal
      },
      progress: (update) => this.#questions.report(requestId, worker, update),
      clarify: (question) => this.#questions.ask(claim, question, controller.signal),
    }
  }

  #orFailure(claim: Claim, answer: () => HandoffResponse, tookMs: number): HandoffResponse {
    try {
      return answer()
    } catch (error) {
      return this.#failed(claim, messageOf(error), tookMs)
    }
  }

  #failed(claim: Claim, reason: string, tookMs: number): HandoffResponse {
    const failed = failedResponse(this.#context, claim.envelope.request, reason)
    return { ...failed, respondingAgent: claim.agent, executionTimeMs: Math.round(tookMs) }
  }

  #deadline({ requestId, envelope: { acceptedAt, deadline } }: Claim, callback: () => void): () => void {
    if (deadline === undefined) return () => {}
    const open = this.#context.journal.openRequests.byId.get(requestId)
    const left = open && this.#answers.timeLeft(open)
    return after(left ?? Date.parse(deadline) - Date.parse(acceptedAt), callback)
  }
}

/** Creates its AbortController on demand: most handlers never use their signal, and creating one is costly. */
class LazyAbort {
  #controller: AbortController | undefined
  #reason: Error | undefined

  get signal(): AbortSignal {
    this.#controller ??= new AbortController()
    if (this.#reason !== undefined) this.#controller.abort(this.#reason)
    return this.#controller.signal
  }

  abort(reason: Error): void {
    this.#reason = reason
    this.#controller?.abort(reason)
  }
}

function messageOf(error: unknown): string {
  return error instanceof Error && error.message !== '' ? error.message : String(error)
}

function raise(error: unknown): never {
  throw error
}

/** Codes of a failure on the way to a target, which passes, unlike an answer of the target, which counts. */
const passing = new Set([
  'ECONNRESET',
  'ECONNREFUSED',
  'ECONNABORTED',
  'ETIMEDOUT',
  'EPIPE',
  'EAI_AGAIN',
  'EHOSTUNREACH',
  'ENETUNREACH',
  'ENETDOWN',
  'UND_ERR_SOCKET',
  'UND_ERR_CONNECT_TIMEOUT',
  'UND_ERR_HEADERS_TIMEOUT',
  'UND_ERR_BODY_TIMEOUT',
])

/**
 * Whether an error is worth another attempt: a connection that was refused, reset or timed out, or an error that says so itself with
 * `isRetryable`, as those of the AI SDK do. The cause counts, too, because `fetch` wraps what happened.
 */
function isTransportFailure(error: unknown, depth = 0): boolean {
  if (typeof error !== 'object' || error === null || depth > 5) return false
  const { code, isRetryable, cause } = error as { code?: unknown; isRetryable?: unknown; cause?: unknown }
  if (isRetryable === true || (typeof code === 'string' && passing.has(code))) return true
  return isTransportFailure(cause, depth + 1)
}
