import { randomUUID } from 'node:crypto'
import { expect, test } from 'vitest'
import { openRelay, type Relay } from '../../../src/relay/index.ts'
import type { Store } from '../../../src/store/index.ts'
import { isFull } from '../../support/full.ts'
import { collect } from '../../support/workspace.ts'
import { boundless, open, rejectionOf, request, resolved, settings } from '../pipeline.ts'

/** The store as it is, but for one method. */
function withMethod<K extends 'append' | 'read'>(store: Store, name: K, made: (method: Store[K]) => Store[K]): Store {
  return new Proxy(store, {
    get(target, key) {
      const member: unknown = Reflect.get(target, key)
      if (typeof member !== 'function') return member
      const method: unknown = member.bind(target)
      return key === name ? made(method as Store[K]) : method
    },
  })
}

/** The store as it is, with a count of the entries that were read from it. */
function counting(store: Store): { store: Store; read: () => number } {
  let entries = 0
  const counted = withMethod(
    store,
    'read',
    (read) =>
      async function* (...args) {
        for await (const entry of read(...args)) {
          entries++
          yield entry
        }
      },
  )
  return { store: counted, read: () => entries }
}

/** Each request makes two entries, and a snapshot is taken every 1,000 or 2,000 of them. */
const many = isFull ? 3_000 : 1_550

async function flood(relay: Relay, count: number): Promise<void> {
  let left = count
  const one = async () => {
    while (left-- > 0) await relay.request(request())
  }
  await Promise.all(Array.from({ length: 32 }, one))
}

test('a start reads what came since the last snapshot, however long the history, and knows all that is open [P3, P9]', async () => {
  const { relay, store, again } = await open()
  const limited = randomUUID()
  for (const handoffTo of ['researcher', 'validator', 'orchestrator']) {
    await relay.request(request({ traceId: limited, handoffTo }), { wait: false })
  }
  await relay.request(request({ priority: 'high', timeoutMs: 3_600_000 }), { wait: false, requestId: 'pending' })
  await relay.request(request({ handoffTo: 'human' }), { requestId: 'asked' })
  await relay.request(request({ timeoutMs: 3_600_000 }), { wait: false, requestId: 'claimed' })
  await relay.claim('researcher', { worker: 'w', requestId: 'claimed', leaseMs: 3_600_000 })
  const local = await again({ handlers: { researcher: () => resolved } })
  await flood(local, many)
  await local.close()

  const { store: counted, read } = counting(store)
  const cold = await openRelay({ store: counted, settings: settings() })
  expect(await cold.status()).toMatchObject({
    pending: 4,
    claimed: 1,
    escalated: 1,
    counters: { requests: many + 6, resolved: many, escalated: 1 },
  })
  expect(read()).toBeLessThan(1_200)
  expect((await cold.inbox('researcher')).map(({ requestId }) => requestId)[0]).toBe('pending')
  expect(await cold.escalations.list()).toMatchObject([{ requestId: 'asked' }])
  expect(await cold.status('claimed')).toMatchObject({ status: 'claimed', claim: { worker: 'w' } })
  expect(rejectionOf(await cold.request(request({ traceId: limited })))).toBe('item_limit')
  await cold.close()
})

test('processes that work together take one snapshot for all [P9]', async () => {
  const { store } = await open()
  let attempts = 0
  const watched = withMethod(store, 'append', (append) => async (...args) => {
    if (args[1][0]?.kind === 'anchor') attempts++
    return append(...args)
  })
  const relays = await Promise.all(
    [1, 2, 3].map(() => openRelay({ store: watched, settings: settings({ limits: boundless }) })),
  )
  const stop = new AbortController()
  const options = { signal: stop.signal, concurrency: 16 }
  const serving = relays.slice(1).map((worker) => worker.serve('researcher', () => resolved, options))
  await flood(relays[0]!, many)
  stop.abort()
  await Promise.all(serving)
  await Promise.all(relays.map((relay) => relay.close()))
  const { length } = await store.anchors('relay/handoffs')
  expect(length).toBeGreaterThan(1)
  expect(attempts).toBeLessThan(2 * length)
})

test('the cost of a request does not grow with the history [P4]', async () => {
  const { relay, store } = await open({ handlers: { researcher: () => resolved } })
  await flood(relay, isFull ? 2_500 : 300)
  await relay.close()
  const { store: counted, read } = counting(store)
  const cold = await openRelay({ store: counted, settings: settings(), handlers: { researcher: () => resolved } })
  for (let i = 0; i < 10; i++) expect((await cold.request(request())).status).toBe('resolved')
  expect(read()).toBe(0)
  await cold.close()
})

