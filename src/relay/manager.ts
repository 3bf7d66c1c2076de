// Takes a request from its caller to its answer: validate, trace, check limits, circles and route, track, deliver, trace the
// response. How a request is decided on, so that it holds among many processes, is in request/admission.ts.

import { randomUUID } from 'node:crypto'
import { isDeepStrictEqual } from 'node:util'
import { checked } from '../config/index.ts'
import { CancelledError, ConflictError, InvalidError } from '../errors.ts'
import { Admission, type Candidate, TooEarly, type Tracked } from './request/admission.ts'
import { escalationId } from './journal/open-requests.ts'
import type { OptionNames } from '../options.ts'
import { claimOf, type Claims } from './work/claims.ts'
import { iso, parseRequest, type RelayContext } from './context.ts'
import type { HandoffProgress, HandoffQuestion } from './journal/status.ts'
import { escalationOf, recommend } from './people/notices.ts'
import type { Answers } from './request/answers.ts'
import { pause } from './timers.ts'
import type { QuestionHandler, Questions } from './work/questions.ts'
import type { RequestOutcome } from './results.ts'
import type { TraceOwners } from './request/trace-owner.ts'
import type { Answered } from './journal/events.ts'
import {
  type Envelope,
  type HandoffRequest,
  human,
  type HandoffMode,
  priorities,
  requestIdSchema,
  handoffSchemaVersion,
  traceparentSchema,
  tracestateSchema,
} from './schema.ts'
import type { TraceLog } from './request/trace-log.ts'
import type { Hearing, Told, Waiters } from './request/waiters.ts'
import type { HandoffHandler, Workers } from './work/worker.ts'

export interface RequestOptions {
  /** Whether to wait for the answer. By default, callers wait for agents, not for people. */
  readonly wait?: boolean
  /** Ends the wait; also the work, when the target is a function of this process. */
  readonly signal?: AbortSignal
  /** Requests with the same id are one request; random by default. */
  readonly requestId?: string
  /** The caller's trace context, W3C. */
  readonly traceparent?: string
  /** Goes with the traceparent. */
  readonly tracestate?: string
  /** Whether the trace returns to the caller with the answer, which is the default. */
  readonly mode?: HandoffMode
  /** Wait until a path has cooled down, rather than being refused. */
  readonly patient?: boolean
  /** Called as the worker reports how far it is. */
  readonly onProgress?: (progress: HandoffProgress) => void
  /** Answers what the worker asks back. Without it, a worker that asks gets the answer that nobody replies. */
  readonly onQuestion?: QuestionHandler
}

/** Options of one request, and of several out of one turn. */
export const sharedOptions = {
  wait: true,
  signal: true,
  traceparent: true,
  tracestate: true,
  mode: true,
  onProgress: true,
  onQuestion: true,
} as const

/** As `RequestOptions`. */
export const requestOptions = {
  ...sharedOptions,
  requestId: true,
  patient: true,
} as const satisfies OptionNames<RequestOptions>

/** How often a patient caller waits for a path that others may take, too. */
const mostWaits = 20

interface Routing extends RequestOptions {
  /** Called when a person is asked: the span of the request ends, even if its caller keeps waiting. */
  readonly onEscalated: (escalation: string) => void
  /** The agent that asks. */
  readonly by: string
  readonly hearing: Hearing
}

export class Manager {
  readonly #context: RelayContext
  readonly #admission: Admission
  readonly #waiting: Waiters
  readonly #claims: Claims
  readonly #workers: Workers
  readonly #answers: Answers
  readonly #questions: Questions
  readonly #handlers: Readonly<Record<string, HandoffHandler>>

  constructor(
    context: RelayContext,
    parts: {
      traces: TraceLog
      owners: TraceOwners
      waiting: Waiters
      claims: Claims
      workers: Workers
      answers: Answers
      questions: Questions
    },
    handlers: Readonly<Record<string, HandoffHandler>>,
  ) {
    this.#context = context
    this.#waiting = parts.waiting
    this.#claims = parts.claims
    this.#workers = parts.workers
    this.#answers = parts.answers
    this.#questions = parts.questions
    this.#handlers = handlers
    this.#admission = new Admission(context, parts, (agent) => Object.hasOwn(handlers, agent))
  }

