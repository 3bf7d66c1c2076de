// An agent that serves its inbox: claims as many requests as it has room for, works on them side by side, and answers. Claims
// and answers of one moment share a commit of the store.

import * as z from 'zod'
import { checked } from '../../config/index.ts'
import { BatonError } from '../../errors.ts'
import type { RelayContext } from '../context.ts'
import { eventIn } from '../journal/events.ts'
import type { OpenRequest } from '../journal/open-requests.ts'
import type { Answers } from '../request/answers.ts'
import type { Frame } from '../request/trace-rules.ts'
import type { Claim } from '../results.ts'
import { after, onAbort } from '../timers.ts'
import type { Claims } from './claims.ts'
import type { HandoffHandler, Workers } from './worker.ts'

export interface ServeOptions {
  /** Ends the service; without it, it ends when the relay is closed. */
  readonly signal?: AbortSignal | undefined
  readonly worker?: string | undefined
  readonly leaseMs?: number | undefined
  /** How many requests are worked on at the same time. */
  readonly concurrency?: number | undefined
}

const concurrencySchema = z.int().min(1)
/** How long an answer waits for others at most. */
const mostTogetherMs = 10

/** How long a request that waits for its own worker is left to other workers. */
const patienceWithOthersMs = 1_000

interface Parts {
  readonly answers: Answers
  readonly claims: Claims
  readonly workers: Workers
}

/** Claims, works and answers until aborted; requests that are being worked on then go back into the inbox. */
export async function serve(
  context: RelayContext,
  parts: Parts,
  agent: string,
  handler: HandoffHandler,
  options: ServeOptions,
): Promise<void> {
  const { concurrency = 1, worker = context.self, leaseMs } = options
  checked(concurrencySchema, concurrency, 'concurrency')
  const { journal } = context
  let handlerMs = Number.POSITIVE_INFINITY
  const handling = new Map<string, Claim>()
  /** Work whose answer is not yet written, with the requests that are being handled. */
  const open = new Set<Promise<void>>()
  const stopping = AbortSignal.any(options.signal === undefined ? [journal.closing] : [options.signal, journal.closing])
  const failed = new AbortController()
  const ended = AbortSignal.any([stopping, failed.signal])
  const bell = new Bell()
  /** Whether the work takes less time than to write it down. */
  const isFast = () => handlerMs < journal.appendMs / 2
  /** A worker that has no room need not read each line as it is written. */
  const restMs = () => (!isFast() && handling.size >= concurrency ? Math.min(handlerMs / 8, mostTogetherMs) : 0)
  const follow = async () => {
    const { broken, stop } = await journal.follow(restMs)
    const ignore = onAbort(broken, () => failed.abort(broken.reason))
    return () => {
      ignore()
      stop()
    }
  }
  let stopFollowing = await follow()
  const ignore = onAbort(ended, () => bell.ring())
  /** Claimed, and next in turn. */
  const ready: Claim[] = []

  const giveBack = async ({ requestId, token }: Claim) =>
    parts.claims.release(requestId, { claim: { token } }).catch(unlessGone)

  const start = (claim: Claim) => {
    handling.set(claim.requestId, claim)
    const began = context.monotonic()
    const onHandled = (): Promise<void> | undefined => {
      handling.delete(claim.requestId)
      const took = context.monotonic() - began
      handlerMs = Number.isFinite(handlerMs) ? handlerMs + (took - handlerMs) / 8 : took
      startReady()
      bell.ring()
      return together()
    }
    const work = async () => {
      const result = await parts.workers.work(claim, handler, stopping, onHandled)
      if (result === undefined && stopping.aborted) await giveBack(claim)
    }
    // Work that cannot be recorded ends the service, so that the caller sees the error.
    const done = work()
      .catch((error: unknown) => failed.abort(error))
      .finally(() => {
        open.delete(done)
        bell.ring()
      })
    open.add(done)
  }

  /** Answers of slow work wait a moment for those that are nearly done, and for the next claims: one commit does for all. */
  const together = (): Promise<void> | undefined => {
    const isSlow = handlerMs > 4 * journal.appendMs && handling.size > 0
    return isSlow ? moment.next(Math.min(handlerMs / 8, mostTogetherMs)) : undefined
  }
  const moment = new Moment()

  const startReady = () => {
    while (ready.length > 0 && handling.size < concurrency && !ended.aborted) start(ready.shift()!)
  }

  const stopListening = journal.openRequests.listen((change) => {
    // Any number of requests may have come.
    if (change.type === 'reloaded') return bell.ring()
    if (change.type !== 'waiting' || change.request.to !== agent) return
    // Without room for it, only a request that this worker may itself be waiting for matters.
    const { traceId } = change.request
    const isNested = () => [...handling.values()].some(({ envelope }) => envelope.request.traceId === traceId)
    if (handling.size < concurrency || isNested()) bell.ring()
  })

  try {
    while (!ended.aborted) {
      // A request that a worker died with is worked on alone.
      const isAlone = [...handling.keys()].some((id) => (journal.openRequests.byId.get(id)?.lost.length ?? 0) > 0)
      // The next requests of fast work are claimed along with the answers.
      const ahead = isFast() ? concurrency : 0
      const room = concurrency + ahead - handling.size - ready.length
      const most = isAlone ? 0 : Math.min(room, 2 * (concurrency + ahead) - open.size)
      const isIdle = open.size === 0
      if (most > 0 && most < concurrency) await together()
      const claims =
        most > 0 ? await parts.claims.claimSome(agent, { worker, leaseMs, most, isIdle, isFast: isFast() }) : []
      ready.push(...claims)
      startReady()
      // The work has become slow: others may have time for what waits here.
      if (!isFast() && ready.length > 0) await Promise.all(ready.splice(0).map(giveBack))
      if (claims.length > 1 && handling.size < concurrency) continue
      const courtesyMs = parts.claims.courtesyMs(agent, { worker, isFast: isFast() })
      if (isFast() && open.size === 0 && courtesyMs > 0) {
        stopFollowing()
        await parts.claims.leaveToOthers(agent, ended)
        if (!ended.aborted) stopFollowing = await follow()
        continue
      }
      const waitsForItself = handling.size >= concurrency && firstNested(context, agent, handling) !== undefined
      const isEmpty = journal.openRequests.inbox(agent).size === 0
      const rings = [
        parts.claims.soonestEnd(agent),
        most > 0 && !isEmpty ? Math.max(courtesyMs, 1) : undefined,
        waitsForItself ? patienceWithOthersMs : undefined,
      ].filter((ms) => ms !== undefined)
      await bell.heard(rings.length === 0 ? undefined : Math.min(...rings) + 1)
      // What was written together is read line by line: by the next turn of the event loop all of it is known, and claimed together.
      if (isEmpty) await new Promise<void>((resolve) => setImmediate(resolve))
      if (waitsForItself) await refuseNested(context, parts.answers, agent, handling)
    }
    await Promise.all(ready.splice(0).map(giveBack))
    await Promise.all(open)
    if (!stopping.aborted) throw ended.reason as Error
  } catch (error) {
    failed.abort(error)
    await Promise.all(open)
    throw error
  } finally {
    ignore()
    stopListening()
    stopFollowing()
  }
}

