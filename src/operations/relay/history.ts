// The relay as a whole: what waits, what has happened, how requests have ended and what should worry somebody; and its traces, the
// runs of a pipeline that requests belong to.

import * as z from 'zod'
import { NotFoundError } from '../../errors.ts'
import { limitsSchema, openAlerts, requestRow } from '../../relay/index.ts'
import { operation } from '../operation.ts'
import { anyObject, agent } from './shapes.ts'

export const relayStatus = operation('relay.status', 'read', 'GET /relay', {
  summary: 'The relay as a whole: what waits, for whom, and how requests have ended so far.',
  input: z.object({}),
  output: z.looseObject({
    pending: z.int(),
    claimed: z.int(),
    escalated: z.int(),
    deadLetters: z.int(),
    counters: z.record(z.string(), z.int()),
    agents: z.record(z.string(), z.object({ pending: z.int(), claimed: z.int() })),
    limits: limitsSchema.describe('As they are configured.'),
  }),
  async run(workspace) {
    const status = await (await workspace.relay()).status()
    return { ...status, counters: { ...status.counters } }
  },
})

const recentRequest = z.object({
  requestId: z.string(),
  traceId: z.string(),
  from: z.string(),
  to: z.string(),
  priority: z.string(),
  reason: z.string(),
  summary: z.string(),
  date: z.string().describe('When it was made.'),
  entry: z.int().describe('Of the tape relay/handoffs.'),
  status: z.enum(['open', 'claimed', 'escalated', 'resolved', 'partial', 'failed', 'rejected']),
  used: z
    .object({ perItem: z.int(), perPipeline: z.int(), people: z.int() })
    .describe('How much of the limits its trace had used by then, with this request.'),
  worker: z.string().optional().describe('Who works on it, or did so last.'),
  durationMs: z.number().optional(),
  why: z.string().optional().describe('Why it failed or was rejected.'),
})

type RecentRequest = z.output<typeof recentRequest>

export const relayRecent = operation('relay.recent', 'read', 'GET /relay/recent', {
  summary: 'The newest requests of the relay, newest first: who asked whom for what, and how each ended.',
  input: z.object({ limit: z.int().min(1).max(1000).default(100) }),
  output: z.object({ requests: z.array(recentRequest) }),
  async run(workspace, { limit }) {
    const requests: RecentRequest[] = []
    /** What the newest event of a request says of it; its beginning comes later, since the newest come first. */
    const ends = new Map<string, Pick<RecentRequest, 'status' | 'worker' | 'durationMs' | 'why'>>()
    for await (const event of (await workspace.relay()).history({ limit: limit * 8 })) {
      const { requestId } = event
      if (event.type === 'answered' && !ends.has(requestId)) {
        const { response, rejection, durationMs } = event
        const why = response.failureReason ?? rejection
        ends.set(requestId, { status: rejection === undefined ? response.status : 'rejected', durationMs, why })
      } else if (event.type === 'escalated' && !ends.has(requestId)) ends.set(requestId, { status: 'escalated' })
      else if (event.type === 'claimed' && !ends.has(requestId))
        ends.set(requestId, { status: 'claimed', worker: event.worker })
      else if (event.type === 'released' && !ends.has(requestId)) ends.set(requestId, { status: 'open' })
      else if (event.type === 'requested') {
        const { request } = event.envelope
        const end = ends.get(requestId) ?? { status: 'open' as const }
        requests.push({
          requestId,
          ...requestRow(request),
          date: event.date,
          entry: event.entry,
          used: event.used,
          ...end,
        })
        if (requests.length === limit) break
      }
    }
    return { requests }
  },
})

export const relayHistory = operation('relay.history', 'read', 'GET /relay/history', {
  summary: 'What happened on the relay, newest first; of one trace or of all.',
  input: z.object({
    traceId: z.string().max(200).optional().describe('The id of a trace; its beginning is enough.'),
    since: z.string().max(40).optional(),
    limit: z.int().min(1).max(1000).default(100),
  }),
  output: z.object({ events: z.array(anyObject) }),
  async run(workspace, { traceId: given, ...query }) {
    const relay = await workspace.relay()
    const traceId = given === undefined ? undefined : await relay.wholeId('trace', given)
    const events = []
    for await (const row of relay.history({ ...query, traceId })) events.push({ ...row })
    if (events.length === 0 && traceId !== undefined && query.since === undefined) {
      throw new NotFoundError(`Nothing has happened in a trace ${traceId}`, {
        hint: '"baton relay history --json" has the ids of traces; "baton relay status ID" shows a request.',
      })
    }
    return { events }
  },
})

export const relayMetrics = operation('relay.metrics', 'read', 'GET /relay/metrics', {
  summary: 'How requests have ended so far, in numbers.',
  input: z.object({}),
  output: anyObject,
  async run(workspace) {
    return { ...(await (await workspace.relay()).counters()) }
  },
})

const alert = z.looseObject({
  name: z.string(),
  text: z.string(),
  on: z.boolean(),
  since: z.string().optional(),
  value: z.number(),
})

export const relayAlerts = operation('relay.alerts', 'read', 'GET /relay/alerts', {
  summary: 'What should worry somebody about the relay, with its figures.',
  input: z.object({}),
  output: z.object({ alerts: z.array(alert) }),
  async run(workspace, _input, { caller }) {
    const { relay, notifier } = await workspace.openedRelay()
    // On the command line, the configured channels are notified once, when an alert begins; a caller who only reads notifies nobody.
    const told = caller.local === true ? { notifier } : {}
    const alerts = await openAlerts({ relay, store: workspace.store, ...told }).evaluate()
    return { alerts: alerts.map((each) => ({ ...each })) }
  },
})

const trace = z.string().min(1).max(200).describe('The id of the trace; its beginning is enough.')
const owner = z.looseObject({ agent: z.string() })

export const traceOwner = operation('trace.owner', 'read', 'GET /relay/traces/{trace}', {
  summary: 'Which agent a trace belongs to now.',
  input: z.object({ trace }),
  output: owner,
  async run(workspace, { trace }) {
    const relay = await workspace.relay()
    return { ...(await relay.owner(await relay.wholeId('trace', trace))) }
  },
})

export const traceReturn = operation('trace.return', 'write', 'POST /relay/traces/{trace}/return', {
  summary: 'Give a trace back to the agent that handed it over.',
  input: z.object({ trace, from: agent.describe('Who has it now.'), reason: z.string().min(1).max(4000) }),
  output: owner,
  async run(workspace, { trace, from, reason }) {
    const relay = await workspace.relay()
    return { ...(await relay.returnToCaller(await relay.wholeId('trace', trace), { from, reason })) }
  },
})

export const traceArchive = operation('trace.archive', 'operate', 'POST /relay/archive', {
  summary: 'Move closed traces out of the way; they can still be looked up, and open ones stay.',
  input: z.object({
    olderThanMs: z.number().min(0).optional().describe('Those in which nothing has happened for so long.'),
    keep: z.int().min(0).optional().describe('All but the newest so many.'),
  }),
  output: z.object({ archived: z.looseObject({ traces: z.int(), requests: z.int() }).optional() }),
  async run(workspace, { olderThanMs, keep }) {
    const archived = await (await workspace.relay()).archive({ olderThanMs, keep })
    return { archived: archived && { ...archived } }
  },
})
