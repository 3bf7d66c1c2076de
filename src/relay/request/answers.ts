// How a request ends. The first answer counts, because it expects the request's chain of entries as its writer saw it; any
// other is kept as a late answer and changes nothing.

import { BatonError, ConflictError, NotFoundError } from '../../errors.ts'
import type { Expect } from '../../store/index.ts'
import { escalationId, type OpenRequest, type OpenRequests } from '../journal/open-requests.ts'
import { timeLeft } from '../clock.ts'
import { iso, leaseLeft, type RelayContext } from '../context.ts'
import { escalationOf } from '../people/notices.ts'
import type { AnswerResult, Claim } from '../results.ts'
import { type Answered, eventIn, expected, type Hold, type LostDelivery, requestKey, tape } from '../journal/events.ts'
import { digestOf, failedResponse, isSameAnswer, responseTo } from './response.ts'
import { type Envelope, type HandoffResponse, human } from '../schema.ts'

/** What an answer needs to know of its request. */
export interface AnswerTarget {
  readonly requestId: string
  /** The entry of the request. */
  readonly entry: number
  readonly head: number
  readonly envelope: Envelope
  readonly escalation?: string | undefined
  /** The entry by which the worker that answers took it. */
  readonly claim?: number | undefined
}

export interface AnswerOptions {
  /** The claim under which the work was done: the answer of an older claim is late, and a request that somebody holds takes no other. */
  readonly claim?: Pick<Claim, 'token'> | undefined
  readonly by?: string | undefined
}

const atOnce = 64

/** How a request ended, where no answer of its target ended it. */
type Ending = Pick<Answered, 'timedOut' | 'cancelled' | 'dead'>

export class Answers {
  readonly #context: RelayContext

  constructor(context: RelayContext) {
    this.#context = context
  }

