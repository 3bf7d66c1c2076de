import { randomUUID } from 'node:crypto'
import { expect, test } from 'vitest'
import type { HandoffRequest, RelayObserver } from '../../src/relay/index.ts'
import { boundless, open, rejectionOf, request, resolved } from './pipeline.ts'
import { collect } from '../support/workspace.ts'

test('a local target answers, and the caller gets the whole response [P4, P9]', async () => {
  const seen: HandoffRequest[] = []
  const { relay } = await open({
    handlers: {
      researcher: (body) => {
        seen.push(body)
        return { ...resolved, tokensUsed: 12 }
      },
    },
  })
  const body = request()
  const outcome = await relay.request(body)
  expect(outcome).toMatchObject({
    status: 'resolved',
    response: {
      schemaVersion: '1.0.0',
      traceId: body.traceId,
      respondingAgent: 'researcher',
      status: 'resolved',
      providedInputs: { marketSize: 42 },
      tokensUsed: 12,
    },
  })
  expect(seen).toEqual([body])
  expect(await relay.status()).toMatchObject({ pending: 0, claimed: 0, counters: { requests: 1, resolved: 1 } })
})

test('a handler that throws has failed, with its reason; so has one that answers with nonsense [P9, P15]', async () => {
  const answers: (() => unknown)[] = [
    () => {
      throw new Error('The index is offline')
    },
    () => ({ status: 'resolved', providedInputs: { marketSize: 'large' } }),
    () => ({ status: 'resolved' }),
    () => 'forty-two',
    () => ({ status: 'resolved', providedInputs: { marketSize: 1, password: 'x' } }),
    () => ({ ...resolved, respondingAgent: 'validator' }),
  ]
  const { relay } = await open({ handlers: { researcher: () => answers.shift()!() as never } })
  const reasons: (string | undefined)[] = []
  while (answers.length > 0) {
    const outcome = await relay.request(request())
    expect(outcome).toMatchObject({ status: 'failed', response: { status: 'failed', respondingAgent: 'researcher' } })
    if (outcome.status === 'failed') reasons.push(outcome.reason)
  }
  expect(reasons).toEqual([
    'The index is offline',
    'providedInputs.marketSize must be number, not "large"',
    'It is not resolved without marketSize',
    expect.stringContaining('The answer: it must be an object'),
    'providedInputs.password was not asked for',
    'validator cannot answer for researcher, who was asked',
  ])
})

test('what a caller or a handler changes later changes nothing that was stored [P15]', async () => {
  const inputs: Record<string, number> = { marketSize: 42 }
  const { relay } = await open({
    handlers: {
      researcher: (body) => {
        body.contextForTarget.summary = 'changed by the handler'
        return { status: 'resolved', providedInputs: inputs }
      },
    },
  })
  const body = request()
  const outcome = await relay.request(body, { requestId: 'kept' })
  inputs['marketSize'] = 0
  body.reasonDetail = 'changed by the caller'
  expect(outcome).toMatchObject({ response: { providedInputs: { marketSize: 42 } } })
  const { envelope, response } = await relay.status('kept')
  expect(envelope.request).toMatchObject({
    contextForTarget: { summary: 'Writing the market analysis' },
    reasonDetail: 'The size of the market is unknown',
  })
  expect(response?.providedInputs).toEqual({ marketSize: 42 })
})

test('a request under the same id is the same request: one answer, made once [P4]', async () => {
  let calls = 0
  const handlers = { researcher: () => ({ ...resolved, providedInputs: { marketSize: ++calls } }) }
  const { relay, again } = await open({ handlers })
  const body = request()
  const outcomes = await Promise.all(Array.from({ length: 8 }, () => relay.request(body, { requestId: 'r-1' })))
  const later = await (await again()).request({ ...body, timestamp: new Date().toISOString() }, { requestId: 'r-1' })
  for (const outcome of [...outcomes, later]) expect(outcome).toEqual(outcomes[0])
  expect(calls).toBe(1)
  expect(await relay.counters()).toMatchObject({ requests: 1, resolved: 1 })
})

test('another request under the same id is a conflict [P4]', async () => {
  const { relay, again } = await open({ handlers: { researcher: () => resolved } })
  const body = request()
  await relay.request(body, { requestId: 'r-1' })
  const other = await again()
  await expect(other.request({ ...body, reasonDetail: 'else' }, { requestId: 'r-1' })).rejects.toMatchObject({
    code: 'conflict',
    message: 'There is another request under the id r-1',
  })
  await expect(other.request(request(), { requestId: 'r-1' })).rejects.toMatchObject({ code: 'conflict' })
  await expect(other.request(body, { requestId: '../r' })).rejects.toMatchObject({ code: 'invalid' })
})