  /** `newId` is the request's id where the caller has chosen none. */
  async request(given: unknown, options: RequestOptions = {}, newId: string = randomUUID()): Promise<RequestOutcome> {
    // 1. Validate the request
    const request = this.#validate(given, options)
    // 2. Emit the trace event
    const isNamed = options.requestId !== undefined
    const candidate = this.#trace(request, { requestId: options.requestId ?? newId, isNamed }, options)
    return this.#finish(candidate, async (hearing) => {
      // 3. Check the limits, 4. check for circles, 5. check the route, and 6. track what was decided
      const [tracked] = await this.#track(candidate, options.signal)
      // 5. Route it to its target
      return this.#route(tracked!, candidate, routing(candidate, options, hearing))
    })
  }

  async #track(candidate: Candidate, signal: AbortSignal | undefined): Promise<Tracked[]> {
    for (let waits = 0; ; waits++) {
      try {
        return await this.#admission.track([{ ...candidate, isPatient: candidate.isPatient && waits < mostWaits }])
      } catch (error) {
        if (!(error instanceof TooEarly)) throw error
        await pause(error.retryAfterMs, signal)
        if (signal?.aborted === true) throw new CancelledError(`${candidate.requestId} was not handed over`)
      }
    }
  }

  /** Several requests out of one turn: the most urgent that is admitted wins, among equals the first. */
  async requestOneOf(
    given: readonly unknown[],
    { turnId = randomUUID(), ...options }: Omit<RequestOptions, 'requestId'> & { readonly turnId?: string } = {},
  ): Promise<RequestOutcome[]> {
    const requests = given.map((each, i) => this.#validate(each, { ...options, requestId: `${turnId}.${i}` }))
    const [first] = requests
    if (first === undefined) return []
    const stranger = requests.findIndex(({ traceId }) => traceId !== first.traceId)
    if (stranger >= 0) {
      throw new InvalidError('The requests of one turn belong to one trace', { path: `[${stranger}].traceId` })
    }
    const candidates = requests.map((request, i) =>
      this.#trace(request, { requestId: `${turnId}.${i}`, isNamed: true }, options),
    )
    const ranked = candidates.toSorted((a, b) => rank(a.request) - rank(b.request))
    const tracking = this.#admission.track(ranked)
    return Promise.all(
      candidates.map((candidate) =>
        this.#finish(candidate, async (hearing) =>
          this.#route(ofSameId(await tracking, candidate), candidate, routing(candidate, options, hearing)),
        ),
      ),
    )
  }

  #validate(
    given: unknown,
    { requestId, traceparent, tracestate }: Omit<RequestOptions, 'requestId'> & { requestId?: string | undefined },
  ) {
    try {
      if (requestId !== undefined) checked(requestIdSchema, requestId, 'requestId')
      if (traceparent !== undefined) checked(traceparentSchema, traceparent, 'traceparent')
      if (tracestate !== undefined) checked(tracestateSchema, tracestate, 'tracestate')
      return parseRequest(this.#context, given)
    } catch (error) {
      this.#context.observer.invalid(error)
      throw error
    }
  }

  #trace(
    request: HandoffRequest,
    { requestId, isNamed }: Pick<Candidate, 'requestId' | 'isNamed'>,
    options: RequestOptions,
  ): Candidate {
    const { mode = 'return_to_caller', traceparent, tracestate } = options
    const { handoffTo } = request
    const isRemote = handoffTo !== human && !Object.hasOwn(this.#handlers, handoffTo)
    const agent = this.#context.settings.agents[handoffTo]
    const about = { requestId, request, mode, agent, isRemote, traceparent, tracestate }
    const span = this.#context.observer.requested(about)
    const isPatient = options.patient === true
    return {
      request,
      requestId,
      isNamed,
      mode,
      span,
      traceContext: span.traceparent === undefined ? { traceparent, tracestate } : span,
      isPatient,
    }
  }

  /** 7. Emit the trace of the response. */
  async #finish(
    { span, requestId }: Candidate,
    work: (hearing: Hearing) => Promise<RequestOutcome>,
  ): Promise<RequestOutcome> {
    const hearing = this.#waiting.hear(requestId)
    try {
      const outcome = await work(hearing)
      if (outcome.status === 'rejected') span.rejected(outcome.rejection, outcome.response)
      else if (outcome.status === 'escalated') span.escalated(outcome.escalation)
      else if (outcome.status === 'pending') span.left()
      else span.answered(outcome.response, outcome.status === 'failed' ? outcome.cause : undefined)
      return outcome
    } catch (error) {
      span.failed(error)
      throw error
    } finally {
      hearing.stop()
    }
  }

  async #route(tracked: Tracked, candidate: Candidate, options: Routing): Promise<RequestOutcome> {
    const { requested, entry, answered, isRepeated } = tracked
    const { envelope, hold } = requested
    const { requestId, request } = envelope
    if (isRepeated) checkSame(request, candidate)
    if (answered?.rejection !== undefined) return outcomeOf(answered)
    if (isRepeated) return this.#again(tracked, options)
    if (request.handoffTo === human) return this.#ask(tracked, options)
    if (hold !== undefined) {
      const claim = claimOf(hold, request.handoffTo, envelope, { head: -entry.id, entry: entry.id })
      if (options.wait !== false) return this.#workLocally(claim, options)
      // The work continues after the caller has stopped listening.
      const hearing = this.#waiting.hear(requestId)
      this.#context.inBackground(this.#workLocally(claim, { ...options, hearing }).finally(() => hearing.stop()))
      return { status: 'pending', requestId }
    }
    return options.wait === false ? { status: 'pending', requestId } : this.#wait(requestId, options)
  }

  #ask({ requested, entry }: Tracked, options: Routing): Promise<RequestOutcome> | RequestOutcome {
    const { envelope } = requested
    const escalation = escalationId(entry.id)
    this.#context.observer.escalated({ ...envelope, escalation })
    this.#context.notify(escalationOf(envelope, escalation, this.#context.now()))
    return options.wait === true ? this.#wait(envelope.requestId, options) : this.#escalated(envelope, escalation)
  }

  async #workLocally(claim: Parameters<Workers['work']>[0], options: Routing): Promise<RequestOutcome> {
    const { requestId, agent } = claim
    options.hearing.tell(this.#told(options))
    const result = await this.#workers.work(claim, this.#handlers[agent]!, options.signal)
    const response = result?.response
    if (result === undefined && options.signal?.aborted === true) {
      const { sourceAgent } = claim.envelope.request
      await this.#answers.cancel(requestId, { by: sourceAgent, reason: `${sourceAgent} has cancelled it` })
      throw new CancelledError(`No longer waiting for the answer to ${requestId}`)
    }
    if (response === undefined || response.status !== 'resolved') return this.#wait(requestId, options)
    return ended({ requestId, response })
  }

  /** The same request again, from this process or after a restart: it gets the same answer, and is worked on once. */
  async #again({ requested }: Tracked, options: Routing): Promise<RequestOutcome> {
    const { requestId, request } = requested.envelope
    const { handoffTo: agent } = request
    if (!Object.hasOwn(this.#handlers, agent)) {
      const open = (await this.#context.journal.current()).byId.get(requestId)
      const isPending = open !== undefined && open.escalation === undefined
      return isPending && options.wait === false ? { status: 'pending', requestId } : this.#wait(requestId, options)
    }
    for (;;) {
      const openRequests = await this.#context.journal.current()
      const { arrivals } = openRequests.inbox(agent)
      const claim = await this.#claims.claim(agent, { worker: this.#context.self, requestId })
      if (claim !== undefined) return this.#workLocally(claim, options)
      // Another process works on it. If that process dies, its lease ends, and this one takes over.
      const over = new AbortController()
      const signal = options.signal === undefined ? over.signal : AbortSignal.any([options.signal, over.signal])
      const waiting = this.#wait(requestId, { ...options, signal })
      const freed = this.#claims.change(agent, arrivals, over.signal)
      const first = await Promise.race([waiting, freed]).finally(() => over.abort())
      if (first !== undefined) return first
      waiting.catch(() => {}) // its signal was aborted above
    }
  }

  /** The caller's callbacks for progress and questions. */
  #told({ by, onProgress, onQuestion: handler }: Routing): Told {
    const onQuestion = (question: HandoffQuestion) =>
      this.#context.inBackground(this.#questions.handle(question, by, handler))
    return { onProgress, onQuestion }
  }

  async #wait(requestId: string, options: Routing): Promise<RequestOutcome> {
    const { wait, signal, onEscalated, hearing } = options
    hearing.tell(this.#told(options))
    let settled = await this.#waiting.settled(requestId, { signal, forPeople: false })
    if (settled.type === 'escalated' && wait === true) {
      onEscalated(settled.escalation)
      settled = await this.#waiting.settled(requestId, { signal, forPeople: true })
    }
    if (settled.type === 'answered') {
      await this.#waiting.reportResumed(settled.answer)
      return outcomeOf(settled.answer)
    }
    const open = this.#context.journal.openRequests.byId.get(requestId)
    const envelope = open && (await this.#context.journal.envelopeOf(open))
    if (envelope === undefined) return this.#wait(requestId, { ...options, wait: false }) // it was answered meanwhile
    return this.#escalated(envelope, settled.escalation)
  }

  #escalated({ requestId, request, acceptedAt }: Envelope, escalation: string): RequestOutcome {
    const now = this.#context.now()
    return {
      status: 'escalated',
      requestId,
      escalation,
      response: {
        schemaVersion: handoffSchemaVersion,
        traceId: request.traceId,
        timestamp: iso(now),
        respondingAgent: human,
        status: 'escalated',
        recommendations: recommend(request, escalation),
        executionTimeMs: Math.max(0, now - Date.parse(acceptedAt)),
      },
    }
  }
}

