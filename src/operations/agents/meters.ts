// How full the context of an agent's own session was over time, and what it cost: for charts. Of what is on a tape, `meter.history` is the one.

import * as z from 'zod'
import { agentNames } from '../../agents/index.ts'
import { configuredModels } from '../../config/index.ts'
import { meterHistory, resolveSession } from '../../transcripts/index.ts'
import { operation } from '../operation.ts'
import { sessionId } from './sessions.ts'

export const most = z
  .int()
  .min(2)
  .max(10_000)
  .default(500)
  .describe('How many points at most; the ends and the peaks stay.')

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

export const sessionMeters = operation('session.meters', 'read', 'GET /sessions/{session}/meters', {
  summary: "How an agent's context and cost went over time, from its own numbers.",
  input: z.object({ session: sessionId, agent: z.enum(agentNames).optional(), most }),
  output,
  async run({ env, project }, { session, agent, most }) {
    const file = resolveSession(session, { env, cwd: project, agent })
    const points = await meterHistory(file, await configuredModels(project))
    return { points: thinned(points, most), total: points.length }
  },
})

interface Thinnable {
  readonly tokens?: number | undefined
  readonly event?: string | undefined
}

/** At most so many points: of each stretch the one with the largest context, and what emptied it, before anything else. */
export function thinned<P extends Thinnable>(points: readonly P[], most: number): P[] {
  if (points.length <= most) return [...points]
  const kept: P[] = [points[0]!]
  const stretches = most - 2
  for (let i = 0; i < stretches; i++) {
    const from = 1 + Math.floor((i * (points.length - 2)) / stretches)
    const until = 1 + Math.floor(((i + 1) * (points.length - 2)) / stretches)
    kept.push(points.slice(from, until).reduce((one, other) => telling(one, other)))
  }
  return [...kept, points.at(-1)!]
}

function telling<P extends Thinnable>(one: P, other: P): P {
  if (one.event !== undefined || other.event !== undefined) return one.event === undefined ? other : one
  return (other.tokens ?? 0) > (one.tokens ?? 0) ? other : one
}
