import { randomUUID } from 'node:crypto'
import { expect, test } from 'vitest'
import { openAlerts } from '../../../src/relay/index.ts'
import { collect } from '../../support/workspace.ts'
import { boundless, clock, open, request, resolved } from '../pipeline.ts'

const large = 'z'.repeat(2_000_000)
const anything = { missingInputs: [] }

test('an answer too large for a line is kept in a blob, for a function and for a worker, and is the same for all [P9]', async () => {
  const handler = () => ({ status: 'resolved' as const, providedInputs: { text: large } })
  const { relay, store, again } = await open({ handlers: { validator: handler } })
  const local = await relay.request(request({ handoffTo: 'validator', ...anything }), { requestId: 'local' })
  expect(local).toMatchObject({ status: 'resolved', inputs: { text: large } })
  const serving = (await again({ handlers: {} })).serve('researcher', handler)
  const remote = await relay.request(request(anything), { requestId: 'remote' })
  expect(remote).toMatchObject({ status: 'resolved', inputs: { text: large } })
  expect((await relay.status('remote')).response?.providedInputs).toEqual({ text: large })
  expect(await (await again()).wait('local')).toMatchObject({ providedInputs: { text: large } })
  expect(await relay.answer('remote', handler())).toMatchObject({ status: 'duplicate' })
  const rows = await collect(relay.history())
  expect(rows.filter((row) => row.type === 'answered' && row.response.providedInputs?.text === large)).toHaveLength(2)
  expect((await store.info('relay/handoffs'))!.bytes).toBeLessThan(20_000)
  void serving
})

test('an answer that cannot be stored is a failure of its request, and the worker goes on [P9]', async () => {
  const bad: unknown[] = [
    { status: 'resolved', failureReason: large },
    { status: 'resolved', providedInputs: { at: new Date() } },
    { status: 'resolved', providedInputs: { n: 10n } },
    { status: 'resolved', recommendations: [large] },
  ]
  const circle: Record<string, unknown> = {}
  circle.self = circle
  bad.push({ status: 'resolved', providedInputs: circle })
  const answers = [...bad, resolved]
  const { relay } = await open({ settings: { limits: boundless } })
  const serving = relay.serve('researcher', () => answers.shift() as never)
  for (const _ of bad) expect(await relay.request(request(anything))).toMatchObject({ status: 'failed' })
  expect(await relay.request(request())).toMatchObject({ status: 'resolved' })
  const local = await open({ handlers: { researcher: () => bad[0] as never } })
  expect(await local.relay.request(request(anything))).toMatchObject({
    status: 'failed',
    reason: expect.stringContaining('The answer of researcher cannot be stored') as string,
  })
  await relay.close()
  await serving
})

/** Claims a request and dies, so to speak: the lease ends. */
async function killed(opened: Awaited<ReturnType<typeof open>>, time: ReturnType<typeof clock>, worker: string) {
  const relay = await opened.again()
  const claim = await relay.claim('researcher', { worker, leaseMs: 1_000 })
  time.advance(1_001)
  return claim
}

test('a request that killed three workers is a dead letter: told to the asker, listed, and an alert [P9, P12]', async () => {
  const time = clock()
  const opened = await open({ time, settings: { limits: { handoffTimeoutMs: 3_600_000 } } })
  const { relay, store, again } = opened
  const asking = relay.request(request(), { requestId: 'poison' })
  await expect.poll(() => relay.inbox('researcher')).toHaveLength(1)
  for (const worker of ['w1', 'w2', 'w3']) expect(await killed(opened, time, worker)).toMatchObject({ worker })
  expect(await (await again()).claim('researcher', { worker: 'w4' })).toBeUndefined()
  expect(await asking).toMatchObject({
    status: 'failed',
    cause: 'dead',
    reason: expect.stringMatching(/^3 workers took it and did not come back: w1 .*w2 .*w3 /) as string,
  })
  const [letter] = await relay.deadLetters.list()
  expect(letter).toMatchObject({
    requestId: 'poison',
    to: 'researcher',
    lost: [{ worker: 'w1' }, {}, { worker: 'w3' }],
  })
  expect(await relay.status()).toMatchObject({ deadLetters: 1, pending: 0, claimed: 0 })
  const alerts = await openAlerts({ relay, store, now: time.now }).evaluate()
  expect(alerts.filter(({ on }) => on).map(({ name }) => name)).toEqual(['dead_letters'])

  // Retried, it is open again under its id, and its answer counts.
  await relay.deadLetters.retry('poison', { by: 'Kim' })
  expect(await relay.deadLetters.list()).toEqual([])
  const claim = await (await again()).claim('researcher', { worker: 'w5' })
  await relay.answer('poison', resolved, { claim: claim! })
  expect(await relay.wait('poison')).toMatchObject({ status: 'resolved' })
  await expect(relay.deadLetters.retry('poison', { by: 'Kim' })).rejects.toMatchObject({ code: 'not_found' })
})

