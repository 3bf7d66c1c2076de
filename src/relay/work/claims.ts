// Claims: which worker works on which request. Requests that nobody holds are taken many at a time, and the order of the tape
// decides between workers; one whose worker let its lease end is taken over alone, by an entry that expects the request's chain of
// entries as its writer saw it. So two workers never hold one request. When the lease of a claim is over, clock.ts says.

import { randomUUID } from 'node:crypto'
import { checked } from '../../config/index.ts'
import { BatonError, ConflictError, NotFoundError } from '../../errors.ts'
import type { Entry } from '../../store/index.ts'
import type { Answers } from '../request/answers.ts'
import { beginning, clockTolerance } from '../clock.ts'
import { isFree, type OpenRequests, type OpenRequest } from '../journal/open-requests.ts'
import { leaseLeft, type RelayContext } from '../context.ts'
import { type Claim, type InboxItem, requestRow } from '../results.ts'
import { eventIn, expected, type Hold, holdOn, requestKey, type Taken, takenKey } from '../journal/events.ts'
import { checkAgent } from '../request/routes.ts'
import type { Envelope } from '../schema.ts'
import { leaseSchema } from '../settings.ts'
import { after, onAbort, pause } from '../timers.ts'

/** A worker that has claimed something within this time counts as present. */
const presenceMs = 1_000
/** How long a request is left to the worker that comes first, in milliseconds: while work is slow, and while it is fast. */
const courtesy = { slow: 10, fast: 500 }
/** How often a worker that leaves all work to others looks whether they still take it. */
const lookEveryMs = 500

export interface ClaimOptions {
  readonly worker: string
  readonly leaseMs?: number | undefined
  /** Claim this request and no other. */
  readonly requestId?: string | undefined
}

interface TakeOptions extends ClaimOptions {
  /** Whether the claims are safe from a crash of the machine before they count. */
  readonly durable?: boolean
}

interface SomeOptions extends Omit<ClaimOptions, 'requestId'> {
  readonly most: number
  /** The worker does nothing else. */
  readonly isIdle: boolean
  /** Its work takes less time than to write it down. */
  readonly isFast: boolean
}

export class Claims {
  readonly #context: RelayContext
  readonly #answers: Answers
  #turn: Promise<unknown> = Promise.resolve()

  constructor(context: RelayContext, answers: Answers) {
    this.#context = context
    this.#answers = answers
  }

  /** Claims the next request of an agent; undefined when there is none. */
  async claim(agent: string, options: ClaimOptions): Promise<Claim | undefined> {
    this.#check(agent, options)
    // Callers of one process take turns; otherwise they would all try to claim the same request.
    const turn = this.#turn.then(() => this.#claim(agent, options))
    this.#turn = turn.catch(() => {})
    return turn
  }

  #check(agent: string, { leaseMs }: { leaseMs?: number | undefined }): void {
    checkAgent(this.#context.settings, agent, 'agent')
    if (leaseMs !== undefined) checked(leaseSchema, leaseMs, 'leaseMs')
  }

