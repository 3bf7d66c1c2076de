// How full a session's context is, what quota is left and what it cost: from the agent's own numbers. What is unknown is
// left out, never guessed.

import type { AgentName } from './agent.ts'
import type { Quota } from './fact.ts'
import { type Models, priceOf, tablesOf, windowOf } from './models.ts'
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
  const growth = growthOf(tally.ends)
  const cost = costOf(tally, models)
  return {
    ...(tokens === undefined ? {} : { tokens, source: trailing > 0 ? 'estimate' : context!.source }),
    ...(window === undefined
      ? {}
      : { window, windowSource: own !== undefined ? 'user' : tally.window === undefined ? 'table' : 'agent' }),
    ...(tokens === undefined || window === undefined ? {} : { percent: (tokens / window) * 100 }),
    ...(context?.date === undefined ? {} : { at: context.date }),
    ...(growth === undefined ? {} : { growth }),
    ...(growth === undefined || growth <= 0 || tokens === undefined || window === undefined
      ? {}
      : { turnsLeft: Math.max(0, Math.floor((window - tokens) / growth)) }),
    quotas: quotas?.quotas ?? [],
    ...(quotas?.date === undefined ? {} : { quotasAt: quotas.date }),
    ...(cost === undefined ? {} : { cost }),
  }
}

/** The mean of what turns added; a turn that ended smaller than the one before says nothing about growth. */
function growthOf(ends: readonly number[]): number | undefined {
  const steps = ends.slice(1).map((end, i) => end - ends[i]!)
  const grown = steps.filter((step) => step >= 0)
  return grown.length === 0 ? undefined : Math.round(grown.reduce((sum, step) => sum + step, 0) / grown.length)
}

function costOf(tally: Tally, models: Models): Cost | undefined {
  const lacks: string[] = []
  let usd = tally.cost ?? 0
  let priced = tally.cost !== undefined
  let byPrices = false
  for (const [model, tokens] of Object.entries(tally.spent)) {
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
