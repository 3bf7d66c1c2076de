import { expect, test } from 'vitest'
import { type Alert, openAlerts } from '../../../src/relay/alerts/alerts.ts'
import { alertReadings } from '../../../src/relay/alerts/alert-rules.ts'
import type { DeadLetter } from '../../../src/relay/index.ts'
import { Activity, type ActivityRows } from '../../../src/relay/journal/activity.ts'
import { relaySection } from '../../../src/relay/settings.ts'
import { notifySection, openNotifier } from '../../../src/notify/index.ts'
import { listen, status } from '../../notify/listener.ts'
import { collect, temporaryStore } from '../../support/workspace.ts'
import { open, request } from '../pipeline.ts'

const minute = 60_000
const start = Date.UTC(2026, 10, 15, 12)
const settings = relaySection.parse({
  alerts: { failed: 2, escalated: 2, circularBlocked: 0, durationP95Ms: 1_000 },
})

/** What the relay has counted. */
class Past {
  readonly activity = new Activity()
  readonly deadLetters = new Map<string, DeadLetter>()
  readonly alertReadings = (now: number) => Promise.resolve(alertReadings(this, now, settings.alerts))

  answered(time: number, { status = 'resolved', rejection, durationMs = 10 }: Answer = {}) {
    if (status === 'failed') this.activity.add('failed', time)
    if (rejection === 'circular') this.activity.add('circular', time)
    else this.activity.add('duration', time, durationMs)
  }

  escalated(time: number) {
    this.activity.add('escalated', time)
  }
}

interface Answer {
  readonly status?: 'resolved' | 'failed'
  readonly rejection?: 'circular'
  readonly durationMs?: number
}

async function values(past: Past, now: number) {
  const readings = await past.alertReadings(now)
  return Object.fromEntries(readings.map(({ name, value }) => [name, value]))
}

const none = { failed: 0, escalated: 0, circular_blocked: 0, duration_p95: 0, dead_letters: 0 }

test('the conditions, each over its own time [P12]', async () => {
  const past = new Past()
  expect(await values(past, start)).toEqual(none)
  past.answered(start - 61 * minute, { status: 'failed', rejection: 'circular' })
  past.escalated(start - 61 * minute)
  past.answered(start - 6 * minute, { status: 'failed' })
  past.answered(start - 4 * minute, { status: 'failed' })
  past.answered(start - 4 * minute, { status: 'failed', rejection: 'circular' })
  past.escalated(start - 50 * minute)
  past.escalated(start - 40 * minute)
  for (let ms = 1; ms <= 98; ms++) past.answered(start - minute, { durationMs: ms })
  const expected = { failed: 2, escalated: 2, circular_blocked: 1, duration_p95: 93, dead_letters: 0 }
  expect(await values(past, start)).toEqual(expected)
  // What a snapshot keeps is enough.
  const later = new Past()
  later.activity.load(JSON.parse(JSON.stringify(past.activity.rows(start))) as ActivityRows)
  expect(await values(later, start)).toEqual(expected)
  expect(await values(past, start + 25 * minute)).toMatchObject({ failed: 0, escalated: 0, circular_blocked: 1 })
})

test('a few slow answers are no percentile [P12]', async () => {
  const past = new Past()
  for (let i = 0; i < 19; i++) past.answered(start, { durationMs: 60_000 })
  expect(await values(past, start)).toMatchObject({ duration_p95: 0 })
  past.answered(start, { durationMs: 60_000 })
  expect(await values(past, start)).toMatchObject({ duration_p95: 60_000 })
})

test('what was dated ahead by a clock that went back counts when its time comes [P12]', async () => {
  const past = new Past()
  for (let i = 0; i < 3; i++) past.answered(start + 2 * 24 * 60 * minute, { status: 'failed' })
  past.answered(start, { status: 'failed' })
  expect(await values(past, start)).toMatchObject({ failed: 1 })
  expect(await values(past, start + 2 * 24 * 60 * minute)).toMatchObject({ failed: 3 })
})

