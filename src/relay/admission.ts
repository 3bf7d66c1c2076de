// Whether a request is let through. Limits, circles and route are decided on the newest state of its trace, and what was
// decided is tracked there in the same append: so it holds whoever else asks at the same time, and a request that was
// refused is on record and counts like any other.

import type { Entry } from '../store/index.ts'
import type { Claims } from './claims.ts'
import { type Desk, iso } from './desk.ts'
import { notOwner, type Owners } from './owner.ts'
import type { RequestSpan } from './observer.ts'
import { type Answered, type Fact, factIn, type Requested } from './record.ts'
import { failedResponse } from './response.ts'
import { closedRoute, type Refusal } from './routes.ts'
import { type Envelope, type HandoffRequest, human, type Mode } from './schema.ts'
import { attempted, circular, coolingDown, overLimit, taken, type TraceState } from './trace.ts'
import type { TraceHead, Traces } from './traces.ts'

/** A request that was validated and traced, but not yet decided on. */
export interface Candidate {
  readonly request: HandoffRequest
  readonly requestId: string
  /** The caller gave the id, and may come again with it. */
  readonly isNamed: boolean
  readonly mode: Mode
  readonly span: RequestSpan
  readonly traceparent: string | undefined
}

/** A request as it was tracked. */
export interface Tracked {
  readonly requested: Requested
  readonly entry: Entry
  /** Of a request that was rejected. */
  readonly answered: Answered | undefined
  /** Somebody tracked it before, under the same id. */
  readonly isRepeated: boolean
}

export class Admission {
  readonly #desk: Desk
  readonly #traces: Traces
  readonly #owners: Owners
  readonly #claims: Claims
  readonly #isLocal: (agent: string) => boolean
  #attempts = 0

  /** `isLocal`: whether an agent is a function of this process. */
  constructor(
    desk: Desk,
    { traces, owners, claims }: { traces: Traces; owners: Owners; claims: Claims },
    isLocal: (agent: string) => boolean,
  ) {
    this.#desk = desk
    this.#traces = traces
    this.#owners = owners
    this.#claims = claims
    this.#isLocal = isLocal
  }

  /** Decides on the requests of one trace, in this order; the first that is let through is the only one. */
  async track(candidates: readonly Candidate[]): Promise<Tracked[]> {
    const attempt = `${this.#desk.self}:${++this.#attempts}`
    const { traceId } = candidates[0]!.request
    const entries = await this.#traces.update(traceId, async (head) =>
      this.#decide(candidates, await this.#seen(head, candidates), attempt),
    )
    const facts = entries.map((entry) => factIn(entry)!)
    const tracked = facts.flatMap((fact, i): Tracked[] => {
      if (fact.type !== 'requested') return []
      const next = facts[i + 1]
      const answered = next?.type === 'answered' ? next : undefined
      return [{ requested: fact, entry: entries[i]!, answered, isRepeated: fact.attempt !== attempt }]
    })
    for (const { requested, answered, isRepeated } of tracked) {
      const { requestId, request, traceparent } = requested.envelope
      if (answered === undefined || isRepeated) continue
      const { response, durationMs, rejection } = answered
      this.#desk.observer.answered({ requestId, request, response, durationMs, rejection, traceparent })
    }
    return tracked
  }

  /** The trace with the frames that are live. What only seems to be, because nobody ended it in time, is ended first. */
  async #seen(head: TraceHead, candidates: readonly Candidate[]): Promise<TraceHead> {
    const { state } = head
    if (state.frames.length <= 1) return head
    let frames = await this.#owners.live(state.frames)
    if (candidates.some(({ request }) => notOwner(frames, request) !== undefined)) {
      frames = await this.#owners.live(frames, { swept: true })
    }
    return { ...head, state: { ...state, frames } }
  }

  #decide(candidates: readonly Candidate[], head: TraceHead, attempt: string): Fact[] {
    const { settings, now } = this.#desk
    const { limits } = settings
    const facts: Fact[] = []
    let { state } = head
    let prev = head.entry
    let winner: string | undefined
    for (const candidate of candidates) {
      const { request, requestId, mode } = candidate
      const at = now()
      const refusal = winner === undefined ? this.#refuse(state, request, at) : superseded(winner)
      if (refusal === undefined) {
        winner = request.handoffTo
        state = taken(state, request, limits, at, { mode, requestId })
      } else state = attempted(state, request, limits, at)
      const envelope = this.#envelope(candidate, state, at)
      const isHeld = refusal === undefined && this.#isLocal(request.handoffTo)
      const hold = isHeld ? this.#claims.newHold(this.#desk.self, this.#claims.leaseOf(request.handoffTo)) : undefined
      facts.push({
        type: 'requested',
        envelope,
        trace: state,
        prev,
        attempt,
        ...(candidate.isNamed ? { isNamed: true } : {}),
        ...(hold === undefined ? {} : { hold }),
        ...(refusal === undefined ? {} : { rejection: refusal.code }),
      })
      prev = -1
      if (refusal === undefined) continue
      facts.push(this.#rejected(envelope, refusal))
      prev = -2
    }
    return facts
  }

  #refuse(state: TraceState, request: HandoffRequest, now: number): Refusal | undefined {
    const { settings } = this.#desk
    return (
      overLimit(state, request, settings.limits) ??
      circular(state, request) ??
      notOwner(state.frames, request) ??
      coolingDown(state, request, settings.limits, now) ??
      closedRoute(settings, request.sourceAgent, request.handoffTo)
    )
  }

  #envelope(candidate: Candidate, state: TraceState, at: number): Envelope {
    const { limits } = this.#desk.settings
    const { request, requestId, mode, traceparent } = candidate
    const deadline = at + (request.timeoutMs ?? limits.handoffTimeoutMs)
    return {
      requestId,
      hops: state.hops,
      hopsLeft: Math.max(0, limits.maxHandoffsPerPipeline - state.hops),
      mode,
      ...(traceparent === undefined ? {} : { traceparent }),
      acceptedAt: iso(at),
      ...(request.handoffTo === human ? {} : { deadline: iso(deadline) }),
      request,
    }
  }

  #rejected({ requestId, request }: Envelope, { code, reason }: Refusal): Answered {
    return {
      type: 'answered',
      requestId,
      traceId: request.traceId,
      request: -1,
      response: failedResponse(this.#desk, request, reason),
      by: 'relay',
      durationMs: 0,
      rejection: code,
    }
  }
}

function superseded(winner: string): Refusal {
  return { code: 'superseded', reason: `Another handoff of the same turn, to ${winner}, was taken` }
}