/** A request of this agent's inbox that belongs to a trace which the agent is working on. */
function firstNested(
  { journal }: RelayContext,
  agent: string,
  handling: ReadonlyMap<string, Claim>,
): OpenRequest | undefined {
  const traces = new Set(Array.from(handling.values(), ({ envelope }) => envelope.request.traceId))
  return journal.openRequests
    .inbox(agent)
    .listed()
    .find(({ traceId }) => traces.has(traceId))
}

/**
 * When all that a worker does waits, over other agents, for a request in its own inbox, and no other worker takes that, the wait
 * would only end with a timeout: the request is answered as failed.
 */
async function refuseNested(
  context: RelayContext,
  answers: Answers,
  agent: string,
  handling: ReadonlyMap<string, Claim>,
): Promise<void> {
  const nested = firstNested(context, agent, handling)
  if (nested === undefined || context.monotonic() - nested.seen < patienceWithOthersMs) return
  const event = eventIn(await context.journal.entry(nested.entry))
  if (event?.type !== 'requested') return
  const above = ancestors(event.trace.frames, nested)
  if (![...handling.keys()].every((requestId) => above.has(requestId))) return
  const waiting =
    handling.size === 1 ? 'the request that it works on waits' : `all ${handling.size} requests that it works on wait`
  const reason = `${agent} would wait for itself: ${waiting} for this one. Let it serve more at the same time`
  await answers.refuse(nested, reason)
}

/** The requests of a trace that wait for a request, over any number of agents. */
function ancestors(frames: readonly Frame[], { requestId, from }: OpenRequest): Set<string> {
  const found = new Set<string>()
  const agents = [from]
  for (const agent of agents) {
    for (const frame of frames) {
      if (frame.agent !== agent || frame.requestId === undefined || frame.requestId === requestId) continue
      found.add(frame.requestId)
      if (frame.by !== undefined && !agents.includes(frame.by)) agents.push(frame.by)
    }
  }
  return found
}

/** A moment for which many wait: it begins with the first and is the same for all. */
class Moment {
  #next: Promise<void> | undefined

  next(ms: number): Promise<void> {
    this.#next ??= new Promise((resolve) => {
      after(ms, () => {
        this.#next = undefined
        resolve()
      })
    })
    return this.#next
  }
}

/** Wakes a loop that waits; a ring while nobody waits is kept for the next one who does. */
class Bell {
  #isRung = false
  #wake: (() => void) | undefined

  ring(): void {
    this.#isRung = true
    this.#wake?.()
  }

  /** Resolves at the next ring, at once if there was one since the last time, or after so many milliseconds. */
  async heard(withinMs: number | undefined): Promise<void> {
    if (!this.#isRung) {
      await new Promise<void>((resolve) => {
        const stop = withinMs === undefined ? () => {} : after(withinMs, resolve)
        this.#wake = () => {
          stop()
          resolve()
        }
      })
    }
    this.#wake = undefined
    this.#isRung = false
  }
}

/** The request may have been answered or claimed by another worker meanwhile, or the store may be closed. */
function unlessGone(error: unknown): void {
  if (!BatonError.is(error) || (error.code !== 'conflict' && error.code !== 'not_found')) throw error
}
