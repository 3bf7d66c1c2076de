import { spawnSync } from 'node:child_process'
import { expect, test } from 'vitest'
import { notifySection, openNotifier } from '../../src/notify/index.ts'
import { thisProcess } from '../../src/system/index.ts'
import { StorageError } from '../../src/errors.ts'
import { Alerts, deliverAlerts } from '../../src/supervisor/index.ts'
import type { Store } from '../../src/store/index.ts'
import { collect, temporaryStore } from '../support/workspace.ts'

const told = {
  level: 'warning',
  title: 'It asks',
  body: 'May I?',
  action: 'baton attach shop',
  source: 'supervisor',
} as const
const settings = notifySection.parse({
  channels: [
    { type: 'webhook', name: 'near', url: 'http://near.test' },
    { type: 'webhook', name: 'far', url: 'http://far.test' },
  ],
})

/** Two services; `far` can be down. */
class Services {
  readonly heard: string[] = []
  isDown = true
  onTry = () => {}

  open(patienceMs: number) {
    const answer: typeof fetch = async (url) => {
      const { host } = new URL(String(url))
      if (host === 'far.test') this.onTry()
      if (host === 'far.test' && this.isDown) throw new TypeError('fetch failed')
      this.heard.push(host)
      return new Response()
    }
    return openNotifier(settings, { fetch: answer, patienceMs, backoffMs: 10 })
  }
}

const failed = (error: Error) => {
  throw error
}
const hours = 12 * 3_600_000

function deliver(store: Store, services: Services, signal = new AbortController().signal) {
  return deliverAlerts({ store, openNotifier: (_project, ms) => services.open(ms), onProblem: failed, signal })
}

/** An alert that `far` has not taken by the time its run ends. */
async function left(store: Store, services: Services) {
  const notifier = services.open(hours)
  const alerts = new Alerts({ store, project: '/shop', notifier, onProblem: failed })
  const tried = new Promise<void>((resolve) => (services.onTry = resolve))
  const telling = alerts.notify(told)
  await tried
  await notifier.close({ withinMs: 0 })
  expect(await alerts.close()).toBe(true)
  await telling
}

test('an alert that is undelivered when its run ends is delivered by a later process, once, to the channels that lack it [C16]', async () => {
  const store = await temporaryStore()
  const services = new Services()
  await left(store, services)
  // A process that has to end meanwhile hands it back.
  const stop = new AbortController()
  services.onTry = () => stop.abort()
  await deliver(store, services, stop.signal)
  expect(services.heard).toEqual(['near.test'])
  services.isDown = false
  await Promise.all([deliver(store, services), deliver(store, services)])
  await deliver(store, services)
  expect(services.heard).toEqual(['near.test', 'far.test'])
})

test('an alert whose process was killed is delivered by a later one; one that a process is about to deliver is left to it [C7][C16]', async () => {
  const store = await temporaryStore()
  const services = new Services()
  services.isDown = false
  const { pid: dead } = spawnSync(process.execPath, ['-e', '0'])
  const alert = { notification: told, project: '/shop', at: Date.now(), host: thisProcess().host }
  const write = (key: string, data: object) =>
    store.append('session/~alerts', [
      { kind: 'event', payload: { name: 'alert', data }, meta: { key, context: false } },
    ])
  await write('a', { ...alert, holder: { ...thisProcess(), pid: dead } })
  await write('b', { ...alert, holder: thisProcess() })
  await write('c', { ...alert, at: Date.now() - hours - 1 })
  await deliver(store, services)
  expect(services.heard.toSorted()).toEqual(['far.test', 'near.test'])
})

test('an alert that was sent while the disk was full is not sent again by a later process [C16]', async () => {
  const store = await temporaryStore()
  const services = new Services()
  services.isDown = false
  let writes = 0
  // There is room for the alert, and at first none for its end.
  const append: Store['append'] = (...given) => {
    writes += 1
    return writes === 2 || writes === 3 ? Promise.reject(new StorageError('no space')) : store.append(...given)
  }
  const full: Pick<Store, 'append'> = { append }
  const problems: string[] = []
  const alerts = new Alerts({
    store: Object.assign(Object.create(store) as Store, full),
    project: '/shop',
    notifier: services.open(hours),
    onProblem: ({ message }) => void problems.push(message),
    retryMs: 1,
  })
  await alerts.notify(told)
  expect(await alerts.close()).toBe(false)
  expect(services.heard.toSorted()).toEqual(['far.test', 'near.test'])
  expect(problems).toEqual(['no space'])
  const kept = await collect(store.read('session/~alerts'))
  expect(kept.map(({ payload }) => (payload as { data: { over?: true; holder?: object } }).data)).toEqual([
    expect.objectContaining({ holder: expect.anything() }),
    expect.objectContaining({ over: true }),
  ])
})

test('an alert that is still being written down when its run ends is sent by that run [C16]', async () => {
  const store = await temporaryStore()
  const services = new Services()
  services.isDown = false
  let write = () => {}
  const isWritten = new Promise<void>((resolve) => (write = resolve))
  const slow: Pick<Store, 'append'> = { append: (...given) => isWritten.then(() => store.append(...given)) }
  const alerts = new Alerts({
    store: Object.assign(Object.create(store) as Store, slow),
    project: '/shop',
    notifier: services.open(hours),
    onProblem: failed,
  })
  const telling = alerts.notify(told)
  const closing = alerts.close()
  write()
  expect(await closing).toBe(false)
  await telling
  expect(services.heard.toSorted()).toEqual(['far.test', 'near.test'])
})
