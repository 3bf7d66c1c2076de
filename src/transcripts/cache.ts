// The list of sessions as it was last read, in the user's cache folder: the figures of each file with its size and time of
// change. Files that have not changed are not opened again; files that have grown are read from where they ended. The cache
// may be deleted.

import fs from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { makeFolder, replaceFile } from '../system/index.ts'
import { given, isFields, list } from '../agents/index.ts'
import type { Cost, Meter } from './meter.ts'
import type { Cursor } from './transcript-reader.ts'
import type { SessionStats } from './session-stats.ts'

/** What a list needs of a session. */
export interface SessionSummary {
  readonly bytes: number
  readonly changed: number
  readonly about: About
  /** Calculated from Baton's own tables, without the user's models. */
  readonly meter: Meter
  /** Only the beginning and the end were read, so there are no sums over the whole session. */
  readonly partial?: boolean
  /** Why the session could not be read. */
  readonly unread?: string
}

export type About = Pick<
  SessionStats,
  | 'session'
  | 'cwd'
  | 'branch'
  | 'model'
  | 'title'
  | 'parent'
  | 'kind'
  | 'clearedFrom'
  | 'cleared'
  | 'first'
  | 'last'
  | 'turns'
  | 'turn'
  | 'limit'
  | 'quotas'
  | 'compactions'
  | 'damaged'
>

/** What is needed to continue reading; kept in a file of its own, since most lists do not need it. */
export interface ReadState {
  readonly stats: SessionStats
  readonly cursor?: Cursor
}

/** Increased whenever the format of the cache changes. */
const version = 6

export class Cache {
  readonly #folder: string
  /** As stored; a summary is made from its row when it is needed. */
  readonly #rows: Map<string, Row>
  #readStates: Map<string, ReadState> | undefined
  #changed = false

  constructor(env: NodeJS.ProcessEnv) {
    this.#folder = path.join(env.XDG_CACHE_HOME || path.join(env.HOME || os.homedir(), '.cache'), 'baton')
    this.#rows = read<Row>(path.join(this.#folder, 'sessions.json'))
  }

  get(key: string): SessionSummary | undefined {
    const row = this.#rows.get(key)
    return row === undefined ? undefined : summaryOf(row)
  }

  readState(key: string): ReadState | undefined {
    return this.#allReadStates().get(key)
  }

  set(key: string, summary: SessionSummary, state: ReadState): void {
    this.#changed = true
    this.#rows.set(key, rowOf(summary))
    this.#allReadStates().set(key, state)
  }

