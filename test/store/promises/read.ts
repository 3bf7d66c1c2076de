import { expect } from 'vitest'
import { all, anchor, contents, count, fill, ids, message, type StorePromise } from './row.ts'

export const reading: readonly StorePromise[] = [
  {
    title: 'a range has exclusive bounds, kinds, a limit and a direction',
    ids: ['T3', 'T8'],
    async keep({ store }) {
      for (let n = 1; n <= 20; n++) {
        await store.append('main', [n % 5 === 0 ? { kind: 'event', payload: n } : message(`${n}`)])
      }
      expect(await ids(store, 'main', { after: 3, before: 8 })).toEqual([4, 5, 6, 7])
      expect(await ids(store, 'main', { after: 3, before: 8, reverse: true })).toEqual([7, 6, 5, 4])
      expect(await ids(store, 'main', { kinds: ['event'] })).toEqual([5, 10, 15, 20])
      expect(await ids(store, 'main', { kinds: ['event'], reverse: true, limit: 3 })).toEqual([20, 15, 10])
      expect(await ids(store, 'main', { kinds: ['event', 'message'], after: 18 })).toEqual([19, 20])
      expect(await ids(store, 'main', { kinds: ['even'] })).toEqual([])
      expect(await ids(store, 'main', { kinds: [] })).toEqual([])
      expect(await ids(store, 'main', { limit: 2 })).toEqual([1, 2])
      expect(await ids(store, 'main', { limit: 0 })).toEqual([])
      expect(await ids(store, 'main', { after: 20 })).toEqual([])
      expect(await ids(store, 'main', { before: 1 })).toEqual([])
      expect(await ids(store, 'main', { after: 8, before: 3 })).toEqual([])
      expect(await ids(store, 'main', { after: 99, before: 200, reverse: true })).toEqual([])
    },
  },
  {
    title: 'every bound of a long tape reads right in both directions, also after a restart',
    ids: ['T3'],
    async keep({ store, another }) {
      await fill(store, 'main', 3_000, 'x'.repeat(100))
      for (const handle of [store, await another()]) {
        expect(await ids(handle, 'main')).toEqual(count(1, 3_000))
        expect(await ids(handle, 'main', { reverse: true })).toEqual(count(1, 3_000).reverse())
        for (const [after, before] of [
          [0, 2],
          [999, 1_001],
          [1_499, 1_520],
          [2_990, 3_001],
          [17, 2_983],
        ] as const) {
          expect(await ids(handle, 'main', { after, before })).toEqual(count(after + 1, before - 1))
          expect(await ids(handle, 'main', { after, before, reverse: true })).toEqual(
            count(after + 1, before - 1).reverse(),
          )
        }
      }
    },
  },
  {
    title: 'a long read lets the process do other work, also where it passes over entries of other kinds',
    ids: ['T3'],
    async keep({ store }) {
      await fill(store, 'main', 20_000, 'x'.repeat(300))
      for (const range of [{}, { reverse: true }, { kinds: ['event'] }]) {
        let isOther = false
        setImmediate(() => (isOther = true))
        const before: number[] = []
        for await (const { id } of store.read('main', range)) if (!isOther) before.push(id)
        expect(isOther).toBe(true)
        expect(before.length).toBeLessThan(20_000)
      }
    },
  },
  {
    title: 'a read sees the tape as it was when it began',
    ids: ['T3'],
    async keep({ store }) {
      await fill(store, 'main', 2_000, 'x'.repeat(200))
      const seen: number[] = []
      for await (const entry of store.read('main')) {
        seen.push(entry.id)
        if (entry.id === 1) await store.append('main', [message('later')])
      }
      expect(seen).toEqual(count(1, 2_000))
    },
  },
  {
    title: 'a reader in the middle is not disturbed by an archive, a purge or other tapes, in either direction',
    ids: ['T16'],
    async keep({ store, another }) {
      const other = await another()
      await fill(store, 'main', 1_500, 'x'.repeat(300))
      await store.archive('main', () => [message('second')])
      await fill(store, 'main', 1_500, 'x'.repeat(300))
      for (const reverse of [false, true]) {
        for (const archived of [false, true]) {
          const { firstId, lastId } = (await store.info('main'))!
          const wanted = count(archived ? 1 : firstId, lastId)
          const seen: number[] = []
          for await (const entry of store.read('main', { reverse, archived })) {
            seen.push(entry.id)
            if (seen.length === 10) {
              await (reverse ? other : store).archive('main', () => [message('next'), message('x'.repeat(1_000))])
              for (const n of count(1, 60)) await store.append(`other-${n}`, [message('x')])
              await fill(store, 'main', 500, 'y'.repeat(300))
            }
          }
          expect(seen).toEqual(reverse ? wanted.reverse() : wanted)
        }
      }
    },
  },
  {
    title: 'an abandoned read holds nothing up',
    ids: ['T3'],
    async keep({ store }) {
      await fill(store, 'main', 1_000, 'x'.repeat(300))
      for await (const entry of store.read('main')) {
        expect(entry.id).toBe(1)
        break
      }
      await store.append('main', [message('on')], { expect: 1_000 })
    },
  },
  {
    title: 'anchors come oldest first, by name, limit and bounds, with their state',
    ids: ['T8'],
    async keep({ store, another }) {
      await store.append('main', [message('1'), anchor('a', { n: 1 }), message('3')])
      await store.append('main', [anchor('b', [1], { from: 1 })])
      await store.append('main', [anchor('a', 'again'), { kind: 'anchor', payload: { name: 'bare' } }, message('7')])
      for (const handle of [store, await another()]) {
        const found = await handle.anchors('main')
        expect(found).toMatchObject([
          { id: 2, name: 'a', state: { n: 1 } },
          { id: 4, name: 'b', state: [1], from: 1 },
          { id: 5, name: 'a', state: 'again' },
          { id: 6, name: 'bare', state: {} },
        ])
        expect(found[0]).not.toHaveProperty('from')
        expect(found.every((each) => !Number.isNaN(Date.parse(each.date)))).toBe(true)
        const asked = async (query: object) => (await handle.anchors('main', query)).map((each) => each.id)
        expect(await asked({ name: 'a' })).toEqual([2, 5])
        expect(await asked({ name: 'a', limit: 1 })).toEqual([5])
        expect(await asked({ name: 'a', before: 5 })).toEqual([2])
        expect(await asked({ limit: 2 })).toEqual([5, 6])
        expect(await asked({ limit: 0 })).toEqual([])
        expect(await asked({ after: 2, before: 6 })).toEqual([4, 5])
        expect(await asked({ name: 'none' })).toEqual([])
      }
    },
  },
  {
    title: 'the latest entry of a key is found among many, also behind a restart and on another handle',
    ids: ['T26'],
    async keep({ store, another }) {
      const other = await another()
      for (let round = 0; round < 5; round++) {
        const drafts = count(1, 200).map((n) => message(`${round}-${n}`, { key: `k${n}` }))
        await (round % 2 === 0 ? store : other).append('main', drafts)
      }
      for (const handle of [store, other, await another()]) {
        expect((await handle.latest('main', 'k7'))?.id).toBe(807)
        expect(contents([(await handle.latest('main', 'k200'))!])).toEqual(['4-200'])
        expect(await handle.latest('main', 'k')).toBeUndefined()
        expect(await handle.latest('main', 'constructor')).toBeUndefined()
      }
    },
  },
  {
    title: 'info counts entries, anchors and what the context after the last anchor is made of',
    ids: ['T10'],
    async keep({ store, another }) {
      await store.append('main', [message('1'), message('2')])
      const plain = (await store.info('main'))!
      expect(plain).toMatchObject({
        tape: 'main',
        entries: 2,
        firstId: 1,
        lastId: 2,
        anchors: 0,
        phase: { entries: 2 },
      })
      expect(plain.lastAnchor).toBeUndefined()
      await store.append('main', [anchor('a'), message('4'), message('5')])
      const [last] = await store.append('main', [{ ...message('6'), date: '2021-01-01T00:00:00Z' }])
      for (const handle of [store, await another()]) {
        const info = (await handle.info('main'))!
        expect(info).toMatchObject({ entries: 6, lastId: 6, anchors: 1, lastAnchor: { id: 3, name: 'a' } })
        expect(info.phase.entries).toBe(3)
        expect(info.phase.bytes).toBeGreaterThan(100)
        expect(info.phase.bytes).toBeLessThan(info.bytes)
        expect(info.date).toBe(last!.date)
      }
    },
  },
  {
    title: 'the phase of an anchor with from begins there, wherever that is',
    ids: ['T10'],
    async keep({ store }) {
      await store.append('main', [message('1'), message('2'), anchor('a', {}, { from: 2 })])
      expect((await store.info('main'))?.phase.entries).toBe(2)
      await store.append('main', [anchor('ahead', {}, { from: 90 })])
      expect((await store.info('main'))?.phase).toEqual({ entries: 0, bytes: 0 })
    },
  },
  {
    title: 'list gives every tape by prefix, up to date, whoever wrote',
    ids: ['T17'],
    async keep({ store, another }) {
      await store.append('b', [message('1')])
      await store.append('a:1', [message('1')])
      expect((await all(store.list())).map((info) => info.tape)).toEqual(['a:1', 'b'])
      await (await another()).append('a:2', [message('1'), anchor('x')])
      await (await another()).append('b', [message('2')])
      expect((await all(store.list('a:'))).map((info) => info.tape)).toEqual(['a:1', 'a:2'])
      const infos = await all(store.list())
      expect(infos).toEqual([await store.info('a:1'), await store.info('a:2'), await store.info('b')])
      expect(await all(store.list('none'))).toEqual([])
    },
  },
]
