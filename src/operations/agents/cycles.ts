// The cycles that a supervised session went through: their steps, and what proved each of them.

import path from 'node:path'
import * as z from 'zod'
import { agentNames } from '../../agents/index.ts'
import type { Store } from '../../store/index.ts'
import { sessionTape } from '../../supervisor/index.ts'
import { operation } from '../operation.ts'
import { rowOf, sessionName } from './supervised.ts'

const proof = z.object({
  text: z.string().describe('A sentence.'),
  id: z.int().describe('The entry that recorded it.'),
  date: z.string().describe('When it was recorded.'),
  seen: z
    .object({ tape: z.string(), id: z.int() })
    .optional()
    .describe("The entry on the agent's own tape that shows it, where that tape is in this workspace."),
})

type Proof = z.output<typeof proof>

const cycle = z.object({
  n: z.int(),
  outcome: z.enum(['running', 'done', 'failed']),
  why: z.string().optional().describe('What made it begin.'),
  reason: z.string().optional().describe('Why it failed.'),
  steps: z.array(
    z.object({
      step: z.string(),
      id: z.int().describe('Its entry.'),
      date: z.string(),
      proof: proof.optional().describe('What proved it; missing where nothing of it is recorded.'),
    }),
  ),
  percentBefore: z.number().optional(),
  percentAfter: z.number().optional(),
  totalMs: z.number().optional(),
  ownMs: z.number().optional().describe("Baton's own part of it."),
  document: z.object({ id: z.int(), by: z.string() }).optional().describe('Its entry on the tape of the session.'),
})

type Cycle = z.output<typeof cycle>

/** What the supervisor writes when a step begins, and when a cycle is over. */
const stepData = z.object({
  cycle: z.object({
    n: z.int(),
    at: z.string(),
    from: z.string().optional(),
    prompt: z.object({ state: z.string() }).optional(),
    document: z.object({ id: z.int(), path: z.string(), by: z.enum(['agent', 'ledger']) }).optional(),
  }),
})
const endData = cycle.omit({ steps: true, outcome: true }).extend({
  outcome: z.enum(['done', 'failed']),
  to: z.string().optional(),
  document: z.looseObject({ id: z.int(), by: z.string(), path: z.string().optional() }).optional(),
})

/** A long night has thousands of entries; those of the newest cycles are enough for a page. */
const mostEntries = 5_000

export const supervisedCycles = operation('supervised.cycles', 'read', 'GET /supervised/{name}/cycles', {
  summary: 'The newest cycles of a supervised session, each with its steps, their times and what came of it.',
  input: z.object({ name: sessionName, limit: z.int().min(1).max(100).default(20) }),
  output: z.object({ cycles: z.array(cycle) }),
  async run({ store }, { name, limit }) {
    await rowOf(store, name)
    const cycles = new Map<number, { cycle: Cycle; written: WrittenStep[]; end?: WrittenEnd }>()
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
      const known = cycles.get(n) ?? { cycle: { n, outcome: 'running', steps: [] }, written: [] }
      cycles.set(n, known)
      if (step !== undefined) known.written.unshift({ ...step, id, date })
      if (end !== undefined) {
        Object.assign(known.cycle, end)
        known.end = { ...end, id, date }
      }
    }
    const found: Cycle[] = []
    for (const { cycle, written, end } of cycles.values()) {
      found.push({ ...cycle, steps: stepsOf(written, end, await sightings(store, end)) })
    }
    return { cycles: found }
  },
})

type WrittenStep = z.output<typeof stepData>['cycle'] & { readonly id: number; readonly date: string }
type WrittenEnd = z.output<typeof endData> & { readonly id: number; readonly date: string }

/** A step that was written several times began with the oldest of its entries. */
function stepsOf(written: readonly WrittenStep[], end: WrittenEnd | undefined, seen: Sightings): Cycle['steps'] {
  const firsts = written.filter(({ at }, i) => written[i - 1]?.at !== at)
  return firsts.map((first, i) => {
    const own = written.slice(
      written.indexOf(first),
      i + 1 < firsts.length ? written.indexOf(firsts[i + 1]!) : undefined,
    )
    const { at: step, id, date } = first
    return { step, id, date, proof: proofOf(own, firsts.slice(i + 1), end, seen) }
  })
}

/** The supervisor writes a step down before it is carried out, so only what it wrote later proves it. */
function proofOf(
  own: readonly WrittenStep[],
  later: readonly WrittenStep[],
  end: WrittenEnd | undefined,
  seen: Sightings,
): Proof | undefined {
  const [first] = own
  const [next, second] = later
  switch (first?.at) {
    case 'asked': {
      const heard = own.find(({ prompt }) => prompt?.state === 'heard')
      if (heard !== undefined) return proven('The request is in its transcript.', heard)
      if (next?.document?.by === 'agent') return proven('The agent wrote the document after it was asked.', next)
      return undefined
    }
    case 'documented': {
      const { document } = first
      if (document === undefined) return undefined
      const file = path.basename(document.path)
      const who = document.by === 'agent' ? 'The agent wrote' : 'Baton wrote, from the transcript,'
      return proven(`${who} ${file}, and it is stored as entry ${document.id}.`, first)
    }
    case 'clearing':
      // The session is compared with the one before when the prompt to resume has arrived in it.
      if (next?.at !== 'resuming' || second?.at !== 'verifying' || second.from === undefined) return undefined
      return proven(`Its transcript is in a new context${end?.to === undefined ? '' : `, ${end.to}`}.`, second)
    case 'resuming':
      return next?.at === 'verifying'
        ? proven('The prompt to resume is in its transcript.', next, seen.prompt)
        : undefined
    case 'verifying': {
      if (next?.at !== 'done' || next.document === undefined) return undefined
      const file = path.basename(next.document.path)
      return proven(
        `The new context read ${file} or was given its text, and replied or called a tool.`,
        next,
        seen.read,
      )
    }
    case 'done':
      if (end?.percentBefore === undefined || end.percentAfter === undefined) return undefined
      return proven(`Its context went from ${Math.round(end.percentBefore)} to ${Math.round(end.percentAfter)}%.`, end)
    default:
      return undefined
  }
}

function proven(text: string, { id, date }: { readonly id: number; readonly date: string }, seen?: Place): Proof {
  return { text, id, date, ...(seen === undefined ? {} : { seen }) }
}

type Place = NonNullable<Proof['seen']>

interface Sightings {
  /** Where the new context was told of its document. */
  readonly prompt?: Place
  /** Where it called a tool with the name of the document. */
  readonly read?: Place
}

/** A new context begins with its document. */
const mostLookedAt = 100

/** Where the tape of the new context, if there is one here, names the document of a cycle. */
async function sightings(store: Store, end: WrittenEnd | undefined): Promise<Sightings> {
  const { to, document } = end ?? {}
  if (to === undefined || document?.path === undefined) return {}
  const file = path.basename(document.path)
  for (const agent of agentNames) {
    const tape = `${agent}:${to}`
    if ((await store.info(tape)) === undefined) continue
    let prompt: Place | undefined
    const range = { kinds: ['message', 'tool_call'], limit: mostLookedAt, onDamage: () => {} }
    for await (const { id, kind, payload } of store.read(tape, range)) {
      if (!JSON.stringify(payload).includes(file)) continue
      if (kind === 'tool_call') return { prompt: prompt ?? { tape, id }, read: { tape, id } }
      prompt ??= { tape, id }
    }
    return prompt === undefined ? {} : { prompt }
  }
  return {}
}
