// How a request ends. The first answer counts, because it expects the chain of the request as its writer saw it; any
// other is kept beside it and changes nothing.

import { BatonError, NotFoundError } from '../errors.ts'
import type { Board, OpenRequest } from './board.ts'
import { escalationId } from './board.ts'
import type { Desk } from './desk.ts'
import { escalationOf } from './escalation.ts'
import type { AnswerResult, Claim } from './outcome.ts'
import { type Answered, factIn, requestKey } from './record.ts'
import { digestOf, failedResponse, isSameAnswer, responseTo } from './response.ts'
import { type Envelope, type HandoffResponse, human } from './schema.ts'

/** What an answer needs to know of its request. */
export interface Settling {
  readonly requestId: string
  /** The entry of the request. */
  readonly entry: number
  readonly head: number
  readonly envelope: Envelope
  readonly escalation?: string | undefined
}

export interface AnswerOptions {
  /** Whose answer it is; an old claim's is late. */
  readonly claim?: Pick<Claim, 'token'> | undefined
  readonly by?: string | undefined
}

const atOnce = 64

export class Answers {
  readonly #desk: Desk

  constructor(desk: Desk) {
    this.#desk = desk
  }

  async answer(requestId: string, given: unknown, options: AnswerOptions = {}): Promise<AnswerResult> {
    const { journal } = this.#desk
    for (;;) {
      const open = (await journal.current()).open.get(requestId)
      if (open === undefined) return this.#afterwards(requestId, given, options)
      const envelope = await journal.envelope(open.entry)
      if (this.isOverdue(open)) {
        await this.timeOut(requestId)
        continue
      }
      const agent = open.to
      const response = responseTo(this.#desk, envelope.request, given, { agent, tookMs: this.#age(envelope) })
      const isOthers = options.claim !== undefined && options.claim.token !== (open.hold ?? open.lapsed)?.token
      // Once a person has it, the agent has handed it on.
      const isHandedOn = open.escalation !== undefined && open.to !== human
      if (isOthers || isHandedOn) return this.#keep(requestId, response, options)
      const { entry, head, escalation } = open
      const settling = { requestId, entry, head, envelope, escalation }
      const result = await this.settle(settling, response, { by: options.by ?? open.hold?.worker ?? agent })
      if (result !== undefined) return result
    }
  }

  /** Records an answer as the one that counts, or hands the request on to a person; undefined if the chain has moved. */
  async settle(
    settling: Settling,
    response: HandoffResponse,
    { by, timedOut }: { by: string; timedOut?: boolean },
  ): Promise<AnswerResult | undefined> {
    const { journal, observer } = this.#desk
    const { requestId, entry, head, envelope, escalation } = settling
    const { request, traceparent } = envelope
    const expect = { key: requestKey(requestId), id: head }
    try {
      if (response.status === 'escalated') return await this.#escalate(settling, response, expect)
      const durationMs = this.#age(envelope)
      const fact: Answered = {
        type: 'answered',
        requestId,
        traceId: request.traceId,
        request: entry,
        response,
        by,
        durationMs,
        ...(escalation === undefined ? {} : { escalation }),
        ...(timedOut === true ? { timedOut } : {}),
      }
      const [stored] = await journal.append([fact], expect)
      // What the store has read back is nobody else's to change.
      const { response: final } = factIn(stored!) as Answered
      observer.answered({ requestId, request, response: final, durationMs, traceparent, timedOut })
      return { status: 'accepted', response: final }
    } catch (error) {
      if (BatonError.is(error) && error.code === 'conflict') return undefined
      throw error
    }
  }

  async #escalate(
    { requestId, entry, envelope }: Settling,
    response: HandoffResponse,
    expect: { key: string; id: number },
  ): Promise<AnswerResult> {
    const { journal, observer } = this.#desk
    const { request, mode, traceparent } = envelope
    const { respondingAgent: via, recommendations } = response
    const [stored] = await journal.append(
      [
        {
          type: 'escalated',
          requestId,
          traceId: request.traceId,
          request: entry,
          via,
          ...(recommendations === undefined ? {} : { recommendations }),
        },
      ],
      expect,
    )
    const escalation = escalationId(stored!.id)
    observer.escalated({ requestId, request, mode, traceparent, escalation })
    this.#desk.notify(escalationOf(envelope, escalation, this.#desk.now(), recommendations))
    return { status: 'accepted', response }
  }

