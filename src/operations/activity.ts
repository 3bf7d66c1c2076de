// What happened lately: how busy each tape was, what was handed over on it, and how full its context was.

import * as z from 'zod'
import { savedDocuments } from '../handoff/index.ts'
import type { Entry, Store, TapeInfo } from '../store/index.ts'
import { operation } from './operation.ts'
import { tapeName } from './tape/shapes.ts'
import { demandTape } from './workspace.ts'

const mark = z.object({
  kind: z.enum(['anchor', 'document', 'cycle']),
  id: z.int().describe('Its entry.'),
  date: z.string(),
  name: z.string().describe('Of an anchor; of a document, its profile; of a cycle, how it ended.'),
})

type Mark = z.output<typeof mark>

/** The tapes that worked last; more do not fit on a screen. */
const mostTapes = 60
/** Of a busy tape the newest part is counted. */
const mostEntries = 2_000
const mostMarks = 100

export const activityShow = operation({
  name: 'activity.show',
  summary: 'What happened in the last hours: how busy each tape was, and the handoffs on it.',
  scope: 'read',
  route: 'GET /activity',
  input: z.object({
    hours: z.number().min(0.1).max(168).default(6),
    buckets: z.int().min(1).max(200).default(72),
  }),
  output: z.object({
    from: z.string(),
    to: z.string(),
    tapes: z.array(z.object({ tape: z.string(), counts: z.array(z.int()), marks: z.array(mark) })),
  }),
  async run({ store }, { hours, buckets }) {
    const to = Date.now()
    const from = to - hours * 3_600_000
    const since = new Date(from).toISOString()
    const recent: TapeInfo[] = []
    for await (const info of store.list()) if (isWork(info.tape) && (info.date ?? '') >= since) recent.push(info)
    recent.sort((a, b) => (a.date! < b.date! ? 1 : -1))
    const tapes = []
    for (const { tape } of recent.slice(0, mostTapes)) {
      const counts = Array.from({ length: buckets }, () => 0)
      const marks: Mark[] = await documentsSince(store, tape, since)
      for await (const entry of newest(store, tape, mostEntries)) {
        if (entry.date < since) break
        const bucket = Math.floor(((Date.parse(entry.date) - from) / (to - from)) * buckets)
        if (bucket >= 0) counts[Math.min(bucket, buckets - 1)]!++
        const found = markOf(entry)
        if (found !== undefined && marks.length < mostMarks) marks.push(found)
      }
      tapes.push({ tape, counts, marks })
    }
    return { from: since, to: new Date(to).toISOString(), tapes }
  },
})

/** Sessions under supervision work too; what Baton keeps for itself does not. */
function isWork(tape: string): boolean {
  return !/^(server|relay|task)\/|^lineage$|^session\/~/.test(tape)
}

function newest(store: Store, tape: string, limit: number): AsyncIterable<Entry> {
  return store.read(tape, { reverse: true, limit, onDamage: () => {} })
}

async function documentsSince(store: Store, tape: string, since: string): Promise<Mark[]> {
  const marks: Mark[] = []
  for await (const { id, date, profile } of savedDocuments(store, tape)) {
    if (date < since || marks.length >= mostMarks) break
    marks.push({ kind: 'document', id, date, name: profile })
  }
  return marks
}

function markOf({ id, date, kind, payload }: Entry): Mark | undefined {
  const { name, data } = payload as { name?: unknown; data?: { outcome?: unknown } }
  if (typeof name !== 'string') return undefined
  if (kind === 'anchor' && name !== 'session/start') return { kind: 'anchor', id, date, name }
  if (kind === 'event' && name === 'cycled') return { kind: 'cycle', id, date, name: String(data?.outcome ?? '') }
  return undefined
}

/** As far back as meters are read. */
const meterEntries = 5_000
const mostPoints = 400

const point = z.object({
  id: z.int(),
  date: z.string(),
  tokens: z.number(),
  window: z.number().optional(),
  threshold: z.number().optional().describe('Where Baton hands over, as a share of the window.'),
})

export const meterHistory = operation({
  name: 'meter.history',
  summary: 'How full the context of a tape or supervised session was over time, and where it was handed over.',
  scope: 'read',
  route: 'GET /tapes/{tape}/meters',
  input: z.object({ tape: tapeName }),
  output: z.object({ points: z.array(point), marks: z.array(mark) }),
  async run({ store }, { tape }) {
    await demandTape(store, tape)
    const points: z.output<typeof point>[] = []
    const marks: Mark[] = []
    for await (const entry of newest(store, tape, meterEntries)) {
      const found = markOf(entry)
      if (found !== undefined) marks.push(found)
      const figures = entry.kind === 'event' ? figuresIn(entry.payload) : undefined
      if (figures !== undefined) points.push({ id: entry.id, date: entry.date, ...figures })
    }
    const step = Math.max(1, Math.ceil(points.length / mostPoints))
    return { points: points.filter((_, n) => n % step === 0).reverse(), marks: marks.reverse() }
  },
})

const figures = z.union([
  z
    .object({
      name: z.literal('usage'),
      data: z.looseObject({ contextTokens: z.number(), window: z.number().optional() }),
    })
    .transform(({ data }) => ({ tokens: data.contextTokens, window: data.window })),
  z
    .object({
      name: z.literal('usage'),
      data: z.looseObject({ total: z.number(), window: z.number().optional() }),
    })
    .transform(({ data }) => ({ tokens: data.total, window: data.window })),
  z
    .object({
      name: z.literal('row'),
      data: z.looseObject({ tokens: z.number(), window: z.number().optional(), threshold: z.number().optional() }),
    })
    .transform(({ data: { tokens, window, threshold } }) => ({ tokens, window, threshold })),
])

function figuresIn(payload: unknown): z.output<typeof figures> | undefined {
  return figures.safeParse(payload).data
}
