import { randomUUID } from 'node:crypto'
import { expect, test } from 'vitest'
import { isFull } from '../../support/full.ts'
import { boundless, open, rejectionOf, request, type RequestInput } from '../pipeline.ts'

const reasons = ['missing_required_input', 'validation_failure', 'expertise_mismatch', 'resource_exhausted'] as const

/** A pipeline in which only circles are in the way. */
async function tracing() {
  const { relay, again } = await open({ settings: { limits: boundless } })
  const traceId = randomUUID()
  const go = async (from: string, to: string, more: RequestInput = {}) => {
    const body = request({ traceId, sourceAgent: from, handoffTo: to, missingInputs: [], ...more })
    return rejectionOf(await relay.request(body, { wait: false })) ?? 'taken'
  }
  return { relay, again, traceId, go }
}

test('the same inputs are not asked for twice on the same path, whatever the reason [P5]', async () => {
  const { go } = await tracing()
  const missing = [
    { key: 'a', expectedType: 'string', description: '' },
    { key: 'b', expectedType: 'string', description: '' },
  ]
  expect(await go('generator', 'researcher', { missingInputs: missing })).toBe('taken')
  expect(await go('generator', 'researcher', { missingInputs: missing })).toBe('circular')
  const turned = { missingInputs: missing.toReversed(), reason: 'expertise_mismatch' as const }
  expect(await go('generator', 'researcher', turned)).toBe('circular')
  expect(await go('generator', 'researcher', { missingInputs: missing, item: 'another' })).toBe('taken')
})

test('the same path for the same reason is refused when it happened twice in the last three [P5]', async () => {
  const { go } = await tracing()
  expect(await go('validator', 'generator', { reason: 'validation_failure' })).toBe('taken')
  expect(await go('generator', 'validator')).toBe('taken')
  expect(await go('validator', 'generator', { reason: 'validation_failure' })).toBe('taken')
  expect(await go('validator', 'generator', { reason: 'validation_failure' })).toBe('circular')
})

/** The promise is made for 1,000 of them, which a full run proves. */
const hops = isFull ? 1_000 : 200

test(`two agents that play ping-pong for ${hops} hops are stopped after four, for any reasons they give [P5]`, async () => {
  const { relay, go } = await tracing()
  const verdicts: string[] = []
  for (let hop = 0; hop < hops; hop++) {
    const [from, to] = hop % 2 === 0 ? ['generator', 'validator'] : ['validator', 'generator']
    verdicts.push(await go(from, to, { reason: reasons[hop % 4]!, item: `item ${hop % 7}` }))
  }
  expect(verdicts.slice(0, 4)).toEqual(Array.from({ length: 4 }, () => 'taken'))
  expect(new Set(verdicts.slice(4))).toEqual(new Set(['circular']))
  expect(await relay.counters()).toMatchObject({ requests: hops, circularBlocked: hops - 4, rejected: hops - 4 })
})

test('A → B → C → A in one trace ends in its third round, also when each hop is made by another process [P5]', async () => {
  const { again, traceId } = await tracing()
  const circle = [
    ['generator', 'orchestrator'],
    ['orchestrator', 'researcher'],
    ['researcher', 'orchestrator'],
    ['orchestrator', 'generator'],
  ]
  const verdicts: string[] = []
  for (let hop = 0; hop < 12; hop++) {
    const relay = await again()
    const [sourceAgent, handoffTo] = circle[hop % 4]!
    const body = request({
      traceId,
      sourceAgent: sourceAgent!,
      handoffTo: handoffTo!,
      missingInputs: [],
      reason: reasons[hop % 4]!,
    })
    verdicts.push(rejectionOf(await relay.request(body, { wait: false })) ?? 'taken')
  }
  expect(verdicts).toEqual([
    ...Array.from({ length: 8 }, () => 'taken'),
    ...Array.from({ length: 4 }, () => 'circular'),
  ])
})

test('a validator that sends work back, and gets it again, is no circle [P5]', async () => {
  const { relay } = await open({ settings: { limits: { handoffCooldownMs: 0 } } })
  const traceId = randomUUID()
  const go = async (from: string, to: string, more: RequestInput) =>
    (await relay.request(request({ traceId, sourceAgent: from, handoffTo: to, ...more }), { wait: false })).status
  expect(await go('validator', 'generator', { reason: 'validation_failure', missingInputs: [] })).toBe('pending')
  expect(await go('generator', 'validator', { reason: 'expertise_mismatch', missingInputs: [] })).toBe('pending')
  expect(await go('validator', 'generator', { reason: 'validation_failure', missingInputs: [] })).toBe('pending')
})

test('what happens in one trace is no circle in another [P5]', async () => {
  const { relay } = await open({ settings: { limits: boundless } })
  for (let i = 0; i < 5; i++) expect((await relay.request(request(), { wait: false })).status).toBe('pending')
})

test('many documents of one trace ask the same researcher for the same [P5]', async () => {
  const { go } = await tracing()
  const missing = [{ key: 'a', expectedType: 'string', description: '' }]
  for (let i = 0; i < 8; i++) {
    expect(await go('generator', 'researcher', { missingInputs: missing, item: `document ${i}` })).toBe('taken')
  }
})

test('ping-pong that is answered each time is stopped, too, whatever the reasons and items [P5]', async () => {
  const done = () => ({ status: 'resolved' as const })
  const { relay } = await open({ settings: { limits: boundless }, handlers: { generator: done, validator: done } })
  const traceId = randomUUID()
  const verdicts: string[] = []
  for (let hop = 0; hop < 20; hop++) {
    const [sourceAgent, handoffTo] = hop % 2 === 0 ? ['generator', 'validator'] : ['validator', 'generator']
    const body = request({ traceId, sourceAgent, handoffTo, missingInputs: [], item: `item ${hop}` })
    verdicts.push((await relay.request({ ...body, reason: reasons[hop % 4]! })).status)
  }
  expect(verdicts.slice(0, 12)).toEqual(Array.from({ length: 12 }, () => 'resolved'))
  expect(new Set(verdicts.slice(12))).toEqual(new Set(['rejected']))
})
