import { expect, test } from 'vitest'
import type { Notification } from '../../../../src/notify/index.ts'
import type { Store } from '../../../../src/store/index.ts'
import { type Check, Health } from '../../../../src/supervisor/session/records/health.ts'
import { temporaryStore } from '../../../support/workspace.ts'

const run = { name: 'shop', agent: 'pi', cwd: '/shop', driver: 'tmux', args: [] } as const
const question: Check = {
  check_type: 'dialog',
  status: 'warning',
  what: 'It asks: May I?',
  action_taken: 'Baton is waiting for you',
  advice: 'baton attach shop',
}
const minute = 60_000

function open(store: Store) {
  const told: Notification[] = []
  const notify = { notify: (each: Notification) => Promise.resolve(void told.push(each)) }
  return { health: new Health(store, run, notify, () => {}), told }
}

test('people are reminded of what needs them, and of nothing else: no reminder is due for the rest [C16]', async () => {
  const { health, told } = open(await temporaryStore())
  await health.report({ ...question, check_type: 'context', what: 'More than one cycle within an hour' })
  expect(health.nextReminder(minute)).toBeUndefined()
  await health.report(question)
  const due = health.nextReminder(minute)!
  expect(due).toBeGreaterThan(Date.now())
  health.remind(minute, due)
  health.remind(minute, due)
  expect(health.nextReminder(minute)).toBe(due + minute)
  expect(told.map(({ title }) => title)).toEqual([
    'shop in shop: More than one cycle within an hour',
    'shop in shop: It asks: May I?',
    'shop in shop: It asks: May I?',
  ])
  expect(told.map(({ body }) => body.split('\n')[0])).toEqual([
    'Baton is waiting for you.',
    'Baton is waiting for you.',
    expect.stringMatching(/^Still open since \d\d:\d\d\.$/),
  ])
  await health.report({ ...question, status: 'ok', what: 'No question is open' })
  expect(health.nextReminder(minute)).toBeUndefined()
})

test('a question that was told by a supervisor before this one is not told again, but people are reminded of it [C7][C16]', async () => {
  const store = await temporaryStore()
  await open(store).health.report(question)
  const { health, told } = open(store)
  await health.report(question)
  expect(told).toEqual([])
  // A day later the day is named too.
  health.remind(minute, Date.now() + 86_400_000)
  expect(told).toMatchObject([
    {
      body: expect.stringMatching(/^Still open since [A-Z][a-z]{2} \d+ [A-Z][a-z]{2,3} (?:\d{4} )?\d\d:\d\d\.\n/),
    },
  ])
})

test('a long question is cut in the title and whole in the body [C16]', async () => {
  const { health, told } = open(await temporaryStore())
  const what = `It asks: ${'Is this a folder you trust? '.repeat(8).trim()}`
  await health.report({ ...question, what })
  const [{ title, body }] = told as [Notification]
  expect(title).toMatch(/^shop in shop: It asks: .{60,90} \w+…$/)
  expect(body).toContain(what)
})
