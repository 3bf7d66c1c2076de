// The cycles of a supervised session as timelines: each step, when it began, and what came of the whole.

import * as z from 'zod'
import { sessionTape } from '../../supervisor/index.ts'
import { operation } from '../operation.ts'
import { rowOf, sessionName } from './supervised.ts'

const cycle = z.object({
  n: z.int(),
  outcome: z.enum(['running', 'done', 'failed']),
  why: z.string().optional().describe('What made it begin.'),
  reason: z.string().optional().describe('Why it failed.'),
  steps: z.array(z.object({ step: z.string(), id: z.int().describe('Its entry.'), date: z.string() })),
  percentBefore: z.number().optional(),
  percentAfter: z.number().optional(),
  totalMs: z.number().optional(),
  ownMs: z.number().optional().describe("Baton's own part of it."),
  document: z.object({ id: z.int(), by: z.string() }).optional().describe('Its entry on the tape of the session.'),
})

type Cycle = z.output<typeof cycle>

/** What the supervisor writes when a step begins, and when a cycle is over. */
const stepData = z.object({ cycle: z.object({ n: z.int(), at: z.string() }) })
const endData = cycle
  .omit({ steps: true, outcome: true })
  .extend({ outcome: z.enum(['done', 'failed']), document: z.looseObject({ id: z.int(), by: z.string() }).optional() })

/** A long night has thousands of entries; those of the newest cycles are enough for a page. */
const mostEntries = 5_000

export const supervisedCycles = operation({
  name: 'supervised.cycles',
  summary: 'The newest cycles of a supervised session, each with its steps, their times and what came of it.',
  scope: 'read',
  route: 'GET /supervised/{name}/cycles',
  input: z.object({ name: sessionName, limit: z.int().min(1).max(100).default(20) }),
  output: z.object({ cycles: z.array(cycle) }),
  async run({ store }, { name, limit }) {
    await rowOf(store, name)
    const cycles = new Map<number, Cycle>()
    const entries = store.read(sessionTape(name), {
      reverse: true,
      kinds: ['event'],
      limit: mostEntries,
      onDamage: () => {},
    })
    for await (const { id, date, payload, meta } of entries) {
      const { data } = payload as { data?: unknown }
      const step = meta.key === 'cycle' ? stepData.safeParse(data).data?.cycle : undefined
      const end = meta.key === 'cycled' ? endData.safeParse(data).data : undefined
      const n = step?.n ?? end?.n
      if (n === undefined || step?.at === 'watching') continue
      if (!cycles.has(n) && cycles.size === limit) break
      const known = cycles.get(n) ?? { n, outcome: 'running', steps: [] }
      cycles.set(n, known)
      if (step !== undefined) noteStep(known, { step: step.at, id, date })
      if (end !== undefined) Object.assign(known, end)
    }
    return { cycles: [...cycles.values()] }
  },
})

/** Entries come newest first; a step that was written several times began with the oldest of them. */
function noteStep({ steps }: Cycle, step: Cycle['steps'][number]): void {
  if (steps[0]?.step === step.step) steps[0] = step
  else steps.unshift(step)
}
