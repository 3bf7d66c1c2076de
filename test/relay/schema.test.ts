import fc from 'fast-check'
import { expect, test } from 'vitest'
import { BatonError } from '../../src/errors.ts'
import { relaySchema } from '../../src/relay/index.ts'
import { decisionSchema, envelopeSchema, requestSchema, responseSchema } from '../../src/relay/schema.ts'
import { runs } from '../support/full.ts'
import { open, request, resolved, settings } from './pipeline.ts'

const whole = request({
  missingInputs: [{ key: 'size', expectedType: 'number', description: 'd', source: 'market' }],
  contextForTarget: {
    summary: 's',
    relevantOutputs: { outline: { parts: [1, 'zwei', null, true] } },
    priorAttempts: [{ attempt: 1, action: 'searched', result: 'nothing' }],
  },
  timeoutMs: 1_000,
})

test('a request, a response and a decision have every field of the protocol [P1]', () => {
  expect(requestSchema.parse(whole)).toEqual(whole)
  const response = {
    schemaVersion: '1.0.0',
    traceId: whole.traceId,
    timestamp: '2026-11-15T12:00:00+01:00',
    respondingAgent: 'researcher',
    status: 'partial',
    providedInputs: { size: 1 },
    unresolved: ['growth'],
    failureReason: 'No source',
    recommendations: ['Ask the user'],
    executionTimeMs: 12,
    tokensUsed: 800,
  }
  expect(responseSchema.parse(response)).toEqual(response)
  const decision = { canHandle: false, confidence: 0.7, handoffTo: 'researcher', reason: 'r', missingInputs: ['size'] }
  expect(decisionSchema.parse(decision)).toEqual(decision)
  expect(decisionSchema.safeParse({ canHandle: true, confidence: 1.1 }).success).toBe(false)
})

test('the schemas can be had as JSON Schema, with their enums [P1]', () => {
  const { properties } = relaySchema('request') as { properties: Record<string, { enum?: string[]; const?: string }> }
  expect(Object.keys(properties)).toEqual(Object.keys(requestSchema.shape))
  expect(properties['reason']!.enum).toEqual([
    'missing_required_input',
    'validation_failure',
    'expertise_mismatch',
    'resource_exhausted',
    'requires_human_decision',
  ])
  expect(properties['priority']!.enum?.toSorted()).toEqual(['critical', 'high', 'low', 'medium'])
  expect(properties['schemaVersion']!.const).toBe('1.0.0')
  for (const name of ['response', 'answer', 'decision', 'envelope'] as const) {
    expect(relaySchema(name)).toMatchObject({ type: 'object', title: `Baton handoff ${name}` })
  }
  expect(relaySchema('answer')).toMatchObject({ required: ['status'] })
})

test.each([
  ['schemaVersion', { schemaVersion: '2.0.0' }, 'schemaVersion'],
  ['traceId', { traceId: 'no uuid' }, 'traceId'],
  ['timestamp', { timestamp: 'yesterday' }, 'timestamp'],
  ['canHandle', { canHandle: true }, 'canHandle'],
  ['reason', { reason: 'bored' }, 'reason'],
  ['priority', { priority: 'urgent' }, 'priority'],
  ['an unknown field', { urgency: 'high' }, 'urgency'],
  ['a nested field', { contextForTarget: { summary: 7 } }, 'contextForTarget.summary'],
  ['a list', { missingInputs: [{ key: 'a', expectedType: 'string' }] }, 'missingInputs[0].description'],
  [
    'a key that objects have',
    { missingInputs: [{ key: '__proto__', expectedType: 'string', description: '' }] },
    'missingInputs[0].key',
  ],
  ['an unknown source', { sourceAgent: 'generatr' }, 'sourceAgent'],
  ['an unknown target', { handoffTo: 'reviewer' }, 'handoffTo'],
  [
    'an unknown type',
    { missingInputs: [{ key: 'a', expectedType: 'strng', description: '' }] },
    'missingInputs[0].expectedType',
  ],
  [
    'a value that is no JSON',
    { contextForTarget: { summary: '', relevantOutputs: { at: new Date() } } },
    'contextForTarget.relevantOutputs.at',
  ],
])('a wrong %s is an error that names it, and nothing is recorded [P1, P15]', async (_, mistake, named) => {
  const { relay, store } = await open()
  const error = await relay.requestFromJson({ ...whole, ...mistake }).catch((error: unknown) => error)
  expect(BatonError.is(error) && error.code).toBe('invalid')
  expect(`${String((error as { path?: string }).path)} ${(error as Error).message}`).toContain(named)
  expect(await store.info('relay/handoffs')).toBeUndefined()
})

test('an unknown agent is named with those that could be meant [P15]', async () => {
  const { relay } = await open()
  await expect(relay.request({ ...whole, handoffTo: 'reseacher' })).rejects.toMatchObject({
    message: 'handoffTo: there is no agent "reseacher"',
    hint: 'Did you mean researcher?',
  })
})

test('whatever is given as a request is accepted as one or refused as invalid, never anything else [P1, P15]', async () => {
  const { relay } = await open({ handlers: { researcher: () => resolved } })
  const fields = Object.keys(whole)
  const junk = fc.oneof(
    fc.jsonValue(),
    fc.anything(),
    fc.constantFrom('__proto__', 'constructor', '', '\u0000', '\ud800'),
  )
  const broken = fc
    .tuple(fc.subarray(fields), fc.dictionary(fc.constantFrom(...fields, '__proto__', 'x'), junk))
    .map(([dropped, changed]) => {
      const kept = Object.entries(request()).filter(([name]) => !dropped.includes(name))
      return { ...Object.fromEntries(kept), ...changed }
    })
  let accepted = 0
  await fc.assert(
    fc.asyncProperty(fc.oneof(broken, junk), async (given) => {
      const end = await relay.requestFromJson(given, { wait: false }).catch((error: unknown) => error)
      if (end instanceof Error) expect(BatonError.is(end) && ['invalid', 'limit'].includes(end.code)).toBe(true)
      else {
        expect(requestSchema.safeParse(given).success).toBe(true)
        accepted++
      }
    }),
    { numRuns: runs(300) },
  )
  expect(await relay.counters()).toMatchObject({ requests: accepted })
})

test('the envelope carries id, hops, what is left of the budget, and the traceparent [P1]', async () => {
  const { relay } = await open({ settings: { limits: { handoffCooldownMs: 0 } } })
  const traceparent = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01'
  const first = request()
  await relay.request(first, { wait: false, requestId: 'one', traceparent })
  await relay.request({ ...first, missingInputs: [] }, { wait: false, requestId: 'two' })
  const { envelope } = await relay.status('one')
  expect(envelopeSchema.parse(envelope)).toMatchObject({ requestId: 'one', hops: 1, hopsLeft: 9, traceparent })
  expect((await relay.status('two')).envelope).toMatchObject({ hops: 2, hopsLeft: 8, mode: 'return_to_caller' })
  await expect(relay.request(first, { traceparent: 'nonsense' })).rejects.toThrow('traceparent')
})

test('the settings say what is wrong with them [P2, P13]', () => {
  const twice = [{ from: 'validator', to: 'generator', reason: 'no' }]
  expect(() => settings({ forbidden: twice })).toThrow('validator → generator is among the forbidden ones, too')
  expect(() => settings({ agents: { human: {} } })).toThrow('person')
  expect(() => settings({ forbidden: [{ from: 'validator', to: 'human', reason: 'no' }] })).toThrow('cannot be closed')
})
