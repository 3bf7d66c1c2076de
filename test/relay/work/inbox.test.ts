import { expect, test } from 'vitest'
import { BatonError } from '../../../src/errors.ts'
import type { Claim, InboxItem, Relay } from '../../../src/relay/index.ts'
import type { Priority } from '../../../src/relay/schema.ts'
import { isFull } from '../../support/full.ts'
import { boundless, clock, open, request, resolved } from '../pipeline.ts'

const worker = { worker: 'w' }
const patient = { settings: { limits: boundless } }

async function send(relay: Relay, requestId: string, priority: Priority = 'medium'): Promise<void> {
  await relay.request(request({ priority }), { wait: false, requestId })
}

async function claimAll(relay: Relay): Promise<string[]> {
  const order: string[] = []
  for (let claim; (claim = await relay.claim('researcher', worker)) !== undefined;) {
    order.push(claim.requestId)
    await relay.answer(claim.requestId, resolved, { claim })
  }
  return order
}

test('an agent claims from its inbox and answers; whoever waits in another process has it [P9]', async () => {
  const { relay, again } = await open()
  const elsewhere = await again()
  const waiting = relay.request(request(), { requestId: 'r' })
  const [item] = await firstItems(elsewhere, 1)
  expect(item).toMatchObject({ requestId: 'r', from: 'generator', to: 'researcher', priority: 'medium' })
  const claim = (await elsewhere.claim('researcher', { worker: 'worker-1', leaseMs: 60_000 }))!
  expect(claim.envelope.request.reasonDetail).toBe('The size of the market is unknown')
  expect(await relay.status('r')).toMatchObject({ status: 'claimed', claim: { worker: 'worker-1' } })
  expect(await relay.inbox('researcher')).toEqual([])
  expect(await elsewhere.answer('r', resolved, { claim })).toMatchObject({ status: 'accepted' })
  expect(await waiting).toMatchObject({ status: 'resolved', response: { providedInputs: { marketSize: 42 } } })
})

async function firstItems(relay: Relay, count: number) {
  const found = []
  const stop = new AbortController()
  for await (const item of relay.watchInbox('researcher', stop.signal)) {
    found.push(item)
    if (found.length === count) stop.abort()
  }
  return found
}

test('a watched inbox shows what is there, what comes, and what comes back, each once [P9]', async () => {
  const { relay, again } = await open(patient)
  await send(relay, 'there')
  const stop = new AbortController()
  const items = relay.watchInbox('researcher', stop.signal)[Symbol.asyncIterator]()
  const next = async () => ((await items.next()) as IteratorYieldResult<InboxItem>).value.requestId
  // A request that is taken before the first look is not there.
  expect(await next()).toBe('there')
  const other = await again()
  const claim = await other.claim('researcher', worker)
  await send(other, 'comes')
  await other.release('there', { claim: claim! })
  expect([await next(), await next()].toSorted()).toEqual(['comes', 'there'])
  await send(other, 'last')
  expect(await next()).toBe('last')
  stop.abort()
})

test('critical before high before medium before low, and the older first [P16]', async () => {
  const { relay, again } = await open(patient)
  const sent = ['low', 'medium', 'critical', 'high', 'critical', 'low', 'high', 'medium'] as const
  for (const [i, priority] of sent.entries()) await send(relay, `${priority}-${i}`, priority)
  const inOrder = ['critical-2', 'critical-4', 'high-3', 'high-6', 'medium-1', 'medium-7', 'low-0', 'low-5']
  const other = await again()
  expect((await other.inbox('researcher')).map(({ requestId }) => requestId)).toEqual(inOrder)
  expect(await claimAll(other)).toEqual(inOrder)
})

test('a flood of low does not keep a critical one waiting, not even an old flood [P16]', async () => {
  const time = clock()
  const { relay } = await open({ ...patient, time })
  await Promise.all(Array.from({ length: 300 }, (_, i) => send(relay, `low-${i}`, 'low')))
  time.advance(120_000)
  for (let round = 0; round < 10; round++) {
    await send(relay, `critical-${round}`, 'critical')
    const next = [await relay.claim('researcher', worker), await relay.claim('researcher', worker)]
    expect(next.map((claim) => claim?.requestId)).toContain(`critical-${round}`)
  }
})

