// Who works on what. A claim is an entry that expects the chain of its request as it was seen, so two workers never hold
// one request; its lease ends by the clock, or when this process has watched it for that long without a heartbeat,
// whichever comes first: a clock that goes back cannot keep a dead worker's request for ever.

import { randomUUID } from 'node:crypto'
import { checked } from '../config/checked.ts'
import { BatonError, ConflictError, NotFoundError } from '../errors.ts'
import type { Answers } from './answers.ts'
import type { Board, OpenRequest } from './board.ts'
import type { Desk } from './desk.ts'
import type { Claim, InboxItem } from './outcome.ts'
import { onAbort } from './on-abort.ts'
import { type Hold, requestKey } from './record.ts'
import { checkAgent } from './routes.ts'
import { leaseSchema } from './settings.ts'
import { after } from './timer.ts'

/** How far the clocks of two machines may be apart before one of them counts as having jumped. */
const tolerance = 1_000

export interface ClaimOptions {
  readonly worker: string
  readonly leaseMs?: number | undefined
  /** This one and no other. */
  readonly requestId?: string | undefined
}

export class Claims {
  readonly #desk: Desk
  readonly #answers: Answers
  #turn: Promise<unknown> = Promise.resolve()

  constructor(desk: Desk, answers: Answers) {
    this.#desk = desk
    this.#answers = answers
  }

  /** The next request of an agent, held from now on; undefined when there is none to take. */
  async claim(agent: string, options: ClaimOptions): Promise<Claim | undefined> {
    checkAgent(this.#desk.settings, agent, 'agent')
    if (options.leaseMs !== undefined) checked(leaseSchema, options.leaseMs, 'leaseMs')
    // Workers of one process take turns: at the same time they would all reach for the same request.
    const turn = this.#turn.then(() => this.#claim(agent, options))
    this.#turn = turn.catch(() => {})
    return turn
  }

  async #claim(agent: string, { worker, leaseMs, requestId }: ClaimOptions): Promise<Claim | undefined> {
    const { journal, settings, now } = this.#desk
    const lease = leaseMs ?? this.leaseOf(agent)
    for (;;) {
      const board = await journal.current()
      await this.#letGoExpired(board, agent)
      const open =
        requestId === undefined
          ? board.inbox(agent).next(now(), settings.patienceMs)
          : claimable(board.open.get(requestId), agent)
      if (open === undefined) return undefined
      if (this.#answers.isOverdue(open)) {
        await this.#answers.timeOut(open.requestId)
        continue
      }
      const hold = this.newHold(worker, lease)
      const id = await this.#append(open, { type: 'claimed', requestId: open.requestId, agent, hold })
      if (id === undefined) continue
      return claimOf(hold, agent, id, { envelope: await journal.envelope(open.entry), entry: open.entry })
    }
  }

  newHold(worker: string, leaseMs: number): Hold {
    return { token: randomUUID(), worker, leaseMs, at: this.#desk.now() }
  }

  leaseOf(agent: string): number {
    return this.#desk.settings.agents[agent]?.leaseMs ?? this.#desk.settings.leaseMs
  }

  /** The id of the entry that now ends the request's chain; undefined if somebody else wrote there first. */
  async #append(
    { requestId, head }: { requestId: string; head: number },
    fact: Parameters<Desk['journal']['append']>[0][number],
  ): Promise<number | undefined> {
    try {
      const [entry] = await this.#desk.journal.append([fact], { key: requestKey(requestId), id: head })
      return entry!.id
    } catch (error) {
      if (BatonError.is(error) && error.code === 'conflict') return undefined
      throw error
    }
  }

