import { randomUUID } from 'node:crypto'
import { expect, test } from 'vitest'
import { boundless, clock, open, request, resolved } from './pipeline.ts'

const limits = { ...boundless, handoffTimeoutMs: 30_000 }

/** Asks within one trace, for nothing in particular. */
function ask(traceId: string, sourceAgent: string, handoffTo: string) {
  return request({ traceId, sourceAgent, handoffTo, missingInputs: [] })
}

test('while a call is open, only those who called and were called hand over in its trace [P14]', async () => {
  const { relay, again } = await open({ settings: { limits } })
  const traceId = randomUUID()
  await relay.request(request({ traceId }), { wait: false, requestId: 'call' })
  const other = await again()
  const refused = await other.request(ask(traceId, 'validator', 'orchestrator'), { wait: false })
  expect(refused).toMatchObject({
    status: 'rejected',
    rejection: 'not_owner',
    response: {
      failureReason:
        "The trace is researcher's (generator called it with call), so validator cannot hand over in it; a trace of its own is free",
    },
  })
  expect(await other.counters()).toMatchObject({ requests: 2, rejected: 1 })
  // Whoever was called has it, and whoever called has only lent it.
  const inner = await other.request(ask(traceId, 'researcher', 'orchestrator'), { wait: false })
  expect((await other.request(ask(traceId, 'generator', 'validator'), { wait: false })).status).toBe('pending')
  await other.answer('call', resolved)
  expect(await relay.request(ask(traceId, 'researcher', 'orchestrator'), { wait: false })).toMatchObject({
    rejection: 'not_owner',
  })
  await other.answer(inner.requestId, { status: 'resolved' })
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
    "validator's (control was passed to it)",
  )
  expect((await other.request(ask(traceId, 'validator', 'orchestrator'), { wait: false })).status).toBe('pending')
  const { requestId } = await other.owner(traceId)
  await other.answer(requestId!, { status: 'resolved' })
  await other.returnToCaller(traceId, { from: 'validator', reason: 'Done' })
  expect((await former()).status).toBe('pending')
})

test('a call that nobody ended in time holds its trace no longer [P3, P14]', async () => {
  const time = clock()
  const { relay } = await open({ settings: { limits }, now: time.now })
  const traceId = randomUUID()
  await relay.request(request({ traceId }), { wait: false, requestId: 'call' })
  time.advance(30_000)
  expect((await relay.request(ask(traceId, 'validator', 'orchestrator'), { wait: false })).status).toBe('pending')
  expect(await relay.status('call')).toMatchObject({ state: 'answered', response: { status: 'failed' } })
})

test('a trace in which nothing was handed over is nobody’s [P14]', async () => {
  const { relay } = await open()
  const body = request({ sourceAgent: 'researcher', handoffTo: 'generator' })
  await relay.request(body)
  await expect(relay.owner(body.traceId)).rejects.toMatchObject({ code: 'not_found' })
})