test('a stream of critical ones does not starve a low one for ever [P16]', async () => {
  const time = clock()
  const { relay, again } = await open({ ...patient, time })
  await send(relay, 'patient', 'low')
  const taken: string[] = []
  for (let i = 0; i < 40 && !taken.includes('patient'); i++) {
    await send(relay, `critical-${i}`, 'critical')
    time.advance(2_000)
    // Each by another process: whose turn it is does not depend on who takes it.
    taken.push((await (await again()).claim('researcher', worker))!.requestId)
  }
  expect(taken).toContain('patient')
  expect(taken.indexOf('patient')).toBeGreaterThanOrEqual(29)
})

/** The request `r`, held by a worker for a second, and the same relay in another process. */
async function claimedBy(worker: string) {
  const time = clock()
  const { relay, again } = await open({ ...patient, time })
  await send(relay, 'r')
  const claim = (await relay.claim('researcher', { worker, leaseMs: 1_000 }))!
  return { time, relay, other: await again(), claim }
}

test('a request whose worker is silent comes back when the lease ends; its late answer changes nothing [P9]', async () => {
  const { time, relay, other, claim: dead } = await claimedBy('dead')
  expect(await other.claim('researcher', worker)).toBeUndefined()
  time.advance(1_000)
  expect(await other.inbox('researcher')).toHaveLength(1)
  const alive = (await other.claim('researcher', { worker: 'alive' }))!
  expect(alive.requestId).toBe('r')
  expect(await relay.heartbeat(dead)).toBe(false)
  const late = { status: 'resolved', providedInputs: { marketSize: 1 } }
  expect(await relay.answer('r', late, { claim: dead })).toEqual({ status: 'late', response: undefined })
  expect(await relay.status('r')).toMatchObject({ status: 'claimed', claim: { worker: 'alive' } })
  expect(await other.answer('r', resolved, { claim: alive })).toMatchObject({ status: 'accepted' })
  expect(await relay.answer('r', late, { claim: dead })).toMatchObject({
    status: 'late',
    response: { providedInputs: { marketSize: 42 } },
  })
  expect((await relay.status('r')).response?.providedInputs).toEqual({ marketSize: 42 })
  expect(await relay.counters()).toMatchObject({ resolved: 1, late: 1 })
})

test('a worker that is only slow keeps its request by a heartbeat, or while nobody else takes it [P9]', async () => {
  const { time, relay, other, claim } = await claimedBy('slow')
  time.advance(900)
  expect(await relay.heartbeat(claim)).toBe(true)
  time.advance(900)
  expect(await other.claim('researcher', worker)).toBeUndefined()
  time.advance(200)
  expect(await other.inbox('researcher')).toHaveLength(1)
  expect(await relay.heartbeat(claim)).toBe(true)
  expect(await other.inbox('researcher')).toEqual([])
  time.advance(5_000)
  expect(await relay.answer('r', resolved, { claim })).toMatchObject({ status: 'accepted' })
})

test('a released request is back at its place, and its former claim is worth nothing [P9]', async () => {
  const { relay } = await open(patient)
  await send(relay, 'first')
  await send(relay, 'second')
  const claim = (await relay.claim('researcher', worker))!
  await relay.release('first', { claim })
  expect((await relay.inbox('researcher')).map(({ requestId }) => requestId)).toEqual(['first', 'second'])
  await expect(relay.release('first', { claim })).rejects.toMatchObject({ code: 'conflict' })
  expect(await relay.answer('first', resolved, { claim })).toMatchObject({ status: 'late' })
  await expect(relay.release('nothing')).rejects.toMatchObject({ code: 'not_found' })
})

test('a clock that goes back does not keep the request of a dead worker for ever [P9]', async () => {
  const time = clock()
  const { relay, again } = await open({ ...patient, time })
  await send(relay, 'r')
  await relay.claim('researcher', { worker: 'dead', leaseMs: 1_000 })
  time.jump(-365 * 86_400_000)
  // Every look is that of a new process, on another machine, which has nothing but the wall clock.
  expect(await (await again({ machine: 'other' })).claim('researcher', worker)).toBeUndefined()
  time.advance(1_000)
  expect(await (await again({ machine: 'other' })).claim('researcher', worker)).toMatchObject({ requestId: 'r' })
})

