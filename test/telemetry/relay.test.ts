import { randomUUID } from 'node:crypto'
import { SpanKind, trace } from '@opentelemetry/api'
import { expect, test } from 'vitest'
import { type HandoffHandler, type HandoffRequest, openRelay, relaySection } from '../../src/relay/index.ts'
import { handoffTelemetry } from '../../src/telemetry/index.ts'
import { temporaryStore } from '../support/workspace.ts'
import { requiredAttributes, setUpSdk } from './sdk.ts'

const settings = relaySection.parse({
  agents: { generator: {}, researcher: {}, orchestrator: {} },
  routes: [
    { from: 'generator', to: 'researcher', reason: 'data' },
    { from: 'generator', to: 'orchestrator', reason: 'the user' },
  ],
})

const request = (handoffTo: string, traceId = randomUUID() as string): HandoffRequest => ({
  schemaVersion: '1.0.0',
  traceId,
  timestamp: new Date().toISOString(),
  sourceAgent: 'generator',
  sourceContext: { currentStep: 1, attemptNumber: 1 },
  canHandle: false,
  handoffTo,
  reason: 'missing_required_input',
  reasonDetail: 'No data',
  missingInputs: [{ key: 'market', expectedType: 'number', description: '' }],
  contextForTarget: { summary: 'a plan' },
  priority: 'medium',
})

/** A process of the relay: its own relay and its own telemetry on the one store. */
async function team() {
  const store = await temporaryStore()
  return (handlers: Record<string, HandoffHandler> = {}) =>
    openRelay({ store, settings, telemetry: handoffTelemetry(), handlers })
}

test('asked in one process and answered in another: one trace, from the envelope alone [P11]', async () => {
  const sdk = setUpSdk()
  const open = await team()
  const [asking, serving] = [await open(), await open()]
  const stop = new AbortController()
  let seen: { traceparent?: string | undefined; tracestate?: string | undefined } = {}
  const served = serving.serve(
    'researcher',
    (_request, { envelope, traceparent, tracestate }) => {
      seen = envelope
      expect(tracestate).toBe('vendor=opaque')
      trace.getTracer('test').startSpan('of the agent itself').end()
      expect(traceparent).not.toBe(envelope.traceparent)
      return { status: 'resolved', providedInputs: { market: 3 }, tokenUsage: { input: 10, output: 4 } }
    },
    { signal: stop.signal },
  )
  const caller = { traceparent: `00-${'a'.repeat(32)}-${'b'.repeat(16)}-01`, tracestate: 'vendor=opaque' }
  const outcome = await asking.request(request('researcher'), caller)
  expect(outcome.status).toBe('resolved')
  stop.abort()
  await served
  const [asked] = sdk.spans('handoff.request')
  await expect.poll(() => sdk.spans('handoff.response')).toHaveLength(1)
  const [answered] = sdk.spans('handoff.response')
  const calls = sdk.spans('invoke_agent researcher')
  const called = calls.find(({ kind }) => kind === SpanKind.CLIENT)
  expect(called!.parentSpanContext?.spanId).toBe(asked!.spanContext().spanId)
  for (const name of requiredAttributes.invoke_agent) expect(called!.attributes[name]).toBeDefined()
  expect(called!.attributes).toMatchObject({ 'gen_ai.usage.input_tokens': 10, 'gen_ai.usage.output_tokens': 4 })
  expect(asked!.spanContext().traceId).toBe('a'.repeat(32))
  expect(asked!.parentSpanContext?.spanId).toBe('b'.repeat(16))
  expect(seen).toMatchObject({
    traceparent: `00-${asked!.spanContext().traceId}-${called!.spanContext().spanId}-01`,
    tracestate: 'vendor=opaque',
  })
  expect(answered!.spanContext().traceId).toBe(asked!.spanContext().traceId)
  expect(answered!.parentSpanContext?.spanId).toBe(called!.spanContext().spanId)
  expect(answered!.attributes).toMatchObject({
    'handoff.status': 'resolved',
    'handoff.inputs_provided': 1,
  })

  const work = calls.find(({ kind }) => kind === SpanKind.INTERNAL)
  expect(work!.parentSpanContext?.spanId).toBe(answered!.spanContext().spanId)
  expect(work!.attributes).toMatchObject({ 'gen_ai.operation.name': 'invoke_agent', 'gen_ai.agent.name': 'researcher' })
  const [own] = sdk.spans('of the agent itself')
  expect(own!.parentSpanContext?.spanId).toBe(work!.spanContext().spanId)
  await asking.close()
  await serving.close()
})

