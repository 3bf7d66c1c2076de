// The sessions of this machine and those under supervision as one list: a supervised session is also one of the agent's own.

import type { AnswerOf } from '../../data/queries.ts'
import { stateFields, type Tone } from '../../parts/badge.tsx'

type Found = AnswerOf<'sessionList'>['sessions'][number]
type Supervised = AnswerOf<'supervisedList'>['sessions'][number]

export interface Quota {
  readonly name: string
  readonly usedPercent: number
  readonly resetsAt?: string
}

export interface Running {
  readonly key: string
  readonly to: string
  readonly title: string
  readonly agent: string
  readonly project: string
  readonly branch?: string
  readonly model?: string
  readonly state: string
  readonly tone: Tone
  /** Something is happening right now. */
  readonly busy: boolean
  /** What exactly it does or waits for. */
  readonly step?: string
  readonly share?: number
  readonly tokens?: number
  readonly window?: number
  readonly threshold?: number
  readonly compaction?: number
  readonly growth?: number
  readonly turnsLeft?: number
  readonly quotas: readonly Quota[]
  readonly usd?: number
  readonly started?: string
  readonly updated: string
  /** The name under supervision. */
  readonly supervised?: string
  readonly cycles?: number
  /** The machine, if it is another one. */
  readonly host?: string
  readonly ended: boolean
}

interface Meter {
  readonly tokens?: number
  readonly window?: number
  readonly percent?: number
  readonly growth?: number
  readonly turnsLeft?: number
  readonly quotas?: readonly Quota[]
  readonly cost?: { readonly usd: number }
}

/** `host`: the machine whose sessions these are; a supervised session may be another's. */
export function runningOf(
  found: readonly Found[],
  supervised: readonly Supervised[],
  host: string | undefined,
): Running[] {
  const bySession = new Map(
    supervised.flatMap((row) => (row['session'] === undefined ? [] : [[String(row['session']), row]])),
  )
  const matched = new Set<Supervised>()
  const rows = found.map((session) => {
    const row = bySession.get(session.id)
    if (row !== undefined) matched.add(row)
    return { ...ofSession(session), ...(row === undefined ? {} : ofSupervised(row, session.title, host)) }
  })
  const others = supervised
    .filter((row) => !matched.has(row))
    .map((row) => ({ quotas: [], ...ofSupervised(row, undefined, host) }))
  return [...others, ...rows].sort(byUrgency)
}

/** What a person should look at comes first, then what works, then the last used. */
function byUrgency(a: Running, b: Running): number {
  return rank(a) - rank(b) || (a.updated < b.updated ? 1 : -1)
}

function rank({ tone, busy, ended }: Running): number {
  if (ended) return 4
  if (tone === 'bad') return 0
  if (tone === 'baton') return 1
  return busy ? 2 : 3
}

function ofSession(session: Found): Running {
  const meter = session.meter as Meter
  const { tokens, window, percent, growth, turnsLeft, quotas = [], cost } = meter
  return {
    key: `${session.agent}:${session.id}`,
    to: `/sessions/${encodeURIComponent(session.agent)}/${encodeURIComponent(session.id)}`,
    title: session.title ?? session.id,
    agent: session.agent,
    project: session.cwd ?? '',
    ...stateFields(session.state['guessed'] === true ? 'idle' : session.state.state),
    quotas,
    updated: session.updated,
    ...given({
      branch: session.branch,
      model: session.model,
      started: session.started,
      tokens,
      window,
      growth,
      turnsLeft,
    }),
    ...given({ share: percent === undefined ? undefined : percent / 100, usd: cost?.usd }),
    ...given({
      compaction: session.compactsAt === undefined || window === undefined ? undefined : session.compactsAt / window,
    }),
  }
}

function ofSupervised(row: Supervised, title: string | undefined, here: string | undefined): Omit<Running, 'quotas'> {
  const { host } = row.supervisor ?? {}
  const number = (name: string) => (typeof row[name] === 'number' ? row[name] : undefined)
  return {
    key: `session/${row.name}`,
    to: `/sessions/supervised/${encodeURIComponent(row.name)}`,
    title: title ?? row.name,
    agent: row.agent,
    project: row.project,
    ...stateFields(row.state),
    updated: row.last_check,
    supervised: row.name,
    cycles: row.cycles,
    ...given({
      step: row.step,
      share: row.context_usage,
      usd: row.usd,
      host: host === here ? undefined : host,
      started: row.started,
    }),
    ...given({ tokens: number('tokens'), window: number('window'), threshold: number('threshold') }),
    ...given({ turnsLeft: number('nextCycleTurns') }),
  }
}

/** Without the fields that are not known, so that they do not hide those of another source. */
function given<T extends object>(fields: T): { [K in keyof T]?: Exclude<T[K], undefined> } {
  return Object.fromEntries(Object.entries(fields).filter(([, each]) => each !== undefined)) as {
    [K in keyof T]?: Exclude<T[K], undefined>
  }
}

/** The last part of a path, which is how people call a project. */
export function folderName(path: string): string {
  return path.split('/').findLast((part) => part !== '') ?? path
}

/** Key: how full it was when it was last seen to change. */
const seen = new Map<string, { tokens: number; at: number; perMs?: number }>()

/** When the next handoff is to be expected, in ms from now, from how fast the context has grown while this page was open. */
export function timeLeft({ key, tokens, window, threshold, compaction }: Running, now: number): number | undefined {
  const limit = threshold ?? compaction
  if (tokens === undefined || window === undefined || limit === undefined) return undefined
  const before = seen.get(key)
  if (before === undefined || tokens < before.tokens) seen.set(key, { tokens, at: now })
  else if (tokens > before.tokens && now - before.at >= 10_000) {
    const perMs = (tokens - before.tokens) / (now - before.at)
    seen.set(key, { tokens, at: now, perMs: before.perMs === undefined ? perMs : (before.perMs + perMs) / 2 })
  }
  const { perMs } = seen.get(key)!
  return perMs === undefined ? undefined : Math.max(0, (limit * window - tokens) / perMs)
}
