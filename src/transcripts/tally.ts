// What a session amounts to so far, counted up fact by fact. Plain JSON, so that a list of thousands of sessions can keep
// it and read on where a file has grown.

import type { Draft } from '../store/index.ts'
import type { MessagePayload, ToolResult } from '../tape/index.ts'
import type { Fact, Quota, Used } from './fact.ts'

interface Tokens {
  input: number
  output: number
  cacheRead: number
  cacheWrite: number
}

export interface Tally {
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
  limit?: { until?: string; message: string; date?: string }
  quotas?: { quotas: readonly Quota[]; date?: string }
  /** The context by the agent's last word on it; missing before the first, and after a compaction. */
  context?: { tokens: number; date?: string; source: 'reply' | 'compaction' }
  /** Said since, estimated: for agents that count it. */
  trailing: number
  window?: number
  /** The context at the end of the last turns, since it was emptied last. */
  ends: number[]
  compactions: number
  /** In dollars, by the agent's own reckoning. */
  cost?: number
  /** By model, where the agent reckons no cost. */
  spent: Record<string, Tokens>
  reply?: { id: string; model: string; tokens: Tokens; cost?: number }
  damaged: number
}

export function emptyTally(): Tally {
  return { turns: 0, trailing: 0, ends: [], compactions: 0, spent: {}, damaged: 0 }
}

/** How many turns growth is judged by. */
const turnsKept = 8

/** Counts a fact in. */
export function count(tally: Tally, fact: Fact): void {
  if ('date' in fact && fact.date !== undefined) see(tally, fact.date)
  switch (fact.type) {
    case 'about': {
      const { type: _type, title, titleRank = 0, ...rest } = fact
      Object.assign(tally, rest)
      if (
        title !== undefined &&
        titleRank >= (tally.titleRank ?? -1) &&
        !(titleRank === 0 && tally.title !== undefined)
      ) {
        // A line of it: it is shown, kept and compared in lists of thousands.
        tally.title = title.slice(0, 400).replaceAll(/\s+/g, ' ').trim().slice(0, 120)
        tally.titleRank = titleRank
      }
      return
    }
    case 'said':
      if (fact.draft.date !== undefined) see(tally, fact.draft.date)
      if (fact.draft.meta?.context !== false) tally.trailing += estimate(fact.draft)
      return
    case 'used':
      return use(tally, fact)
    case 'compacted':
      tally.compactions++
      return emptied(tally, fact.tokens, fact.date)
    case 'cleared':
      tally.cleared = true
      return emptied(tally, undefined, fact.date)
    case 'rewound':
      return emptied(tally, fact.tokens, fact.date, 'reply')
    case 'quotas':
      tally.quotas = { quotas: fact.quotas, ...(fact.date === undefined ? {} : { date: fact.date }) }
      return
    case 'limited': {
      const { type: _type, ...limit } = fact
      tally.limit = limit
      return
    }
    case 'turn':
      return turn(tally, fact.to, fact.date)
    case 'damaged':
      tally.damaged++
  }
}

function see(tally: Tally, date: string): void {
  tally.first ??= date
  if (tally.last === undefined || date > tally.last) tally.last = date
}

function turn(tally: Tally, to: 'asked' | 'working' | 'idle', date: string | undefined): void {
  if (to === 'asked') {
    tally.turns++
    delete tally.limit
  }
  const ended = to === 'idle' && tally.turn?.to !== 'idle'
  // It was not over after all.
  if (to === 'working' && tally.turn?.to === 'idle' && tally.ends.at(-1) === tally.context?.tokens) tally.ends.pop()
  tally.turn = { to, ...(date === undefined ? {} : { date }) }
  if (!ended || tally.context === undefined) return
  tally.ends.push(tally.context.tokens)
  if (tally.ends.length > turnsKept) tally.ends.shift()
}

function use(tally: Tally, used: Used): void {
  const { input, output, cacheRead, cacheWrite, cost, model = tally.model ?? 'unknown', reply, aside } = used
  const tokens = { input, output, cacheRead, cacheWrite }
  const before = tally.reply
  // The same reply told again, more fully: it counts once.
  if (reply !== undefined && before?.id === reply) spend(tally, before.model, before.tokens, before.cost, -1)
  spend(tally, model, tokens, cost, 1)
  if (reply !== undefined) tally.reply = { id: reply, model, tokens, ...(cost === undefined ? {} : { cost }) }
  if (aside === true) return
  tally.context = { tokens: used.tokens, source: 'reply', ...(used.date === undefined ? {} : { date: used.date }) }
  tally.trailing = 0
  if (used.window !== undefined) tally.window = used.window
}

function spend(tally: Tally, model: string, tokens: Tokens, cost: number | undefined, sign: 1 | -1): void {
  if (cost !== undefined) {
    tally.cost = (tally.cost ?? 0) + sign * cost
    return
  }
  const sum = (tally.spent[model] ??= { input: 0, output: 0, cacheRead: 0, cacheWrite: 0 })
  for (const kind of ['input', 'output', 'cacheRead', 'cacheWrite'] as const) sum[kind] += sign * tokens[kind]
}

/** What was known of the context no longer holds. */
function emptied(
  tally: Tally,
  tokens: number | undefined,
  date: string | undefined,
  source: 'reply' | 'compaction' = 'compaction',
): void {
  tally.ends = []
  tally.trailing = 0
  if (tokens === undefined) delete tally.context
  else tally.context = { tokens, source, ...(date === undefined ? {} : { date }) }
}

/** As pi does it: a token for four characters, message by message. */
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
