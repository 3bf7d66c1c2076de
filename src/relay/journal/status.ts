// The status of one request, or of the relay as a whole.

import { checked } from '../../config/index.ts'
import { type RelayContext, iso } from '../context.ts'
import { unknownRequest } from '../request/answers.ts'
import { type Envelope, type HandoffResponse, type Rejection, requestIdSchema } from '../schema.ts'
import type { Limits } from '../settings.ts'
import type { LostDelivery, Progressed } from './events.ts'
import type { Counters } from './open-requests.ts'

/** How far a worker is with a request. */
export interface HandoffProgress {
  readonly requestId: string
  readonly by: string
  readonly text?: string | undefined
  /** 0 to 100. */
  readonly percent?: number | undefined
}

/** A question that a worker asks back, for the agent that made the request. */
export interface HandoffQuestion {
  readonly requestId: string
  readonly question: string
  readonly by: string
  readonly text: string
}

export interface RequestStatus {
  readonly requestId: string
  readonly status: 'pending' | 'claimed' | 'escalated' | 'resolved' | 'partial' | 'failed' | 'rejected'
  readonly envelope: Envelope
  readonly claim?: { readonly worker: string; readonly until: string } | undefined
  readonly progress?: HandoffProgress | undefined
  /** What the worker wants to know from the agent that asked, while it waits for that. */
  readonly question?: HandoffQuestion | undefined
  readonly escalation?: string | undefined
  readonly response?: HandoffResponse | undefined
  readonly rejection?: Rejection | undefined
  /** The workers that died with it, which makes it a dead letter. */
  readonly dead?: readonly LostDelivery[] | undefined
}

export interface RelayStatus {
  readonly pending: number
  readonly claimed: number
  readonly escalated: number
  readonly deadLetters: number
  readonly counters: Counters
  /** Pending and claimed requests of each agent that has any. */
  readonly agents: Readonly<Record<string, { readonly pending: number; readonly claimed: number }>>
  readonly limits: Limits
  /** Entries of the tape that were damaged and could not be kept when it was repaired. */
  readonly lost: readonly number[]
}

export async function requestStatus(context: RelayContext, requestId: string): Promise<RequestStatus> {
  const { journal } = context
  checked(requestIdSchema, requestId, 'requestId')
  const open = (await journal.current()).byId.get(requestId)
  const envelope = open && (await journal.envelopeOf(open))
  if (open !== undefined && envelope !== undefined) {
    const { hold, escalation } = open
    if (escalation !== undefined) return { requestId, status: 'escalated', envelope, escalation }
    if (hold === undefined) return { requestId, status: 'pending', envelope }
    const claim = { worker: hold.worker, until: iso(hold.at + hold.leaseMs) }
    const progress = await progressOf(context, requestId)
    const question = await questionOf(context, requestId)
    return { requestId, status: 'claimed', envelope, claim, progress, question }
  }
  const event = (await journal.newestOf(requestId))?.event
  if (event?.type !== 'answered') throw await unknownRequest(context, requestId)
  const { response, rejection, escalation, dead } = await journal.whole(event)
  return {
    requestId,
    status: rejection === undefined ? response.status : 'rejected',
    envelope: await journal.envelope(event.request),
    response,
    rejection,
    escalation,
    ...(dead === undefined ? {} : { dead }),
  }
}

async function progressOf({ journal }: RelayContext, requestId: string): Promise<HandoffProgress | undefined> {
  const newest = await journal.newest('progress', requestId)
  return newest && asProgress(newest.event as Progressed)
}

export function asProgress({ requestId, by, text, percent }: Progressed): HandoffProgress {
  return { requestId, by, ...(text === undefined ? {} : { text }), ...(percent === undefined ? {} : { percent }) }
}

/** The question that waits for a reply. */
async function questionOf({ journal }: RelayContext, requestId: string): Promise<HandoffQuestion | undefined> {
  const event = (await journal.newest('question', requestId))?.event
  if (event?.type !== 'question') return undefined
  const { question, by, text } = event
  return { requestId, question, by, text }
}

export async function relayStatus({ journal, settings }: RelayContext): Promise<RelayStatus> {
  const openRequests = await journal.current()
  const agents = new Map<string, { pending: number; claimed: number }>()
  const sums = { pending: 0, claimed: 0, escalated: 0 }
  for (const { to, hold, escalation } of openRequests.byId.values()) {
    if (escalation !== undefined) {
      sums.escalated++
      continue
    }
    const state = hold === undefined ? 'pending' : 'claimed'
    sums[state]++
    const agent = agents.get(to) ?? { pending: 0, claimed: 0 }
    agent[state]++
    agents.set(to, agent)
  }
  return {
    ...sums,
    deadLetters: openRequests.deadLetters.size,
    counters: { ...openRequests.counters },
    agents: Object.fromEntries(agents),
    limits: settings.limits,
    lost: await journal.lost(),
  }
}
