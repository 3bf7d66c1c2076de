import { randomUUID } from 'node:crypto'
import { expect, test } from 'vitest'
import { boundless, clock, open, request, resolved } from '../pipeline.ts'

const limits = { ...boundless, handoffTimeoutMs: 30_000 }

/** Asks within one trace, for nothing in particular. */
function ask(traceId: string, sourceAgent: string, handoffTo: string) {
  return request({ traceId, sourceAgent, handoffTo, missingInputs: [] })
}

test('a call that is open keeps no other agent of the pipeline from asking in its trace [P14]', async () => {
  const { relay, again } = await open({ settings: { limits } })
  const traceId = randomUUID()
  await relay.request(request({ traceId }), { wait: false, requestId: 'call' })
  const other = await again()
  const sides = [ask(traceId, 'validator', 'orchestrator'), ask(traceId, 'generator', 'validator')]
  for (const side of sides) expect((await other.request(side, { wait: false })).status).toBe('pending')
  await other.answer('call', resolved)
  expect(await relay.status('call')).toMatchObject({ status: 'resolved', response: { status: 'resolved' } })
})

test('a trace at rest is whoever’s who asks next, and the answer returns to them [P14]', async () => {
  const { relay } = await open({ settings: { limits } })
  const traceId = randomUUID()
  await relay.request(request({ traceId }), { wait: false, requestId: 'first' })
  await relay.answer('first', resolved)
  const next = await relay.request(ask(traceId, 'validator', 'orchestrator'), { wait: false })
  expect(next.status).toBe('pending')
  expect(await relay.owner(traceId)).toMatchObject({ agent: 'orchestrator', returnsTo: 'validator' })
  await relay.answer(next.requestId, { status: 'resolved' })
  expect(await relay.owner(traceId)).toEqual({ traceId, agent: 'validator' })
})

test('control that was passed is gone, also after a restart, until it is given back [P14]', async () => {
  const { relay, again } = await open({ settings: { limits } })
  const traceId = randomUUID()
  const pass = { wait: false, requestId: 'pass', mode: 'pass_control' } as const
  await relay.request(ask(traceId, 'generator', 'validator'), pass)
  const other = await again()
  const former = async () => other.request(ask(traceId, 'generator', 'researcher'), { wait: false })
  expect(await former()).toMatchObject({ rejection: 'not_owner' })
  await relay.answer('pass', { status: 'resolved' })
  const refused = await former()
  expect(refused).toMatchObject({ rejection: 'not_owner' })
  expect(refused.status === 'rejected' && refused.response.failureReason).toContain(
    'Control of the trace was passed to validator, so generator cannot hand over in it',
  )
  expect(await other.counters()).toMatchObject({ requests: 3, rejected: 2 })
  expect((await other.request(ask(traceId, 'validator', 'orchestrator'), { wait: false })).status).toBe('pending')
  const { requestId } = await other.owner(traceId)
  await other.answer(requestId!, { status: 'resolved' })
  await other.returnToCaller(traceId, { from: 'validator', reason: 'Done' })
  expect((await former()).status).toBe('pending')
})

test('control that nobody took in time was not passed [P3, P14]', async () => {
  const time = clock()
  const { relay } = await open({ settings: { limits }, time })
  const traceId = randomUUID()
  const pass = { wait: false, requestId: 'pass', mode: 'pass_control' } as const
  await relay.request(ask(traceId, 'generator', 'validator'), pass)
  time.advance(30_000)
  expect((await relay.request(ask(traceId, 'generator', 'researcher'), { wait: false })).status).toBe('pending')
  expect(await relay.status('pass')).toMatchObject({ status: 'failed', response: { status: 'failed' } })
})

test('a trace in which nothing was handed over is nobody’s [P14]', async () => {
  const { relay } = await open()
  const body = request({ sourceAgent: 'researcher', handoffTo: 'generator' })
  await relay.request(body)
  await expect(relay.owner(body.traceId)).rejects.toMatchObject({ code: 'not_found' })
})
