import { execFileSync } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import fs from 'node:fs'
import path from 'node:path'
import { context, SpanKind, SpanStatusCode, trace } from '@opentelemetry/api'
import { build } from 'esbuild'
import { expect, test } from 'vitest'
import type { RelayObserver } from '../../src/relay/index.ts'
import type { HandoffRequest, HandoffResponse } from '../../src/relay/schema.ts'
import { genAi, schemaUrl } from '../../src/telemetry/conventions.ts'
import { handoffTelemetry } from '../../src/telemetry/index.ts'
import { temporaryFolder } from '../support/workspace.ts'
import { requiredAttributes, setUpSdk } from './sdk.ts'

const traceId = '6f1a0c52-5a1c-4b8e-9a53-0a7d5d3a9e11'
const request: HandoffRequest = {
  schemaVersion: '1.0.0',
  traceId,
  timestamp: '2026-11-15T12:00:00Z',
  sourceAgent: 'generator',
  sourceContext: { currentStep: 1, attemptNumber: 1 },
  canHandle: false,
  handoffTo: 'researcher',
  reason: 'missing_required_input',
  reasonDetail: 'No market data',
  missingInputs: [
    { key: 'market', expectedType: 'object', description: 'size' },
    { key: 'rivals', expectedType: 'array', description: 'names' },
  ],
  contextForTarget: { summary: 'a plan' },
  priority: 'high',
}
const response: HandoffResponse = {
  schemaVersion: '1.0.0',
  traceId,
  timestamp: '2026-11-15T12:00:01Z',
  respondingAgent: 'researcher',
  status: 'resolved',
  providedInputs: { market: { size: 1 }, rivals: [] },
  executionTimeMs: 250,
}
const failure: HandoffResponse = { ...response, status: 'failed', failureReason: 'no source' }
const facts = { requestId: 'req-1', request, mode: 'return_to_caller' as const }

/** What the relay is given: the type says that it fits. */
const open = (settings = { seedNames: false }): RelayObserver => handoffTelemetry(settings)

test('a request and the work of its target are one trace, across processes, with the attributes of both [P11]', () => {
  const sdk = setUpSdk()
  const asking = open()
  const span = asking.requested(facts)
  expect(span.traceparent).toMatch(/^00-[\da-f]{32}-[\da-f]{16}-01$/)
  // The other process has nothing but the envelope.
  const work = open().working({ ...facts, worker: 'researcher', traceparent: span.traceparent })
  work.answered(response)
  span.answered(response)
  const [agent, child, parent] = sdk.spans()
  expect([child!.name, parent!.name]).toEqual(['handoff.response', 'handoff.request'])
  expect(child!.spanContext().traceId).toBe(parent!.spanContext().traceId)
  expect(child!.parentSpanContext?.spanId).toBe(parent!.spanContext().spanId)
  expect(parent!.attributes).toEqual({
    'handoff.request_id': 'req-1',
    'handoff.trace_id': traceId,
    'handoff.source_agent': 'generator',
    'handoff.target_agent': 'researcher',
    'handoff.reason': 'missing_required_input',
    'handoff.priority': 'high',
    'handoff.mode': 'return_to_caller',
    'handoff.inputs_missing': 2,
    'handoff.inputs_provided': 2,
    'handoff.inputs_unresolved': 0,
    'handoff.status': 'resolved',
    'handoff.responding_agent': 'researcher',
    'handoff.execution_time_ms': 250,
    'gen_ai.conversation.id': traceId,
  })
  expect(child!.attributes).toMatchObject({ 'handoff.worker': 'researcher', 'handoff.status': 'resolved' })
  expect(agent).toMatchObject({ name: 'invoke_agent researcher', kind: SpanKind.INTERNAL })
  expect(agent!.parentSpanContext?.spanId).toBe(child!.spanContext().spanId)
})

