// Decides whether a request is admitted. Limits, circles and route are checked on the newest state of its trace, and the decision
// is written there in the same append, so it holds also when others request at the same time. A request that was refused is
// recorded and counts like any other.

import type { Entry } from '../../store/index.ts'
import type { Claims } from '../work/claims.ts'
import { beginning } from '../clock.ts'
import { iso, type RelayContext, type RequestSpan } from '../context.ts'
import { notOwner, type TraceOwners } from './trace-owner.ts'
import { type Answered, type RelayEvent, eventIn, type Requested } from '../journal/events.ts'
import { failedResponse } from './response.ts'
import { closedRoute, type RequestRefusal } from './routes.ts'
import { type Envelope, type HandoffRequest, human, type HandoffMode } from '../schema.ts'
import { attempted, circular, coolingDown, overLimit, taken, type TraceState } from './trace-rules.ts'
import type { TraceHead, TraceLog } from './trace-log.ts'

/** A request that was validated and traced, but not yet decided on. */
export interface Candidate {
  readonly request: HandoffRequest
  readonly requestId: string
  /** The caller chose the id, and may repeat the request with it. */
  readonly isNamed: boolean
  readonly mode: HandoffMode
  readonly span: RequestSpan
  readonly traceContext: Pick<Envelope, 'traceparent' | 'tracestate'>
  /** The caller waits until a path has cooled down, rather than being refused. */
  readonly isPatient: boolean
}

/** Thrown instead of a refusal, which would count: the path is free after so many milliseconds. */
export class TooEarly extends Error {
  readonly retryAfterMs: number

  constructor(retryAfterMs: number) {
    super(`The path is free in ${retryAfterMs} ms`)
    this.retryAfterMs = retryAfterMs
  }
}

/** A request as it was tracked. */
export interface Tracked {
  readonly requested: Requested
  readonly entry: Entry
  /** The answer to a request that was rejected. */
  readonly answered: Answered | undefined
  /** It was tracked before, under the same id. */
  readonly isRepeated: boolean
}

export class Admission {
  readonly #context: RelayContext
  readonly #traces: TraceLog
  readonly #owners: TraceOwners
  readonly #claims: Claims
  readonly #isLocal: (agent: string) => boolean
  #attempts = 0

  /** `isLocal`: whether an agent is a function of this process. */
  constructor(
    context: RelayContext,
    { traces, owners, claims }: { traces: TraceLog; owners: TraceOwners; claims: Claims },
    isLocal: (agent: string) => boolean,
  ) {
    this.#context = context
    this.#traces = traces
    this.#owners = owners
    this.#claims = claims
    this.#isLocal = isLocal
  }

