import { randomUUID } from 'node:crypto'
import { expect, test } from 'vitest'
import { handoffTelemetry } from '../../../src/telemetry/index.ts'
import { boundless, clock, open, rejectionOf, request, resolved } from '../pipeline.ts'

const helpful = { researcher: () => resolved, validator: () => ({ status: 'resolved' as const }) }

test('an undeclared route is refused, and told where one may go instead; a forbidden one with its reason [P2]', async () => {
  const { relay } = await open()
  const undeclared = await relay.request(request({ sourceAgent: 'researcher', handoffTo: 'validator' }))
  expect(undeclared).toMatchObject({
    status: 'rejected',
    rejection: 'undeclared_route',
    response: {
      status: 'failed',
      respondingAgent: 'orchestrator',
      failureReason: 'researcher → validator is not a declared route; researcher may hand over to orchestrator, human',
    },
  })
  const forbidden = await relay.request(request({ sourceAgent: 'validator', handoffTo: 'researcher' }))
  expect(forbidden).toMatchObject({
    rejection: 'forbidden_route',
    response: { failureReason: 'validator → researcher is forbidden: validation does not start research' },
  })
  expect(await relay.counters()).toMatchObject({ requests: 2, rejected: 2, failed: 2 })
})

test('any agent may turn to a person, without a route [P2]', async () => {
  const { relay } = await open({ settings: { routes: [] } })
  for (const sourceAgent of ['generator', 'validator', 'researcher', 'orchestrator']) {
    expect(await relay.request(request({ sourceAgent, handoffTo: 'human' }))).toMatchObject({ status: 'escalated' })
  }
})

test('the fourth handoff of an item is refused; another item of the trace still has its own [P3]', async () => {
  const { relay } = await open({ settings: { limits: { handoffCooldownMs: 0 } } })
  const traceId = randomUUID()
  const targets = ['researcher', 'validator', 'orchestrator']
  for (const handoffTo of targets) {
    expect(await relay.request(request({ traceId, handoffTo }), { wait: false })).toMatchObject({ status: 'pending' })
  }
  const fourth = await relay.request(request({ traceId, handoffTo: 'researcher' }))
  expect(fourth).toMatchObject({
    rejection: 'item_limit',
    reason: '"market-analysis" has had its 3 handoffs (limits.maxHandoffsPerItem)',
  })
  const other = await relay.request(request({ traceId, item: 'summary' }), { wait: false })
  expect(other.status).toBe('pending')
  // The same trace in other letters is the same trace.
  const shouted = await relay.request(request({ traceId: traceId.toUpperCase() }))
  expect(rejectionOf(shouted)).toBe('item_limit')
})

test('the eleventh handoff of a pipeline is refused, and what was rejected counts [P3]', async () => {
  const { relay } = await open({ settings: { limits: { handoffCooldownMs: 0 } } })
  const traceId = randomUUID()
  for (let i = 0; i < 10; i++) {
    const route = i % 2 === 0 ? {} : { sourceAgent: 'validator', handoffTo: 'researcher' }
    const outcome = await relay.request(request({ traceId, item: `item ${i}`, ...route }), { wait: false })
    expect(rejectionOf(outcome) === 'pipeline_limit').toBe(false)
  }
  const eleventh = await relay.request(request({ traceId, item: 'item 11' }))
  expect(rejectionOf(eleventh)).toBe('pipeline_limit')
  const rows = []
  for await (const row of relay.history({ traceId })) if (row.type === 'requested') rows.push(row)
  expect(rows).toHaveLength(11)
})

test('rejected attempts count for their item [P3]', async () => {
  const { relay } = await open()
  const traceId = randomUUID()
  const closed = () => relay.request(request({ traceId, sourceAgent: 'validator', handoffTo: 'researcher' }))
  expect([await closed(), await closed(), await closed()].map(rejectionOf)).toEqual(
    Array.from({ length: 3 }, () => 'forbidden_route'),
  )
  expect(rejectionOf(await relay.request(request({ traceId })))).toBe('item_limit')
})

test('limits hold for a process that starts later, and for several that ask at once [P3]', async () => {
  const { again } = await open({ settings: { limits: { ...boundless, maxHandoffsPerItem: 2 } } })
  const traceId = randomUUID()
  const relays = await Promise.all(Array.from({ length: 4 }, () => again()))
  const outcomes = await Promise.all(
    Array.from({ length: 24 }, (_, i) =>
      relays[i % 4]!.request(
        request({ traceId, handoffTo: i % 2 === 0 ? 'researcher' : 'orchestrator', missingInputs: [] }),
        { wait: false },
      ),
    ),
  )
  expect(outcomes.filter(({ status }) => status === 'pending')).toHaveLength(2)
  expect(outcomes.map(rejectionOf).filter((rejection) => rejection === 'item_limit')).toHaveLength(22)
  const late = await again()
  expect(rejectionOf(await late.request(request({ traceId })))).toBe('item_limit')
  expect(await late.counters()).toMatchObject({ requests: 25, rejected: 23 })
})

test('a path rests for five seconds within its trace, and in no other [P3]', async () => {
  const time = clock()
  const { relay, again } = await open({ time, handlers: helpful })
  const traceId = randomUUID()
  expect((await relay.request(request({ traceId }))).status).toBe('resolved')
  time.advance(4_999)
  const early = await relay.request(request({ traceId, missingInputs: [] }))
  expect(early).toMatchObject({
    rejection: 'cooldown',
    response: { failureReason: 'generator → researcher was taken just now; try again in 1 ms' },
  })
  expect((await relay.request(request())).status).toBe('resolved')
  time.advance(1)
  // The attempt that was refused has not begun the rest anew.
  expect((await (await again()).request(request({ traceId, missingInputs: [] }))).status).toBe('resolved')
})

