// How full the context of a session was over time, and what it cost: for charts.

import * as z from 'zod'
import { agentNames } from '../../agents/index.ts'
import { configuredModels } from '../../config/index.ts'
import type { Store } from '../../store/index.ts'
import { type SessionRow, sessionTape } from '../../supervisor/index.ts'
import { meterHistory, type MeterPoint, resolveSession } from '../../transcripts/index.ts'
import { operation } from '../operation.ts'
import { sessionId } from './sessions.ts'
import { rowOf, sessionName } from './supervised.ts'

const most = z.int().min(2).max(10_000).default(500).describe('How many points at most; the ends and the peaks stay.')

const output = z.object({
  points: z.array(
    z.object({
      date: z.string(),
      tokens: z.int().optional().describe('How large the context was; missing while nobody knows.'),
      window: z.int().optional().describe('How large it can become.'),
      usd: z.number().optional().describe('What it had cost by then.'),
      event: z.enum(['compacted', 'cleared', 'rewound', 'cycle']).optional().describe('What emptied the context here.'),
    }),
  ),
  total: z.int().describe('How many there were.'),
})

export const sessionMeters = operation({
  name: 'session.meters',
  summary: "How an agent's context and cost went over time, from its own numbers.",
  scope: 'read',
  route: 'GET /sessions/{session}/meters',
  input: z.object({ session: sessionId, agent: z.enum(agentNames).optional(), most }),
  output,
  async run({ env, project }, { session, agent, most }) {
    const file = resolveSession(session, { env, cwd: project, agent })
    return chart(await meterHistory(file, await configuredModels(project)), most)
  },
})

export const supervisedMeters = operation({
  name: 'supervised.meters',
  summary: 'How the context and the cost of a supervised session went over time, across its cycles.',
  scope: 'read',
  route: 'GET /supervised/{name}/meters',
  input: z.object({ name: sessionName, most }),
  output,
  async run({ store }, { name, most }) {
    await rowOf(store, name)
    return chart(await rowHistory(store, name), most)
  },
})

async function rowHistory(store: Store, name: string): Promise<MeterPoint[]> {
  const points: MeterPoint[] = []
  let cycles: number | undefined
  for await (const { payload, date } of store.read(sessionTape(name), { kinds: ['event'], onDamage: () => {} })) {
    const { name: event, data } = payload as { name: string; data: SessionRow }
    if (event !== 'row') continue
    const cycled = cycles !== undefined && data.cycles > cycles ? ('cycle' as const) : undefined
    cycles = data.cycles
    const { tokens, window, usd } = data
    const before = points.at(-1)
    const isSame = before?.tokens === tokens && before?.usd === usd && before?.window === window
    if (!isSame || cycled !== undefined) points.push({ date, tokens, window, usd, event: cycled })
  }
  return points
}

function chart(points: readonly MeterPoint[], most: number): { points: MeterPoint[]; total: number } {
  return { points: thinned(points, most), total: points.length }
}

/** At most so many points: of each stretch the one with the largest context, and what emptied it, before anything else. */
function thinned(points: readonly MeterPoint[], most: number): MeterPoint[] {
  if (points.length <= most) return [...points]
  const kept: MeterPoint[] = [points[0]!]
  const stretches = most - 2
  for (let i = 0; i < stretches; i++) {
    const from = 1 + Math.floor((i * (points.length - 2)) / stretches)
    const until = 1 + Math.floor(((i + 1) * (points.length - 2)) / stretches)
    kept.push(points.slice(from, until).reduce(telling))
  }
  return [...kept, points.at(-1)!]
}

function telling(one: MeterPoint, other: MeterPoint): MeterPoint {
  if (one.event !== undefined || other.event !== undefined) return one.event === undefined ? other : one
  return (other.tokens ?? 0) > (one.tokens ?? 0) ? other : one
}