test('a rejected request under the same id is rejected the same way, and counts once [P3, P4]', async () => {
  const { relay } = await open()
  const body = request({ sourceAgent: 'validator', handoffTo: 'researcher' })
  const first = await relay.request(body, { requestId: 'no' })
  expect(await relay.request(body, { requestId: 'no' })).toEqual(first)
  expect(await relay.counters()).toMatchObject({ requests: 1, rejected: 1 })
  expect(await relay.status('no')).toMatchObject({ status: 'rejected', rejection: 'forbidden_route' })
})

test('a request is traced when it comes and when it is answered, as the protocol has it [P4]', async () => {
  const told: string[] = []
  const span = (name: string) => ({
    traceparent: '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01',
    run: <T>(work: () => T) => work(),
    rejected: (code: string) => void told.push(`${name} rejected ${code}`),
    answered: () => void told.push(`${name} answered`),
    escalated: () => void told.push(`${name} escalated`),
    left: () => void told.push(`${name} left`),
    failed: () => void told.push(`${name} failed`),
  })
  const telemetry: RelayObserver = {
    invalid: () => void told.push('invalid'),
    requested: ({ request: { handoffTo } }) => {
      told.push(`requested ${handoffTo}`)
      return span('request')
    },
    working: ({ traceparent }) => {
      told.push(`working under ${traceparent?.slice(0, 6)}`)
      return span('work')
    },
    answered: ({ response, rejection }) => void told.push(`recorded ${rejection ?? response.status}`),
    escalated: ({ escalation }) => void told.push(`asked ${escalation}`),
    resumed: () => void told.push('resumed'),
    ignored: ({ why }) => void told.push(why),
  }
  const { relay } = await open({ telemetry, handlers: { researcher: () => resolved } })
  await relay.request(request())
  await relay.request(request({ sourceAgent: 'validator' }))
  await relay.request(request({ handoffTo: 'human' }), { requestId: 'h' })
  await relay.request(request({ handoffTo: 'validator' }), { wait: false })
  await relay.requestFromJson({}).catch(() => {})
  const [asked] = await relay.escalations.list()
  await relay.escalations.answer(asked!.id, { marketSize: 1 }, { by: 'Kim' })
  await relay.wait('h')
  await relay.escalations.answer(asked!.id, { marketSize: 1 }, { by: 'Kim' })
  expect(told).toEqual([
    'requested researcher',
    'working under 00-0af',
    'recorded resolved',
    'work answered',
    'request answered',
    'requested researcher',
    'recorded forbidden_route',
    'request rejected forbidden_route',
    'requested human',
    `asked ${asked!.id}`,
    'request escalated',
    'requested validator',
    'request left',
    'invalid',
    'recorded resolved',
    'resumed',
    'duplicate',
  ])
})

test('several handoffs in one turn: the most urgent wins, then the first; the others are recorded as rejected [P14]', async () => {
  const { relay } = await open({ settings: { limits: boundless } })
  const traceId = randomUUID()
  const outcomes = await relay.requestOneOf(
    [
      request({ traceId, handoffTo: 'validator', priority: 'low' }),
      request({ traceId, handoffTo: 'researcher', priority: 'high' }),
      request({ traceId, handoffTo: 'orchestrator', priority: 'high' }),
    ],
    { wait: false },
  )
  expect(outcomes.map((outcome) => rejectionOf(outcome) ?? outcome.status)).toEqual([
    'superseded',
    'pending',
    'superseded',
  ])
  expect(outcomes[2]).toMatchObject({
    response: { failureReason: 'Another handoff of the same turn, to researcher, was taken' },
  })
  const requested = (await collect(relay.history({ traceId }))).filter(({ type }) => type === 'requested')
  expect(requested.map(({ requestId }) => requestId).toSorted()).toEqual(
    outcomes.map(({ requestId }) => requestId).toSorted(),
  )
  expect(await relay.counters()).toMatchObject({ requests: 3, rejected: 2 })
  expect(await relay.inbox('researcher')).toHaveLength(1)
  expect(await relay.inbox('orchestrator')).toEqual([])
})

