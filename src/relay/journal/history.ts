// The history of the relay, newest first. The history of one trace is found by walking back its chain, so it costs no more than
// the trace holds.

import type { Entry, Json } from '../../store/index.ts'
import { escalationId, type OpenRequest } from './open-requests.ts'
import type { RelayContext } from '../context.ts'
import { type LimitUse, limitUse } from '../request/trace-rules.ts'
import { type RelayEvent, eventIn, holdOn, type Taken, traceKey } from './events.ts'
import { type Envelope, type HandoffResponse, human, type Rejection } from '../schema.ts'

export interface HandoffHistoryQuery {
  readonly traceId?: string | undefined
  /** ISO 8601 or milliseconds; older ones are left out. */
  readonly since?: string | number
  /** At most this many of the newest events. */
  readonly limit?: number
}

/** One event of the history. */
export type HandoffHistoryRow = {
  readonly entry: number
  readonly date: string
  /** Undefined where the entry does not name it: a claim, for example, names only its request. */
  readonly traceId?: string | undefined
  /** Empty when a trace got another owner without a request. */
  readonly requestId: string
} & (
  | {
      readonly type: 'requested'
      readonly envelope: Envelope
      /** How much of the limits its trace had used by then, with this request. */
      readonly used: LimitUse
    }
  | {
      readonly type: 'answered'
      readonly response: HandoffResponse
      readonly durationMs: number
      readonly rejection?: Rejection | undefined
      readonly timedOut?: boolean | undefined
    }
  | { readonly type: 'escalated'; readonly escalation: string }
  | { readonly type: 'claimed' | 'released'; readonly worker: string }
  | { readonly type: 'late'; readonly response: HandoffResponse }
  | { readonly type: 'resumed' | 'retried' | 'dropped'; readonly by: string }
  | {
      readonly type: 'progress'
      readonly by: string
      readonly text?: string | undefined
      readonly percent?: number | undefined
    }
  | { readonly type: 'question'; readonly by: string; readonly text: string }
  | {
      readonly type: 'reply'
      readonly by: string
      readonly answer?: Json | undefined
      readonly refused?: string | undefined
    }
  | { readonly type: 'recovered'; readonly action: string; readonly reason: string }
  | { readonly type: 'owner'; readonly owner: string; readonly reason: string }
)

export async function* history(
  context: RelayContext,
  traceId: string | undefined,
  query: HandoffHistoryQuery,
): AsyncGenerator<HandoffHistoryRow> {
  const { since = 0, limit = Number.MAX_SAFE_INTEGER } = query
  const oldest = typeof since === 'number' ? since : Date.parse(since)
  const answered = new Set<string>()
  let left = limit
  const all = () => context.journal.read({ reverse: true, archived: true })
  /** The requests of the trace: a worker may have taken those of others with the same entry. */
  const own = traceId === undefined ? undefined : new Set<string>()
  for await (const entry of own === undefined ? all() : walk(context, traceId!, own)) {
    if (left <= 0 || Date.parse(entry.date) < oldest) return
    for (const row of await rowsOf(context, entry, answered)) {
      if (row.type === 'claimed' && own?.has(row.requestId) === false) continue
      if (row.type === 'answered') answered.add(row.requestId)
      if (left-- > 0) yield row
    }
  }
}

/** Every event from now on. */
export async function* watchHistory(context: RelayContext, signal: AbortSignal): AsyncGenerator<HandoffHistoryRow> {
  const { journal } = context
  const { at } = await journal.current()
  for await (const entry of journal.watch(at, signal)) yield* (await rowsOf(context, entry)).reverse()
}

const subjects = ['request', 'late', 'resumed', 'recovered', 'progress', 'question', 'dropped']

