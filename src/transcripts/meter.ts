// How full a session's context is, how much quota is left and what it cost, from the agent's own numbers. What is unknown is
// left out, never guessed.

import { type AgentName, agentNamed, type Quota } from '../agents/index.ts'
import { type Models, priceOf, tablesOf, windowOf } from '../config/index.ts'
import type { SessionStats } from './session-stats.ts'

export interface Meter {
  /** Missing before the first reply, and after a compaction until the next. */
  readonly tokens?: number
  readonly window?: number
  readonly percent?: number
  /** Where `tokens` comes from: the agent's last reply or compaction; `estimate` adds a guess for what was said since. */
  readonly source?: 'reply' | 'compaction' | 'estimate'
  /** Where `window` comes from: the agent, Baton's table of models, or the user's configuration. */
  readonly windowSource?: 'agent' | 'table' | 'user'
  readonly at?: string
  /** The tokens that each of the last turns added, on average. */
  readonly growth?: number
  readonly turnsLeft?: number
  readonly quotas: readonly Quota[]
  readonly quotasAt?: string
  readonly cost?: Cost
}

export interface Cost {
  readonly usd: number
  readonly source: 'agent' | 'prices'
  /** The date of the price table. */
  readonly prices?: string
  /** Models without a known price: the sum does not include them. */
  readonly lacks?: readonly string[]
}

export function meterOf(agent: AgentName, stats: SessionStats, models: Models): Meter {
  const { context, quotas } = stats
  const trailing = agentNamed(agent).estimatesUnanswered === true && context !== undefined ? stats.trailing : 0
  const tokens = context === undefined ? undefined : context.tokens + trailing
  const own = models[stats.model ?? '']?.window
  const window = own ?? stats.window ?? windowOf(stats.model, models, tokens ?? 0)
  // Assigned field by field for speed: a list makes thousands of these at a time.
  const meter: { -readonly [K in keyof Meter]: Meter[K] } = { quotas: quotas?.quotas ?? none }
  if (tokens !== undefined) {
    meter.tokens = tokens
    meter.source = trailing > 0 ? 'estimate' : context!.source
  }
  if (window !== undefined) {
    meter.window = window
    meter.windowSource = own !== undefined ? 'user' : stats.window === undefined ? 'table' : 'agent'
    if (tokens !== undefined) meter.percent = (tokens / window) * 100
  }
  if (context?.date !== undefined) meter.at = context.date
  const growth = growthOf(stats.ends)
  if (growth !== undefined) {
    meter.growth = growth
    if (growth > 0 && tokens !== undefined && window !== undefined) {
      meter.turnsLeft = Math.max(0, Math.floor((window - tokens) / growth))
    }
  }
  if (quotas?.date !== undefined) meter.quotasAt = quotas.date
  const cost = costOf(stats, models)
  if (cost !== undefined) meter.cost = cost
  return meter
}

const none: readonly Quota[] = []

/** The mean of what turns added. A turn that ended with fewer tokens than the one before is left out. */
function growthOf(ends: readonly number[]): number | undefined {
  let sum = 0
  let turns = 0
  for (let i = 1; i < ends.length; i++) {
    const step = ends[i]! - ends[i - 1]!
    if (step < 0) continue
    sum += step
    turns++
  }
  return turns === 0 ? undefined : Math.round(sum / turns)
}

function costOf(stats: SessionStats, models: Models): Cost | undefined {
  const lacks: string[] = []
  let usd = stats.cost ?? 0
  let priced = stats.cost !== undefined
  let byPrices = false
  for (const model in stats.spent) {
    const tokens = stats.spent[model]!
    if (tokens.input + tokens.output + tokens.cacheRead + tokens.cacheWrite === 0) continue
    const price = priceOf(model, models)
    if (price === undefined) {
      lacks.push(model)
      continue
    }
    priced = true
    byPrices = true
    const { input, output, cacheRead = input, cacheWrite = input } = price
    usd += tokens.input * input * 1e-6 + tokens.output * output * 1e-6
    usd += tokens.cacheRead * cacheRead * 1e-6 + tokens.cacheWrite * cacheWrite * 1e-6
  }
  if (!priced) return undefined
  return {
    usd,
    source: byPrices ? 'prices' : 'agent',
    ...(byPrices ? { prices: tablesOf } : {}),
    ...(lacks.length > 0 ? { lacks } : {}),
  }
}