  async #claim(agent: string, options: ClaimOptions): Promise<Claim | undefined> {
    const { journal, settings, now } = this.#context
    const { requestId } = options
    for (;;) {
      const openRequests = await journal.current()
      await this.#expireLeases(openRequests, agent)
      const open =
        requestId === undefined
          ? openRequests.inbox(agent).next(now(), settings.patienceMs)
          : claimable(openRequests.byId.get(requestId), agent)
      if (open === undefined) return undefined
      const [claim] = await this.#take([open], agent, options)
      if (claim !== undefined) return claim
    }
  }

  /**
   * Claims up to `most` requests at once, with one entry. The caller follows the tape. Workers of other processes
   * claim from the same inbox, so those that are present share it: each takes its own part at once, and what the others leave after a
   * moment. When writing is what takes the time, more workers would only write more: then one of them takes everything, and the others
   * what it leaves. A request whose worker died is claimed alone, so that it takes no other work down with it.
   */
  async claimSome(agent: string, options: SomeOptions): Promise<Claim[]> {
    this.#check(agent, options)
    const { journal } = this.#context
    for (let isFirst = true; ; isFirst = false) {
      const openRequests = isFirst ? journal.openRequests : await journal.current()
      await this.#expireLeases(openRequests, agent)
      const chosen = this.#choose(openRequests, agent, options)
      if (chosen.length === 0) return []
      // The answers make these claims durable, too. If the machine crashes before, the worker is gone as well, and what it took is free.
      const claims = await this.#take(chosen, agent, { ...options, durable: false })
      if (claims.length > 0) return claims
    }
  }

  /** How long a worker leaves the requests of others to them; 0 when there are none. */
  courtesyMs(agent: string, { worker, isFast }: { worker: string; isFast: boolean }): number {
    const { place, of } = this.#share(agent, worker)
    if (isFast) return place === 0 ? 0 : courtesy.fast
    return of === 1 ? 0 : courtesy.slow
  }

  /**
   * Resolves when the other workers of an agent take nothing any more, or let requests wait for long. Until then this process reads
   * one entry now and then, however much is written.
   */
  async leaveToOthers(agent: string, signal: AbortSignal): Promise<void> {
    const { journal } = this.#context
    let before: number | undefined
    let newest = await journal.latest(takenKey(agent))
    do {
      before = newest?.id
      await pause(lookEveryMs, signal)
      if (signal.aborted) return
      newest = await journal.latest(takenKey(agent))
    } while (newest !== undefined && newest.id !== before && !isLate(newest))
    await journal.skipAhead()
  }

  /** The place of a worker among those of its agent that are present. */
  #share(agent: string, worker: string): { place: number; of: number } {
    const others = this.#context.journal.openRequests.workers(agent, presenceMs).filter((other) => other !== worker)
    return { place: others.filter((other) => other < worker).length, of: others.length + 1 }
  }

  #choose(openRequests: OpenRequests, agent: string, { worker, most, isIdle, isFast }: SomeOptions): OpenRequest[] {
    const { now, monotonic, settings } = this.#context
    const leftAlone = monotonic() - this.courtesyMs(agent, { worker, isFast })
    const { place, of } = this.#share(agent, worker)
    const isOwn = ({ entry }: OpenRequest) => (isFast ? place === 0 : entry % of === place)
    const chosen: OpenRequest[] = []
    let looked = 0
    for (const open of openRequests.inbox(agent).inTurn(now(), settings.patienceMs)) {
      if (chosen.length >= most || ++looked > most * 8 + 64) break
      if (isSuspect(open)) return chosen.length === 0 && isIdle ? [open] : chosen
      const isUrgent = open.priority === 'critical' || open.priority === 'high'
      if (isUrgent || isOwn(open) || open.seen <= leftAlone) chosen.push(open)
    }
    return chosen
  }

  /** Claims what it can of these requests: another process may have been faster, or they may have ended. */
  async #take(requests: readonly OpenRequest[], agent: string, options: TakeOptions): Promise<Claim[]> {
    const { maxDeliveries } = this.#context.settings.limits
    const claims: Claim[] = []
    const free: OpenRequest[] = []
    for (const open of requests) {
      if (this.#answers.isOverdue(open)) await this.#answers.timeOut(open.requestId)
      else if (isFree(open) && open.lost.length < maxDeliveries) free.push(open)
      else claims.push(...(await this.#takeOver(open, agent, options)))
    }
    if (free.length > 0) claims.push(...(await this.#takeFree(free, agent, options)))
    return claims
  }

  async #takeFree(
    requests: readonly OpenRequest[],
    agent: string,
    { worker, leaseMs, durable = true }: TakeOptions,
  ): Promise<Claim[]> {
    const { journal } = this.#context
    const requestIds = requests.map(({ requestId }) => requestId)
    const hold = this.newHold(worker, leaseMs ?? this.leaseOf(agent))
    const oldest = Math.min(...requests.map(({ seen }) => seen))
    const late = this.#context.monotonic() - oldest >= courtesy.fast ? ({ isLate: true } as const) : {}
    const taken: Taken = { type: 'taken', agent, requestIds, hold, ...late }
    const [entry] = await journal.append([taken], undefined, durable)
    const { byId } = await journal.upTo(entry!.id)
    const claims: Claim[] = []
    for (const requestId of requestIds) {
      const open = byId.get(requestId)
      const held = holdOn(taken, requestId)
      const envelope = open?.hold?.token === held.token ? await journal.envelopeOf(open) : undefined
      const about = { head: open?.head ?? 0, entry: open?.entry ?? 0, claim: entry!.id }
      if (envelope !== undefined) claims.push(claimOf(held, agent, envelope, about))
    }
    return claims
  }

  /** Claims a request whose worker let its lease end; none when another process was faster. */
  async #takeOver(open: OpenRequest, agent: string, { worker, leaseMs }: ClaimOptions): Promise<Claim[]> {
    const { journal } = this.#context
    if (await this.#answers.buryIfDead(open)) return []
    const hold = this.newHold(worker, leaseMs ?? this.leaseOf(agent))
    const { requestId, entry } = open
    const id = await this.#append(open, { type: 'claimed', requestId, agent, hold })
    const envelope = id === undefined ? undefined : await journal.envelopeOf(open)
    return envelope === undefined ? [] : [claimOf(hold, agent, envelope, { head: id!, entry, claim: id! })]
  }

  newHold(worker: string, leaseMs: number): Hold {
    return { token: randomUUID(), worker, leaseMs, ...beginning(this.#context) }
  }

  leaseOf(agent: string): number {
    return this.#context.settings.agents[agent]?.leaseMs ?? this.#context.settings.leaseMs
  }

  /** Returns the id of the new entry; undefined if another process wrote first. */
  async #append(
    { requestId, head }: { requestId: string; head: number },
    event: Parameters<RelayContext['journal']['append']>[0][number],
  ): Promise<number | undefined> {
    try {
      const [entry] = await this.#context.journal.append([event], expected(requestKey(requestId), head))
      return entry!.id
    } catch (error) {
      if (BatonError.is(error) && error.code === 'conflict') return undefined
      throw error
    }
  }

  /** Renews the lease; false when the claim no longer holds the request, or the request is overdue. */
  async heartbeat(claim: Claim | Pick<Claim, 'requestId' | 'token'>): Promise<boolean> {
    const { requestId, token } = claim
    const beat = async ({ head, worker, leaseMs }: { head: number; worker: string; leaseMs: number }) => {
      const hold = { token, worker, leaseMs, ...beginning(this.#context) }
      return this.#append({ requestId, head }, { type: 'extended', requestId, hold })
    }
    let id = 'head' in claim ? await beat(claim) : undefined
    while (id === undefined) {
      const open = (await this.#context.journal.current()).byId.get(requestId)
      const hold = open?.hold ?? open?.lapsed
      if (open === undefined || hold?.token !== token) return false
      if (this.#answers.isOverdue(open)) {
        await this.#answers.timeOut(requestId)
        return false
      }
      id = await beat({ ...hold, head: open.head })
    }
    if ('head' in claim) claim.head = id
    return true
  }

  /** Puts a request back into its inbox. */
  async release(requestId: string, { claim }: { claim?: Pick<Claim, 'token'> | undefined } = {}): Promise<void> {
    for (;;) {
      const open = (await this.#context.journal.current()).byId.get(requestId)
      if (open === undefined) {
        throw new NotFoundError(`There is no open request ${requestId}`, { hint: 'See "baton relay status".' })
      }
      const hold = open.hold ?? open.lapsed
      if (claim !== undefined && hold?.token !== claim.token) {
        throw new ConflictError(`${requestId} is no longer held by this claim`, { actual: Math.max(open.head, 0) })
      }
      if (hold === undefined) return
      const id = await this.#append(open, { type: 'released', requestId, worker: hold.worker })
      if (id !== undefined) return
    }
  }

  /** The requests that can be claimed now, in the order in which they would be. */
  async inbox(agent: string, limit: number): Promise<InboxItem[]> {
    const { journal, settings } = this.#context
    checkAgent(settings, agent, 'agent')
    const openRequests = await journal.current()
    this.#lapseExpired(openRequests, agent)
    const items: InboxItem[] = []
    for (const open of openRequests.inbox(agent).listed()) {
      if (items.length >= limit) break
      const item = this.#answers.isOverdue(open) ? undefined : await this.item(open)
      if (item !== undefined) items.push(item)
    }
    return items
  }

  /** Undefined when the request was lost. */
  async item(open: OpenRequest): Promise<InboxItem | undefined> {
    const envelope = await this.#context.journal.envelopeOf(open)
    if (envelope === undefined) return undefined
    const { request, acceptedAt, deadline } = envelope
    return {
      requestId: open.requestId,
      ...requestRow(request),
      acceptedAt,
      deadline,
    }
  }

  /** Every request as it becomes claimable. */
  async *watch(agent: string, signal: AbortSignal): AsyncGenerator<InboxItem> {
    const { journal, settings } = this.#context
    checkAgent(settings, agent, 'agent')
    const { broken, stop } = await journal.follow()
    const ended = AbortSignal.any([signal, broken])
    /** By request id, its newest entry when it was shown. */
    const shown = new Map<string, number>()
    try {
      while (!ended.aborted) {
        const openRequests = await journal.current()
        this.#lapseExpired(openRequests, agent)
        const { arrivals } = openRequests.inbox(agent)
        for (const requestId of shown.keys()) if (!openRequests.byId.has(requestId)) shown.delete(requestId)
        for (const open of openRequests.inbox(agent).listed()) {
          if (shown.get(open.requestId) === open.head || this.#answers.isOverdue(open)) continue
          shown.set(open.requestId, open.head)
          const item = await this.item(open)
          if (item !== undefined) yield item
          if (signal.aborted) return
        }
        await this.change(agent, arrivals, ended)
      }
      if (!signal.aborted) throw broken.reason as Error
    } finally {
      stop()
    }
  }

  /** Resolves when requests have arrived since `arrivals` were counted, or a lease has ended. */
  change(agent: string, arrivals: number, signal: AbortSignal): Promise<void> {
    const { openRequests } = this.#context.journal
    if (signal.aborted || openRequests.inbox(agent).arrivals !== arrivals) return Promise.resolve()
    return new Promise((resolve) => {
      const done = () => {
        stopListening()
        stopTimer()
        ignore()
        resolve()
      }
      const stopListening = openRequests.listen((change) => {
        if (change.type === 'waiting' && change.request.to === agent) done()
      })
      const soonest = this.soonestEnd(agent)
      const stopTimer = soonest === undefined ? () => {} : after(soonest + 1, done)
      const ignore = onAbort(signal, done)
    })
  }

  /** How long until the next lease of an agent's requests is over; undefined when nobody holds any. */
  soonestEnd(agent: string): number | undefined {
    const held = this.#context.journal.openRequests.held(agent)
    return held.length === 0 ? undefined : Math.min(...held.map(({ hold }) => leaseLeft(this.#context, hold!)))
  }

  /** Ends every claim whose lease is over. */
  lapseAllExpired(openRequests: OpenRequests): void {
    for (const agent of openRequests.holders()) this.#lapseExpired(openRequests, agent)
  }

  #lapseExpired(openRequests: OpenRequests, agent: string): void {
    for (const open of openRequests.held(agent)) if (leaseLeft(this.#context, open.hold!) <= 0) openRequests.lapse(open)
  }

  /** Also makes a lease of another machine that begins in the future begin now, so that other processes see it end. */
  async #expireLeases(openRequests: OpenRequests, agent: string): Promise<void> {
    this.#lapseExpired(openRequests, agent)
    const { now, machine } = this.#context
    for (const open of openRequests.held(agent)) {
      const { requestId, hold } = open
      if (hold === undefined || hold.steady?.machine === machine || hold.at <= now() + clockTolerance) continue
      const { token, worker, leaseMs } = hold
      const anew = { token, worker, leaseMs, ...beginning(this.#context) }
      await this.#append(open, { type: 'extended', requestId, hold: anew })
    }
  }
}

/** Whether a worker took something that had waited for long. */
function isLate(entry: Entry): boolean {
  const event = eventIn(entry)
  return event?.type === 'taken' && event.isLate === true
}

/** Whether a worker died with it: then it may be the reason. */
function isSuspect({ lost, lapsed }: OpenRequest): boolean {
  return lost.length > 0 || lapsed !== undefined
}

/** The request, if it is in that agent's inbox. */
function claimable(open: OpenRequest | undefined, agent: string): OpenRequest | undefined {
  return open?.to === agent && open.hold === undefined && open.escalation === undefined ? open : undefined
}

export function claimOf(
  { token, worker, leaseMs }: Hold,
  agent: string,
  envelope: Envelope,
  about: Pick<Claim, 'head' | 'entry' | 'claim'>,
): Claim {
  return { requestId: envelope.requestId, agent, worker, token, leaseMs, envelope, ...about }
}