test('requests that are overdue count as failed, although nobody has looked at them [P12]', async () => {
  const { relay, store } = await open({ settings: { alerts: { failed: 2 } } })
  for (let i = 0; i < 3; i++) await relay.request(request({ timeoutMs: 1 }), { wait: false })
  const alerts = openAlerts({ relay, store })
  await expect.poll(async () => on(await alerts.evaluate())).toEqual(['failed'])
})

async function stage() {
  const web = await listen()
  const past = new Past()
  const store = await temporaryStore()
  const clock = { now: start }
  const book = () => {
    const channels = [{ type: 'webhook', url: web.url }]
    const notifier = openNotifier(notifySection.parse({ channels, retries: 0 }))
    return openAlerts({ relay: past, store, notifier, now: () => clock.now })
  }
  const told = () => web.received.map(({ body }) => (JSON.parse(body) as { title: string }).title)
  return { web, past, store, clock, book, told }
}

const on = (alerts: readonly Alert[]) => alerts.filter((each) => each.on).map(({ name }) => name)

test('a person is told once per onset, also across restarts and processes; what is over can come on again [P12]', async () => {
  const { past, clock, book, told, store, web } = await stage()
  expect(on(await book().evaluate())).toEqual([])
  past.answered(clock.now, { status: 'failed', rejection: 'circular' })
  const both = await Promise.all([book().evaluate(), book().evaluate()])
  expect(both.map(on)).toEqual([['circular_blocked'], ['circular_blocked']])
  for (let restart = 0; restart < 3; restart++) expect(on(await book().evaluate())).toEqual(['circular_blocked'])
  expect(told()).toEqual(['Relay: 1 handoff in a circle stopped in the last hour'])
  expect(JSON.parse(web.received[0]!.body)).toMatchObject({
    level: 'warning',
    action: expect.stringContaining('baton relay routes') as string,
  })

  const since = (await book().evaluate())[2]!.since
  expect(since).toBe(new Date(start).toISOString())
  clock.now += 61 * minute
  expect(on(await book().evaluate())).toEqual([])
  past.answered(clock.now, { status: 'failed', rejection: 'circular' })
  expect(on(await book().evaluate())).toEqual(['circular_blocked'])
  expect(told()).toHaveLength(2)
  // Evaluated often, written seldom: on, over, and on once more; telling and told, twice.
  expect(await collect(store.read('relay/alerts'))).toHaveLength(3)
  expect(await collect(store.read('relay/notices'))).toHaveLength(4)
})

test('when nobody could be told it is tried again later, and so it is when the teller died [P12]', async () => {
  const { past, clock, book, told, web } = await stage()
  web.answers.push(status(500), status(500))
  past.answered(clock.now, { status: 'failed', rejection: 'circular' })
  const [, , first] = await book().evaluate()
  expect(first).toMatchObject({ on: true, told: { channels: [{ status: 'failed', error: 'it answered 500' }] } })
  await book().evaluate()
  expect(told()).toHaveLength(1)
  clock.now += 3 * minute
  await book().evaluate()
  clock.now += 3 * minute
  const [, , third] = await book().evaluate()
  expect(third).toMatchObject({ told: { channels: [{ status: 'sent' }] } })
  clock.now += 3 * minute
  await book().evaluate()
  expect(told()).toHaveLength(3)
})

test('without a channel alerts are still found, and told when one is added [P12]', async () => {
  const { past, clock, book, told, store } = await stage()
  for (let i = 0; i < 3; i++) past.escalated(clock.now)
  const silent = openAlerts({ relay: past, store, now: () => clock.now })
  expect(on(await silent.evaluate())).toEqual(['escalated'])
  expect(told()).toEqual([])
  await book().evaluate()
  expect(told()).toEqual(['Relay: 3 handoffs went to a person in the last hour'])
})
