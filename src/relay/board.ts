// What is open, folded from the tape: requests with their holds and escalations, and the counters. It keeps nothing of
// what is settled, so its size follows the work at hand, not the history.

import { Inbox } from './inbox.ts'
import type { Counters } from './outcome.ts'
import type { Entry } from '../store/index.ts'
import { type Answered, type Escalated, type Fact, factIn, type Hold, type Requested } from './record.ts'
import { human, type Priority } from './schema.ts'

export interface OpenRequest {
  readonly requestId: string
  readonly traceId: string
  readonly from: string
  readonly to: string
  readonly priority: Priority
  /** The entry of the request itself. */
  readonly entry: number
  readonly at: number
  readonly deadline: number | undefined
  /** When this process took it in, by a clock that never goes back. */
  readonly seen: number
  /** The newest entry under the request's key, which the next one expects; 0 while there is none. */
  head: number
  hold: (Hold & { seen: number }) | undefined
  /** A hold whose lease has ended; it still counts for as long as nobody else takes the request. */
  lapsed: Hold | undefined
  escalation: string | undefined
}

/** What changed for those who wait. */
export type Change =
  | { readonly type: 'waiting'; readonly request: OpenRequest }
  | { readonly type: 'escalated'; readonly requestId: string; readonly escalation: string }
  | { readonly type: 'answered'; readonly requestId: string; readonly answer: Answered; readonly entry: Entry }

export interface Snapshot {
  /** The last entry that it takes into account. */
  readonly through: number
  readonly counters: Counters
  readonly turns: readonly (readonly [agent: string, turns: number])[]
  readonly open: readonly OpenRow[]
}

type OpenRow = readonly [
  requestId: string,
  traceId: string,
  from: string,
  to: string,
  priority: Priority,
  entry: number,
  at: number,
  deadline: number | null,
  head: number,
  hold: Hold | null,
  escalation: string | null,
]

const noCounters: Counters = {
  requests: 0,
  resolved: 0,
  partial: 0,
  failed: 0,
  escalated: 0,
  rejected: 0,
  circularBlocked: 0,
  timedOut: 0,
  late: 0,
}

export class Board {
  /** The last entry that was folded in. */
  at = 0
  readonly counters: Record<keyof Counters, number> = { ...noCounters }
  readonly open = new Map<string, OpenRequest>()
  readonly #inboxes = new Map<string, Inbox<OpenRequest>>()
  /** By agent, the requests that somebody holds. */
  readonly #held = new Map<string, Map<string, OpenRequest>>()
  readonly #listeners = new Set<(change: Change) => void>()
  readonly #monotonic: () => number

  constructor(monotonic: () => number) {
    this.#monotonic = monotonic
  }

  /** Calls `listener` for every change from now on, until the returned function is called. */
  listen(listener: (change: Change) => void): () => void {
    this.#listeners.add(listener)
    return () => void this.#listeners.delete(listener)
  }

  /** Takes in the next entry; one that was taken in before, or lies further ahead, is left alone. */
  apply(entry: Entry): void {
    if (entry.id !== this.at + 1) return
    const fact = factIn(entry)
    if (fact !== undefined) this.#fold(fact, entry)
    this.at = entry.id
  }