test('a person is asked, and another process goes on with the answer in a linked span [P6, P11]', async () => {
  const sdk = setUpSdk()
  const open = await team()
  const asking = await open()
  const outcome = await asking.request(request('human'))
  if (outcome.status !== 'escalated') throw new Error(`It is ${outcome.status}`)
  await asking.close()
  expect(sdk.spans().map(({ name }) => name)).toEqual(['handoff.human_escalation', 'handoff.request'])
  const person = await open()
  await person.escalations.answer(outcome.escalation, { market: 3 }, { by: 'anna' })
  await person.close()
  const later = await open()
  await later.resume(outcome.requestId, { by: 'generator' })
  await later.close()
  const [before] = sdk.spans('handoff.request')
  const [after] = sdk.spans('handoff.response')
  expect(after!.links.map(({ context }) => context.spanId)).toEqual([before!.spanContext().spanId])
  expect(after!.attributes).toMatchObject({
    'handoff.status': 'resolved',
    'handoff.escalation_id': outcome.escalation,
    'handoff.responding_agent': 'human',
  })
})

test('the span of a caller that waits for a person ends when the person is asked, whoever asked them [P11]', async () => {
  const sdk = setUpSdk()
  const open = await team()
  const asking = await open()
  const serving = await open()
  const stop = new AbortController()
  const served = serving.serve('orchestrator', () => ({ status: 'escalated' }), { signal: stop.signal })
  const waiting = [
    asking.request(request('human'), { wait: true }),
    asking.request(request('orchestrator'), { wait: true }),
  ]
  await expect.poll(() => sdk.spans('handoff.request').length, { timeout: 20_000 }).toBe(2)
  for (const span of sdk.spans('handoff.request')) {
    expect(span.attributes).toMatchObject({ 'handoff.status': 'escalated' })
  }
  const open2 = await serving.escalations.list()
  expect(open2).toHaveLength(2)
  for (const { id } of open2) await serving.escalations.answer(id, { market: 3 }, { by: 'anna' })
  expect((await Promise.all(waiting)).map(({ status }) => status)).toEqual(['resolved', 'resolved'])
  expect(sdk.spans('handoff.request')).toHaveLength(2)
  stop.abort()
  await served
  await asking.close()
  await serving.close()
})

test('a worker that runs out of time reports the same reason as whoever asked [P3, P11]', async () => {
  const sdk = setUpSdk()
  const open = await team()
  const relay = await open({ researcher: () => new Promise<never>(() => {}) })
  expect(await relay.request({ ...request('researcher'), timeoutMs: 20 })).toMatchObject({ cause: 'timeout' })
  for (const name of ['handoff.request', 'handoff.response', 'invoke_agent researcher']) {
    await expect.poll(() => sdk.spans(name).at(-1)?.attributes['error.type'], { message: name }).toBe('timeout')
  }
})

test('what was resolved, refused, malformed, late and in time is counted as such [P3, P5, P11]', async () => {
  const sdk = setUpSdk()
  const open = await team()
  const relay = await open({ researcher: () => ({ status: 'resolved', providedInputs: { market: 3 } }) })
  const done = await relay.request(request('researcher'))
  await relay.answer(done.requestId, { status: 'failed', failureReason: 'no' })
  const traceId = randomUUID()
  await relay.request(request('researcher', traceId))
  await relay.request(request('researcher', traceId))
  await expect(relay.requestFromJson({ nonsense: true })).rejects.toThrow('The request: ')
  await relay.request({ ...request('orchestrator'), timeoutMs: 1 })
  const found = await sdk.metrics()
  const sum = (name: string) =>
    found
      .get(name)
      ?.points.map(({ attributes, value }) => [attributes['error.type'] ?? attributes['handoff.ignored'] ?? '', value])
  expect(sum('handoff.requests')?.reduce((all, [, value]) => all + Number(value), 0)).toBe(5)
  expect(sum('handoff.resolved')).toEqual([['', 2]])
  expect(new Map(sum('handoff.failed') as [string, number][])).toEqual(
    new Map([
      ['circular', 1],
      ['invalid', 1],
      ['timeout', 1],
    ]),
  )
  // The span of a request gives the same reason as the metric.
  expect(sdk.spans('handoff.request').at(-1)?.attributes['error.type']).toBe('timeout')
  expect(sum('handoff.circular_blocked')).toEqual([['', 1]])
  expect(sum('handoff.ignored')).toEqual([['late', 1]])
  await relay.close()
})
