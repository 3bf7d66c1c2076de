import { expect, onTestFinished, test } from 'vitest'
import { type Notifier, notifySection, openNotifier } from '../../src/notify/index.ts'
import { maintainRelay, type MaintainRelayOptions, openOnceNotifier } from '../../src/relay/index.ts'
import { listen } from '../notify/listener.ts'
import { boundless, open, request } from './pipeline.ts'

type MaintenanceOptions = Pick<MaintainRelayOptions, 'relay' | 'store'> & Partial<MaintainRelayOptions>

/** Maintains a relay, in short rounds, until the returned function is called. */
function maintaining(options: MaintenanceOptions): () => Promise<void> {
  const stop = new AbortController()
  const done = maintainRelay({ everyMs: 10, signal: stop.signal, ...options })
  onTestFinished(() => stop.abort())
  return async () => {
    stop.abort()
    await done
  }
}

async function toldOf() {
  const web = await listen()
  const channels = [{ type: 'webhook', url: web.url }]
  return { web, notifier: () => openNotifier(notifySection.parse({ channels, retries: 0 })) }
}

test('what nobody waits for ends in time, although the wall clock went back by days [P3]', async () => {
  let now = Date.parse('2026-11-15T12:00:00Z')
  const { relay, store } = await open({ settings: { limits: boundless }, now: () => now })
  const stop = maintaining({ relay, store })
  await relay.request(request({ timeoutMs: 50 }), { wait: false, requestId: 'r' })
  now -= 3 * 86_400_000
  await expect.poll(() => relay.counters(), { timeout: 30_000 }).toMatchObject({ timedOut: 1 })
  await stop()
})

test('a person is told once, also when whoever asked died before it could, and by any number of processes [P6]', async () => {
  const { web, notifier } = await toldOf()
  const { relay, store, again } = await open()
  // As a process does that dies right after it has asked: nobody is told.
  await relay.request(request({ handoffTo: 'human', priority: 'critical' }), { requestId: 'q' })
  const stops = [
    maintaining({ relay, store, notifier: notifier() }),
    maintaining({ relay: await again(), store, notifier: notifier() }),
  ]
  await expect.poll(() => web.received, { timeout: 30_000 }).toHaveLength(1)
  await relay.request(request({ handoffTo: 'human' }), { requestId: 'another' })
  await expect.poll(() => web.received, { timeout: 30_000 }).toHaveLength(2)
  await Promise.all(stops.map((stop) => stop()))
  const told = web.received.map(({ body }) => JSON.parse(body) as object)
  expect(told).toMatchObject([{ level: 'critical' }, { level: 'info' }])
  // Another start does not tell again.
  const looked = new Promise<void>((resolve) => {
    const stop = maintaining({ relay, store, notifier: notifier(), onAlerts: () => void stop().then(resolve) })
  })
  await looked
  expect(web.received).toHaveLength(2)
})

test('what is told by two at once is told once, and said by both [P6]', async () => {
  const { web, notifier } = await toldOf()
  const { store } = await open()
  const notice = { level: 'info', title: 't', body: 'b', action: 'a', source: 'relay', key: 'k' } as const
  const notifiers = [0, 1].map(() => openOnceNotifier({ store, notifier: notifier() }))
  await Promise.all(notifiers.map((each) => each.notify(notice)))
  expect(web.received).toHaveLength(1)
  const again = await openOnceNotifier({ store, notifier: notifier() }).notify(notice)
  expect(again?.channels).toMatchObject([{ status: 'sent' }])
})

test('a channel that is out of reach does not keep what is overdue from ending [P3, P6]', async () => {
  const { relay, store } = await open()
  for (const requestId of ['a', 'b', 'c']) await relay.request(request({ handoffTo: 'human' }), { requestId })
  const tried: string[] = []
  const notifier: Notifier = {
    channels: 1,
    notify: async ({ key = '' }) => {
      tried.push(key)
      return [{ channel: 'down', status: 'failed', attempts: 1, ms: 0, error: 'no route' }]
    },
    close: async () => {},
  }
  const triedAt: number[] = []
  await new Promise<void>((resolve) => {
    const stop = maintaining({
      relay,
      store,
      notifier,
      onAlerts: () => {
        if (triedAt.push(tried.length) === 4) void stop().then(resolve)
      },
    })
  })
  // One in each look, each once for as long as it is known to be in vain.
  expect(triedAt).toEqual([1, 2, 3, 3])
  expect(new Set(tried).size).toBe(3)
})
