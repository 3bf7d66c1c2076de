// The figures of a session so far, added up fact by fact. They are plain JSON, so that a list of thousands of sessions can keep
// them and continue where a file has grown.

import type { Draft } from '../store/index.ts'
import type { MessagePayload, ToolResult } from '../tape/index.ts'
import type { Fact, Quota, Used } from '../agents/index.ts'

interface Tokens {
  input: number
  output: number
  cacheRead: number
  cacheWrite: number
}

export interface SessionStats {
  session?: string
  cwd?: string
  branch?: string
  model?: string
  title?: string
  titleRank?: number
  parent?: string
  kind?: 'subagent'
  clearedFrom?: string
  /** It began with `/clear`. */
  cleared?: boolean
  first?: string
  last?: string
  /** How often a person gave it work. */
  turns: number
  turn?: { to: 'asked' | 'working' | 'idle'; date?: string }
  /** The agent is compacting its context by itself. */
  compacts?: true
  limit?: { until?: string; message: string; date?: string }
  quotas?: { quotas: readonly Quota[]; date?: string }
  /** The size of the context as the agent last reported it; missing before the first reply, and after a compaction. */
  context?: { tokens: number; date?: string; source: 'reply' | 'compaction' }
  /** An estimate of the tokens that were said since then, for agents whose meter counts them. */
  trailing: number
  window?: number
  /** The size of the context after each of the last turns, since it was last emptied. */
  ends: number[]
  compactions: number
  /** In dollars, as the agent calculates it. */
  cost?: number
  /** Tokens by model, where the agent calculates no cost. */
  spent: Record<string, Tokens>
  reply?: { id: string; model: string; tokens: Tokens; cost?: number }
  damaged: number
}

export function emptyStats(): SessionStats {
  return { turns: 0, trailing: 0, ends: [], compactions: 0, spent: {}, damaged: 0 }
}

/** How many turns the growth of the context is calculated from. */
const turnsKept = 8

/** Adds a fact to the figures. */
export function addFact(stats: SessionStats, fact: Fact): void {
  if ('date' in fact && fact.date !== undefined) see(stats, fact.date)
  switch (fact.type) {
    case 'about': {
      const { type: _type, title, titleRank = 0, ...rest } = fact
      // The project is where the session began: an agent that goes to another folder takes nothing with it.
      const { cwd = rest.cwd } = stats
      Object.assign(stats, rest, cwd === undefined ? {} : { cwd })
      if (
        title !== undefined &&
        titleRank >= (stats.titleRank ?? -1) &&
        !(titleRank === 0 && stats.title !== undefined)
      ) {
        // One line is enough for a list, and keeps the cache of thousands of sessions small.
        stats.title = title.slice(0, 400).replaceAll(/\s+/g, ' ').trim().slice(0, 120)
        stats.titleRank = titleRank
      }
      return
    }
    case 'said':
      if (fact.draft.date !== undefined) see(stats, fact.draft.date)
      if (fact.draft.meta?.context !== false) stats.trailing += estimate(fact.draft)
      return
    case 'used':
      return use(stats, fact)
    case 'compacting':
      stats.compacts = true
      return
    case 'compacted':
      stats.compactions++
      delete stats.compacts
      return emptied(stats, fact.tokens, fact.date)
    case 'cleared':
      stats.cleared = true
      return emptied(stats, undefined, fact.date)
    case 'rewound':
      return emptied(stats, fact.tokens, fact.date, 'reply')
    case 'quotas':
      stats.quotas = { quotas: fact.quotas, ...(fact.date === undefined ? {} : { date: fact.date }) }
      return
    case 'limited': {
      const { type: _type, ...limit } = fact
      stats.limit = limit
      return
    }
    case 'turn':
      return turn(stats, fact)
    case 'damaged':
      stats.damaged++
      return
    // A prompt that is queued in a turn begins no other turn.
    case 'queued':
  }
}

function see(stats: SessionStats, date: string): void {
  stats.first ??= date
  if (stats.last === undefined || date > stats.last) stats.last = date
}

function turn(stats: SessionStats, { to, date, begins }: Extract<Fact, { type: 'turn' }>): void {
  delete stats.compacts
  if (to === 'asked') {
    stats.turns++
    delete stats.limit
  }
  const ended = to === 'idle' && stats.turn?.to !== 'idle'
  // The agent continued a turn that seemed to be over.
  if (to === 'working' && begins !== true && stats.turn?.to === 'idle' && stats.ends.at(-1) === stats.context?.tokens)
    stats.ends.pop()
  stats.turn = { to, ...(date === undefined ? {} : { date }) }
  if (!ended || stats.context === undefined) return
  stats.ends.push(stats.context.tokens)
  if (stats.ends.length > turnsKept) stats.ends.shift()
}

function use(stats: SessionStats, used: Used): void {
  const { input, output, cacheRead, cacheWrite, cost, model = stats.model ?? 'unknown', reply, aside } = used
  const tokens = { input, output, cacheRead, cacheWrite }
  const before = stats.reply
  // Agents report the usage of a reply again when they know more; it counts once.
  if (reply !== undefined && before?.id === reply) spend(stats, before.model, before.tokens, before.cost, -1)
  spend(stats, model, tokens, cost, 1)
  if (reply !== undefined) stats.reply = { id: reply, model, tokens, ...(cost === undefined ? {} : { cost }) }
  if (aside === true) return
  // An agent that goes on by itself has lifted its limit.
  if (stats.limit !== undefined && (used.date ?? '') > (stats.limit.date ?? '')) delete stats.limit
  stats.context = { tokens: used.tokens, source: 'reply', ...(used.date === undefined ? {} : { date: used.date }) }
  stats.trailing = 0
  if (used.window !== undefined) stats.window = used.window
}

function spend(stats: SessionStats, model: string, tokens: Tokens, cost: number | undefined, sign: 1 | -1): void {
  if (cost !== undefined) {
    stats.cost = (stats.cost ?? 0) + sign * cost
    return
  }
  const sum = (stats.spent[model] ??= { input: 0, output: 0, cacheRead: 0, cacheWrite: 0 })
  for (const kind of ['input', 'output', 'cacheRead', 'cacheWrite'] as const) sum[kind] += sign * tokens[kind]
}

/** The context was emptied: earlier figures no longer describe it. */
function emptied(
  stats: SessionStats,
  tokens: number | undefined,
  date: string | undefined,
  source: 'reply' | 'compaction' = 'compaction',
): void {
  stats.ends = []
  stats.trailing = 0
  if (tokens === undefined) delete stats.context
  else stats.context = { tokens, source, ...(date === undefined ? {} : { date }) }
}

/** A token for every four characters of each message. */
function estimate(draft: Draft): number {
  if (draft.kind === 'message') return Math.ceil(characters((draft.payload as MessagePayload).content) / 4)
  if (draft.kind !== 'tool_result') return 0
  const { results } = draft.payload as { results: ToolResult[] }
  return results.reduce((sum, result) => sum + Math.ceil(characters(result.output) / 4), 0)
}

function characters(content: unknown): number {
  if (typeof content === 'string') return content.length
  if (!Array.isArray(content)) return 0
  let sum = 0
  for (const part of content as { type?: unknown; text?: unknown }[]) {
    if (typeof part.text === 'string') sum += part.text.length
    else if (part.type === 'image') sum += 4_800
  }
  return sum
}