test('much that is open is kept in a snapshot, too, in its order [P9, P16]', async () => {
  const { relay, again } = await open({ settings: { limits: boundless } })
  const ids = Array.from({ length: many }, (_, i) => `r${i}`)
  let next = 0
  const one = async () => {
    for (let i = next++; i < ids.length; i = next++) {
      await relay.request(request(), { wait: false, requestId: ids[i]! })
    }
  }
  await Promise.all(Array.from({ length: 32 }, one))
  await relay.close()
  const listed = await (await again()).inbox('researcher', { limit: 10_000 })
  expect(listed.map(({ requestId }) => requestId).toSorted()).toEqual(ids.toSorted())
  const dates = listed.map(({ acceptedAt }) => acceptedAt)
  expect(dates).toEqual(dates.toSorted())
})

test('history tells what happened, newest first; of a trace, without reading the others [P4]', async () => {
  const { relay, store } = await open({ handlers: { researcher: () => resolved } })
  const body = request()
  await relay.request(body, { requestId: 'mine' })
  await relay.request({ ...body, handoffTo: 'human' }, { requestId: 'asked' })
  await relay.request({ ...body, sourceAgent: 'validator' }, { requestId: 'refused' })
  await flood(relay, isFull ? 500 : 100)
  await relay.close()
  const { store: counted, read } = counting(store)
  const cold = await openRelay({ store: counted, settings: settings() })
  const rows = await collect(cold.history({ traceId: body.traceId }))
  expect(rows.map(({ type, requestId }) => `${type} ${requestId}`)).toEqual([
    'answered refused',
    'requested refused',
    'escalated asked',
    'requested asked',
    'answered mine',
    'requested mine',
  ])
  expect(read()).toBeLessThan(10)
  expect(await collect(cold.history({ limit: 3 }))).toHaveLength(3)
  const dates = (await collect(cold.history())).map(({ date }) => date)
  expect(dates).toEqual(dates.toSorted().reverse())
  expect(await collect(cold.history({ since: Date.now() + 60_000 }))).toEqual([])
  await cold.close()
})

test('an entry of a newer version is an error, not something to pass over [P15]', async () => {
  const { relay, store } = await open()
  await relay.request(request(), { wait: false })
  await store.append('relay/handoffs', [{ kind: 'event', payload: { name: 'handoff.teleported', data: {} } }])
  await expect(relay.status()).rejects.toMatchObject({
    code: 'unsupported',
    message: 'relay/handoffs#2 is a "handoff.teleported", which this version of Baton does not know',
  })
})

test('the history of a trace shows who has taken a request, while it is worked on and afterwards [P9]', async () => {
  const { relay, again } = await open({ settings: { limits: boundless } })
  const [body, other] = [request(), request()]
  await relay.request(body, { wait: false, requestId: 'mine' })
  await relay.request(other, { wait: false, requestId: 'theirs' })
  // A worker takes both with one entry.
  const stop = new AbortController()
  const going = new Promise<void>((resolve) => stop.signal.addEventListener('abort', () => resolve()))
  const work = async () => {
    await going
    return resolved
  }
  const serving = relay.serve('researcher', work, { worker: 'w', concurrency: 2 })
  await expect.poll(async () => (await relay.status()).claimed).toBe(2)
  const shown = async (each: Relay) =>
    (await collect(each.history({ traceId: body.traceId }))).map((row) =>
      row.type === 'claimed' ? `${row.type} ${row.requestId} by ${row.worker}` : `${row.type} ${row.requestId}`,
    )
  const atWork = ['claimed mine by w', 'requested mine']
  for (const each of [relay, await again()]) expect(await shown(each)).toEqual(atWork)
  stop.abort()
  await relay.wait('mine')
  await relay.wait('theirs')
  for (const each of [relay, await again()]) expect(await shown(each)).toEqual(['answered mine', ...atWork])
  await relay.close()
  await serving
})

test('a snapshot that cannot be written is not tried again with every look [P9]', async () => {
  const { store } = await open()
  let attempts = 0
  const refusing = withMethod(store, 'append', (append) => async (...args) => {
    if (args[1][0]?.kind !== 'anchor') return append(...args)
    attempts++
    throw new Error('no room')
  })
  const options = { settings: settings({ limits: boundless }), handlers: { researcher: () => resolved } }
  const relay = await openRelay({ store: refusing, ...options })
  await flood(relay, 700)
  const before = attempts
  for (let look = 0; look < 20; look++) await relay.status()
  expect(before).toBeGreaterThan(0)
  expect(attempts).toBe(before)
  await relay.close()
})