test('a wall clock that jumps forward ends no claim and no request, whichever process looks [P9]', async () => {
  const time = clock()
  const { relay, again } = await open({ time })
  await send(relay, 'r')
  await send(relay, 'waiting')
  const claim = (await relay.claim('researcher', { worker: 'alive', leaseMs: 1_000, requestId: 'r' }))!
  time.jump(86_400_000)
  for (const each of [relay, await again()]) {
    expect(await each.status('r')).toMatchObject({ status: 'claimed', claim: { worker: 'alive' } })
    expect(await each.status('waiting')).toMatchObject({ status: 'pending' })
    expect((await each.inbox('researcher')).map(({ requestId }) => requestId)).toEqual(['waiting'])
  }
  expect(await relay.answer('r', resolved, { claim })).toMatchObject({ status: 'accepted' })
  // The machine itself still knows when the time is up.
  time.advance(30_000)
  expect(await (await again()).status('waiting')).toMatchObject({ status: 'failed' })
})

test('a worker whose clock is a minute off keeps its claim, and works on what others ask [P9]', async () => {
  const here = clock()
  const { relay, again } = await open({ now: here.now, monotonic: here.monotonic, machine: 'here' })
  for (const offMs of [60_000, -60_000]) {
    const requestId = `off-by-${offMs}`
    const there = { now: () => here.now() + offMs, monotonic: () => here.monotonic() - 1e9, machine: `${offMs}` }
    await send(relay, requestId)
    const worker = await again(there)
    const claim = (await worker.claim('researcher', { worker: 'there', leaseMs: 1_000 }))!
    expect(claim.requestId).toBe(requestId)
    // Also for a process that has only just begun to look.
    for (const each of [relay, await again()]) {
      expect(await each.claim('researcher', { worker: 'here' })).toBeUndefined()
      expect(await each.status(requestId)).toMatchObject({ claim: { worker: 'there' } })
    }
    expect(await worker.heartbeat(claim)).toBe(true)
    expect(await worker.answer(requestId, resolved, { claim })).toMatchObject({ status: 'accepted' })
  }
})

test('a worker of another machine that is silent loses its claim when it was watched for a lease [P9]', async () => {
  const time = clock()
  const { relay, again } = await open({ ...patient, time, machine: 'here' })
  await send(relay, 'r')
  const there = await again({ machine: 'there', monotonic: () => 5 })
  expect(await there.claim('researcher', { worker: 'dead', leaseMs: 1_000 })).toMatchObject({ requestId: 'r' })
  expect(await relay.claim('researcher', worker)).toBeUndefined()
  time.advance(1_000)
  expect(await relay.claim('researcher', worker)).toMatchObject({ requestId: 'r' })
})

test('a process that keeps running sees a lease end although the wall clock stands still [P9]', async () => {
  const time = clock()
  const { relay } = await open({ ...patient, now: time.now })
  await send(relay, 'r')
  await relay.claim('researcher', { worker: 'dead', leaseMs: 50 })
  const [item] = await firstItems(relay, 1)
  expect(item).toMatchObject({ requestId: 'r' })
})

test('the same answer twice is told to be so; another one is kept beside it [P9]', async () => {
  const { relay, again } = await open(patient)
  await send(relay, 'r')
  await relay.answer('r', resolved)
  const other = await again()
  expect(await other.answer('r', resolved)).toMatchObject({ status: 'duplicate' })
  const different = { status: 'failed', failureReason: 'No' }
  expect(await other.answer('r', different)).toMatchObject({ status: 'late', response: { status: 'resolved' } })
  expect(await other.answer('r', different)).toMatchObject({ status: 'late' })
  expect(await other.counters()).toMatchObject({ resolved: 1, failed: 0, late: 1 })
})

test('an answer of the wrong type is refused with its path, and the request stays open [P15]', async () => {
  const types = { Region: { type: 'string', enum: ['EU', 'US'] } }
  const { relay } = await open({ settings: { limits: boundless, types } })
  const ask = async (expectedType: string, value: unknown): Promise<string> => {
    const missingInputs = [{ key: 'input', expectedType, description: '' }]
    const { requestId } = await relay.request(request({ missingInputs }), { wait: false })
    const given = { status: 'resolved', providedInputs: { input: value } }
    const end = await relay.answer(requestId, given).catch((error: unknown) => error)
    const { status } = await relay.status(requestId)
    if (!BatonError.is(end)) return status
    expect([end.code, status]).toEqual(['invalid', 'pending'])
    return end.message
  }
  expect(await ask('string', 7)).toBe('providedInputs.input must be string, not 7')
  expect(await ask('integer', 1.5)).toBe('providedInputs.input must be integer, not 1.5')
  expect(await ask('string[]', ['a', 2])).toBe('providedInputs.input must be string[], not ["a",2] (at 1)')
  expect(await ask('boolean', 'true')).toContain('must be boolean')
  expect(await ask('date', '15.11.2026')).toContain('must be date')
  expect(await ask('Region', 'Mars')).toContain('must be Region')
  expect(await ask("'yes' | 'no'", 'maybe')).toContain(`must be 'yes' | 'no'`)
  expect(await ask('json', new Date())).toContain('plain JSON')
  expect(await ask('Region', 'EU')).toBe('resolved')
  expect(await ask("'yes' | 'no'", 'no')).toBe('resolved')
  expect(await ask('number | null', null)).toBe('resolved')
  expect(await ask('object', { a: [1] })).toBe('resolved')
  expect(await ask('date', '2026-11-15')).toBe('resolved')
})

