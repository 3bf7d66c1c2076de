// Where things are: one request, or the relay as a whole.

import { NotFoundError } from '../errors.ts'
import { checked } from '../config/checked.ts'
import { type Desk, iso } from './desk.ts'
import type { RelayStatus, RequestStatus } from './outcome.ts'
import { requestIdSchema } from './schema.ts'

export async function requestStatus({ journal }: Desk, requestId: string): Promise<RequestStatus> {
  checked(requestIdSchema, requestId, 'requestId')
  const open = (await journal.current()).open.get(requestId)
  if (open !== undefined) {
    const envelope = await journal.envelope(open.entry)
    const { hold, escalation } = open
    if (escalation !== undefined) return { requestId, state: 'escalated', envelope, escalation }
    if (hold === undefined) return { requestId, state: 'pending', envelope }
    const claim = { worker: hold.worker, until: iso(hold.at + hold.leaseMs) }
    return { requestId, state: 'claimed', envelope, claim }
  }
  const fact = (await journal.newestOf(requestId))?.fact
  if (fact?.type !== 'answered') {
    throw new NotFoundError(`There is no request ${requestId} in this workspace`, { hint: 'See "baton relay status".' })
  }
  const { response, rejection, escalation } = fact
  const envelope = await journal.envelope(fact.request)
  const state = rejection === undefined ? 'answered' : 'rejected'
  return { requestId, state, envelope, response, rejection, escalation }
}

export async function relayStatus({ journal }: Desk): Promise<RelayStatus> {
  const board = await journal.current()
  const agents = new Map<string, { pending: number; claimed: number }>()
  const sums = { pending: 0, claimed: 0, escalated: 0 }
  for (const { to, hold, escalation } of board.open.values()) {
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
  return { ...sums, counters: { ...board.counters }, agents: Object.fromEntries(agents) }
}