  /** Makes the lease last from now on; false when the request is no longer this claim's, or its time is up. */
  async heartbeat(claim: Claim | Pick<Claim, 'requestId' | 'token'>): Promise<boolean> {
    const { requestId, token } = claim
    const beat = async ({ head, worker, leaseMs }: { head: number; worker: string; leaseMs: number }) => {
      const hold = { token, worker, leaseMs, at: this.#desk.now() }
      return this.#append({ requestId, head }, { type: 'extended', requestId, hold })
    }
    let id = 'head' in claim ? await beat(claim) : undefined
    while (id === undefined) {
      const open = (await this.#desk.journal.current()).open.get(requestId)
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
      const open = (await this.#desk.journal.current()).open.get(requestId)
      if (open === undefined) {
        throw new NotFoundError(`There is no open request ${requestId}`, { hint: 'See "baton relay status".' })
      }
      const hold = open.hold ?? open.lapsed
      if (claim !== undefined && hold?.token !== claim.token) {
        throw new ConflictError(`${requestId} is no longer held by this claim`, { actual: open.head })
      }
      if (hold === undefined) return
      const id = await this.#append(open, { type: 'released', requestId, worker: hold.worker })
      if (id !== undefined) return
    }
  }

  /** What can be claimed now, in the order in which it would be. */
  async inbox(agent: string, limit: number): Promise<InboxItem[]> {
    const { journal, settings } = this.#desk
    checkAgent(settings, agent, 'agent')
    const board = await journal.current()
    this.#letGo(board, agent)
    const items: InboxItem[] = []
    for (const open of board.inbox(agent).listed()) {
      if (items.length >= limit) break
      if (!this.#answers.isOverdue(open)) items.push(await this.item(open))
    }
    return items
  }

  async item({ requestId, entry }: OpenRequest): Promise<InboxItem> {
    const { request, acceptedAt, deadline } = await this.#desk.journal.envelope(entry)
    return {
      requestId,
      traceId: request.traceId,
      from: request.sourceAgent,
      to: request.handoffTo,
      priority: request.priority,
      reason: request.reason,
      summary: request.contextForTarget.summary,
      acceptedAt,
      deadline,
    }
  }

  /** Every request as it becomes claimable. */
  async *watch(agent: string, signal: AbortSignal): AsyncGenerator<InboxItem> {
    const { journal, settings } = this.#desk
    checkAgent(settings, agent, 'agent')
    const { broken, stop } = await journal.follow()
    const ended = AbortSignal.any([signal, broken])
    /** By request, where its chain ended when it was shown. */
    const shown = new Map<string, number>()
    try {
      while (!ended.aborted) {
        const board = await journal.current()
        this.#letGo(board, agent)
        const { arrivals } = board.inbox(agent)
        for (const requestId of shown.keys()) if (!board.open.has(requestId)) shown.delete(requestId)
        for (const open of board.inbox(agent).listed()) {
          if (shown.get(open.requestId) === open.head || this.#answers.isOverdue(open)) continue
          shown.set(open.requestId, open.head)
          yield await this.item(open)
          if (signal.aborted) return
        }
        await this.change(agent, arrivals, ended)
      }
      if (!signal.aborted) throw broken.reason as Error
    } finally {
      stop()
    }
  }

  /** Resolves when there may be something to claim that was not when `arrivals` were counted, or a lease has ended. */
  change(agent: string, arrivals: number, signal: AbortSignal): Promise<void> {
    const { board } = this.#desk.journal
    if (signal.aborted || board.inbox(agent).arrivals !== arrivals) return Promise.resolve()
    return new Promise((resolve) => {
      const done = () => {
        stopListening()
        stopTimer()
        ignore()
        resolve()
      }
      const stopListening = board.listen((change) => {
        if (change.type === 'waiting' && change.request.to === agent) done()
      })
      const soonest = Math.min(...board.held(agent).map(({ hold }) => this.#left(hold!)))
      const stopTimer = Number.isFinite(soonest) ? after(soonest + 1, done) : () => {}
      const ignore = onAbort(signal, done)
    })
  }

  /** How much of a lease is left. */
  #left({ at, leaseMs, seen }: Hold & { seen: number }): number {
    const { now, monotonic } = this.#desk
    return Math.min(at + leaseMs - now(), seen + leaseMs - monotonic())
  }

  /** Lets go of every claim whose lease has ended. */
  letGoAll(board: Board): void {
    for (const agent of board.holders()) this.#letGo(board, agent)
  }

  #letGo(board: Board, agent: string): void {
    for (const open of board.held(agent)) if (this.#left(open.hold!) <= 0) board.lapse(open)
  }

  /** As above; and a lease that begins in the future is made to begin now, so that the next process sees it end. */
  async #letGoExpired(board: Board, agent: string): Promise<void> {
    this.#letGo(board, agent)
    const now = this.#desk.now()
    for (const open of board.held(agent)) {
      const { requestId, hold } = open
      if (hold === undefined || hold.at <= now + tolerance) continue
      const { token, worker, leaseMs } = hold
      await this.#append(open, { type: 'extended', requestId, hold: { token, worker, leaseMs, at: now } })
    }
  }
}

/** A request that lies in that agent's inbox. */
function claimable(open: OpenRequest | undefined, agent: string): OpenRequest | undefined {
  return open?.to === agent && open.hold === undefined && open.escalation === undefined ? open : undefined
}

export function claimOf(
  { token, worker, leaseMs }: Hold,
  agent: string,
  head: number,
  { envelope, entry }: Pick<Claim, 'envelope' | 'entry'>,
): Claim {
  return { requestId: envelope.requestId, agent, worker, token, leaseMs, envelope, entry, head }
}
