// The open requests with their holds and escalations, the dead letters, and the counters, folded from the tape. Answered requests
// are dropped, so the size follows the open work, not the history.

import { Inbox } from '../work/inbox.ts'
import type { Beginning, RelayClock } from '../clock.ts'
import type { BlobRef, Entry } from '../../store/index.ts'
import { Activity, type ActivityRows } from './activity.ts'
import {
  type Answered,
  type Escalated,
  eventIn,
  type Hold,
  type LostDelivery,
  type Progressed,
  type Questioned,
  type RelayEvent,
  type Replied,
  type Requested,
  type Retried,
  holdOn,
  type Taken,
} from './events.ts'
import { type Envelope, human, type Priority } from '../schema.ts'

/** Counts since the relay's first request, over all processes. */
export interface Counters {
  readonly requests: number
  readonly resolved: number
  readonly partial: number
  /** Includes the rejected ones. */
  readonly failed: number
  readonly escalated: number
  readonly rejected: number
  readonly circularBlocked: number
  readonly timedOut: number
  readonly late: number
}

/** What is known of any request that matters. */
interface RequestFacts {
  readonly requestId: string
  readonly traceId: string
  readonly from: string
  readonly to: string
  readonly priority: Priority
  /** The entry of the request itself. */
  readonly entry: number
}

/** A hold as this process knows it. */
export interface SeenHold extends Hold {
  /** Since when this process knows it, by a clock that never jumps; since it began, if that was on this machine. */
  readonly seen: number
  /** The entry by which its worker took the request; undefined where the request came with it. */
  readonly entry: number | undefined
}

/** It begins when it is accepted. */
export interface OpenRequest extends RequestFacts, Beginning {
  readonly deadline: number | undefined
  /** Since when this process knows it, by a clock that never jumps; since it began, if that was on this machine. */
  readonly seen: number
  /** What the next entry under the request's key expects, see `expected`. */
  head: number
  hold: SeenHold | undefined
  /** A hold whose lease has ended; it still counts for as long as nobody else takes the request. */
  lapsed: SeenHold | undefined
  escalation: string | undefined
  /** The workers that took it and did not come back. */
  lost: readonly LostDelivery[]
  /** The envelope, while it is in memory; `Journal.envelopeOf` reads it otherwise. */
  envelope: Envelope | undefined
}

/** A request that ended because workers died with it; it is kept until somebody retries or drops it. */
export interface DeadLetter extends RequestFacts {
  /** When it was given up, in milliseconds. */
  readonly at: number
  readonly lost: readonly LostDelivery[]
}

/** Where the tape begins after an archive. */
export interface SegmentStart {
  /** The last entry of the archive. */
  readonly through: number
  /** The last entry that was read when closed traces were separated from open ones; those between came while the archive was made. */
  readonly accounted: number
  /** The traces that are not closed, or were to be kept, as of that entry. */
  readonly carried?: BlobRef
  /** How many requests had ended by then. */
  readonly requests: number
  /** When something last happened in the oldest closed trace that was kept, in milliseconds; else when the archive was made. */
  readonly oldest: number
}

/** What listeners are called with. */
export type RequestChange =
  | { readonly type: 'waiting'; readonly request: OpenRequest }
  | { readonly type: 'escalated'; readonly requestId: string; readonly escalation: string }
  | { readonly type: 'answered'; readonly requestId: string; readonly answer: Answered; readonly entry: Entry }
  | { readonly type: 'progress'; readonly requestId: string; readonly progress: Progressed }
  | { readonly type: 'question'; readonly requestId: string; readonly question: Questioned }
  /** Everything was read again, after a repair or an archive: a request that is no longer open has ended meanwhile. */
  | { readonly type: 'reloaded' }
  | { readonly type: 'reply'; readonly requestId: string; readonly reply: Replied }

export interface Snapshot {
  /** The last entry that it takes into account. */
  readonly through: number
  readonly counters: Counters
  readonly turns: readonly (readonly [agent: string, turns: number])[]
  readonly open: readonly SnapshotRow[]
  readonly dead?: readonly DeadLetter[]
  readonly activity?: ActivityRows
  readonly segment?: SegmentStart
}

