import { expect } from 'vitest'
import { all, anchor, count, fill, ids, message, type StorePromise } from './row.ts'

export const archiving: readonly StorePromise[] = [
  {
    title: 'a removed tape is not listed, its entries are in the archive, and a later append counts on',
    ids: ['T16', 'T18'],
    async keep({ store, another }) {
      await store.append('main', [message('1', { key: 'k' }), anchor('a'), message('3')])
      const other = await another()
      await other.append('main', [message('4')])
      const ref = await store.remove('main')
      expect(ref).toMatchObject({ tape: 'main', firstId: 1, lastId: 4 })
      for (const handle of [store, other]) {
        expect(await handle.info('main')).toBeUndefined()
        expect((await all(handle.list())).map(({ tape }) => tape)).not.toContain('main')
        expect(await handle.latest('main', 'k')).toBeUndefined()
        expect(await ids(handle, 'main')).toEqual([])
        expect(await ids(handle, 'main', { archived: true })).toEqual(count(1, 4))
        await expect(handle.remove('main')).rejects.toMatchObject({ code: 'not_found' })
        await expect(handle.create('main', [[message('x')]])).rejects.toMatchObject({ code: 'conflict' })
      }
      expect(await other.append('main', [message('5')])).toMatchObject([{ id: 5 }])
      expect(await ids(store, 'main', { archived: true })).toEqual(count(1, 5))
      await store.remove('main')
      expect(await store.purge('main')).toHaveLength(2)
      expect(await ids(other, 'main', { archived: true })).toEqual([])
    },
  },
  {
    title: 'an archive closes the segment, its first entries name it, and ids go on',
    ids: ['T16'],
    async keep({ store, another }) {
      await store.append('main', [message('1', { key: 'k' }), anchor('old'), message('3')])
      let named = ''
      const ref = await store.archive('main', (archive) => {
        named = archive.ref
        return [anchor('session/start', { archived: archive.ref }), message('5')]
      })
      expect(ref).toMatchObject({ tape: 'main', firstId: 1, lastId: 3, ref: named })
      await store.append('main', [message('6')], { expect: 5 })
      for (const handle of [store, await another()]) {
        expect(await ids(handle, 'main')).toEqual([4, 5, 6])
        expect(await ids(handle, 'main', { archived: true })).toEqual(count(1, 6))
        expect(await ids(handle, 'main', { archived: true, reverse: true })).toEqual(count(1, 6).reverse())
        expect(await ids(handle, 'main', { archived: true, after: 2, before: 5 })).toEqual([3, 4])
        expect(await ids(handle, 'main', { archived: true, kinds: ['anchor'] })).toEqual([2, 4])
        expect((await handle.anchors('main')).map((each) => each.name)).toEqual(['session/start'])
        expect((await handle.anchors('main', { archived: true })).map((each) => each.id)).toEqual([2, 4])
        expect((await handle.anchors('main', { archived: true, limit: 1 })).map((each) => each.id)).toEqual([4])
        expect((await handle.anchors('main', { archived: true, name: 'old' })).map((each) => each.id)).toEqual([2])
        expect(await handle.latest('main', 'k')).toBeUndefined()
        expect(await handle.info('main')).toMatchObject({ entries: 3, firstId: 4, lastId: 6, anchors: 1 })
        expect(await handle.archives('main')).toEqual([ref])
      }
    },
  },
  {
    title: 'an expectation with `since` does not hold when what came behind that entry was archived',
    ids: ['T16', 'T26'],
    async keep({ store, another }) {
      const other = await another()
      const since = (n: number) => ({ expect: { key: 'k', id: 0, since: n } })
      await store.append('main', [message('1')], since(0))
      await store.append('main', [message('2', { key: 'k' })], since(0))
      await expect(other.append('main', [message('x')], since(2))).rejects.toMatchObject({ expected: 0, actual: 2 })
      await store.archive('main', () => [message('3')])
      for (const n of [0, 1]) {
        const late = other.append('main', [message('x')], since(n))
        await expect(late).rejects.toMatchObject({ code: 'conflict', expected: n, actual: 2 })
      }
      // One of a group is refused alone.
      const group = await Promise.allSettled([0, 2, 3].map((n) => other.append('main', [message('y')], since(n))))
      expect(group.map(({ status }) => status)).toEqual(['rejected', 'fulfilled', 'fulfilled'])
      expect(await other.append('main', [message('6', { key: 'k' })], { expect: { key: 'k', id: 0 } })).toMatchObject([
        { id: 6 },
      ])
      expect(await store.append('main', [message('7')], { expect: { key: 'k', id: 6, since: 2 } })).toMatchObject([
        { id: 7 },
      ])
      await store.remove('main')
      await expect(other.append('main', [message('x')], since(6))).rejects.toMatchObject({ expected: 6, actual: 7 })
      expect(await other.append('main', [message('8')], since(7))).toMatchObject([{ id: 8 }])
    },
  },
  {
    title: 'archives made in the same millisecond do not collide, and stay in order',
    ids: ['T16'],
    async keep({ store }) {
      await store.append('main', [message('1')])
      const refs = await Promise.all(count(2, 30).map((n) => store.archive('main', () => [message(`${n}`)])))
      expect(new Set(refs.map((each) => each.ref)).size).toBe(29)
      expect((await store.archives('main')).map((each) => each.firstId)).toEqual(count(1, 29))
      expect(await ids(store, 'main', { archived: true })).toEqual(count(1, 30))
    },
  },
  {
    title: 'appenders racing with an archive land wholly on one side, and no id is lost or used twice',
    ids: ['T16'],
    async keep({ store, another }) {
      const other = await another()
      await store.append('main', [message('1')])
      const batches: number[][] = []
      const appender = async (handle: typeof store) => {
        for (let n = 0; n < 40; n++) {
          batches.push((await handle.append('main', [message('a'), message('b')])).map((entry) => entry.id))
        }
      }
      const archiver = async () => {
        for (let n = 0; n < 10; n++) await other.archive('main', () => [message('next')])
      }
      await Promise.all([appender(store), appender(other), archiver()])
      const { lastId } = (await store.info('main'))!
      expect(lastId).toBe(1 + 160 + 10)
      expect(await ids(store, 'main', { archived: true })).toEqual(count(1, lastId))
      const bounds = (await store.archives('main')).map((each) => each.lastId)
      for (const [first, second] of batches) {
        expect(second).toBe(first! + 1)
        expect(bounds).not.toContain(first)
      }
    },
  },
  {
    title: 'an archive whose first entries are bad changes nothing',
    ids: ['T16'],
    async keep({ store, restart }) {
      await store.append('main', [message('1')])
      await expect(store.archive('main', () => [{ kind: '', payload: 1 }])).rejects.toMatchObject({ code: 'invalid' })
      await expect(store.archive('main', () => [])).rejects.toMatchObject({ code: 'invalid' })
      const failing = store.archive('main', () => {
        throw new Error('changed my mind')
      })
      await expect(failing).rejects.toThrow('changed my mind')
      const again = await restart()
      expect(await again.archives('main')).toEqual([])
      await again.append('main', [message('2')], { expect: 1 })
      expect(await ids(again, 'main')).toEqual([1, 2])
    },
  },
  {
    title: 'there must be something to archive',
    ids: ['T16'],
    async keep({ store }) {
      await expect(store.archive('none', () => [message('x')])).rejects.toMatchObject({ code: 'not_found' })
      expect(await all(store.list())).toEqual([])
    },
  },
  {
    title: 'expectations hold across an archive: whole ones by id, keyed ones afresh',
    ids: ['T16', 'T26'],
    async keep({ store, another }) {
      await store.append('main', [message('1', { key: 'k' })])
      await (await another()).archive('main', () => [message('2')])
      await store.append('main', [message('3', { key: 'k' })], { expect: { key: 'k', id: 0 } })
      await store.append('main', [message('4')], { expect: 3 })
      expect(await ids(store, 'main')).toEqual([2, 3, 4])
    },
  },
  {
    title: 'purge deletes the archives and nothing else; ids still go on',
    ids: ['T16'],
    async keep({ store, restart }) {
      await fill(store, 'main', 5)
      await store.archive('main', () => [message('6')])
      await store.append('other', [message('1')])
      await store.archive('other', () => [message('2')])
      expect(await store.purge('main')).toMatchObject([{ firstId: 1, lastId: 5 }])
      expect(await store.purge('main')).toEqual([])
      const again = await restart()
      expect(await ids(again, 'main', { archived: true })).toEqual([6])
      expect(await ids(again, 'other', { archived: true })).toEqual([1, 2])
      await again.append('main', [message('7')], { expect: 6 })
      await again.archive('main', () => [message('8')])
      expect(await ids(again, 'main', { archived: true })).toEqual([6, 7, 8])
    },
  },
  {
    title: 'a name that looks like an archive of another tape is not mixed up with it',
    ids: ['T16', 'T17'],
    async keep({ store }) {
      await store.append('main', [message('1')])
      const { ref } = await store.archive('main', () => [message('2')])
      const twin = ref.replace(/^.*\//, '').replace(/\.jsonl$/, '')
      await store.append(twin, [message('1')])
      await store.archive(twin, () => [message('2')])
      expect(await store.archives('main')).toHaveLength(1)
      expect(await store.archives(twin)).toHaveLength(1)
      await store.purge('main')
      expect(await store.archives(twin)).toHaveLength(1)
    },
  },
]
