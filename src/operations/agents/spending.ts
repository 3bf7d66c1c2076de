// What the agents have cost since a date. A session that began before it counts with what came after it only.

import * as z from 'zod'
import { configuredModels, type Models } from '../../config/index.ts'
import type { Store } from '../../store/index.ts'
import { sessionRows, sessionTape } from '../../supervisor/index.ts'
import { listSessions, meterHistory, type Session, sessionFile } from '../../transcripts/index.ts'
import { operation } from '../operation.ts'

export const spendingShow = operation('spending.show', 'read', 'GET /spending', {
  summary: 'What the sessions of this machine, and the supervised ones of other machines, have cost since a date.',
  input: z.object({ since: z.iso.datetime({ offset: true }) }),
  output: z.object({
    usd: z.number(),
    sessions: z.int().describe('How many sessions worked since then.'),
    unpriced: z.int().describe('How many of them cost an unknown sum.'),
  }),
  async run({ store, env, project }, { since }) {
    const from = Date.parse(since)
    const models = await configuredModels(project)
    const own = listSessions({ env, subagents: true, models })
    const known = new Set(own.map(({ id }) => id))
    const costs: (number | undefined)[] = []
    for (const session of own)
      if (Date.parse(session.updated) >= from) costs.push(await costSince(session, from, models))
    // Supervised sessions that are among those above are paid once.
    for await (const { name, session, last_check: last } of sessionRows(store)) {
      if (session !== undefined && known.has(session)) continue
      if (Date.parse(last) >= from) costs.push(await rowCostSince(store, name, from))
    }
    return {
      usd: costs.reduce<number>((sum, usd = 0) => sum + usd, 0),
      sessions: costs.length,
      unpriced: costs.filter((usd) => usd === undefined).length,
    }
  },
})

/** File and date: what had been spent by then. Transcripts only grow, so that does not change; it takes a whole reading to know. */
const before = new Map<string, number>()

async function costSince(session: Session, from: number, models: Models): Promise<number | undefined> {
  const { started, meter } = session
  if (meter.cost === undefined) return undefined
  if (started !== undefined && Date.parse(started) >= from) return meter.cost.usd
  const key = `${from} ${session.path} ${session.id}`
  if (!before.has(key)) {
    const points = await meterHistory(sessionFile(session), models)
    if (before.size > 1_000) before.clear()
    before.set(key, points.findLast(({ date }) => Date.parse(date) < from)?.usd ?? 0)
  }
  return Math.max(0, meter.cost.usd - before.get(key)!)
}

async function rowCostSince(store: Store, name: string, from: number): Promise<number | undefined> {
  let now: number | undefined
  for await (const { payload, date } of store.read(sessionTape(name), {
    reverse: true,
    kinds: ['event'],
    onDamage: () => {},
  })) {
    const { name: event, data } = payload as { name: string; data: { usd?: number } }
    if (event !== 'row' || data.usd === undefined) continue
    now ??= data.usd
    if (Date.parse(date) < from) return Math.max(0, now - data.usd)
  }
  return now
}