  /** Decides on the requests of one trace, in this order; only the first that passes the checks is admitted. */
  async track(candidates: readonly Candidate[]): Promise<Tracked[]> {
    const attempt = `${this.#context.self}:${++this.#attempts}`
    const { traceId } = candidates[0]!.request
    let archived: Tracked[] | undefined
    const entries = await this.#traces.update(traceId, async (head) => {
      archived = await this.#archived(candidates)
      return archived === undefined ? this.#decide(candidates, await this.#seen(head, candidates), attempt) : []
    })
    if (archived !== undefined) return archived
    const events = entries.map((entry) => eventIn(entry)!)
    const tracked = events.flatMap((event, i): Tracked[] => {
      if (event.type !== 'requested') return []
      const next = events[i + 1]
      const answered = next?.type === 'answered' ? next : undefined
      return [{ requested: event, entry: entries[i]!, answered, isRepeated: event.attempt !== attempt }]
    })
    for (const { requested, answered, isRepeated } of tracked) {
      const { requestId, request, traceparent } = requested.envelope
      if (answered === undefined || isRepeated) continue
      const { response, durationMs, rejection } = answered
      this.#context.observer.answered({ requestId, request, response, durationMs, rejection, traceparent })
    }
    return tracked
  }

  /** Requests that were tracked before the last archive, which the store no longer recognises by their ids. */
  async #archived(candidates: readonly Candidate[]): Promise<Tracked[] | undefined> {
    const { journal } = this.#context
    if (!candidates.every(({ isNamed }) => isNamed)) return undefined
    const segment = await journal.segment()
    if (segment === undefined) return undefined
    const { byId } = await journal.current()
    const tracked: Tracked[] = []
    for (const { requestId } of candidates) {
      const open = byId.get(requestId)
      if (open !== undefined && open.entry > segment.through) return undefined
      const at = (await journal.archivedRequest(requestId))?.entry
      if (at === undefined) return undefined
      const entry = await journal.entry(at)
      const requested = eventIn(entry)
      if (requested?.type !== 'requested') return undefined
      const answered = open === undefined ? (await journal.newestOf(requestId))?.event : undefined
      tracked.push({
        requested,
        entry,
        answered: answered?.type === 'answered' && answered.rejection !== undefined ? answered : undefined,
        isRepeated: true,
      })
    }
    return tracked
  }

  /** The trace with its live frames. Requests that only seem live, because nobody has ended them in time, are ended first. */
  async #seen(head: TraceHead, candidates: readonly Candidate[]): Promise<TraceHead> {
    const { state } = head
    if (state.frames.length <= 1) return head
    let frames = await this.#owners.live(state.frames)
    if (candidates.some(({ request }) => notOwner(frames, request) !== undefined)) {
      frames = await this.#owners.live(frames, { swept: true })
    }
    return { ...head, state: { ...state, frames } }
  }

  #decide(candidates: readonly Candidate[], head: TraceHead, attempt: string): RelayEvent[] {
    const { limits } = this.#context.settings
    const events: RelayEvent[] = []
    let { state } = head
    let prev = head.entry
    let winner: string | undefined
    for (const candidate of candidates) {
      const { request, requestId, mode } = candidate
      const { at, steady } = beginning(this.#context)
      const refusal = winner === undefined ? this.#refuse(state, request, at) : superseded(winner)
      if (refusal?.retryAfterMs !== undefined && candidate.isPatient) throw new TooEarly(refusal.retryAfterMs)
      if (refusal === undefined) {
        winner = request.handoffTo
        state = taken(state, request, limits, at, { mode, requestId })
      } else state = attempted(state, request, limits, at)
      const envelope = this.#envelope(candidate, state, at)
      const isHeld = refusal === undefined && this.#isLocal(request.handoffTo)
      const hold = isHeld
        ? this.#claims.newHold(this.#context.self, this.#claims.leaseOf(request.handoffTo))
        : undefined
      events.push({
        type: 'requested',
        envelope,
        steady,
        trace: state,
        prev,
        attempt,
        ...(candidate.isNamed ? { isNamed: true } : {}),
        ...(hold === undefined ? {} : { hold }),
        ...(refusal === undefined ? {} : { rejection: refusal.code }),
      })
      prev = -1
      if (refusal === undefined) continue
      events.push(this.#rejected(envelope, refusal))
      prev = -2
    }
    return events
  }

  #refuse(state: TraceState, request: HandoffRequest, now: number): RequestRefusal | undefined {
    const { settings } = this.#context
    return (
      overLimit(state, request, settings.limits) ??
      circular(state, request, settings.limits) ??
      notOwner(state.frames, request) ??
      coolingDown(state, request, settings.limits, now) ??
      closedRoute(settings, request.sourceAgent, request.handoffTo)
    )
  }

  #envelope(candidate: Candidate, state: TraceState, at: number): Envelope {
    const { limits } = this.#context.settings
    const { request, requestId, mode } = candidate
    const { traceparent, tracestate } = candidate.traceContext
    const deadline = at + (request.timeoutMs ?? limits.handoffTimeoutMs)
    return {
      requestId,
      hops: state.hops + (state.people ?? 0),
      hopsLeft: Math.max(0, limits.maxHandoffsPerPipeline - state.hops),
      mode,
      ...(traceparent === undefined ? {} : { traceparent }),
      ...(tracestate === undefined ? {} : { tracestate }),
      acceptedAt: iso(at),
      ...(request.handoffTo === human ? {} : { deadline: iso(deadline) }),
      request,
    }
  }

  #rejected({ requestId, request }: Envelope, { code, reason }: RequestRefusal): Answered {
    return {
      type: 'answered',
      requestId,
      traceId: request.traceId,
      request: -1,
      response: failedResponse(this.#context, request, reason),
      by: 'relay',
      durationMs: 0,
      rejection: code,
    }
  }
}

function superseded(winner: string): RequestRefusal {
  return { code: 'superseded', reason: `Another handoff of the same turn, to ${winner}, was taken` }
}
