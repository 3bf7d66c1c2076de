// How large the windows of models are and what their tokens cost, for agents that do not say so themselves. Small, dated,
// and overridden by the section `transcripts` of baton.config.json.

import fs from 'node:fs'
import path from 'node:path'

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

/** When the tables below were last compared with what the providers publish and what the agents bring along. */
export const tablesOf = '2026-11-16'

/**
 * What a session may hold before it is compacted, rather than what an API takes at most: of two figures for a model, the
 * smaller, since a gauge that shows too little is the one that does harm.
 */
const windows: readonly (readonly [RegExp, number])[] = [
  [/\[1m\]/, 1_000_000],
  [/claude-(opus|sonnet)-(4[-.][6-9]|[5-9])|claude-haiku-([5-9]|4[-.][6-9])|claude-(fable|mythos)/, 1_000_000],
  [/claude/, 200_000],
  [/gemini/, 1_048_576],
  [/gemma/, 131_072],
  [/gpt-5\.[45]-pro/, 1_050_000],
  [/codex-spark|gpt-5[\d.]*-chat/, 128_000],
  [/gpt-[6-9]/, 372_000],
  [/gpt-5|codex/, 272_000],
  [/gpt-4\.1/, 1_047_576],
  [/gpt-4o|gpt-4-turbo/, 128_000],
  [/\bo[134]\b/, 200_000],
  [/grok-4([-.]1)?-fast|grok-4\.20/, 2_000_000],
  [/grok-4\.3/, 1_000_000],
  [/grok-(4|code)/, 256_000],
  [/grok/, 131_072],
  [/deepseek-v4|mimo-v2\.5/, 1_000_000],
  [/deepseek|kimi-k2-0711|glm-4\.5/, 128_000],
  [/kimi|qwen3|devstral|codestral|mistral-(large|medium)/, 256_000],
  [/glm-[45]|minimax-m2/i, 200_000],
]

const prices: readonly (readonly [RegExp, Price])[] = [
  [/claude-(fable|mythos)-5[-.]1/, { input: 10, output: 50, cacheRead: 0.25, cacheWrite: 12.5 }],
  [/claude-(fable|mythos)/, { input: 10, output: 50, cacheRead: 1, cacheWrite: 12.5 }],
  [/claude-opus-5[-.]5/, { input: 4, output: 20, cacheRead: 0.2, cacheWrite: 5 }],
  [/claude-(3-)?opus(-4(-0|-1|-2|@|$)|-2)/, { input: 15, output: 75, cacheRead: 1.5, cacheWrite: 18.75 }],
  [/claude-opus/, { input: 5, output: 25, cacheRead: 0.5, cacheWrite: 6.25 }],
  [/claude-sonnet-5[-.]5/, { input: 2, output: 10, cacheRead: 0.1, cacheWrite: 2.5 }],
  [/claude-sonnet-5/, { input: 2, output: 10, cacheRead: 0.2, cacheWrite: 2.5 }],
  [/claude-(.*-)?sonnet/, { input: 3, output: 15, cacheRead: 0.3, cacheWrite: 3.75 }],
  // Prompts of more than 100,000 tokens cost five times as much; those of subagents, where it is used most, are smaller.
  [/claude-haiku-5/, { input: 0.1, output: 0.5, cacheRead: 0.01, cacheWrite: 0.125 }],
  [/claude-haiku/, { input: 1, output: 5, cacheRead: 0.1, cacheWrite: 1.25 }],
  [/claude-3-5-haiku/, { input: 0.8, output: 4, cacheRead: 0.08, cacheWrite: 1 }],
  [/gpt-6-astra/, { input: 10, output: 50, cacheRead: 1, cacheWrite: 12.5 }],
  [/gpt-6(\.1)?-sol/, { input: 2, output: 10, cacheRead: 0.2 }],
  [/gpt-6\.1-terra/, { input: 1, output: 5, cacheRead: 0.1 }],
  [/gpt-6(\.1)?-luna/, { input: 0.1, output: 0.5, cacheRead: 0.01 }],
  [/gpt-5\.6-terra/, { input: 2, output: 12, cacheRead: 0.2 }],
  [/gpt-5\.6-luna/, { input: 0.2, output: 1.2, cacheRead: 0.02 }],
  [/gpt-5\.6/, { input: 4, output: 20, cacheRead: 0.4 }],
  [/gpt-5\.[45]-pro/, { input: 30, output: 180 }],
  [/gpt-5\.2-pro/, { input: 21, output: 168 }],
  [/gpt-5-pro/, { input: 15, output: 120 }],
  [/gpt-5\.5/, { input: 5, output: 30, cacheRead: 0.5 }],
  [/gpt-5\.4-mini/, { input: 0.75, output: 4.5, cacheRead: 0.075 }],
  [/gpt-5\.4-nano/, { input: 0.2, output: 1.25, cacheRead: 0.02 }],
  [/gpt-5\.4/, { input: 2.5, output: 15, cacheRead: 0.25 }],
  [/gpt-5\.[23]/, { input: 1.75, output: 14, cacheRead: 0.175 }],
  [/gpt-5(\.1)?(-codex)?-mini/, { input: 0.25, output: 2, cacheRead: 0.025 }],
  [/gpt-5-nano/, { input: 0.05, output: 0.4, cacheRead: 0.005 }],
  [/gpt-5(\.1)?(?![.\d])/, { input: 1.25, output: 10, cacheRead: 0.125 }],
  [/gpt-4\.1-mini/, { input: 0.4, output: 1.6, cacheRead: 0.1 }],
  [/gpt-4\.1$/, { input: 2, output: 8, cacheRead: 0.5 }],
  [/\bo3$/, { input: 2, output: 8, cacheRead: 0.5 }],
  [/\bo4-mini$/, { input: 1.1, output: 4.4, cacheRead: 0.28 }],
  [/gemini-2\.5-pro/, { input: 1.25, output: 10, cacheRead: 0.125 }],
  [/gemini-2\.5-flash-lite/, { input: 0.1, output: 0.4, cacheRead: 0.025 }],
  [/gemini-2\.5-flash/, { input: 0.3, output: 2.5, cacheRead: 0.03 }],
  [/gemini-2\.0-flash$/, { input: 0.1, output: 0.4, cacheRead: 0.025 }],
  [/gemini-3(\.1)?-pro/, { input: 2, output: 12, cacheRead: 0.2 }],
  [/gemini-3\.1-flash-lite/, { input: 0.25, output: 1.5, cacheRead: 0.025 }],
  [/gemini-3-flash(?!-lite)/, { input: 0.5, output: 3, cacheRead: 0.05 }],
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

const fileName = 'baton.config.json'

/** What the user says about models. Where there is no file, nothing is loaded to read it with: lists start fast. */
export async function configuredModels(cwd: string = process.cwd()): Promise<Models> {
  if (!existsUpwards(path.resolve(cwd))) return {}
  const { loadConfig, transcriptsSection } = await import('./config.ts')
  return loadConfig(cwd).section('transcripts', transcriptsSection).models
}

function existsUpwards(folder: string): boolean {
  if (fs.existsSync(path.join(folder, fileName))) return true
  const parent = path.dirname(folder)
  return parent !== folder && existsUpwards(parent)
}