test('a type that the settings lost meanwhile is said; the request can still be ended [P15]', async () => {
  const { relay, again } = await open({ settings: { types: { Money: { type: 'number' } } } })
  const missingInputs = [{ key: 'price', expectedType: 'Money', description: '' }]
  await relay.request(request({ handoffTo: 'human', missingInputs }), { requestId: 'r' })
  const changed = await again({ settings: { types: {} } })
  const [asked] = await changed.escalations.list()
  await expect(changed.escalations.answer(asked!.id, { price: 3 }, { by: 'Kim' })).rejects.toMatchObject({
    code: 'invalid',
    message: 'providedInputs.price was asked for as "Money", which the settings no longer know',
  })
  const ended = changed.escalations.answer(asked!.id, undefined, { by: 'Kim', status: 'partial' })
  expect(await ended).toMatchObject({ status: 'accepted', response: { unresolved: ['price'] } })
})

test('inputs that would reach the prototype of an object are refused [P15]', async () => {
  const { relay } = await open(patient)
  const { requestId } = await relay.request(request({ missingInputs: [] }), { wait: false })
  const evil: unknown = JSON.parse('{"status":"resolved","providedInputs":{"__proto__":{"admin":true}}}')
  await expect(relay.answer(requestId, evil)).rejects.toMatchObject({ code: 'invalid' })
  const nested: unknown = JSON.parse('{"status":"resolved","providedInputs":{"a":{"__proto__":{"admin":true}}}}')
  await expect(relay.answer(requestId, nested)).rejects.toMatchObject({ code: 'invalid' })
  expect({}).not.toHaveProperty('admin')
})

test('what is partial says what is left; a partial answer need not [P8]', async () => {
  const { relay } = await open(patient)
  const missingInputs = ['a', 'b'].map((key) => ({ key, expectedType: 'string', description: '' }))
  const { requestId } = await relay.request(request({ missingInputs }), { wait: false })
  await relay.answer(requestId, { status: 'partial', providedInputs: { a: 'x' } })
  expect((await relay.status(requestId)).response).toMatchObject({ status: 'partial', unresolved: ['b'] })
})

test('workers that serve answer everything, each once, and give back what they hold when they stop [P9]', async () => {
  const { relay, again } = await open(patient)
  const stop = new AbortController()
  const served: string[] = []
  const crew = await Promise.all([again(), again(), again()])
  const serving = crew.map((each, i) =>
    each.serve('researcher', (_, { envelope }) => (served.push(envelope.requestId), resolved), {
      signal: stop.signal,
      worker: `w${i}`,
      concurrency: 2,
    }),
  )
  const outcomes = await Promise.all(
    Array.from({ length: isFull ? 60 : 24 }, (_, i) => relay.request(request(), { requestId: `r${i}` })),
  )
  expect(outcomes.every(({ status }) => status === 'resolved')).toBe(true)
  expect(served.toSorted()).toEqual(outcomes.map(({ requestId }) => requestId).toSorted())
  stop.abort()
  await Promise.all(serving)

  const stopAgain = new AbortController()
  const stuck = relay.serve('researcher', () => new Promise<never>(() => {}), { signal: stopAgain.signal })
  await send(relay, 'held')
  await expect.poll(async () => (await relay.status('held')).status).toBe('claimed')
  stopAgain.abort()
  await stuck
  expect((await relay.status('held')).status).toBe('pending')
})