test('the work of an agent is a span and a duration of the conventions, with its model and its tokens [P11]', async () => {
  const sdk = setUpSdk()
  const about = { description: 'finds sources', version: '2', provider: 'anthropic', model: 'claude-sonnet' }
  const observer = open()
  const work = observer.working({ ...facts, worker: 'w1', agent: about })
  const inside = work.run(() => trace.getActiveSpan()?.spanContext().spanId)
  work.answered({ ...response, tokensUsed: 1_300, tokenUsage: { input: 1_000, output: 300 } })
  observer.working({ ...facts, worker: 'w1' }).answered(failure)
  observer.working({ ...facts, worker: 'w1' }).failed(new TypeError('no'))
  const [span, plain, broken] = sdk.spans('invoke_agent researcher')
  expect(span!.attributes).toMatchObject({
    'gen_ai.operation.name': 'invoke_agent',
    'gen_ai.provider.name': 'anthropic',
    'gen_ai.agent.name': 'researcher',
    'gen_ai.agent.description': 'finds sources',
    'gen_ai.agent.version': '2',
    'gen_ai.conversation.id': traceId,
    'gen_ai.request.model': 'claude-sonnet',
    'gen_ai.usage.input_tokens': 1_000,
    'gen_ai.usage.output_tokens': 300,
    'handoff.tokens_used': 1_300,
  })
  expect(span!.spanContext().spanId).toBe(inside)
  expect(work.traceparent).toContain(inside)
  for (const name of requiredAttributes.invoke_agent) expect(plain!.attributes[name]).toBeDefined()
  expect([plain, broken].map((each) => each!.attributes['error.type'])).toEqual(['failed', 'TypeError'])
  expect(span!.instrumentationScope.schemaUrl).toBe(schemaUrl)
  const found = await sdk.metrics()
  const { unit, points } = found.get('gen_ai.invoke_agent.duration')!
  expect(unit).toBe('s')
  const agent = { 'gen_ai.operation.name': 'invoke_agent', 'gen_ai.agent.name': 'researcher' }
  const claude = { ...agent, 'gen_ai.provider.name': 'anthropic', 'gen_ai.request.model': 'claude-sonnet' }
  const other = { ...agent, 'gen_ai.provider.name': 'baton' }
  expect(points.map(({ attributes }) => attributes)).toEqual([
    claude,
    { ...other, 'error.type': 'failed' },
    { ...other, 'error.type': 'TypeError' },
  ])
  expect(found.get('gen_ai.client.token.usage')).toMatchObject({
    unit: '{token}',
    points: [
      { attributes: { ...claude, 'gen_ai.token.type': 'input' }, value: { sum: 1_000 } },
      { attributes: { ...claude, 'gen_ai.token.type': 'output' }, value: { sum: 300 } },
    ],
  })
})

test('whatever of the conventions is on a span or a metric is in the list of their names [P11]', async () => {
  const sdk = setUpSdk()
  const observer = open({ seedNames: true })
  const span = observer.requested(facts)
  observer.working({ ...facts, worker: 'w1', agent: { model: 'm' } }).answered(response)
  span.answered(response)
  observer.answered({ ...facts, response, durationMs: 5 })
  observer.escalated({ ...facts, escalation: 'e1' })
  observer.resumed({ ...facts, response, durationMs: 5, escalation: 'e1' })
  const points = [...(await sdk.metrics()).values()].flatMap((each) => each.points)
  const used = [...sdk.spans(), ...points].flatMap(({ attributes }) => Object.keys(attributes))
  const known: readonly string[] = Object.values(genAi)
  const foreign = used.filter((name) => !name.startsWith('handoff.') && !known.includes(name))
  expect(foreign).toEqual([])
})

test('a request belongs to the span that is active, or to the one that the caller names [P11]', () => {
  const sdk = setUpSdk()
  const outer = trace.getTracer('test').startSpan('outer')
  context.with(trace.setSpan(context.active(), outer), () => open().requested(facts).answered(response))
  const caller = `00-${'a'.repeat(32)}-${'b'.repeat(16)}-01`
  open()
    .requested({ ...facts, traceparent: caller })
    .left()
  open()
    .requested({ ...facts, traceparent: 'not one' })
    .left()
  const [active, named, none] = sdk.spans('handoff.request')
  expect(active!.parentSpanContext?.spanId).toBe(outer.spanContext().spanId)
  expect(named!.spanContext().traceId).toBe('a'.repeat(32))
  expect(named!.parentSpanContext?.spanId).toBe('b'.repeat(16))
  expect(none!.parentSpanContext).toBeUndefined()
})

