// A request on its way: validate, trace, limits, circles, route, track, trace. What is decided on the way, and how that
// holds among many processes, lies in admission.ts.

import { randomUUID } from 'node:crypto'
import { isDeepStrictEqual } from 'node:util'
import { checked } from '../config/checked.ts'
import { ConflictError, InvalidError } from '../errors.ts'
import { Admission, type Candidate, type Tracked } from './admission.ts'
import { escalationId } from './board.ts'
import { claimOf, type Claims } from './claims.ts'
import { type Desk, iso, parseRequest } from './desk.ts'
import { escalationOf, recommend } from './escalation.ts'
import type { RequestSpan } from './observer.ts'
import type { Outcome } from './outcome.ts'
import type { Owners } from './owner.ts'
import type { Answered } from './record.ts'
import {
  type Envelope,
  type HandoffRequest,
  human,
  type Mode,
  priorities,
  requestIdSchema,
  schemaVersion,
  traceparentSchema,
} from './schema.ts'
import type { Traces } from './traces.ts'
import type { Waiting } from './waiting.ts'
import type { Handler, Workers } from './worker.ts'

export interface RequestOptions {
  /** Unless given: wait for agents, not for people. */
  readonly wait?: boolean
  /** Ends the wait; and the work, where the target is a function of this process. */
  readonly signal?: AbortSignal
  /** Makes a repeated request the same one; a random one unless given. */
  readonly requestId?: string
  /** Of the caller, W3C. */
  readonly traceparent?: string
  /** Whether the trace comes back to the caller with the answer, as is usual. */
  readonly mode?: Mode
}

interface Routing extends RequestOptions {
  /** A person is asked: the trace of the request ends, though its caller may go on waiting. */
  readonly onEscalated: (escalation: string) => void
}

export class Manager {
  readonly #desk: Desk
  readonly #admission: Admission
  readonly #waiting: Waiting
  readonly #claims: Claims
  readonly #workers: Workers
  readonly #handlers: Readonly<Record<string, Handler>>

  constructor(
    desk: Desk,
    parts: { traces: Traces; owners: Owners; waiting: Waiting; claims: Claims; workers: Workers },
    handlers: Readonly<Record<string, Handler>>,
  ) {
    this.#desk = desk
    this.#waiting = parts.waiting
    this.#claims = parts.claims
    this.#workers = parts.workers
    this.#handlers = handlers
    this.#admission = new Admission(desk, parts, (agent) => Object.hasOwn(handlers, agent))
  }

