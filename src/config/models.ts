// How large the windows of models are and what their tokens cost, for agents that do not say so themselves. Small, dated,
// and overridden by the section `transcripts` of baton.config.json.

/** Dollars for a million tokens. */
export interface Price {
  readonly input: number
  readonly output: number
  readonly cacheRead?: number
  readonly cacheWrite?: number
}

export interface Model {
  readonly window?: number
  readonly price?: Price
}

/** When the tables below were last looked over. */
export const tablesOf = '2026-11-15'

const windows: readonly (readonly [RegExp, number])[] = [
  [/\[1m\]/, 1_000_000],
  [/claude-(opus|sonnet)-(4-[6-9]|[5-9])/, 1_000_000],
  [/claude/, 200_000],
  [/gemini/, 1_048_576],
  [/gpt-5\.[4-9]|gpt-[6-9]/, 400_000],
  [/gpt-5|codex/, 272_000],
  [/gpt-4\.1/, 1_047_576],
  [/gpt-4o/, 128_000],
  [/\bo[34]\b/, 200_000],
  [/grok-4/, 256_000],
  [/deepseek/, 128_000],
  [/kimi-k2|glm-4|qwen3/, 200_000],
]

const prices: readonly (readonly [RegExp, Price])[] = [
  [/claude-opus-4(-0|-1|-2|@|$)/, { input: 15, output: 75, cacheRead: 1.5, cacheWrite: 18.75 }],
  [/claude-opus/, { input: 5, output: 25, cacheRead: 0.5, cacheWrite: 6.25 }],
  [/claude-(.*-)?sonnet/, { input: 3, output: 15, cacheRead: 0.3, cacheWrite: 3.75 }],
  [/claude-haiku/, { input: 1, output: 5, cacheRead: 0.1, cacheWrite: 1.25 }],
  [/claude-3-5-haiku/, { input: 0.8, output: 4, cacheRead: 0.08, cacheWrite: 1 }],
  [/gpt-5(\.\d)?-mini/, { input: 0.25, output: 2, cacheRead: 0.025 }],
  [/gpt-5(\.1)?(-codex)?$/, { input: 1.25, output: 10, cacheRead: 0.125 }],
  [/gpt-5\.[23]/, { input: 1.75, output: 14, cacheRead: 0.175 }],
  [/gemini-2\.5-pro/, { input: 1.25, output: 10, cacheRead: 0.125 }],
  [/gemini-(2\.5|3)-flash-lite/, { input: 0.1, output: 0.4, cacheRead: 0.01 }],
  [/gemini-2\.5-flash/, { input: 0.3, output: 2.5, cacheRead: 0.03 }],
  [/gemini-3(\.\d)?-pro/, { input: 2, output: 12, cacheRead: 0.2 }],
]

/** What the user says about models, by name. */
export type Models = Readonly<Record<string, Model>>

/** Larger than the table says means that it was opened wider: no context holds more than its window. */
const wide = 1_000_000

export function windowOf(model: string | undefined, models: Models, seen: number): number | undefined {
  if (model === undefined) return undefined
  const own = models[model]?.window
  if (own !== undefined) return own
  const known = windowIn(model)
  return known !== undefined && seen > known && known < wide ? wide : known
}

export function priceOf(model: string, models: Models): Price | undefined {
  return models[model]?.price ?? priceIn(model)
}

const windowIn = remembered((model) => windows.find(([pattern]) => pattern.test(model))?.[1])
const priceIn = remembered((model) => prices.find(([pattern]) => pattern.test(model))?.[1])

/** Thousands of sessions name a handful of models. */
function remembered<T>(find: (model: string) => T): (model: string) => T {
  const known = new Map<string, T>()
  return (model) => {
    if (!known.has(model)) known.set(model, find(model))
    return known.get(model)!
  }
}
