// An agent that is a function: it works on a request under a claim, with a heartbeat for as long as it takes and an end
// when its time is up. What it returns or throws becomes the answer.

import * as z from 'zod'
import { checked } from '../config/checked.ts'
import { BatonError, CancelledError } from '../errors.ts'
import type { Answers } from './answers.ts'
import type { Claims } from './claims.ts'
import type { Desk } from './desk.ts'
import { beating } from './heartbeat.ts'
import { onAbort } from './on-abort.ts'
import type { WorkSpan } from './observer.ts'
import type { AnswerResult, Claim } from './outcome.ts'
import { failedResponse, responseTo } from './response.ts'
import type { Envelope, HandoffAnswer, HandoffRequest, HandoffResponse } from './schema.ts'
import { after } from './timer.ts'

/** An agent as a function. Its signal ends when the time is up, or when the request is somebody else's by now. */
export type Handler = (request: HandoffRequest, context: HandlerContext) => Promise<HandoffAnswer> | HandoffAnswer

export interface HandlerContext {
  readonly envelope: Envelope
  readonly signal: AbortSignal
  /** For what the agent itself calls. */
  readonly traceparent?: string | undefined
}

export interface ServeOptions {
  readonly signal: AbortSignal
  readonly worker?: string
  readonly leaseMs?: number
  /** How many requests are worked on at the same time. */
  readonly concurrency?: number
}

const concurrencySchema = z.int().min(1)

/** Why work ended before it was done. */
type Cut = 'time is up' | 'cancelled' | 'claim lost'

export class Workers {
  readonly #desk: Desk
  readonly #answers: Answers
  readonly #claims: Claims

  constructor(desk: Desk, answers: Answers, claims: Claims) {
    this.#desk = desk
    this.#answers = answers
    this.#claims = claims
  }

  /** Works on a claimed request and answers it; undefined when it was cancelled or taken away. */
  async work(claim: Claim, handler: Handler, signal?: AbortSignal): Promise<AnswerResult | undefined> {
    const { envelope, requestId, worker } = claim
    const { request, traceparent } = envelope
    const span = this.#desk.observer.working({ requestId, request, worker, traceparent })
    try {
      const end = await this.#run(claim, handler, span, signal)
      if (end === 'cancelled' || end === 'claim lost') {
        span.failed(new CancelledError(`The work on ${requestId} ended: ${end}`))
        return undefined
      }
      const result = end === 'time is up' ? await this.#timeOut(claim) : await this.#settle(claim, end)
      if (result.response !== undefined) span.answered(result.response)
      else span.failed(new CancelledError(`The answer to ${requestId} came too late`))
      return result
    } catch (error) {
      span.failed(error)
      throw error
    }
  }

  async #timeOut({ requestId }: Claim): Promise<AnswerResult> {
    await this.#answers.timeOut(requestId)
    const newest = (await this.#desk.journal.newestOf(requestId))?.fact
    return newest?.type === 'answered' ? { status: 'accepted', response: newest.response } : { status: 'late' }
  }

  /** Answers that a request failed because nobody wants it any more. */
  async giveUp(claim: Claim, reason: string): Promise<void> {
    const failed = this.#orFailure(claim, () => raise(new CancelledError(reason)), 0)
    await this.#settle(claim, failed)
  }