  async request(given: unknown, options: RequestOptions = {}): Promise<Outcome> {
    // 1. Validate the request
    const request = this.#validate(given, options)
    // 2. Emit the trace event
    const candidate = this.#trace(request, options.requestId, options)
    return this.#finish(candidate.span, async () => {
      // 3. Check the limits, 4. check for circles, 5. check the route, and 6. track what was decided
      const [tracked] = await this.#admission.track([candidate])
      // 5. Route it to its target
      return this.#route(tracked!, candidate, routing(candidate, options))
    })
  }

  /** Several requests out of one turn, known by its id: the most urgent that is let through wins, then the first. */
  async requestOne(
    given: readonly unknown[],
    { turnId = randomUUID(), ...options }: Omit<RequestOptions, 'requestId'> & { readonly turnId?: string } = {},
  ): Promise<Outcome[]> {
    const requests = given.map((each, i) => this.#validate(each, { ...options, requestId: `${turnId}.${i}` }))
    const [first] = requests
    if (first === undefined) return []
    const stranger = requests.findIndex(({ traceId }) => traceId !== first.traceId)
    if (stranger >= 0) {
      throw new InvalidError('The requests of one turn belong to one trace', { path: `[${stranger}].traceId` })
    }
    const candidates = requests.map((request, i) => this.#trace(request, `${turnId}.${i}`, options))
    const ranked = candidates.toSorted((a, b) => rank(a.request) - rank(b.request))
    const tracking = this.#admission.track(ranked)
    return Promise.all(
      candidates.map((candidate) =>
        this.#finish(candidate.span, async () =>
          this.#route(ofSameId(await tracking, candidate), candidate, routing(candidate, options)),
        ),
      ),
    )
  }

  #validate(given: unknown, { requestId, traceparent }: { requestId?: string | undefined; traceparent?: string }) {
    try {
      if (requestId !== undefined) checked(requestIdSchema, requestId, 'requestId')
      if (traceparent !== undefined) checked(traceparentSchema, traceparent, 'traceparent')
      return parseRequest(this.#desk, given)
    } catch (error) {
      this.#desk.observer.invalid(error)
      throw error
    }
  }

  #trace(request: HandoffRequest, given: string | undefined, options: RequestOptions): Candidate {
    const { mode = 'return_to_caller', traceparent } = options
    const requestId = given ?? randomUUID()
    const span = this.#desk.observer.requested({ requestId, request, mode, traceparent })
    const isNamed = given !== undefined
    return { request, requestId, isNamed, mode, span, traceparent: span.traceparent ?? traceparent }
  }

  /** 7. Emit the trace of the response. */
  async #finish(span: RequestSpan, work: () => Promise<Outcome>): Promise<Outcome> {
    try {
      const outcome = await work()
      if (outcome.status === 'rejected') span.rejected(outcome.rejection, outcome.response)
      else if (outcome.status === 'answered') span.answered(outcome.response)
      else if (outcome.status === 'escalated') span.escalated(outcome.escalation)
      else span.left()
      return outcome
    } catch (error) {
      span.failed(error)
      throw error
    }
  }

  async #route(tracked: Tracked, candidate: Candidate, options: Routing): Promise<Outcome> {
    const { requested, entry, answered, isRepeated } = tracked
    const { envelope, hold } = requested
    const { requestId, request } = envelope
    if (isRepeated) checkSame(request, candidate)
    if (answered?.rejection !== undefined) return outcomeOf(answered)
    if (isRepeated) return this.#again(tracked, options)
    if (request.handoffTo === human) return this.#ask(tracked, options)
    if (hold !== undefined) {
      const claim = claimOf(hold, request.handoffTo, 0, { envelope, entry: entry.id })
      const work = this.#workLocally(claim, options)
      if (options.wait !== false) return work
      this.#desk.later(work)
      return { status: 'pending', requestId }
    }
    return options.wait === false ? { status: 'pending', requestId } : this.#wait(requestId, options)
  }

  #ask({ requested, entry }: Tracked, options: Routing): Promise<Outcome> | Outcome {
    const { envelope } = requested
    const { requestId, request, mode, traceparent } = envelope
    const escalation = escalationId(entry.id)
    this.#desk.observer.escalated({ requestId, request, mode, traceparent, escalation })
    this.#desk.notify(escalationOf(envelope, escalation, this.#desk.now()))
    return options.wait === true ? this.#wait(requestId, options) : this.#escalated(envelope, escalation)
  }

  async #workLocally(claim: Parameters<Workers['work']>[0], options: Routing): Promise<Outcome> {
    const { requestId, agent } = claim
    const result = await this.#workers.work(claim, this.#handlers[agent]!, options.signal)
    const response = result?.response
    if (result === undefined && options.signal?.aborted === true) {
      await this.#workers.giveUp(claim, 'The caller has cancelled it')
      options.signal.throwIfAborted()
    }
    if (response === undefined || response.status === 'escalated') return this.#wait(requestId, options)
    return { status: 'answered', requestId, response }
  }

  /** The same request once more, from this process or after a restart: the same answer, once. */
  async #again({ requested }: Tracked, options: Routing): Promise<Outcome> {
    const { requestId, request } = requested.envelope
    const { handoffTo: agent } = request
    if (!Object.hasOwn(this.#handlers, agent)) {
      const open = (await this.#desk.journal.current()).open.get(requestId)
      const isPending = open !== undefined && open.escalation === undefined
      return isPending && options.wait === false ? { status: 'pending', requestId } : this.#wait(requestId, options)
    }
    for (;;) {
      const board = await this.#desk.journal.current()
      const { arrivals } = board.inbox(agent)
      const claim = await this.#claims.claim(agent, { worker: this.#desk.self, requestId })
      if (claim !== undefined) return this.#workLocally(claim, options)
      // Somebody else is at it. Should they die, their lease ends, and it is this process's turn.
      const over = new AbortController()
      const signal = options.signal === undefined ? over.signal : AbortSignal.any([options.signal, over.signal])
      const waiting = this.#wait(requestId, { ...options, signal })
      const freed = this.#claims.change(agent, arrivals, over.signal)
      const first = await Promise.race([waiting, freed]).finally(() => over.abort())
      if (first !== undefined) return first
      waiting.catch(() => {}) // it was told to end
    }
  }

  async #wait(requestId: string, options: Routing): Promise<Outcome> {
    const { wait, signal, onEscalated } = options
    let settled = await this.#waiting.settled(requestId, { signal, forPeople: false })
    if (settled.type === 'escalated' && wait === true) {
      onEscalated(settled.escalation)
      settled = await this.#waiting.settled(requestId, { signal, forPeople: true })
    }
    if (settled.type === 'answered') {
      await this.#waiting.tellResumed(settled.answer)
      return outcomeOf(settled.answer)
    }
    const open = this.#desk.journal.board.open.get(requestId)
    if (open === undefined) return this.#wait(requestId, { ...options, wait: false }) // answered in this very moment
    return this.#escalated(await this.#desk.journal.envelope(open.entry), settled.escalation)
  }

  #escalated({ requestId, request, acceptedAt }: Envelope, escalation: string): Outcome {
    const now = this.#desk.now()
    return {
      status: 'escalated',
      requestId,
      escalation,
      response: {
        schemaVersion,
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

function routing({ span }: Candidate, options: RequestOptions): Routing {
  return { ...options, onEscalated: (escalation) => span.escalated(escalation) }
}

/** A turn that was tracked before may have been another one. */
function ofSameId(tracked: readonly Tracked[], { requestId }: Candidate): Tracked {
  const found = tracked.find(({ requested }) => requested.envelope.requestId === requestId)
  if (found === undefined) throw otherRequest(requestId)
  return found
}

function rank({ priority }: HandoffRequest): number {
  return priorities.indexOf(priority)
}

function outcomeOf({ requestId, response, rejection }: Answered): Outcome {
  return rejection === undefined
    ? { status: 'answered', requestId, response }
    : { status: 'rejected', requestId, response, rejection }
}

/** When it was made may differ, what it asks may not. */
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