  #allReadStates(): Map<string, ReadState> {
    this.#readStates ??= read<ReadState>(path.join(this.#folder, 'tallies.json'))
    return this.#readStates
  }

  /** Writes what has changed, and removes sessions that no longer exist. */
  save(present: ReadonlySet<string>): void {
    for (const key of this.#rows.keys()) {
      if (present.has(key)) continue
      this.#changed = true
      this.#rows.delete(key)
      this.#allReadStates().delete(key)
    }
    if (!this.#changed) return
    try {
      makeFolder(this.#folder)
      // The states are written first: states without a row are ignored, but a row without its state could not be continued.
      this.#write('tallies.json', this.#allReadStates())
      this.#write('sessions.json', this.#rows)
    } catch {
      // A cache that cannot be written costs time, nothing else.
    }
  }

  #write(name: string, values: ReadonlyMap<string, unknown>): void {
    const file = path.join(this.#folder, name)
    replaceFile(file, JSON.stringify({ version, values: [...values] }), { durable: false })
  }
}

/** The part of the stats that a list needs. */
export function aboutOf(stats: SessionStats): About {
  const { session, cwd, branch, model, title, parent, kind, clearedFrom, cleared, first, last, limit, quotas } = stats
  const { turns, compactions, damaged, turn } = stats
  const optional = {
    session,
    cwd,
    branch,
    model,
    title,
    parent,
    kind,
    clearedFrom,
    cleared,
    first,
    last,
    limit,
    quotas,
  }
  return { turns, compactions, damaged, ...given({ ...optional, turn: turn && { to: turn.to } }) }
}

function read<T>(file: string): Map<string, T> {
  try {
    const stored: unknown = JSON.parse(fs.readFileSync(file, 'utf8'))
    if (!isFields(stored) || stored.version !== version) return new Map()
    return new Map(list(stored.values) as [string, T][])
  } catch {
    return new Map() // not there yet, or damaged: everything is looked at anew
  }
}

// A summary is stored as a flat row: a cache of thousands is parsed several times faster than as nested objects. What few
// sessions have is kept as an object at the end of the row.

type Row = readonly unknown[]

const turns = ['asked', 'working', 'idle'] as const
const sources = ['reply', 'compaction', 'estimate'] as const
const windowSources = ['agent', 'table', 'user'] as const

function rowOf(summary: SessionSummary): Row {
  const { bytes, changed, about, meter, ...rest } = summary
  const { cwd, branch, model, title, first, last, turns: asked, compactions, damaged, turn, ...rare } = about
  const { tokens, window, percent: _percent, source, windowSource, at, growth, turnsLeft, cost, ...others } = meter
  const more = {
    ...rest,
    ...rare,
    ...(others.quotas.length > 0 ? { others } : {}),
    ...given({ growth, turnsLeft, cost }),
  }
  return [
    bytes,
    changed,
    cwd ?? 0,
    branch ?? 0,
    model ?? 0,
    title ?? 0,
    first ?? 0,
    last ?? 0,
    asked,
    compactions,
    damaged,
    turn === undefined ? -1 : turns.indexOf(turn.to),
    tokens ?? -1,
    source === undefined ? -1 : sources.indexOf(source),
    window ?? -1,
    windowSource === undefined ? -1 : windowSources.indexOf(windowSource),
    at === last ? 1 : (at ?? 0),
    Object.keys(more).length === 0 ? 0 : more,
  ]
}

type More = Pick<SessionSummary, 'partial' | 'unread'> &
  Partial<Omit<About, 'turns' | 'compactions' | 'damaged'>> & {
    others?: Pick<Meter, 'quotas' | 'quotasAt'>
    growth?: number
    turnsLeft?: number
    cost?: Cost
  }

const nothing = {}

function summaryOf(row: Row): SessionSummary {
  const [bytes, changed, cwd, branch, model, title, first, last, asked, compactions, damaged, turn] = row as number[]
  const tokens = row[12] as number
  const source = row[13] as number
  const window = row[14] as number
  const windowSource = row[15] as number
  const at = row[16]
  const { partial, unread, others, growth, turnsLeft, cost, ...rare } = (row[17] || nothing) as More
  const about: { -readonly [K in keyof About]: About[K] } = {
    turns: asked!,
    compactions: compactions!,
    damaged: damaged!,
  }
  if (row[17] !== 0) Object.assign(about, rare)
  if (isText(cwd)) about.cwd = cwd
  if (isText(branch)) about.branch = branch
  if (isText(model)) about.model = model
  if (isText(title)) about.title = title
  if (isText(first)) about.first = first
  if (isText(last)) about.last = last
  if (turn! >= 0) about.turn = { to: turns[turn!]! }
  const meter: { -readonly [K in keyof Meter]: Meter[K] } = others === undefined ? { quotas: [] } : { ...others }
  if (tokens >= 0) meter.tokens = tokens
  if (source >= 0) meter.source = sources[source]!
  if (window >= 0) meter.window = window
  if (windowSource >= 0) meter.windowSource = windowSources[windowSource]!
  if (tokens >= 0 && window > 0) meter.percent = (tokens / window) * 100
  const moment: unknown = at === 1 ? last : at
  if (isText(moment)) meter.at = moment
  if (growth !== undefined) meter.growth = growth
  if (turnsLeft !== undefined) meter.turnsLeft = turnsLeft
  if (cost !== undefined) meter.cost = cost
  const summary: { -readonly [K in keyof SessionSummary]: SessionSummary[K] } = {
    bytes: bytes!,
    changed: changed!,
    about,
    meter,
  }
  if (partial === true) summary.partial = partial
  if (unread !== undefined) summary.unread = unread
  return summary
}

function isText(value: unknown): value is string {
  return typeof value === 'string'
}
