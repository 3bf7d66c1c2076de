import { expect, test } from 'vitest'
import { priceOf, windowOf } from '../../src/config/models.ts'

test.each([
  ['claude-sonnet-4-5-20250929', 200_000, 3],
  ['claude-opus-4-20250514', 200_000, 15],
  ['claude-opus-4-1', 200_000, 15],
  ['claude-opus-4-6', 1_000_000, 5],
  ['anthropic/claude-opus-5.5', 1_000_000, 4],
  ['claude-opus-5', 1_000_000, 5],
  ['claude-sonnet-5-5', 1_000_000, 2],
  ['claude-haiku-4-5-20251001', 200_000, 1],
  ['claude-haiku-5-5', 1_000_000, 0.1],
  ['claude-fable-5-1', 1_000_000, 10],
  ['claude-3-opus-20240229', 200_000, 15],
  ['claude-3-7-sonnet-20250219', 200_000, 3],
  ['claude-sonnet-4-5[1m]', 1_000_000, 3],
  ['gpt-5', 272_000, 1.25],
  ['gpt-5-codex', 272_000, 1.25],
  ['gpt-5.1-codex-max', 272_000, 1.25],
  ['gpt-5.1-codex-mini', 272_000, 0.25],
  ['gpt-5.3-codex', 272_000, 1.75],
  ['gpt-5.4', 272_000, 2.5],
  ['gpt-5.4-mini', 272_000, 0.75],
  ['gpt-5.6-sol', 272_000, 4],
  ['gpt-6.1-terra', 372_000, 1],
  ['gpt-6-luna', 372_000, 0.1],
  ['o4-mini', 200_000, 1.1],
  ['gemini-2.5-flash-lite', 1_048_576, 0.1],
  ['gemini-3.1-pro-preview', 1_048_576, 2],
  ['gemini-3-flash-preview', 1_048_576, 0.5],
  ['kimi-k2.6', 256_000, undefined],
  ['deepseek-v4-pro', 1_000_000, undefined],
  ['somebody-s-own', undefined, undefined],
])('%s has a window of %s, and its input costs %s [C2]', (model, window, input) => {
  expect(windowOf(model, {}, 0)).toBe(window)
  expect(priceOf(model, {})?.input).toBe(input)
})

test('what the user says about a model counts more than the tables [C2]', () => {
  const models = { 'gpt-5': { window: 400_000, price: { input: 1, output: 2 } } }
  expect(windowOf('gpt-5', models, 0)).toBe(400_000)
  expect(priceOf('gpt-5', models)).toEqual({ input: 1, output: 2 })
})