test('a worker that leaves the work to another reads less, takes over when that one stops, and asks meanwhile [P9]', async () => {
  const { relay, again } = await open(patient)
  const served = { first: 0, second: 0 }
  const stops = { first: new AbortController(), second: new AbortController() }
  const serve = (each: Relay, name: 'first' | 'second') =>
    each.serve('researcher', () => (served[name]++, resolved), {
      signal: stops[name].signal,
      worker: name,
      concurrency: 16,
    })
  const [first, second] = await Promise.all([again(), again()])
  const serving = [serve(first, 'first'), serve(second, 'second')]
  const ask = (n: number, by = relay) => Promise.all(Array.from({ length: n }, () => by.request(request())))
  // Far more than there are between two snapshots, so that whoever rests finds a newer one.
  for (let round = 0; round < 30; round++) await ask(50)
  expect(served.first + served.second).toBe(1_500)
  expect(await ask(3, second)).toMatchObject(Array.from({ length: 3 }, () => ({ status: 'resolved' })))
  stops.first.abort()
  await serving[0]
  const before = served.second
  expect(await ask(40)).toMatchObject(Array.from({ length: 40 }, () => ({ status: 'resolved' })))
  expect(served.second).toBe(before + 40)
  stops.second.abort()
  await serving[1]
  expect((await relay.status()).counters).toMatchObject({ requests: 1_543, resolved: 1_543, late: 0 })
})

test('a worker that leaves the work to another helps again when requests wait for long [P9]', async () => {
  const { relay, again } = await open(patient)
  const served = { first: 0, second: 0 }
  const stop = new AbortController()
  let slowMs = 0
  const first = async () => {
    served.first++
    if (slowMs > 0) await new Promise((resolve) => setTimeout(resolve, slowMs))
    return resolved
  }
  const second = () => (served.second++, resolved)
  const serving = await Promise.all(
    Object.entries({ first, second }).map(async ([worker, handler]) => {
      const own = await again()
      return { done: own.serve('researcher', handler, { signal: stop.signal, worker, concurrency: 2 }) }
    }),
  )
  const ask = (n: number) => Promise.all(Array.from({ length: n }, () => relay.request(request())))
  for (let before = -1; before !== served.second;) {
    before = served.second
    await ask(300)
  }
  // The first takes work all the time, only later and later.
  slowMs = 200
  const before = { ...served }
  expect(await ask(60)).toMatchObject(Array.from({ length: 60 }, () => ({ status: 'resolved' })))
  expect(served.second - before.second).toBeGreaterThan(served.first - before.first)
  stop.abort()
  await Promise.all(serving.map(({ done }) => done))
})

test('long work is kept by heartbeats [P9]', async () => {
  const { relay, again } = await open({ settings: { limits: boundless, leaseMs: 100 } })
  let claims = 0
  let finish = (_answer: typeof resolved) => {}
  const working = new Promise<typeof resolved>((resolve) => (finish = resolve))
  const long = await again({ handlers: { researcher: () => (claims++, working) } })
  const body = request()
  const asking = long.request(body, { requestId: 'long' })
  const ends = new Set<string | undefined>()
  const lease = async () => ends.add((await relay.status('long').catch(() => undefined))?.claim?.until).size
  await expect.poll(lease, { timeout: 20_000 }).toBeGreaterThan(4)
  expect(await relay.claim('researcher', worker)).toBeUndefined()
  finish(resolved)
  expect(await asking).toMatchObject({ status: 'resolved' })
  expect(claims).toBe(1)
})

test('an agent that nobody declared has no inbox [P15]', async () => {
  const { relay } = await open()
  await expect(relay.inbox('reviewer')).rejects.toMatchObject({ code: 'invalid' })
  await expect(relay.claim('reviewer', worker)).rejects.toMatchObject({ code: 'invalid' })
  await expect(relay.claim('human', worker)).rejects.toMatchObject({
    message: 'agent: "human" stands for people, not for an agent',
    hint: 'What waits for people: "baton escalations".',
  })
  await expect(relay.answer('unknown', resolved)).rejects.toMatchObject({ code: 'not_found' })
  await expect(open({ handlers: { reviewer: () => resolved } })).rejects.toMatchObject({ code: 'invalid' })
})

test('a claim can be for one request, by its id [P9]', async () => {
  const { relay } = await open(patient)
  await send(relay, 'a')
  await send(relay, 'b')
  const claim = (await relay.claim('researcher', { ...worker, requestId: 'b' })) satisfies Claim | undefined
  expect(claim?.requestId).toBe('b')
  expect(await relay.claim('researcher', { ...worker, requestId: 'b' })).toBeUndefined()
})
