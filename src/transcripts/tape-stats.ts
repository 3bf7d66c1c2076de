// What the tape of an import says of its session: enough for a document, without reading the transcript a second time.

import { agentNamed } from '../agents/index.ts'
import type { Store } from '../store/index.ts'
import { usageKey } from '../tape/index.ts'
import { markOf } from './import.ts'
import { emptyStats, type SessionStats } from './session-stats.ts'
import { hinted } from './sessions.ts'

/** The folder that the session began in is named near its beginning. */
const mostLooked = 500

/** The project of the session, and how full its context was at its last reply. */
export async function statsOfTape(store: Store, tape: string): Promise<SessionStats> {
  const mark = await markOf(store, tape)
  const used = await store.latest(tape, usageKey)
  const [anchor] = await store.anchors(tape, { limit: 1 })
  const { data } = (used?.payload ?? {}) as { data?: { contextTokens?: number; window?: number; model?: string } }
  // A context that was emptied since then is of unknown size until the next reply.
  const isCurrent = used !== undefined && (anchor === undefined || used.id > anchor.id)
  const cwd = await folderOn(store, tape)
  const stats: SessionStats = {
    ...emptyStats(),
    ...(cwd === undefined ? {} : { cwd }),
    ...(data?.model === undefined ? {} : { model: data.model }),
    ...(data?.window === undefined ? {} : { window: data.window }),
    ...(isCurrent && data?.contextTokens !== undefined
      ? { context: { tokens: data.contextTokens, source: 'reply' as const, date: used.date } }
      : {}),
  }
  if (mark === undefined) return stats
  const file = { agent: mark.agent, path: mark.path, id: mark.session, bytes: 0, changed: 0 }
  return hinted(agentNamed(mark.agent), file, stats)
}

async function folderOn(store: Store, tape: string): Promise<string | undefined> {
  for await (const { payload } of store.read(tape, { kinds: ['event'], limit: mostLooked })) {
    const { name, data } = payload as { name?: unknown; data?: { cwd?: unknown } }
    if (name === 'session' && typeof data?.cwd === 'string') return data.cwd
  }
  return undefined
}