function routing({ span, request }: Candidate, options: RequestOptions, hearing: Hearing): Routing {
  return { ...options, by: request.sourceAgent, hearing, onEscalated: (escalation) => span.escalated(escalation) }
}

/** Throws when the turn's id was used before for other requests. */
function ofSameId(tracked: readonly Tracked[], { requestId }: Candidate): Tracked {
  const found = tracked.find(({ requested }) => requested.envelope.requestId === requestId)
  if (found === undefined) throw otherRequest(requestId)
  return found
}

function rank({ priority }: HandoffRequest): number {
  return priorities.indexOf(priority)
}

function outcomeOf(answered: Answered): RequestOutcome {
  const { requestId, response, rejection } = answered
  if (rejection === undefined) return ended(answered)
  return { status: 'rejected', requestId, response, rejection, reason: response.failureReason ?? rejection }
}

function ended({
  requestId,
  response,
  ...how
}: Pick<Answered, 'requestId' | 'response'> & Partial<Answered>): RequestOutcome {
  const inputs = response.providedInputs ?? {}
  switch (response.status) {
    case 'resolved':
      return { status: 'resolved', requestId, response, inputs }
    case 'partial':
      return { status: 'partial', requestId, response, inputs, unresolved: response.unresolved ?? [] }
    default: {
      const cause = how.timedOut ? 'timeout' : how.cancelled ? 'cancelled' : how.dead ? 'dead' : undefined
      const reason = response.failureReason ?? response.status
      return { status: 'failed', requestId, response, reason, ...(cause === undefined ? {} : { cause }) }
    }
  }
}

/** Requests with one id may differ in their timestamp only. */
function checkSame(before: HandoffRequest, { request, requestId }: Candidate): void {
  const now = JSON.parse(JSON.stringify({ ...request, timestamp: before.timestamp })) as unknown
  if (isDeepStrictEqual(before, now)) return
  throw otherRequest(requestId)
}

function otherRequest(requestId: string): ConflictError {
  return new ConflictError(`There is another request under the id ${requestId}`, {
    actual: 0,
    hint: 'An id stands for one request: leave it out, or choose another.',
  })
}