test('a span ends when a person is asked, and goes on days later in one that links back [P11]', () => {
  const sdk = setUpSdk()
  const asked = { ...facts, request: { ...request, handoffTo: 'human' } }
  const observer = open()
  const span = observer.requested(asked)
  observer.escalated({ ...asked, escalation: 'esc-1', traceparent: span.traceparent })
  const before = sdk.spans('handoff.request')[0]!
  expect(before.ended).toBe(true)
  expect(before.attributes).toMatchObject({ 'handoff.status': 'escalated', 'handoff.escalation_id': 'esc-1' })
  const escalation = sdk.spans('handoff.human_escalation')[0]!
  expect(escalation.parentSpanContext?.spanId).toBe(before.spanContext().spanId)
  expect(escalation.attributes).toMatchObject({
    'handoff.reason': 'missing_required_input',
    'handoff.reason_detail': 'No market data',
    'handoff.priority': 'high',
  })

  const answer = { ...response, respondingAgent: 'human' }
  const later = { ...asked, escalation: 'esc-1', response: answer, durationMs: 86_400_000 }
  observer.resumed({ ...later, traceparent: span.traceparent })
  // The caller has waited all the time; its span has not.
  span.answered(answer)
  expect(sdk.spans('handoff.request')).toHaveLength(1)
  const after = sdk.spans('handoff.response')[0]!
  expect(after.spanContext().traceId).not.toBe(before.spanContext().traceId)
  expect(after.links.map(({ context }) => context.spanId)).toEqual([before.spanContext().spanId])
  expect(after.attributes).toMatchObject({ 'handoff.status': 'resolved', 'handoff.waited_ms': 86_400_000 })
})

test('what is refused or breaks is an error of a named type [P11]', () => {
  const sdk = setUpSdk()
  open().requested(facts).rejected('circular', failure)
  open().requested(facts).failed(new TypeError('disk'))
  open()
    .working({ ...facts, worker: 'researcher' })
    .failed('no error at all')
  open().invalid(new Error('traceId is missing'))
  expect(sdk.spans().map((span) => [span.attributes['error.type'], span.status.code])).toEqual([
    ['circular', SpanStatusCode.ERROR],
    ['TypeError', SpanStatusCode.ERROR],
    ['Error', SpanStatusCode.ERROR],
    ['Error', SpanStatusCode.ERROR],
    ['invalid', SpanStatusCode.ERROR],
  ])
})

