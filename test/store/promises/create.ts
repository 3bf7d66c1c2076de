import { expect } from 'vitest'
import { type Draft, limits } from '../../../src/store/index.ts'
import { all, anchor, contents, count, ids, message, type StorePromise } from './row.ts'

export const creating: readonly StorePromise[] = [
  {
    title: 'all batches of a new tape are written, also those with the same idempotency value',
    ids: ['T26'],
    async keep({ store }) {
      const batch = [message('x', { key: 'k', idempotency: 'j' })]
      expect(await store.create('main', [batch, batch])).toMatchObject({ entries: 2 })
      expect(await store.latest('main', 'k')).toMatchObject({ id: 2 })
    },
  },
  {
    title: 'a created tape arrives whole, with ids from 1, and is an ordinary tape from then on',
    ids: ['T12'],
    async keep({ store, another, restart }) {
      const batches = count(0, 4).map((n) => count(1, 500).map((m) => message(`${n * 500 + m}`, { key: `k${m}` })))
      const info = await store.create('new', [...batches, [anchor('a')]])
      expect(info).toMatchObject({ tape: 'new', entries: 2_501, firstId: 1, lastId: 2_501, anchors: 1 })
      await (await another()).append('new', [message('on')], { expect: 2_501 })
      const again = await restart()
      expect(await ids(again, 'new')).toEqual(count(1, 2_502))
      expect((await again.latest('new', 'k7'))?.id).toBe(2_007)
    },
  },
  {
    title: 'a tape in the making is not to be seen, and nobody waits for it',
    ids: ['T12'],
    async keep({ store, another }) {
      const other = await another()
      async function* slow(): AsyncGenerator<readonly Draft[]> {
        yield [message('1')]
        expect(await all(store.list())).toEqual([])
        expect(await all(other.list())).toEqual([])
        expect(await store.info('new')).toBeUndefined()
        expect(await ids(other, 'new')).toEqual([])
        await other.append('other', [message('meanwhile')])
        for (const n of count(1, 300)) await store.append(`more-${n % 80}`, [message('x')])
        yield [message('2')]
      }
      await store.create('new', slow())
      expect(await ids(other, 'new')).toEqual([1, 2])
    },
  },
  {
    title: 'an existing tape is a conflict and stays as it is; what was to be copied is not even asked for',
    ids: ['T12'],
    async keep({ store }) {
      await store.append('old', [message('kept')])
      let asked = 0
      function* batches() {
        asked++
        yield [message('new')]
      }
      await expect(store.create('old', batches())).rejects.toMatchObject({ code: 'conflict', actual: 1 })
      expect(asked).toBe(0)
      expect(await all(store.read('old'))).toMatchObject([{ payload: { content: 'kept' } }])
    },
  },
  {
    title: 'of two who create the same tape at once, one wins wholly',
    ids: ['T12'],
    async keep({ store, another }) {
      const other = await another()
      const outcomes = await Promise.allSettled([
        store.create('new', [[message('a')], [message('a')]]),
        other.create('new', [[message('b')], [message('b')]]),
        store.append('new', [message('c')], { expect: 0 }),
      ])
      expect(outcomes.filter((one) => one.status === 'fulfilled')).toHaveLength(1)
      const found = (await all(store.read('new'))).map((entry) => (entry.payload as { content: string }).content)
      expect(['a,a', 'b,b', 'c']).toContain(found.join(','))
    },
  },
  {
    title: 'a new tape takes batches of nearly 900 KiB, and a larger one is a limit error that leaves nothing behind',
    ids: ['T1', 'T12'],
    async keep({ store }) {
      const half = 'ü'.repeat(limits.batchBytes / 4 - 100)
      const full = [message(half), message(half)]
      const tooMuch = [message(half), message(`${half}${'x'.repeat(500)}`)]
      await expect(store.create('new', [full, tooMuch])).rejects.toMatchObject({ code: 'limit' })
      await expect(store.create('new', [[message('x'.repeat(4 * limits.batchBytes))]])).rejects.toMatchObject({
        code: 'limit',
      })
      expect(await store.info('new')).toBeUndefined()
      await store.create('new', [full, full])
      expect(contents(await all(store.read('new')))).toEqual([half, half, half, half])
    },
  },
  {
    title: 'a failure in the middle leaves nothing behind',
    ids: ['T12'],
    async keep({ store, restart }) {
      async function* failing() {
        yield [message('1')]
        throw new Error('source gone')
      }
      await expect(store.create('new', failing())).rejects.toThrow('source gone')
      await expect(store.create('new', [[message('1')], [{ kind: '', payload: 1 }]])).rejects.toMatchObject({
        code: 'invalid',
      })
      await expect(store.create('new', [])).rejects.toMatchObject({ code: 'invalid' })
      const again = await restart()
      expect(await again.info('new')).toBeUndefined()
      expect(await all(again.list())).toEqual([])
      expect(await again.create('new', [[message('1')]])).toMatchObject({ entries: 1 })
    },
  },
]