  /** For an answer to a request that is not open. */
  async #afterwards(requestId: string, given: unknown, options: AnswerOptions): Promise<AnswerResult> {
    const { journal, observer } = this.#desk
    const settled = await this.settled(requestId)
    const { request } = await journal.envelope(settled.request)
    const agent = settled.escalation === undefined ? request.handoffTo : settled.response.respondingAgent
    const response = responseTo(this.#desk, request, given, { agent, tookMs: 0 })
    if (!isSameAnswer(response, settled.response)) return this.#keep(requestId, response, options, settled.response)
    observer.ignored({ requestId, why: 'duplicate' })
    return { status: 'duplicate', response: settled.response }
  }

  async #keep(
    requestId: string,
    response: HandoffResponse,
    { by = response.respondingAgent }: AnswerOptions,
    settled?: HandoffResponse,
  ): Promise<AnswerResult> {
    await this.#desk.journal.append([{ type: 'late', requestId, response, by, digest: digestOf(response) }])
    this.#desk.observer.ignored({ requestId, why: 'late' })
    return { status: 'late', response: settled }
  }

  /** The answer that counts; a request without one is not found. */
  async settled(requestId: string): Promise<Answered> {
    const fact = (await this.#desk.journal.newestOf(requestId))?.fact
    if (fact?.type === 'answered') return fact
    throw new NotFoundError(`There is no request ${requestId} in this workspace`, {
      hint: 'See "baton relay status".',
    })
  }

  /** Ends a request whose time is up; whoever was faster with an answer wins. */
  async timeOut(requestId: string): Promise<void> {
    const { journal } = this.#desk
    for (;;) {
      const open = (await journal.current()).open.get(requestId)
      if (open === undefined || open.escalation !== undefined) return
      if (await this.#fail(open, await journal.envelope(open.entry))) return
    }
  }

  /** False if the chain of the request has moved. */
  async #fail({ requestId, entry, head, to, at, deadline = at }: OpenRequest, envelope: Envelope): Promise<boolean> {
    const reason = `${to} did not answer within ${deadline - at} ms`
    const response = { ...failedResponse(this.#desk, envelope.request, reason), executionTimeMs: this.#age(envelope) }
    const settling = { requestId, entry, head, envelope }
    return (await this.settle(settling, response, { by: 'relay', timedOut: true })) !== undefined
  }

  /** By the wall clock, or because this process has seen it open for that long: a clock that goes back gives no more time. */
  isOverdue({ at, deadline, seen, escalation }: OpenRequest): boolean {
    if (deadline === undefined || escalation !== undefined) return false
    return this.#desk.now() >= deadline || this.#desk.monotonic() - seen >= deadline - at
  }

  /** Ends whatever is overdue, so that nothing stays open because nobody asked. */
  async sweep(board: Board): Promise<void> {
    const overdue = [...board.open.values()].filter((open) => this.isOverdue(open)).sort((a, b) => a.entry - b.entry)
    // Many at a time, so that they are read together, and share what makes them durable.
    while (overdue.length > 0) {
      const some = overdue.splice(0, atOnce)
      const envelopes = await this.#desk.journal.envelopes(some.map(({ entry }) => entry))
      const end = async (open: OpenRequest) => {
        if (!(await this.#fail(open, envelopes.get(open.entry)!))) await this.timeOut(open.requestId)
      }
      await Promise.all(some.map((open) => end(open)))
    }
  }

  #age({ acceptedAt }: Envelope): number {
    return Math.max(0, this.#desk.now() - Date.parse(acceptedAt))
  }
}