/** The entries of a trace, the newest of each of its requests, and who took them last. Collects the ids of the requests. */
async function* walk({ journal }: RelayContext, traceId: string, requests: Set<string>): AsyncGenerator<Entry> {
  const found = new Map<number, Entry>()
  const claims = new Set<number>()
  const unanswered = new Set<string>()
  const add = (entry: Entry) => {
    found.set(entry.id, entry)
    const event = eventIn(entry)
    if (event?.type === 'requested') {
      const { requestId, request } = event.envelope
      requests.add(requestId)
      if (request.handoffTo !== human) unanswered.add(requestId)
    }
    return event
  }
  for (let entry = await journal.latest(traceKey(traceId)); entry !== undefined;) {
    const event = add(entry)
    const prev: number = event !== undefined && 'prev' in event ? event.prev : 0
    entry = prev > 0 ? await journal.entry(prev) : undefined
  }
  for (const id of (await journal.archivedTrace(traceId))?.chain ?? []) add(await journal.entry(id))
  for (const requestId of requests) {
    for (const about of subjects) {
      const newest = await journal.newest(about, requestId)
      if (newest !== undefined) found.set(newest.entry.id, newest.entry)
      if (newest?.event.type !== 'answered') continue
      unanswered.delete(requestId)
      if (newest.event.claim !== undefined) claims.add(newest.event.claim)
    }
  }
  // Only what is still open has to be known for this.
  const { byId } = unanswered.size === 0 ? journal.openRequests : await journal.current()
  for (const requestId of unanswered) {
    const open = byId.get(requestId)
    const claim = (open?.hold ?? open?.lapsed)?.entry
    if (claim !== undefined) claims.add(claim)
  }
  for (const id of claims) if (!found.has(id)) found.set(id, await journal.entry(id))
  yield* [...found.values()].sort((a, b) => b.id - a.id)
}

/** The rows of an entry, the newer one first. `answeredLater` are the requests with a newer answer, where those are known. */
async function rowsOf(
  { journal }: RelayContext,
  entry: Entry,
  answeredLater?: ReadonlySet<string>,
): Promise<HandoffHistoryRow[]> {
  const event = eventIn(entry)
  if (event === undefined || event.type === 'extended' || event.type === 'resuming') return []
  if (event.type === 'taken') {
    const claimed = { entry: entry.id, date: entry.date, type: 'claimed', worker: event.hold.worker } as const
    const { byId } = await journal.upTo(entry.id)
    const held = event.requestIds.filter((id) => !isPassedOver(byId.get(id), id, event, answeredLater))
    return held.map((requestId) => ({ ...claimed, requestId })).reverse()
  }
  const about = { entry: entry.id, date: entry.date, ...idsOf(event) }
  switch (event.type) {
    case 'requested': {
      const { envelope, rejection, trace } = event
      const used = limitUse(trace, envelope.request)
      const requested = { ...about, type: 'requested', envelope, used } as const
      // One entry is two events: the request, and that a person is asked.
      if (envelope.request.handoffTo !== human || rejection !== undefined) return [requested]
      return [{ ...about, type: 'escalated', escalation: escalationId(entry.id) }, requested]
    }
    case 'answered': {
      const { response, durationMs, rejection, timedOut } = await journal.whole(event)
      return [{ ...about, type: 'answered', response, durationMs, rejection, timedOut }]
    }
    case 'escalated':
      return [{ ...about, type: 'escalated', escalation: escalationId(entry.id) }]
    case 'claimed':
      return [{ ...about, type: 'claimed', worker: event.hold.worker }]
    case 'released':
      return [{ ...about, type: 'released', worker: event.worker }]
    case 'late':
      return [{ ...about, type: 'late', response: (await journal.whole(event)).response }]
    case 'retried':
    case 'dropped':
    case 'resumed':
      return [{ ...about, type: event.type, by: event.by }]
    case 'progress':
      return [{ ...about, type: 'progress', by: event.by, text: event.text, percent: event.percent }]
    case 'question':
      return [{ ...about, type: 'question', by: event.by, text: event.text }]
    case 'reply':
      return [{ ...about, type: 'reply', by: event.by, answer: event.answer, refused: event.refused }]
    case 'recovered':
      return [{ ...about, type: 'recovered', action: event.action, reason: event.reason }]
    case 'owner':
      return [{ ...about, type: 'owner', owner: event.owner, reason: event.reason }]
  }
}

/** Whether a request that a worker meant to take was held by another, or had ended, before the entry was written. */
function isPassedOver(
  open: OpenRequest | undefined,
  requestId: string,
  taken: Taken,
  answeredLater: ReadonlySet<string> | undefined,
): boolean {
  if (open === undefined) return answeredLater !== undefined && !answeredLater.has(requestId)
  const token = (open.hold ?? open.lapsed)?.token
  const isOthers = token !== undefined && token !== holdOn(taken, requestId).token
  return isOthers && open.lost.every(({ worker }) => worker !== taken.hold.worker)
}

function idsOf(event: Exclude<RelayEvent, Taken>): { traceId?: string; requestId: string } {
  if (event.type === 'requested') {
    return { traceId: event.envelope.request.traceId, requestId: event.envelope.requestId }
  }
  const requestId = 'requestId' in event ? event.requestId : ''
  return 'traceId' in event ? { traceId: event.traceId, requestId } : { requestId }
}