test('a request that killed its last worker is a dead letter also when no other worker comes; a slow worker has a lease more [P9]', async () => {
  const time = clock()
  const opened = await open({ time, settings: { limits: { handoffTimeoutMs: 3_600_000 } } })
  const { relay, again } = opened
  await relay.request(request(), { requestId: 'poison', wait: false })
  for (const worker of ['w1', 'w2', 'w3']) expect(await killed(opened, time, worker)).toMatchObject({ worker })
  const other = await again()
  expect(await other.deadLetters.list()).toEqual([])
  expect(await other.status('poison')).toMatchObject({ status: 'pending' })
  time.advance(1_000)
  expect(await other.deadLetters.list()).toMatchObject([{ requestId: 'poison', lost: [{}, {}, { worker: 'w3' }] }])
  expect(await relay.status('poison')).toMatchObject({ status: 'failed' })
})

test('an asker learns that its request killed its last worker, although nobody else looks [P9]', async () => {
  const { relay, again } = await open({
    settings: { leaseMs: 100, limits: { handoffTimeoutMs: 3_600_000, maxDeliveries: 1 } },
  })
  const asking = relay.request(request(), { requestId: 'poison' })
  await expect.poll(() => relay.inbox('researcher')).toHaveLength(1)
  await (await again()).claim('researcher', { worker: 'w1' })
  expect(await asking).toMatchObject({ status: 'failed', cause: 'dead' })
})

test('a dead letter that is dropped is no longer listed, in any process [P9]', async () => {
  const time = clock()
  const opened = await open({ time, settings: { limits: { maxDeliveries: 1 } } })
  await opened.relay.request(request(), { requestId: 'poison', wait: false })
  await killed(opened, time, 'w1')
  expect(await (await opened.again()).claim('researcher', { worker: 'w2' })).toBeUndefined()
  await opened.relay.deadLetters.drop('poison', { by: 'Kim' })
  expect(await (await opened.again()).deadLetters.list()).toEqual([])
  expect(await opened.relay.status('poison')).toMatchObject({ status: 'failed', dead: [{ worker: 'w1' }] })
})

test('a request that a worker gave back has killed nobody [P9]', async () => {
  const { relay, again } = await open()
  await relay.request(request(), { requestId: 'r', wait: false })
  for (let i = 0; i < 5; i++) {
    const other = await again()
    await other.release('r', { claim: (await other.claim('researcher', { worker: `w${i}` }))! })
  }
  expect(await relay.claim('researcher', { worker: 'last' })).toMatchObject({ requestId: 'r' })
})

test('an answer without the token of a live claim is refused; when the lease is over, it counts [P9]', async () => {
  const time = clock()
  const { relay, again } = await open({ time })
  await relay.request(request(), { requestId: 'r', wait: false })
  const claim = await (await again()).claim('researcher', { worker: 'w', leaseMs: 1_000 })
  await expect(relay.answer('r', resolved)).rejects.toMatchObject({ code: 'conflict' })
  expect(await relay.status('r')).toMatchObject({ status: 'claimed' })
  time.advance(1_001)
  expect(await relay.answer('r', resolved)).toMatchObject({ status: 'accepted' })
  expect(await relay.answer('r', { status: 'failed' }, { claim: claim! })).toMatchObject({ status: 'late' })
})

test('an agent that would wait for itself is told so, long before the timeout [P9]', { timeout: 20_000 }, async () => {
  const { relay, again } = await open({ settings: { limits: boundless, agents: {}, routes: [], forbidden: [] } })
  const traceId = randomUUID()
  const ask = (from: string, to: string, item: string) =>
    relay.ask(from, to, { summary: item, trace: traceId, item, wait: true })
  const a = await again()
  const b = await again()
  const serving = [
    a.serve('a', async () => {
      const nested = await ask('a', 'b', 'third')
      return nested.status === 'failed' ? { status: 'failed', failureReason: nested.reason } : { status: 'resolved' }
    }),
    b.serve('b', async () => {
      const nested = await ask('b', 'a', 'second')
      return nested.status === 'failed' ? { status: 'failed', failureReason: nested.reason } : { status: 'resolved' }
    }),
  ]
  const outcome = await ask('a', 'b', 'first')
  expect(outcome).toMatchObject({
    status: 'failed',
    reason: expect.stringContaining('b would wait for itself') as string,
  })
  await Promise.all([a.close(), b.close()])
  await Promise.all(serving)
})