test('a clock that goes back neither opens a resting path nor closes it for ever [P3]', async () => {
  const time = clock()
  const { relay, again } = await open({
    time,
    handlers: helpful,
    settings: { limits: { ...boundless, handoffCooldownMs: 5_000 } },
  })
  const traceId = randomUUID()
  const ask = async () => (await again()).request(request({ traceId, missingInputs: [] }))
  await relay.request(request({ traceId }))
  time.jump(-365 * 86_400_000)
  expect(rejectionOf(await ask())).toBe('cooldown')
  time.advance(4_000)
  expect(rejectionOf(await ask())).toBe('cooldown')
  time.advance(1_000)
  expect((await ask()).status).toBe('resolved')
})

test('a target that does not answer in time has failed; its signal ends, its answer is late [P3, P9]', async () => {
  const ended: string[] = []
  let finish = () => {}
  const slow = new Promise<void>((resolve) => (finish = resolve))
  let tell = (_why: string) => {}
  const ignored = new Promise<string>((resolve) => (tell = resolve))
  const { relay } = await open({
    telemetry: { ...handoffTelemetry(), ignored: ({ why }) => tell(why) },
    handlers: {
      researcher: async (_, { signal }) => {
        signal.addEventListener('abort', () => ended.push(String((signal.reason as Error).message)))
        await slow
        return resolved
      },
    },
  })
  const outcome = await relay.request(request({ timeoutMs: 50 }), { requestId: 'slow' })
  expect(outcome).toMatchObject({
    status: 'failed',
    cause: 'timeout',
    response: { status: 'failed', failureReason: 'researcher did not answer within 50 ms' },
  })
  expect(ended).toEqual(['time is up'])
  finish()
  expect(await ignored).toBe('late')
  expect(await relay.counters()).toMatchObject({ timedOut: 1, failed: 1, late: 1 })
  expect((await relay.status('slow')).response).toMatchObject({ status: 'failed' })
})

test('the timeout is by default that of the settings; people have none [P3]', async () => {
  const time = clock()
  const { relay } = await open({ time })
  const pending = await relay.request(request(), { wait: false })
  const asked = await relay.request(request({ handoffTo: 'human' }))
  expect((await relay.status(pending.requestId)).envelope.deadline).toBe(new Date(time.now() + 30_000).toISOString())
  expect((await relay.status(asked.requestId)).envelope.deadline).toBeUndefined()
  time.advance(30_000)
  expect(await relay.inbox('researcher')).toEqual([])
  expect(await relay.claim('researcher', { worker: 'w' })).toBeUndefined()
  expect(await relay.status(pending.requestId)).toMatchObject({ status: 'failed', response: { status: 'failed' } })
  time.advance(30 * 86_400_000)
  await relay.sweep()
  expect(await relay.escalations.list()).toHaveLength(1)
})

test('a wait ends in time although the wall clock goes back [P3, P9]', async () => {
  const time = clock()
  const { relay } = await open({ now: time.now })
  const waiting = relay.request(request({ timeoutMs: 100 }))
  time.jump(-86_400_000)
  expect(await waiting).toMatchObject({ response: { status: 'failed' } })
})

test('a person can be asked when every other limit is reached, as often as their own limit says [P2, P3]', async () => {
  const { relay } = await open({
    handlers: helpful,
    settings: { limits: { maxHandoffsPerItem: 1, maxHandoffsPerPipeline: 1, maxHumanRequestsPerPipeline: 4 } },
  })
  const traceId = randomUUID()
  await relay.request(request({ traceId }))
  expect(rejectionOf(await relay.request(request({ traceId })))).toBe('item_limit')
  // Four questions about one document, one after the other.
  for (const reasonDetail of ['The price?', 'The colour?', 'The date?', 'The name?']) {
    const asked = await relay.request(request({ traceId, handoffTo: 'human', reasonDetail }))
    expect(asked.status).toBe('escalated')
  }
  expect(await relay.request(request({ traceId, handoffTo: 'human', reasonDetail: 'And now?' }))).toMatchObject({
    rejection: 'human_limit',
    reason: 'This pipeline has asked people 4 times (limits.maxHumanRequestsPerPipeline)',
  })
})

test('questions to people do not use up the handoffs between agents [P3]', async () => {
  const { relay } = await open({ handlers: helpful, settings: { limits: { maxHandoffsPerPipeline: 1 } } })
  const traceId = randomUUID()
  for (const reasonDetail of ['The price?', 'The colour?']) {
    await relay.request(request({ traceId, handoffTo: 'human', reasonDetail }))
  }
  expect((await relay.request(request({ traceId }))).status).toBe('resolved')
})

test('a patient caller waits until a path has cooled down, and the wait is no attempt [P3]', async () => {
  const { relay } = await open({ handlers: helpful, settings: { limits: { handoffCooldownMs: 200 } } })
  const traceId = randomUUID()
  await relay.request(request({ traceId }))
  const again = request({ traceId, missingInputs: [] })
  expect(rejectionOf(await relay.request(again))).toBe('cooldown')
  expect((await relay.request(again, { patient: true })).status).toBe('resolved')
  expect(await relay.counters()).toMatchObject({ requests: 3, rejected: 1 })
})
