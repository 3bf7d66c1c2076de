// What happened lately: how busy each tape was, what was handed over on it, and how full its context was.

import * as z from 'zod'
import { BatonError } from '../errors.ts'
import { savedDocuments } from '../handoff/index.ts'
import type { Entry, Store, TapeInfo } from '../store/index.ts'
import { most, thinned } from './agents/meters.ts'
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
/** How many entries of a tape are counted, beginning with the newest. */
const mostEntries = 2_000
const mostMarks = 100

export const activityShow = operation('activity.show', 'read', 'GET /activity', {
  summary: 'What happened in the last hours: how busy each tape was, and the handoffs on it.',
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
        if (isNoteOfImport(entry)) continue
        const bucket = Math.floor(((Date.parse(entry.date) - from) / (to - from)) * buckets)
        if (bucket >= 0) counts[Math.min(bucket, buckets - 1)]!++
        const found = markOf(entry)
        if (found !== undefined && marks.length < mostMarks) marks.push(found)
      }
      if (marks.length > 0 || counts.some((count) => count > 0)) tapes.push({ tape, counts, marks })
    }
    return { from: since, to: new Date(to).toISOString(), tapes }
  },
})

/** Baton notes when it has read a session: nobody worked then. */
function isNoteOfImport({ kind, payload }: Entry): boolean {
  return kind === 'event' && (payload as { name?: unknown }).name === 'import'
}

/** Sessions under supervision work too; what Baton keeps for itself does not. */
function isWork(tape: string): boolean {
  return !/^(server|relay|task)\/|^lineage$|^session\/~/.test(tape)
}

function newest(store: Store, tape: string, limit: number): AsyncIterable<Entry> {
  return store.read(tape, { reverse: true, limit, onDamage: () => {} })
}

async function documentsSince(store: Store, tape: string, since: string): Promise<Mark[]> {
  const marks: Mark[] = []
  try {
    for await (const { id, date, profile } of savedDocuments(store, tape)) {
      if (date < since || marks.length >= mostMarks) break
      marks.push({ kind: 'document', id, date, name: profile })
    }
  } catch (error) {
    // How busy the tapes were can be told without those of a damaged one.
    if (!BatonError.is(error) || error.code !== 'damaged') throw error
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

const point = z.object({
  id: z.int(),
  date: z.string(),
  tokens: z.number(),
  window: z.number().optional(),
  threshold: z.number().optional().describe('Where Baton hands over, as a share of the window.'),
  usd: z.number().optional().describe('What a supervised session had cost by then.'),
  event: z.literal('cycle').optional().describe('What emptied the context here.'),
})

type Point = z.output<typeof point>

export const meterHistory = operation('meter.history', 'read', 'GET /tapes/{tape}/meters', {
  summary:
    'How full the context of a tape or supervised session was over time, what it cost, and where it was handed over.',
  input: z.object({ tape: tapeName, most }),
  output: z.object({ points: z.array(point), total: z.int().describe('How many there were.'), marks: z.array(mark) }),
  async run({ store }, { tape, most }) {
    await demandTape(store, tape)
    const entries: Entry[] = []
    const lastId = (await store.info(tape))?.lastId ?? 0
    // Those of other kinds are passed over without being parsed.
    const range = { after: Math.max(0, lastId - meterEntries), kinds: ['event', 'anchor'], onDamage: () => {} }
    for await (const entry of store.read(tape, range)) entries.push(entry)
    const points = pointsIn(entries)
    const marks = entries.flatMap((entry) => markOf(entry) ?? [])
    return { points: thinned(points, most), total: points.length, marks }
  },
})

/** Each time that the figures changed. */
function pointsIn(entries: readonly Entry[]): Point[] {
  const points: Point[] = []
  let cyclesBefore: number | undefined
  for (const { id, date, kind, payload } of entries) {
    const found = kind === 'event' ? figures.safeParse(payload).data : undefined
    if (found === undefined) continue
    const { cycles = 0, ...now } = found
    const event = cyclesBefore !== undefined && cycles > cyclesBefore ? ('cycle' as const) : undefined
    cyclesBefore = cycles
    const before = points.at(-1)
    const isSame = before?.tokens === now.tokens && before.window === now.window && before.usd === now.usd
    if (!isSame || event !== undefined) points.push({ id, date, ...now, ...(event === undefined ? {} : { event }) })
  }
  return points
}

interface Figures {
  readonly tokens: number
  readonly window: number | undefined
  readonly threshold?: number | undefined
  readonly usd?: number | undefined
  readonly cycles?: number | undefined
}

const figures = z.union([
  z
    .object({
      name: z.literal('usage'),
      data: z.looseObject({ contextTokens: z.number(), window: z.number().optional() }),
    })
    .transform(({ data }): Figures => ({ tokens: data.contextTokens, window: data.window })),
  z
    .object({
      name: z.literal('usage'),
      data: z.looseObject({ total: z.number(), window: z.number().optional() }),
    })
    .transform(({ data }): Figures => ({ tokens: data.total, window: data.window })),
  z
    .object({
      name: z.literal('row'),
      data: z.looseObject({
        tokens: z.number(),
        window: z.number().optional(),
        threshold: z.number().optional(),
        usd: z.number().optional(),
        cycles: z.number().optional(),
      }),
    })
    .transform(({ data: { tokens, window, threshold, usd, cycles } }): Figures => ({
      tokens,
      window,
      threshold,
      usd,
      cycles,
    })),
])
