import * as published from '@opentelemetry/semantic-conventions/incubating'
import { expect, test } from 'vitest'
import { genAi, genAiMetrics, tokenBoundaries } from '../../src/telemetry/conventions.ts'
import { requiredAttributes } from './sdk.ts'

/** Names that are published for spans, metrics and their values. */
const names = new Set<unknown>(Object.values(published))

/** In the conventions' own repository since 2026, and not in a package yet. */
const unpackaged = new Set<string>(['gen_ai.invoke_agent.duration', 'gen_ai.execute_tool.duration'])

test('every name that Baton takes from the conventions is a published one [P11]', () => {
  expect(Object.values(genAi).filter((name) => !names.has(name))).toEqual([])
  expect(Object.values(genAiMetrics).filter(({ name }) => !names.has(name) && !unpackaged.has(name))).toEqual([])
  expect(Object.keys(requiredAttributes).filter((operation) => !names.has(operation))).toEqual([])
  expect(tokenBoundaries.at(-1)).toBe(67_108_864)
})