test('the six metrics, in seconds, by names of the conventions; no id is ever an attribute [P11]', async () => {
  const sdk = setUpSdk()
  const observer = open()
  const done = (response: HandoffResponse, rejection?: 'circular') => {
    const one = { ...facts, requestId: randomUUID(), request: { ...request, traceId: randomUUID() } }
    const span = observer.requested(one)
    if (rejection === undefined) span.answered(response)
    else span.rejected(rejection, response)
    observer.answered({ ...one, response, durationMs: 1_500, rejection })
  }
  done(response)
  done(response)
  done({ ...response, status: 'partial' })
  done(failure)
  done(failure, 'circular')
  observer.invalid(new Error('no'))
  observer.escalated({ ...facts, escalation: 'esc-1' })
  observer.ignored({ requestId: 'req-1', why: 'late' })
  const found = await sdk.metrics()
  expect([...found.keys()].sort()).toEqual([
    'handoff.circular_blocked',
    'handoff.duration',
    'handoff.escalated',
    'handoff.failed',
    'handoff.ignored',
    'handoff.requests',
    'handoff.resolved',
  ])
  const pair = {
    'handoff.source_agent': 'generator',
    'handoff.target_agent': 'researcher',
    'handoff.reason': 'missing_required_input',
  }
  const points = (name: string) => found.get(name)!.points.map(({ attributes, value }) => ({ attributes, value }))
  expect(points('handoff.requests')).toEqual([
    { attributes: pair, value: 5 },
    { attributes: {}, value: 1 },
  ])
  expect(points('handoff.resolved')).toEqual([{ attributes: pair, value: 2 }])
  expect(points('handoff.failed')).toEqual([
    { attributes: { ...pair, 'error.type': 'failed' }, value: 1 },
    { attributes: { ...pair, 'error.type': 'circular' }, value: 1 },
    { attributes: { 'error.type': 'invalid' }, value: 1 },
  ])
  expect(points('handoff.circular_blocked')).toEqual([{ attributes: pair, value: 1 }])
  expect(points('handoff.escalated')).toEqual([{ attributes: pair, value: 1 }])
  expect(points('handoff.ignored')).toEqual([{ attributes: { 'handoff.ignored': 'late' }, value: 1 }])
  expect(found.get('handoff.duration')!.unit).toBe('s')
  expect(points('handoff.duration')).toMatchObject([
    { attributes: { ...pair, 'handoff.status': 'resolved' }, value: { count: 2, sum: 3 } },
    { attributes: { ...pair, 'handoff.status': 'partial' }, value: { count: 1 } },
    { attributes: { ...pair, 'handoff.status': 'failed' }, value: { count: 1 } },
  ])
  const attributes = [...found.values()].flatMap(({ points }) => points.flatMap((each) => Object.keys(each.attributes)))
  expect(attributes.filter((name) => /(^|[._])id$/.test(name))).toEqual([])
})

test('the names of the seed come along for those who ask [P11]', async () => {
  const sdk = setUpSdk()
  const observer = open({ seedNames: true })
  observer.requested(facts).answered(response)
  observer.answered({ ...facts, response, durationMs: 1_500 })
  observer.answered({ ...facts, response: failure, durationMs: 10, rejection: 'circular' })
  observer.escalated({ ...facts, escalation: 'esc-1' })
  const names = ['total', 'success', 'failed', 'escalated', 'duration_ms', 'circular_blocked']
  const found = await sdk.metrics()
  for (const name of names) expect(found.get(`handoff.${name}`)?.points, name).toHaveLength(1)
  expect(found.get('handoff.duration_ms')).toMatchObject({ unit: 'ms', points: [{ value: { sum: 1_500 } }] })
  expect(found.get('handoff.requests')?.points[0]).toMatchObject({ value: 1 })
})

test('agents that come up from nowhere do not make a time series each [P11]', async () => {
  const sdk = setUpSdk()
  const observer = open()
  for (let i = 0; i < 1_000; i++) {
    observer.requested({ ...facts, request: { ...request, sourceAgent: `stranger-${i}` } }).left()
  }
  const { points } = (await sdk.metrics()).get('handoff.requests')!
  expect(points.length).toBeLessThanOrEqual(201)
  expect(points.find((each) => each.attributes['handoff.source_agent'] === '_OTHER')?.value).toBeGreaterThan(700)
})

test('without an SDK the API of OpenTelemetry is not even loaded [P11]', async () => {
  const folder = temporaryFolder()
  fs.symlinkSync(path.resolve(import.meta.dirname, '../../node_modules'), path.join(folder, 'node_modules'))
  const outfile = path.join(folder, 'alone.mjs')
  const contents = `
    import { createRequire } from 'node:module'
    import { handoffTelemetry } from '../../src/telemetry/index.ts'
    const observer = handoffTelemetry()
    const facts = ${JSON.stringify({ ...facts, response, durationMs: 1 })}
    observer.requested(facts).answered(facts.response)
    observer.answered(facts)
    const loaded = Object.keys(createRequire(import.meta.url).cache).filter((file) => file.includes('opentelemetry'))
    console.log(JSON.stringify(loaded))`
  const stdin = { contents, resolveDir: import.meta.dirname }
  await build({ stdin, outfile, bundle: true, platform: 'node', format: 'esm', packages: 'external' })
  expect(execFileSync(process.execPath, [outfile]).toString()).toBe('[]\n')
})
