// A glance as a flat row: a cache of thousands is parsed several times faster so than as objects within objects. What few
// sessions have is kept as it is, at the end.

import type { About, Glance } from './cache.ts'
import { given } from './fields.ts'
import type { Cost, Meter } from './meter.ts'

export type Row = readonly unknown[]

const turns = ['asked', 'working', 'idle'] as const
const sources = ['reply', 'compaction', 'estimate'] as const
const windowSources = ['agent', 'table', 'user'] as const

export function rowOf(glance: Glance): Row {
  const { bytes, changed, about, meter, ...rest } = glance
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

type More = Pick<Glance, 'partial' | 'unread'> &
  Partial<Omit<About, 'turns' | 'compactions' | 'damaged'>> & {
    others?: Pick<Meter, 'quotas' | 'quotasAt'>
    growth?: number
    turnsLeft?: number
    cost?: Cost
  }

const nothing = {}

export function glanceOf(row: Row): Glance {
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
  const glance: { -readonly [K in keyof Glance]: Glance[K] } = { bytes: bytes!, changed: changed!, about, meter }
  if (partial === true) glance.partial = partial
  if (unread !== undefined) glance.unread = unread
  return glance
}

function isText(value: unknown): value is string {
  return typeof value === 'string'
}