  async #settle(claim: Claim, response: HandoffResponse): Promise<AnswerResult> {
    const { requestId, worker, envelope } = claim
    const isOverdue = envelope.deadline !== undefined && this.#desk.now() >= Date.parse(envelope.deadline)
    const result = isOverdue ? undefined : await this.#answers.settle(claim, response, { by: worker })
    return result ?? this.#answers.answer(requestId, response, { claim, by: worker })
  }

  async #run(
    claim: Claim,
    handler: Handler,
    span: WorkSpan,
    outer: AbortSignal | undefined,
  ): Promise<HandoffResponse | Cut> {
    const { envelope } = claim
    const controller = new LazyAbort()
    const started = this.#desk.monotonic()
    return new Promise((resolve) => {
      let isCut = false
      const cut = (why: Cut) => {
        isCut = true
        end(why)
        controller.abort(new CancelledError(why))
      }
      const end = (how: HandoffResponse | Cut) => {
        stopTimer()
        stopBeating()
        ignore()
        resolve(how)
      }
      const cancel = () => cut('cancelled')
      const stopTimer = this.#deadline(envelope, () => cut('time is up'))
      const stopBeating = beating(
        claim.leaseMs,
        () => this.#claims.heartbeat(claim),
        () => cut('claim lost'),
      )
      const ignore = outer?.aborted === true ? () => {} : onAbort(outer, cancel)
      if (outer?.aborted === true) return cancel()
      const context: HandlerContext = {
        envelope,
        traceparent: span.traceparent,
        get signal() {
          return controller.signal
        },
      }
      const work = async () => span.run(() => handler(envelope.request, context))
      const finish = (answer: () => HandoffResponse) => {
        const response = this.#orFailure(claim, answer, this.#desk.monotonic() - started)
        if (isCut) this.#desk.later(this.#answers.answer(claim.requestId, response, { claim, by: claim.worker }))
        else end(response)
      }
      const by = () => ({ agent: claim.agent, tookMs: this.#desk.monotonic() - started })
      work().then(
        (given) => finish(() => responseTo(this.#desk, envelope.request, given, by())),
        // What ends because it was told to has nothing more to say.
        (error: unknown) => {
          if (!isCut) finish(() => raise(error))
        },
      )
    })
  }

  #orFailure(claim: Claim, answer: () => HandoffResponse, tookMs: number): HandoffResponse {
    try {
      return answer()
    } catch (error) {
      const reason = error instanceof Error && error.message !== '' ? error.message : String(error)
      const failed = failedResponse(this.#desk, claim.envelope.request, reason)
      return { ...failed, respondingAgent: claim.agent, executionTimeMs: Math.round(tookMs) }
    }
  }

  #deadline({ acceptedAt, deadline }: Envelope, callback: () => void): () => void {
    if (deadline === undefined) return () => {}
    const end = Date.parse(deadline)
    return after(Math.min(end - this.#desk.now(), end - Date.parse(acceptedAt)), callback)
  }

  /** Claims, works and answers until aborted; what is in hand then goes back into the inbox. */
  async serve(agent: string, handler: Handler, options: ServeOptions): Promise<void> {
    const { signal, concurrency = 1, worker = this.#desk.self, leaseMs } = options
    checked(concurrencySchema, concurrency, 'concurrency')
    const { broken, stop } = await this.#desk.journal.follow()
    const failed = new AbortController()
    const ended = AbortSignal.any([signal, broken, failed.signal])
    const one = async () => {
      while (!ended.aborted) {
        const { arrivals } = this.#desk.journal.board.inbox(agent)
        const claim = await this.#claims.claim(agent, { worker, leaseMs })
        if (claim === undefined) await this.#claims.change(agent, arrivals, ended)
        else if ((await this.work(claim, handler, signal)) === undefined && signal.aborted) {
          await this.#claims.release(claim.requestId, { claim }).catch(unlessGone)
        }
      }
    }
    try {
      // One that cannot go on ends the others: nobody would hear of them.
      const ends = Array.from({ length: concurrency }, () => one().catch((error: unknown) => failed.abort(error)))
      await Promise.all(ends)
      if (!signal.aborted) throw ended.reason as Error
    } finally {
      stop()
    }
  }
}

/** Most handlers never look at their signal, and making one costs more than all else that is done for them. */
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

/** What is to be given back may have been settled or taken meanwhile. */
function unlessGone(error: unknown): void {
  if (!BatonError.is(error) || (error.code !== 'conflict' && error.code !== 'not_found')) throw error
}

function raise(error: unknown): never {
  throw error
}
