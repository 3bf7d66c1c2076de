import { expect } from 'vitest'
import type { Entry, Store } from '../../../src/store/index.ts'
import { count, fill, message, type StorePromise } from './row.ts'

/** Watches until so many have come, calling `each` on the way. */
async function take(
  store: Store,
  after: number | (() => number),
  size: number,
  each: (entry: Entry) => unknown = () => {},
) {
  const stop = new AbortController()
  const seen: number[] = []
  for await (const entry of store.watch('main', after, stop.signal)) {
    seen.push(entry.id)
    await each(entry)
    if (seen.length === size) stop.abort()
  }
  return seen
}

export const watching: readonly StorePromise[] = [
  {
    title: 'a watch gives every entry once, old and new, from this handle and others',
    ids: ['T3'],
    async keep({ store, another }) {
      const other = await another()
      await fill(store, 'main', 20)
      const seen = take(store, 5, 95)
      await Promise.all(count(21, 100).map((n) => (n % 2 ? store : other).append('main', [message(`${n}`)])))
      expect(await seen).toEqual(count(6, 100))
    },
  },
  {
    title: 'a watch may begin before the tape does',
    ids: ['T3'],
    async keep({ store, another }) {
      const seen = take(store, 0, 2)
      await (await another()).append('main', [message('1'), message('2')])
      expect(await seen).toEqual([1, 2])
    },
  },
  {
    title: 'a watch goes on across archives without gap or repetition',
    ids: ['T16'],
    async keep({ store, another }) {
      const other = await another()
      const seen = take(other, 0, 160)
      for (let round = 0; round < 4; round++) {
        await Promise.all([
          ...count(1, 39).map((n) => store.append('main', [message(`${n}`)])),
          ...(round === 0 ? [store.append('main', [message('0')])] : [store.archive('main', () => [message('next')])]),
        ])
      }
      expect(await seen).toEqual(count(1, 160))
    },
  },
  {
    title: 'a watch taken up again from a cursor misses nothing, also behind a restart',
    ids: ['T16'],
    async keep({ store, restart }) {
      await fill(store, 'main', 10)
      const first = await take(store, 0, 4)
      await store.archive('main', () => [message('11')])
      const again = await restart()
      await again.append('main', [message('12')])
      expect([...first, ...(await take(again, first.at(-1)!, 8))]).toEqual(count(1, 12))
    },
  },
  {
    title: 'a watch passes over what its reader has by now',
    ids: ['T3'],
    async keep({ store }) {
      await fill(store, 'main', 10)
      let known = 2
      const learn = ({ id }: Entry) => (known = id === 4 ? 7 : id)
      expect(await take(store, () => known, 5, learn)).toEqual([3, 4, 8, 9, 10])
    },
  },
  {
    title: 'a watcher may append to what it watches',
    ids: ['T3'],
    async keep({ store }) {
      await store.append('main', [message('1')])
      expect(await take(store, 0, 10, () => store.append('main', [message('more')]))).toEqual(count(1, 10))
    },
  },
  {
    title: 'an abort ends a watch at once, before, while and after it waits',
    ids: ['T3'],
    async keep({ store }) {
      await fill(store, 'main', 3)
      const none: number[] = []
      for await (const entry of store.watch('main', 0, AbortSignal.abort())) none.push(entry.id)
      expect(none).toEqual([])
      const stop = new AbortController()
      const waiting = (async () => {
        for await (const entry of store.watch('main', 0, stop.signal))
          if (entry.id === 3) setImmediate(() => stop.abort())
      })()
      await waiting
      expect(await take(store, 1, 1)).toEqual([2])
    },
  },
  {
    title: 'closing the store ends its watches',
    ids: ['T3'],
    async keep({ store }) {
      await fill(store, 'main', 3)
      const seen: number[] = []
      for await (const entry of store.watch('main', 0, new AbortController().signal)) {
        seen.push(entry.id)
        if (entry.id === 3) setImmediate(() => void store.close())
      }
      expect(seen).toEqual([1, 2, 3])
    },
  },
]
