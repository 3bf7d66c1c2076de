// The newest requests of the relay, each as one row: who asked whom for what, and how it ended.

import * as z from 'zod'
import { operation } from '../operation.ts'

const row = z.object({
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
  worker: z.string().optional().describe('Who works on it, or did so last.'),
  durationMs: z.number().optional(),
  why: z.string().optional().describe('Why it failed or was rejected.'),
})

type Row = z.output<typeof row>

export const relayRecent = operation({
  name: 'relay.recent',
  summary: 'The newest requests of the relay, newest first: who asked whom for what, and how each ended.',
  scope: 'read',
  route: 'GET /relay/recent',
  input: z.object({ limit: z.int().min(1).max(1000).default(100) }),
  output: z.object({ requests: z.array(row) }),
  async run(workspace, { limit }) {
    const requests: Row[] = []
    /** What the newest event of a request says of it; its beginning comes later, since the newest come first. */
    const ends = new Map<string, Pick<Row, 'status' | 'worker' | 'durationMs' | 'why'>>()
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
          traceId: request.traceId,
          from: request.sourceAgent,
          to: request.handoffTo,
          priority: request.priority,
          reason: request.reason,
          summary: request.contextForTarget.summary,
          date: event.date,
          entry: event.entry,
          ...end,
        })
        if (requests.length === limit) break
      }
    }
    return { requests }
  },
})
