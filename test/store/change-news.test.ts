import { expect, onTestFinished, test, vi } from 'vitest'
import { ChangeNews, followTape } from '../../src/store/change-news.ts'
import type { Entry } from '../../src/store/index.ts'

test('what is written between the first look and the first notification that can be heard is seen without waiting for a second [T3]', async () => {
  // The look once a second never comes.
  vi.useFakeTimers({ toFake: ['setInterval'] })
  onTestFinished(() => void vi.useRealTimers())
  let hear = () => {}
  const hearing = new Promise<void>((resolve) => (hear = resolve))
  let look = () => {}
  const looked = new Promise<void>((resolve) => (look = resolve))
  const news = new ChangeNews({
    notify: async () => {},
    listen: async () => {
      await hearing
      return async () => {}
    },
  })
  onTestFinished(() => news.close())
  const written: Entry[] = []
  async function* read(after: number): AsyncGenerator<Entry> {
    yield* written.filter(({ id }) => id > after)
    look()
  }
  const stop = new AbortController()
  const entries = news.follow('main', 0, stop.signal, read)[Symbol.asyncIterator]()
  const next = entries.next()
  await looked
  written.push({ id: 1, kind: 'event', payload: { name: 'n', data: 1 }, meta: {}, date: '2026-11-15T12:00:00.000Z' })
  hear()
  expect(await next).toMatchObject({ value: { id: 1 } })
  stop.abort()
  expect(await entries.next()).toMatchObject({ done: true })
})

test('a read that fails because its store closes ends the watch, and any other failure is thrown [T3]', async () => {
  const stop = new AbortController()
  const follow = (whenRead: () => void) =>
    followTape({
      after: 0,
      ended: stop.signal,
      subscribe: () => () => {},
      // oxlint-disable-next-line require-yield
      read: async function* () {
        whenRead()
        throw new Error('closed connection')
      },
    })[Symbol.asyncIterator]()
  await expect(follow(() => {}).next()).rejects.toThrow('closed connection')
  expect(await follow(() => stop.abort()).next()).toMatchObject({ done: true })
})