test('when the most urgent of a turn is refused, the next one wins [P14]', async () => {
  const { relay } = await open()
  const traceId = randomUUID()
  const outcomes = await relay.requestOneOf(
    [
      request({ traceId, sourceAgent: 'validator', handoffTo: 'researcher', priority: 'critical' }),
      request({ traceId, sourceAgent: 'validator', handoffTo: 'generator', priority: 'low' }),
    ],
    { wait: false },
  )
  expect(outcomes.map((outcome) => rejectionOf(outcome) ?? outcome.status)).toEqual(['forbidden_route', 'pending'])
  await expect(relay.requestOneOf([request(), request()])).rejects.toThrow('one trace')
  expect(await relay.requestOneOf([])).toEqual([])
})

test('a turn under the same id is the same turn [P4, P14]', async () => {
  const { relay, again } = await open({ settings: { limits: boundless } })
  const traceId = randomUUID()
  const turn = [
    request({ traceId, handoffTo: 'validator', priority: 'low' }),
    request({ traceId, handoffTo: 'researcher', priority: 'high' }),
  ]
  const options = { wait: false, turnId: 'turn-1' }
  const first = await relay.requestOneOf(turn, options)
  expect(await (await again()).requestOneOf(turn, options)).toEqual(first)
  await expect(relay.requestOneOf(turn.toReversed(), options)).rejects.toMatchObject({ code: 'conflict' })
  expect(await relay.counters()).toMatchObject({ requests: 2, rejected: 1 })
})

test('the owner of a trace is kept: it is called, returns, or passes control, also across restarts [P14]', async () => {
  const { relay, again } = await open({ settings: { limits: boundless } })
  const traceId = randomUUID()
  await relay.request(request({ traceId, handoffTo: 'orchestrator' }), { wait: false, requestId: 'a' })
  const other = await again()
  expect(await other.owner(traceId)).toEqual({
    traceId,
    agent: 'orchestrator',
    mode: 'return_to_caller',
    requestId: 'a',
    returnsTo: 'generator',
  })
  await other.request(request({ traceId, sourceAgent: 'orchestrator' }), { wait: false, requestId: 'b' })
  expect((await relay.owner(traceId)).agent).toBe('researcher')
  await other.answer('b', resolved)
  expect((await relay.owner(traceId)).agent).toBe('orchestrator')
  await other.answer('a', resolved)
  expect(await (await again()).owner(traceId)).toEqual({ traceId, agent: 'generator' })

  const pass = { wait: false, requestId: 'c', mode: 'pass_control' } as const
  await relay.request(request({ traceId, handoffTo: 'validator', missingInputs: [] }), pass)
  await relay.answer('c', { status: 'resolved' })
  expect(await other.owner(traceId)).toMatchObject({ agent: 'validator', mode: 'pass_control' })
  await expect(other.passControl(traceId, { from: 'generator', to: 'researcher', reason: '' })).rejects.toMatchObject({
    code: 'conflict',
    message: `Trace ${traceId} is validator's, not generator's`,
  })
  await other.passControl(traceId, { from: 'validator', to: 'orchestrator', reason: 'Decide' })
  expect((await relay.owner(traceId)).agent).toBe('orchestrator')
  expect(await relay.returnToCaller(traceId, { from: 'orchestrator', reason: 'Done' })).toMatchObject({
    agent: 'validator',
  })
  await expect(relay.owner(randomUUID())).rejects.toMatchObject({ code: 'not_found' })
})

test('a passed control that nobody takes comes back [P14]', async () => {
  const { relay } = await open()
  const body = request({ timeoutMs: 20 })
  await relay.request(body, { mode: 'pass_control' })
  expect(await relay.owner(body.traceId)).toMatchObject({ agent: 'generator' })
})

test('a caller that cancels ends the work of a local target, which has failed then [P9]', async () => {
  const { relay } = await open({
    handlers: {
      researcher: (_, { signal }) =>
        new Promise((_resolve, reject) => signal.addEventListener('abort', () => reject(signal.reason as Error))),
    },
  })
  const cancel = new AbortController()
  const asking = relay.request(request(), { signal: cancel.signal, requestId: 'x' })
  await expect.poll(() => relay.status().then(({ claimed }) => claimed)).toBe(1)
  cancel.abort()
  await expect(asking).rejects.toMatchObject({ code: 'cancelled' })
  expect(await relay.status('x')).toMatchObject({
    response: { status: 'failed', failureReason: 'generator has cancelled it' },
  })
})