  #fold(fact: Fact, entry: Entry): void {
    switch (fact.type) {
      case 'requested':
        return this.#requested(fact, entry)
      case 'answered':
        return this.#answered(fact, entry)
      case 'escalated':
        return this.#escalated(fact, entry)
      case 'late':
        return this.#count({ late: 1 })
      case 'resuming':
      case 'resumed':
      case 'recovered':
      case 'owner':
        return undefined
      case 'claimed':
      case 'extended':
      case 'released':
        break
    }
    const request = this.open.get(fact.requestId)
    if (request === undefined) return
    request.head = entry.id
    if (fact.type === 'claimed') {
      this.inbox(fact.agent).tookTurn()
      this.#hold(request, fact.hold)
    } else if (fact.type === 'extended') this.#hold(request, fact.hold)
    else this.#release(request, undefined)
  }

  #requested({ envelope, hold, rejection }: Requested, entry: Entry): void {
    this.#count({ requests: 1 })
    if (rejection !== undefined) return
    const { requestId, request: body, acceptedAt, deadline } = envelope
    const request: OpenRequest = {
      requestId,
      traceId: body.traceId,
      from: body.sourceAgent,
      to: body.handoffTo,
      priority: body.priority,
      entry: entry.id,
      at: Date.parse(acceptedAt),
      deadline: deadline === undefined ? undefined : Date.parse(deadline),
      seen: this.#monotonic(),
      head: 0,
      hold: undefined,
      lapsed: undefined,
      escalation: undefined,
    }
    this.open.set(requestId, request)
    if (body.handoffTo === human) this.#toPerson(request, escalationId(entry.id))
    else if (hold === undefined) this.#toInbox(request)
    else this.#hold(request, hold)
  }

  #answered(answer: Answered, entry: Entry): void {
    const { requestId, response, rejection, timedOut } = answer
    this.#count({
      [response.status]: 1,
      ...(rejection === undefined ? {} : { rejected: 1 }),
      ...(rejection === 'circular' ? { circularBlocked: 1 } : {}),
      ...(timedOut === undefined ? {} : { timedOut: 1 }),
    })
    const request = this.open.get(requestId)
    if (request !== undefined) {
      this.#forget(request)
      this.open.delete(requestId)
    }
    this.#tell({ type: 'answered', requestId, answer, entry })
  }

  #escalated({ requestId }: Escalated, entry: Entry): void {
    const request = this.open.get(requestId)
    if (request === undefined) return
    request.head = entry.id
    this.#forget(request)
    request.hold = undefined
    request.lapsed = undefined
    this.#toPerson(request, escalationId(entry.id))
  }

  #toPerson(request: OpenRequest, escalation: string): void {
    request.escalation = escalation
    this.#count({ escalated: 1 })
    this.#tell({ type: 'escalated', requestId: request.requestId, escalation })
  }

  #toInbox(request: OpenRequest, returned = false): void {
    this.inbox(request.to).add(request, returned)
    this.#tell({ type: 'waiting', request })
  }

  #hold(request: OpenRequest, hold: Hold): void {
    this.#forget(request)
    request.hold = { ...hold, seen: this.#monotonic() }
    request.lapsed = undefined
    let held = this.#held.get(request.to)
    if (held === undefined) this.#held.set(request.to, (held = new Map<string, OpenRequest>()))
    held.set(request.requestId, request)
  }

  #forget(request: OpenRequest): void {
    this.#inboxes.get(request.to)?.delete(request)
    this.#held.get(request.to)?.delete(request.requestId)
  }

  /** The lease of a request has ended. */
  lapse(request: OpenRequest): void {
    this.#release(request, request.hold)
  }

  /** Back into the inbox, in front of those that came later. */
  #release(request: OpenRequest, lapsed: Hold | undefined): void {
    this.#forget(request)
    request.hold = undefined
    request.lapsed = lapsed
    this.#toInbox(request, true)
  }

  inbox(agent: string): Inbox<OpenRequest> {
    let inbox = this.#inboxes.get(agent)
    if (inbox === undefined) this.#inboxes.set(agent, (inbox = new Inbox()))
    return inbox
  }

  held(agent: string): OpenRequest[] {
    return [...(this.#held.get(agent)?.values() ?? [])]
  }

  /** The agents of which requests are, or were, held. */
  holders(): string[] {
    return [...this.#held.keys()]
  }

  #count(more: Partial<Record<keyof Counters, number>>): void {
    for (const [name, n] of Object.entries(more)) this.counters[name as keyof Counters] += n
  }

  #tell(change: Change): void {
    for (const listener of this.#listeners) listener(change)
  }

  snapshot(): Snapshot {
    return {
      through: this.at,
      counters: { ...this.counters },
      turns: [...this.#inboxes].flatMap(([agent, { turns }]) => (turns === 0 ? [] : [[agent, turns] as const])),
      open: [...this.open.values()].map(rowOf),
    }
  }

  load(snapshot: Snapshot): void {
    this.at = snapshot.through
    Object.assign(this.counters, snapshot.counters)
    for (const [agent, turns] of snapshot.turns) this.#inboxes.set(agent, new Inbox(turns))
    for (const row of snapshot.open) {
      const [requestId, traceId, from, to, priority, entry, at, deadline, head, hold, escalation] = row
      const request: OpenRequest = {
        requestId,
        traceId,
        from,
        to,
        priority,
        entry,
        at,
        head,
        deadline: deadline ?? undefined,
        seen: this.#monotonic(),
        hold: undefined,
        lapsed: undefined,
        escalation: escalation ?? undefined,
      }
      this.open.set(requestId, request)
      if (escalation !== null) continue
      if (hold === null) this.inbox(to).add(request)
      else this.#hold(request, hold)
    }
  }
}

function rowOf(open: OpenRequest): OpenRow {
  const { requestId, traceId, from, to, priority, entry, at, deadline, head, escalation } = open
  const hold = open.hold ?? open.lapsed
  const held =
    hold === undefined ? null : { token: hold.token, worker: hold.worker, leaseMs: hold.leaseMs, at: hold.at }
  return [requestId, traceId, from, to, priority, entry, at, deadline ?? null, head, held, escalation ?? null]
}

/** The entry that asks the person, as a name that a person can type. */
export const escalationId = (entry: number) => `e${entry}`
