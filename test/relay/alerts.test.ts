import { expect, test } from 'vitest'
import { type Alert, openAlertBook } from '../../src/relay/alerts-book.ts'
import { AlertWindow } from '../../src/relay/alerts.ts'
import type { HistoryQuery, HistoryRow } from '../../src/relay/outcome.ts'
import type { HandoffResponse } from '../../src/relay/schema.ts'
import { relaySection } from '../../src/relay/settings.ts'
import { notifySection, openNotifier } from '../../src/notify/index.ts'
import { listen, status } from '../notify/listener.ts'
import { collect, temporaryStore } from '../support/workspace.ts'

const minute = 60_000
const start = Date.UTC(2026, 10, 15, 12)
const traceId = '6f1a0c52-5a1c-4b8e-9a53-0a7d5d3a9e11'
const settings = relaySection.parse({
  alerts: { failed: 2, escalated: 2, circularBlocked: 0, durationP95Ms: 1_000 },
})

/** What happened, as the relay's history tells it: newest first, from a time on. */
class Past {
  readonly rows: HistoryRow[] = []
  readonly settings = settings
  readonly history = (query: HistoryQuery = {}) => this.#read(Number(query.since ?? 0))

  async *#read(since: number): AsyncIterable<HistoryRow> {
    for (const row of this.rows.toReversed()) if (Date.parse(row.date) >= since) yield row
  }

  #at(time: number) {
    const entry = this.rows.length + 1
    return { entry, date: new Date(time).toISOString(), traceId, requestId: `req-${entry}` }
  }

  answered(
    time: number,
    response: Partial<HandoffResponse>,
    more: { durationMs?: number; rejection?: 'circular' } = {},
  ) {
    const full = { schemaVersion: '1.0.0', respondingAgent: 'researcher', status: 'resolved', ...response }
    this.rows.push({
      ...this.#at(time),
      type: 'answered',
      response: full as HandoffResponse,
      durationMs: more.durationMs ?? 10,
      rejection: more.rejection,
    })
  }

  escalated(time: number) {
    this.rows.push({ ...this.#at(time), type: 'escalated', escalation: 'esc' })
  }
}

async function values(window: AlertWindow, now: number) {
  const readings = await window.readings(now)
  return Object.fromEntries(readings.map(({ name, value }) => [name, value]))
}

test('the four conditions, each over its own time [P12]', async () => {
  const past = new Past()
  const window = new AlertWindow(past.history, settings.alerts)
  expect(await values(window, start)).toEqual({ failed: 0, escalated: 0, circular_blocked: 0, duration_p95: 0 })
  past.answered(start - 61 * minute, { status: 'failed' }, { rejection: 'circular', durationMs: 9_999 })
  past.escalated(start - 61 * minute)
  past.answered(start - 6 * minute, { status: 'failed' })
  past.answered(start - 4 * minute, { status: 'failed' })
  past.answered(start - 4 * minute, { status: 'failed' }, { rejection: 'circular', durationMs: 0 })
  past.escalated(start - 50 * minute)
  past.escalated(start - 40 * minute)
  // A person's answer takes days and says nothing about the agents.
  past.answered(start - minute, { respondingAgent: 'human' }, { durationMs: 1e9 })
  for (let ms = 1; ms <= 98; ms++) past.answered(start - minute, {}, { durationMs: ms })
  const expected = { failed: 2, escalated: 2, circular_blocked: 1, duration_p95: 93 }
  expect(await values(window, start)).toEqual(expected)
  // Evaluated again it has read nothing twice, and what is read for the first time is the same.
  expect(await values(window, start)).toEqual(expected)
  expect(await values(new AlertWindow(past.history, settings.alerts), start)).toEqual(expected)
  expect(await values(window, start + 25 * minute)).toMatchObject({ failed: 0, escalated: 0, circular_blocked: 1 })
})

test('what was dated ahead by a clock that went back counts when its time comes [P12]', async () => {
  const past = new Past()
  const window = new AlertWindow(past.history, settings.alerts)
  for (let i = 0; i < 3; i++) past.answered(start + 2 * 24 * 60 * minute, { status: 'failed' })
  past.answered(start, { status: 'failed' })
  expect(await values(window, start)).toMatchObject({ failed: 1 })
  expect(await values(window, start + 2 * 24 * 60 * minute)).toMatchObject({ failed: 3 })
})

async function stage() {
  const web = await listen()
  const past = new Past()
  const store = await temporaryStore()
  const clock = { now: start }
  const book = () => {
    const channels = [{ type: 'webhook', url: web.url }]
    const notifier = openNotifier(notifySection.parse({ channels, retries: 0 }))
    return openAlertBook({ relay: past, store, notifier, now: () => clock.now })
  }
  const told = () => web.received.map(({ body }) => (JSON.parse(body) as { title: string }).title)
  return { web, past, store, clock, book, told }
}

const on = (alerts: readonly Alert[]) => alerts.filter((each) => each.on).map(({ name }) => name)

test('a person is told once per onset, also across restarts and processes; what is over can come on again [P12]', async () => {
  const { past, clock, book, told, store, web } = await stage()
  expect(on(await book().evaluate())).toEqual([])
  past.answered(clock.now, { status: 'failed' }, { rejection: 'circular' })
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
  past.answered(clock.now, { status: 'failed' }, { rejection: 'circular' })
  expect(on(await book().evaluate())).toEqual(['circular_blocked'])
  expect(told()).toHaveLength(2)
  // Evaluated often, written seldom: on, over, and on once more; telling and told, twice.
  expect(await collect(store.read('relay/alerts'))).toHaveLength(3)
  expect(await collect(store.read('relay/notices'))).toHaveLength(4)
})

test('when nobody could be told it is tried again later, and so it is when the teller died [P12]', async () => {
  const { past, clock, book, told, web } = await stage()
  web.answers.push(status(500), status(500))
  past.answered(clock.now, { status: 'failed' }, { rejection: 'circular' })
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
  const silent = openAlertBook({ relay: past, store, now: () => clock.now })
  expect(on(await silent.evaluate())).toEqual(['escalated'])
  expect(told()).toEqual([])
  await book().evaluate()
  expect(told()).toEqual(['Relay: 3 handoffs went to a person in the last hour'])
})