  async answer(requestId: string, given: unknown, options: AnswerOptions = {}): Promise<AnswerResult> {
    const { journal } = this.#context
    for (;;) {
      const open = (await journal.current()).byId.get(requestId)
      const envelope = open && (await journal.envelopeOf(open))
      if (open === undefined || envelope === undefined) return this.#afterwards(requestId, given, options)
      if (this.isOverdue(open)) {
        await this.timeOut(requestId)
        continue
      }
      const agent = open.to
      const response = responseTo(this.#context, envelope.request, given, { agent, tookMs: this.#age(envelope) })
      const isOthers = options.claim !== undefined && options.claim.token !== (open.hold ?? open.lapsed)?.token
      // When a person is asked, the agent has handed the request on and cannot answer it any more.
      const isHandedOn = open.escalation !== undefined && open.to !== human
      if (isOthers || isHandedOn) return this.#keep(requestId, response, options)
      const isHeld = open.hold !== undefined && leaseLeft(this.#context, open.hold) > 0
      if (options.claim === undefined && isHeld) throw heldByAnother(open, open.hold!)
      const { entry, head, escalation } = open
      const claim = (open.hold ?? open.lapsed)?.entry
      const settling = { requestId, entry, head, envelope, escalation, claim }
      const result = await this.settle(settling, response, { by: options.by ?? open.hold?.worker ?? agent })
      if (result !== undefined) return result
    }
  }

  /** Records an answer as the one that counts, or hands the request on to a person; undefined if another entry came first. */
  async settle(
    settling: AnswerTarget,
    response: HandoffResponse,
    { by, ...ending }: { by: string } & Ending,
  ): Promise<AnswerResult | undefined> {
    const { journal, observer } = this.#context
    const { requestId, entry, head, envelope, escalation, claim } = settling
    const { request, traceparent } = envelope
    const expect = expected(requestKey(requestId), head)
    try {
      if (response.status === 'escalated') return await this.#escalate(settling, response, expect)
      const durationMs = this.#age(envelope)
      const event: Answered = {
        type: 'answered',
        requestId,
        traceId: request.traceId,
        request: entry,
        response,
        by,
        durationMs,
        ...(claim === undefined ? {} : { claim }),
        ...(escalation === undefined ? {} : { escalation }),
        ...ending,
      }
      const [stored] = await journal.append([event], expect)
      // The response as the store has it: the caller may still change the object it gave.
      const { response: final } = await journal.whole(eventIn(stored!) as Answered)
      const { timedOut } = ending
      observer.answered({ requestId, request, response: final, durationMs, traceparent, timedOut })
      return { status: 'accepted', response: final }
    } catch (error) {
      if (BatonError.is(error) && error.code === 'conflict') return undefined
      throw error
    }
  }

  async #escalate(
    { requestId, entry, envelope }: AnswerTarget,
    response: HandoffResponse,
    expect: Expect,
  ): Promise<AnswerResult> {
    const { journal, observer } = this.#context
    const { request } = envelope
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
    observer.escalated({ ...envelope, escalation })
    this.#context.notify(escalationOf(envelope, escalation, this.#context.now(), recommendations))
    return { status: 'accepted', response }
  }

  /** For an answer to a request that is not open. */
  async #afterwards(requestId: string, given: unknown, options: AnswerOptions): Promise<AnswerResult> {
    const { journal, observer } = this.#context
    const settled = await this.settled(requestId)
    const { request } = await journal.envelope(settled.request)
    const agent = settled.escalation === undefined ? request.handoffTo : settled.response.respondingAgent
    const response = responseTo(this.#context, request, given, { agent, tookMs: 0 })
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
    await this.#context.journal.append([{ type: 'late', requestId, response, by, digest: digestOf(response) }])
    this.#context.observer.ignored({ requestId, why: 'late' })
    return { status: 'late', response: settled }
  }

  /** The answer that counts; a request without one is not found. */
  async settled(requestId: string): Promise<Answered> {
    const { journal } = this.#context
    const event = (await journal.newestOf(requestId))?.event
    if (event?.type === 'answered') return journal.whole(event)
    throw await unknownRequest(this.#context, requestId)
  }

  /** Ends a request because nobody wants its answer any more; its worker is notified. False if it had ended before. */
  async cancel(requestId: string, { by, reason }: { by: string; reason: string }): Promise<boolean> {
    const { journal } = this.#context
    for (;;) {
      const open = (await journal.current()).byId.get(requestId)
      const envelope = open && (await journal.envelopeOf(open))
      if (open === undefined || envelope === undefined) {
        await this.settled(requestId) // throws when there is no such request
        return false
      }
      if (await this.#end(open, envelope, reason, { by, cancelled: true })) return true
    }
  }

  /** Ends a request as failed, unless an answer comes first. */
  async refuse(open: OpenRequest, reason: string): Promise<void> {
    const envelope = await this.#context.journal.envelopeOf(open)
    if (envelope !== undefined) await this.#end(open, envelope, reason, { by: 'relay' })
  }

  /** Ends a request as a dead letter, unless another entry comes first. */
  async #bury(open: OpenRequest, lost: readonly LostDelivery[]): Promise<void> {
    const envelope = await this.#context.journal.envelopeOf(open)
    if (envelope === undefined) return
    const seen = lost.map(({ worker, at }) => `${worker} (last heard of at ${iso(at)})`).join(', ')
    const reason = `${lost.length} workers took it and did not come back: ${seen}. It is kept as a dead letter`
    await this.#end(open, envelope, reason, { by: 'relay', dead: lost })
  }

  /** Ends an overdue request, unless an answer comes first. */
  async timeOut(requestId: string): Promise<void> {
    const { journal } = this.#context
    for (;;) {
      const open = (await journal.current()).byId.get(requestId)
      if (open === undefined || open.escalation !== undefined) return
      if (await this.#expire(open)) return
    }
  }

  /** False if another entry came first. */
  async #expire(open: OpenRequest): Promise<boolean> {
    const envelope = await this.#context.journal.envelopeOf(open)
    if (envelope === undefined) return true
    const { to, at, deadline = at } = open
    const allowedMs = deadline - at
    const allowed = allowedMs % 1_000 === 0 ? `${allowedMs / 1_000} s` : `${allowedMs} ms`
    const reason = `${to} did not answer within ${allowed}`
    return this.#end(open, envelope, reason, { by: 'relay', timedOut: true })
  }

  /** Ends a request as failed; false if another entry came first. */
  async #end(
    { requestId, entry, head, escalation }: OpenRequest,
    envelope: Envelope,
    reason: string,
    how: { by: string } & Ending,
  ): Promise<boolean> {
    const failed = failedResponse(this.#context, envelope.request, reason)
    const response = { ...failed, executionTimeMs: this.#age(envelope) }
    return (await this.settle({ requestId, entry, head, envelope, escalation }, response, how)) !== undefined
  }

  /** How long a request may still take; undefined when it has no deadline. */
  timeLeft(open: OpenRequest): number | undefined {
    return open.deadline === undefined ? undefined : timeLeft(this.#context, open, open.deadline - open.at)
  }

  isOverdue(open: OpenRequest): boolean {
    return open.escalation === undefined && (this.timeLeft(open) ?? 1) <= 0
  }

  /**
   * The workers that died with a request, where they are as many as it may have; undefined otherwise. `graceLeases` is how many more
   * leases the last one is given: it may only be slow.
   */
  #deadWith({ lost, hold, lapsed }: OpenRequest, graceLeases: number): LostDelivery[] | undefined {
    const last = lapsed ?? hold
    const isSilent = last !== undefined && leaseLeft(this.#context, last) <= -graceLeases * last.leaseMs
    const all = [...lost, ...(isSilent ? [{ worker: last.worker, at: last.at }] : [])]
    return all.length >= this.#context.settings.limits.maxDeliveries ? all : undefined
  }

  /** Ends a request as a dead letter if too many workers died with it; whether they did. For a worker that could take it now. */
  async buryIfDead(open: OpenRequest): Promise<boolean> {
    const lost = this.#deadWith(open, 0)
    if (lost !== undefined) await this.#bury(open, lost)
    return lost !== undefined
  }

  /** The same where nobody takes it, and so nobody would ever find out. */
  async buryForsaken(requests: Iterable<OpenRequest>): Promise<void> {
    for (const open of requests) {
      const lost = open.escalation === undefined ? this.#deadWith(open, 1) : undefined
      if (lost !== undefined) await this.#bury(open, lost)
    }
  }

  /** Ends all overdue requests, and those that killed their workers, so that none stays open because nobody looks at it. */
  async sweep(openRequests: OpenRequests): Promise<void> {
    await this.buryForsaken([...openRequests.byId.values()])
    const overdue = [...openRequests.byId.values()]
      .filter((open) => this.isOverdue(open))
      .sort((a, b) => a.entry - b.entry)
    // Many at a time, so that they share a sync of the disk.
    while (overdue.length > 0) {
      const end = async (open: OpenRequest) => {
        if (!(await this.#expire(open))) await this.timeOut(open.requestId)
      }
      await Promise.all(overdue.splice(0, atOnce).map((open) => end(open)))
    }
  }

  #age({ acceptedAt }: Envelope): number {
    return Math.max(0, this.#context.now() - Date.parse(acceptedAt))
  }
}

/** Says what was lost, if anything was: the request may be among it. */
export async function unknownRequest({ journal }: RelayContext, requestId: string): Promise<NotFoundError> {
  const lost = await journal.lost()
  return new NotFoundError(`There is no request ${requestId} in this workspace`, {
    hint:
      lost.length === 0
        ? 'See "baton relay status".'
        : `It may have been lost: ${lost.length} damaged entries of ${tape} could not be kept when it was repaired.`,
  })
}

function heldByAnother({ requestId, head }: OpenRequest, { worker, at, leaseMs }: Hold): ConflictError {
  return new ConflictError(`${requestId} is claimed by ${worker} until ${iso(at + leaseMs)}`, {
    actual: Math.max(head, 0),
    hint: 'Answer with the token of the claim, or wait until its lease is over.',
  })
}