type SnapshotRow = readonly [
  requestId: string,
  traceId: string,
  from: string,
  to: string,
  priority: Priority,
  entry: number,
  at: number,
  deadline: number | null,
  head: number,
  hold: (Hold & { readonly entry?: number | undefined }) | null,
  escalation: string | null,
  lost?: readonly LostDelivery[],
  steady?: Beginning['steady'] | null,
]

/** So many entries may wait for those before them; any others are read again. */
const mostAhead = 1_000
/** Beyond so many open requests, envelopes are read when they are needed. */
const mostEnvelopes = 10_000

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

export class OpenRequests {
  /** The last entry that was folded in. */
  at = 0
  readonly counters: Record<keyof Counters, number> = { ...noCounters }
  readonly byId = new Map<string, OpenRequest>()
  readonly deadLetters = new Map<string, DeadLetter>()
  readonly activity = new Activity()
  segment: SegmentStart | undefined
  /** The newest snapshot on the tape, of whichever process: its entry, and the last entry that it takes into account. */
  saved = { entry: 0, through: 0 }
  /** The last entry of the newest archive whose entries are all folded in; 0 without one. */
  archived = 0
  /** The last entry of an archive whose snapshot, which follows it, was damaged and lost; 0 when none was. */
  lostStart = 0
  readonly #inboxes = new Map<string, Inbox<OpenRequest>>()
  /** By agent, the requests that somebody holds. */
  readonly #held = new Map<string, Map<string, OpenRequest>>()
  /** By agent, when each of its workers last claimed something. */
  readonly #workers = new Map<string, Map<string, number>>()
  readonly #listeners = new Set<(change: RequestChange) => void>()
  /** By id, entries before which others are still to be folded in. */
  readonly #ahead = new Map<number, Entry>()
  readonly #clock: Pick<RelayClock, 'monotonic' | 'machine'>

  constructor(clock: Pick<RelayClock, 'monotonic' | 'machine'>) {
    this.#clock = clock
  }

