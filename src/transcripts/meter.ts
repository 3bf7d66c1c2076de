// How full a session's context is, what quota is left and what it cost: from the agent's own numbers. What is unknown is
// left out, never guessed.

import type { AgentName } from './agent.ts'
import type { Quota } from './fact.ts'
import { type Models, priceOf, tablesOf, windowOf } from '../config/models.ts'
import type { Tally } from './tally.ts'

export interface Meter {
  /** Missing before the first reply, and after a compaction until the next. */
  readonly tokens?: number
  readonly window?: number
  readonly percent?: number
  /** Who says so: the agent in its transcript, after a reply or of a compaction; `estimate` includes a guess at the rest. */
  readonly source?: 'reply' | 'compaction' | 'estimate'
  /** Who says how large the window is. */
  readonly windowSource?: 'agent' | 'table' | 'user'
  readonly at?: string
  /** Tokens that a turn adds, over the last turns. */
  readonly growth?: number
  readonly turnsLeft?: number
  readonly quotas: readonly Quota[]
  readonly quotasAt?: string
  readonly cost?: Cost
}

export interface Cost {
  readonly usd: number
  readonly source: 'agent' | 'prices'
  /** The date of the prices. */
  readonly prices?: string
  /** Models that no price is known for: the sum lacks them. */
  readonly lacks?: readonly string[]
}

export function meterOf(agent: AgentName, tally: Tally, models: Models): Meter {
  const { context, quotas } = tally
  const trailing = agent === 'pi' && context !== undefined ? tally.trailing : 0
  const tokens = context === undefined ? undefined : context.tokens + trailing
  const own = models[tally.model ?? '']?.window
  const window = own ?? tally.window ?? windowOf(tally.model, models, tokens ?? 0)
  // Filled step by step: lists make thousands of these at a time.
  const meter: { -readonly [K in keyof Meter]: Meter[K] } = { quotas: quotas?.quotas ?? none }
  if (tokens !== undefined) {
    meter.tokens = tokens
    meter.source = trailing > 0 ? 'estimate' : context!.source
  }
  if (window !== undefined) {
    meter.window = window
    meter.windowSource = own !== undefined ? 'user' : tally.window === undefined ? 'table' : 'agent'
    if (tokens !== undefined) meter.percent = (tokens / window) * 100
  }
  if (context?.date !== undefined) meter.at = context.date
  const growth = growthOf(tally.ends)
  if (growth !== undefined) {
    meter.growth = growth
    if (growth > 0 && tokens !== undefined && window !== undefined) {
      meter.turnsLeft = Math.max(0, Math.floor((window - tokens) / growth))
    }
  }
  if (quotas?.date !== undefined) meter.quotasAt = quotas.date
  const cost = costOf(tally, models)
  if (cost !== undefined) meter.cost = cost
  return meter
}

const none: readonly Quota[] = []

/** The mean of what turns added; a turn that ended smaller than the one before says nothing about growth. */
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

function costOf(tally: Tally, models: Models): Cost | undefined {
  const lacks: string[] = []
  let usd = tally.cost ?? 0
  let priced = tally.cost !== undefined
  let byPrices = false
  for (const model in tally.spent) {
    const tokens = tally.spent[model]!
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
