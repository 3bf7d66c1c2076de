import { expect } from 'vitest'
import { limits } from '../../../src/store/index.ts'
import { all, contents, count, ids, message, type StorePromise } from './row.ts'

export const appending: readonly StorePromise[] = [
  {
    title: 'an append returns the entries with their real ids, and they are there after a restart',
    ids: ['T1', 'T3'],
    async keep({ store, restart }) {
      const written = await store.append('main', [message('one'), message('two')])
      expect(written.map((entry) => entry.id)).toEqual([1, 2])
      expect(await all((await restart()).read('main'))).toEqual(written)
    },
  },
  {
    title: 'an entry that need not be durable has its place at once, for every handle, and is there after a restart',
    ids: ['T3'],
    async keep({ store, another, restart }) {
      const [first] = await store.append('main', [message('passing')], { durable: false })
      expect(await all((await another()).read('main'))).toEqual([first])
      await store.append('main', [message('durable')], { expect: 1 })
      expect(contents(await all((await restart()).read('main')))).toEqual(['passing', 'durable'])
    },
  },
  {
    title: 'an entry has exactly its own fields, none of the store',
    ids: ['T1'],
    async keep({ store }) {
      const [entry] = await store.append('main', [message('one'), message('two')])
      expect(Object.keys(entry!)).toEqual(['id', 'kind', 'payload', 'meta', 'date'])
      for (const read of await all(store.read('main'))) {
        expect(Object.keys(read)).toEqual(['id', 'kind', 'payload', 'meta', 'date'])
      }
    },
  },
  {
    title: 'ids are gapless with many appenders on several handles',
    ids: ['T3'],
    async keep({ store, another }) {
      const stores = [store, await another(), await another()]
      const appends = count(1, 300).map((n) => stores[n % 3]!.append('main', [message(`${n}`)]))
      const given = (await Promise.all(appends)).map(([entry]) => entry!.id)
      expect(given.sort((a, b) => a - b)).toEqual(count(1, 300))
      expect(await ids(store, 'main')).toEqual(count(1, 300))
    },
  },
  {
    title: 'appends of one caller land in the order of the calls',
    ids: ['T3'],
    async keep({ store }) {
      const written = await Promise.all(count(1, 200).map((n) => store.append('main', [message(`${n}`)])))
      expect(written.map(([entry]) => entry!.id)).toEqual(count(1, 200))
      expect(contents(await all(store.read('main')))).toEqual(count(1, 200).map(String))
    },
  },
  {
    title: 'a batch has consecutive ids, whoever else appends',
    ids: ['T2', 'T3'],
    async keep({ store, another }) {
      const stores = [store, await another()]
      const batches = await Promise.all(
        count(1, 60).map((n) => stores[n % 2]!.append('main', [message('a'), message('b'), message('c')])),
      )
      for (const batch of batches) {
        expect(batch.map((entry) => entry.id)).toEqual(count(batch[0]!.id, batch[0]!.id + 2))
      }
      expect(await ids(store, 'main')).toEqual(count(1, 180))
    },
  },
  {
    title: 'a batch of 1,000 entries passes, one more is a limit error and writes nothing',
    ids: ['T1'],
    async keep({ store }) {
      const drafts = count(1, limits.batchEntries).map((n) => message(`${n}`))
      expect(await store.append('main', drafts)).toHaveLength(1_000)
      await expect(store.append('main', [...drafts, message('more')])).rejects.toMatchObject({ code: 'limit' })
      expect((await store.info('main'))?.lastId).toBe(1_000)
    },
  },
  {
    title: 'a batch of nearly 900 KiB passes, a larger one is a limit error and writes nothing',
    ids: ['T1'],
    async keep({ store, restart }) {
      const half = 'ü'.repeat(limits.batchBytes / 4 - 100)
      await store.append('main', [message(half), message(half)])
      const tooMuch = store.append('main', [message(half), message(`${half}${'x'.repeat(500)}`)])
      await expect(tooMuch).rejects.toMatchObject({ code: 'limit' })
      const again = await restart()
      expect(contents(await all(again.read('main')))).toEqual([half, half])
    },
  },
  {
    title: 'an empty batch is refused',
    ids: ['T1'],
    async keep({ store }) {
      await expect(store.append('main', [])).rejects.toMatchObject({ code: 'invalid' })
      expect(await store.info('main')).toBeUndefined()
    },
  },
  {
    title: 'expect n passes at the last id and conflicts elsewhere, naming both',
    ids: ['T3'],
    async keep({ store }) {
      await store.append('main', [message('first')], { expect: 0 })
      await store.append('main', [message('second')], { expect: 1 })
      const stale = store.append('main', [message('stale')], { expect: 1 })
      await expect(stale).rejects.toMatchObject({ code: 'conflict', expected: 1, actual: 2 })
      await expect(store.append('main', [message('ahead')], { expect: 9 })).rejects.toMatchObject({ actual: 2 })
      await expect(store.append('none', [message('x')], { expect: 1 })).rejects.toMatchObject({ actual: 0 })
      expect(await ids(store, 'main')).toEqual([1, 2])
      expect(await store.info('none')).toBeUndefined()
    },
  },
  {
    title: 'expect {key, id} looks at that key alone, so unrelated writers never conflict',
    ids: ['T26'],
    async keep({ store }) {
      const draft = message('set', { key: 'volume' })
      const [first] = await store.append('main', [draft], { expect: { key: 'volume', id: 0 } })
      await store.append('main', [message('noise'), message('other', { key: 'other' })])
      const [second] = await store.append('main', [draft], { expect: { key: 'volume', id: first!.id } })
      const stale = store.append('main', [draft], { expect: { key: 'volume', id: first!.id } })
      await expect(stale).rejects.toMatchObject({ code: 'conflict', expected: first!.id, actual: second!.id })
      const none = store.append('main', [draft], { expect: { key: 'never', id: 3 } })
      await expect(none).rejects.toMatchObject({ actual: 0 })
    },
  },
  {
    title: 'appends that arrive together are checked in order, and a conflict fails no neighbour',
    ids: ['T3'],
    async keep({ store }) {
      await store.append('main', [message('0')])
      const outcomes = await Promise.allSettled([
        store.append('main', [message('a')], { expect: 1 }),
        store.append('main', [message('b')], { expect: 1 }),
        store.append('main', [message('c'), message('d', { key: 'k' })]),
        store.append('main', [message('e')], { expect: { key: 'k', id: 4 } }),
        store.append('main', [message('f', { key: 'k' })], { expect: { key: 'k', id: 0 } }),
        store.append('main', [message('g')], { expect: 5 }),
      ])
      expect(
        outcomes.map((one) => (one.status === 'fulfilled' ? one.value.map((entry) => entry.id) : 'conflict')),
      ).toEqual([[2], 'conflict', [3, 4], [5], 'conflict', [6]])
      expect(contents(await all(store.read('main')))).toEqual(['0', 'a', 'c', 'd', 'e', 'g'])
    },
  },
  {
    title: 'one of many who expect the same id wins, on every handle',
    ids: ['T3'],
    async keep({ store, another }) {
      const stores = [store, await another()]
      const outcomes = await Promise.allSettled(
        count(1, 20).map((n) => stores[n % 2]!.append('main', [message(`${n}`)], { expect: 0 })),
      )
      expect(outcomes.filter((one) => one.status === 'fulfilled')).toHaveLength(1)
      expect(await ids(store, 'main')).toEqual([1])
    },
  },
  {
    title: 'an append with the same idempotency returns what the first one wrote',
    ids: ['T1'],
    async keep({ store, another, restart }) {
      const batch = [message('a', { idempotency: 'job-1' }), message('b', { idempotency: 'job-1' }), message('c')]
      const first = await store.append('main', batch)
      await store.append('main', [message('between')])
      expect(await store.append('main', batch)).toEqual(first)
      expect(await (await another()).append('main', batch)).toEqual(first)
      expect(await (await restart()).append('main', batch, { expect: 0 })).toEqual(first)
    },
  },
  {
    title: 'the same idempotency twice at once writes once',
    ids: ['T1'],
    async keep({ store, another }) {
      const stores = [store, await another()]
      const draft = () => message('once', { idempotency: 'job-2' })
      const written = await Promise.all(count(1, 20).map((n) => stores[n % 2]!.append('main', [draft()])))
      expect(new Set(written.map(([entry]) => entry!.id))).toEqual(new Set([1]))
      expect(await ids(store, 'main')).toEqual([1])
    },
  },
  {
    title: 'an idempotency value anywhere in a batch stands for the batch',
    ids: ['T1'],
    async keep({ store }) {
      const batch = [message('a'), message('b', { idempotency: 'job-3' })]
      const first = await store.append('main', batch)
      expect(await store.append('main', batch)).toEqual(first)
    },
  },
  {
    title: 'close waits for what was appended before it; afterwards everything is refused with a reason',
    ids: ['T1'],
    async keep({ store, another }) {
      const pending = count(1, 50).map((n) => store.append('main', [message(`${n}`)]))
      await store.close()
      await store.close()
      expect((await Promise.all(pending)).map(([entry]) => entry!.id)).toEqual(count(1, 50))
      await expect(store.append('main', [message('late')])).rejects.toThrow(/closed/)
      await expect(all(store.read('main'))).rejects.toThrow(/closed/)
      await expect(store.latest('main', 'k')).rejects.toThrow(/closed/)
      await expect(store.putBlob(Buffer.from('x'))).rejects.toThrow(/closed/)
      expect(await ids(await another(), 'main')).toEqual(count(1, 50))
    },
  },
]