  /** Since when this process could have known of something, had it read the tape all the time. */
  #since(steady: Beginning['steady']): number {
    const now = this.#clock.monotonic()
    return steady?.machine === this.#clock.machine ? Math.min(now, steady.ms) : now
  }

  /** Calls `listener` for every change from now on, until the returned function is called. */
  listen(listener: (change: RequestChange) => void): () => void {
    this.#listeners.add(listener)
    return () => void this.#listeners.delete(listener)
  }

  /** Folds in the next entry; an earlier one, or one that leaves a gap, is ignored. */
  apply(entry: Entry): void {
    if (entry.id !== this.at + 1) return
    this.#apply(entry)
    for (let next = this.#ahead.get(this.at + 1); next !== undefined; next = this.#ahead.get(this.at + 1)) {
      this.#ahead.delete(next.id)
      this.#apply(next)
    }
  }

  /** As `apply`; an entry that leaves a gap is folded in as soon as those before it are, without being read again. */
  applyInTurn(entry: Entry): void {
    if (entry.id <= this.at + 1) return this.apply(entry)
    if (this.#ahead.size >= mostAhead) this.#ahead.clear()
    this.#ahead.set(entry.id, entry)
  }

  #apply(entry: Entry): void {
    const event = eventIn(entry)
    if (event !== undefined) this.#fold(event, entry)
    else if (entry.kind === 'anchor') this.#anchored(entry)
    else if (entry.id === this.lostStart + 1 && this.lostStart > 0) this.#begin(this.#lostSegment(entry))
    this.at = entry.id
  }

  /** Continues with that entry, because those before it are lost. */
  skipTo(id: number): void {
    if (id <= this.at + 1) return
    this.at = id - 1
    this.#ahead.clear()
  }

  #anchored({ id, payload }: Entry): void {
    const { through, segment } = (payload as { state?: { through?: number; segment?: SegmentStart } }).state ?? {}
    if (through !== undefined) this.saved = { entry: id, through }
    if (segment !== undefined && segment.through === id - 1) this.#begin(segment)
  }

  /** What was carried into the segment before still counts; everything since is in the archive. */
  #lostSegment({ date }: Entry): SegmentStart {
    const { accounted = 0, requests = 0, carried } = this.segment ?? {}
    const start = { through: this.lostStart, accounted, requests, oldest: Date.parse(date) }
    return carried === undefined ? start : { ...start, carried }
  }

  #begin(segment: SegmentStart): void {
    this.segment = segment
    this.archivedTo(segment.through)
  }

  /** Everything up to that entry is in an archive and folded in: behind it, no key has an entry that is not known. */
  archivedTo(id: number): void {
    if (id > this.at) return
    this.archived = Math.max(this.archived, id)
    for (const request of this.byId.values()) if (Math.abs(request.head) <= id) request.head = -id
  }

  #fold(event: RelayEvent, entry: Entry): void {
    switch (event.type) {
      case 'requested':
        return this.#requested(event, entry)
      case 'taken':
        return this.#taken(event, entry)
      case 'answered':
        return this.#answered(event, entry)
      case 'escalated':
        return this.#escalated(event, entry)
      case 'retried':
        return this.#retried(event, entry)
      case 'dropped':
        return void this.deadLetters.delete(event.requestId)
      case 'late':
        return void this.counters.late++
      case 'progress':
        return this.#emit({ type: 'progress', requestId: event.requestId, progress: event })
      case 'question':
        return this.#emit({ type: 'question', requestId: event.requestId, question: event })
      case 'reply':
        return this.#emit({ type: 'reply', requestId: event.requestId, reply: event })
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
    const request = this.byId.get(event.requestId)
    if (request === undefined) return
    request.head = entry.id
    if (event.type === 'claimed') {
      this.#tookTurn(event)
      const before = request.hold ?? request.lapsed
      if (before !== undefined) request.lost = [...request.lost, { worker: before.worker, at: before.at }]
      this.#hold(request, event.hold, entry.id)
    } else if (event.type === 'extended') this.#hold(request, event.hold, (request.hold ?? request.lapsed)?.entry)
    else this.#release(request, undefined)
  }

  #taken(event: Taken, entry: Entry): void {
    for (const requestId of event.requestIds) {
      const request = this.byId.get(requestId)
      if (request === undefined || !isFree(request)) continue
      this.#tookTurn(event)
      this.#hold(request, holdOn(event, requestId), entry.id)
    }
  }

  #tookTurn({ agent, hold }: { agent: string; hold: Hold }): void {
    this.inbox(agent).tookTurn()
    this.#workers.set(agent, this.#workersOf(agent).set(hold.worker, this.#clock.monotonic()))
  }

  #requested({ envelope, steady, hold, rejection }: Requested, entry: Entry): void {
    this.counters.requests++
    if (rejection !== undefined) return
    const { requestId, request: body, acceptedAt, deadline } = envelope
    const request = this.#open({
      requestId,
      traceId: body.traceId,
      from: body.sourceAgent,
      to: body.handoffTo,
      priority: body.priority,
      entry: entry.id,
      at: Date.parse(acceptedAt),
      steady,
      deadline: deadline === undefined ? undefined : Date.parse(deadline),
      envelope: this.byId.size < mostEnvelopes ? envelope : undefined,
    })
    if (body.handoffTo === human) this.#toPerson(request, escalationId(entry.id), entry.date)
    else if (hold === undefined) this.#toInbox(request)
    else this.#hold(request, hold, undefined)
  }

  /** Keeps a request that begins to be open, or is open again. */
  #open(about: Omit<OpenRequest, 'seen' | 'head' | 'hold' | 'lapsed' | 'escalation' | 'lost'>): OpenRequest {
    const request: OpenRequest = {
      ...about,
      seen: this.#since(about.steady),
      head: -about.entry,
      hold: undefined,
      lapsed: undefined,
      escalation: undefined,
      lost: [],
    }
    this.byId.set(request.requestId, request)
    return request
  }

  #retried(event: Retried, entry: Entry): void {
    const { requestId, traceId, request: of, from, to, priority, acceptedAt, steady, deadline } = event
    this.deadLetters.delete(requestId)
    const about = { requestId, traceId, from, to, priority, entry: of, envelope: undefined }
    const request = this.#open({ ...about, at: Date.parse(acceptedAt), steady, deadline: Date.parse(deadline) })
    request.head = entry.id
    this.#toInbox(request)
  }

  #answered(answer: Answered, entry: Entry): void {
    const { requestId, response, rejection, timedOut, dead, durationMs } = answer
    const at = Date.parse(entry.date)
    if (response.status === 'failed') this.activity.add('failed', at)
    if (rejection === 'circular') this.activity.add('circular', at)
    // People take long, and refusals take no time: neither says anything about the agents.
    if (rejection === undefined && response.respondingAgent !== human) this.activity.add('duration', at, durationMs)
    this.counters[response.status]++
    if (rejection !== undefined) this.counters.rejected++
    if (rejection === 'circular') this.counters.circularBlocked++
    if (timedOut !== undefined) this.counters.timedOut++
    const request = this.byId.get(requestId)
    if (request !== undefined) {
      this.drop(request)
      const { traceId, from, to, priority, entry: of } = request
      if (dead !== undefined)
        this.deadLetters.set(requestId, { requestId, traceId, from, to, priority, entry: of, at, lost: dead })
    }
    this.#emit({ type: 'answered', requestId, answer, entry })
  }

  #escalated({ requestId }: Escalated, entry: Entry): void {
    const request = this.byId.get(requestId)
    if (request === undefined) return
    request.head = entry.id
    this.#forget(request)
    request.hold = undefined
    request.lapsed = undefined
    this.#toPerson(request, escalationId(entry.id), entry.date)
  }

  #toPerson(request: OpenRequest, escalation: string, date: string): void {
    request.escalation = escalation
    this.counters.escalated++
    this.activity.add('escalated', Date.parse(date))
    this.#emit({ type: 'escalated', requestId: request.requestId, escalation })
  }

  #toInbox(request: OpenRequest, returned = false): void {
    this.inbox(request.to).add(request, returned)
    this.#emit({ type: 'waiting', request })
  }

  #hold(request: OpenRequest, hold: Hold, entry: number | undefined): void {
    this.#forget(request)
    request.hold = { ...hold, entry, seen: this.#since(hold.steady) }
    request.lapsed = undefined
    let held = this.#held.get(request.to)
    if (held === undefined) this.#held.set(request.to, (held = new Map<string, OpenRequest>()))
    held.set(request.requestId, request)
  }

  /** Drops a request that is over, or whose entry was lost. */
  drop(request: OpenRequest): void {
    this.#forget(request)
    this.byId.delete(request.requestId)
  }

  #forget(request: OpenRequest): void {
    this.#inboxes.get(request.to)?.delete(request)
    this.#held.get(request.to)?.delete(request.requestId)
  }

  /** Ends the hold on a request whose lease is over. */
  lapse(request: OpenRequest): void {
    this.#release(request, request.hold)
  }

  /** Puts a request back into its inbox, before those that came later. */
  #release(request: OpenRequest, lapsed: SeenHold | undefined): void {
    this.#forget(request)
    request.hold = undefined
    request.lapsed = lapsed
    this.#toInbox(request, true)
  }

  /** Reports to listeners that they may have missed something. */
  reloaded(): void {
    this.#emit({ type: 'reloaded' })
  }

  inbox(agent: string): Inbox<OpenRequest> {
    let inbox = this.#inboxes.get(agent)
    if (inbox === undefined) this.#inboxes.set(agent, (inbox = new Inbox()))
    return inbox
  }

  held(agent: string): OpenRequest[] {
    return [...(this.#held.get(agent)?.values() ?? [])]
  }

  #workersOf(agent: string): Map<string, number> {
    return this.#workers.get(agent) ?? new Map<string, number>()
  }

  /** The workers of an agent that have claimed something in the last so many milliseconds. */
  workers(agent: string, withinMs: number): string[] {
    const known = this.#workersOf(agent)
    const oldest = this.#clock.monotonic() - withinMs
    for (const [worker, seen] of known) if (seen < oldest) known.delete(worker)
    return [...known.keys()]
  }

  /** The agents some of whose requests are, or were, held. */
  holders(): string[] {
    return [...this.#held.keys()]
  }

  #emit(change: RequestChange): void {
    for (const listener of this.#listeners) listener(change)
  }

  snapshot(now: number): Snapshot {
    return {
      through: this.at,
      counters: { ...this.counters },
      turns: [...this.#inboxes].flatMap(([agent, { turns }]) => (turns === 0 ? [] : [[agent, turns] as const])),
      open: [...this.byId.values()].map(rowOf),
      dead: [...this.deadLetters.values()],
      activity: this.activity.rows(now),
      ...(this.segment === undefined ? {} : { segment: this.segment }),
    }
  }

  /** Forgets everything, to be loaded again. */
  clear(): void {
    this.at = 0
    this.saved = { entry: 0, through: 0 }
    this.#ahead.clear()
    this.archived = 0
    this.segment = undefined
    this.byId.clear()
    this.deadLetters.clear()
    this.#inboxes.clear()
    this.#held.clear()
    Object.assign(this.counters, noCounters)
    this.activity.load({})
  }

  /** The snapshot in that entry; `segment` is given where it opens one. */
  load(snapshot: Snapshot, entry: number, segment: SegmentStart | undefined): void {
    this.at = snapshot.through
    this.saved = { entry, through: snapshot.through }
    Object.assign(this.counters, snapshot.counters)
    for (const [agent, turns] of snapshot.turns) this.#inboxes.set(agent, new Inbox(turns))
    for (const letter of snapshot.dead ?? []) this.deadLetters.set(letter.requestId, letter)
    this.activity.load(snapshot.activity ?? {})
    this.segment = segment ?? snapshot.segment
    this.archived = snapshot.segment?.through ?? 0
    for (const row of snapshot.open) {
      const [requestId, traceId, from, to, priority, entry, at, deadline, head, hold, escalation, lost = [], steady] =
        row
      const about = {
        requestId,
        traceId,
        from,
        to,
        priority,
        entry,
        at,
        steady: steady ?? undefined,
        envelope: undefined,
      }
      const request = this.#open({ ...about, deadline: deadline ?? undefined })
      Object.assign(request, { lost, escalation: escalation ?? undefined })
      // Behind the archive before the snapshot.
      request.head = head > 0 ? head : -Math.max(entry, snapshot.segment?.through ?? 0)
      if (escalation !== null) continue
      if (hold === null) this.inbox(to).add(request)
      else this.#hold(request, hold, hold.entry)
    }
  }
}

/** Whether nobody has taken it, or its worker has given it back. Processes do not see at the same time that a lease is over. */
export function isFree({ hold, lapsed, escalation }: OpenRequest): boolean {
  return hold === undefined && lapsed === undefined && escalation === undefined
}

function rowOf(open: OpenRequest): SnapshotRow {
  const { requestId, traceId, from, to, priority, entry, at, steady, deadline, head, escalation, lost } = open
  const row = [requestId, traceId, from, to, priority, entry, at, deadline ?? null, head] as const
  return [...row, heldBy(open.hold ?? open.lapsed), escalation ?? null, lost, steady ?? null]
}

function heldBy(hold: SeenHold | undefined): SnapshotRow[9] {
  if (hold === undefined) return null
  const { token, worker, leaseMs, at, steady, entry } = hold
  return { token, worker, leaseMs, at, steady, entry }
}

/** The id of an escalation: the entry that asks the person, as a name that is easy to type. */
export const escalationId = (entry: number) => `e${entry}`
