import { expect } from 'vitest'
import { all, ids, message, type StorePromise } from './row.ts'

const names = [
  'main',
  'telegram:123',
  'a/b',
  '../../etc/passwd',
  '..',
  '.',
  '/',
  'with space',
  'ü',
  '中文',
  '%2e%2e',
  '%',
  'a%20b',
]
const odder = [
  '-rf',
  '*',
  "it's",
  'CON',
  'manifest',
  'archived',
  'constructor',
  '__proto__',
  'new\nline',
  '\0',
  'x.jsonl',
  'x.lock',
]

export const naming: readonly StorePromise[] = [
  {
    title: 'a name may hold anything, and each is a tape of its own that is listed under its name',
    ids: ['T17'],
    async keep({ store, restart }) {
      const every = [...names, ...odder]
      for (const name of every) await store.append(name, [message(name)])
      const again = await restart()
      expect((await all(again.list())).map((info) => info.tape).sort()).toEqual([...every].sort())
      for (const name of every)
        expect(await all(again.read(name)), name).toMatchObject([{ payload: { content: name } }])
    },
  },
  {
    title: 'no name, half a character and too long a name are clear errors at every door',
    ids: ['T17'],
    async keep({ store }) {
      const bad: [string, string][] = [
        ['', 'invalid'],
        ['\ud800', 'invalid'],
        ['x'.repeat(4_000), 'limit'],
        ['ü'.repeat(100), 'limit'],
      ]
      for (const [name, code] of bad) {
        await expect(store.append(name, [message('x')])).rejects.toMatchObject({ code })
        await expect(all(store.read(name))).rejects.toMatchObject({ code })
        await expect(store.latest(name, 'k')).rejects.toMatchObject({ code })
        await expect(store.anchors(name)).rejects.toMatchObject({ code })
        await expect(store.info(name)).rejects.toMatchObject({ code })
        await expect(store.create(name, [[message('x')]])).rejects.toMatchObject({ code })
        await expect(store.archive(name, () => [message('x')])).rejects.toMatchObject({ code })
        await expect(all(store.watch(name, 0, AbortSignal.abort()))).rejects.toMatchObject({ code })
      }
      expect(await all(store.list())).toEqual([])
    },
  },
  {
    title: 'the longest allowed name works in every operation',
    ids: ['T17'],
    async keep({ store, restart }) {
      const name = 'n'.repeat(200)
      await store.append(name, [message('x')])
      await store.archive(name, () => [message('y')])
      await store.create(`${name.slice(1)}2`, [[message('z')]])
      expect(await ids(await restart(), name, { archived: true })).toEqual([1, 2])
    },
  },
  {
    title: 'a tape that nobody wrote is empty, and asking does not make it',
    ids: ['T17'],
    async keep({ store }) {
      expect(await all(store.read('none'))).toEqual([])
      expect(await all(store.read('none', { archived: true, reverse: true }))).toEqual([])
      expect(await store.anchors('none')).toEqual([])
      expect(await store.latest('none', 'k')).toBeUndefined()
      expect(await store.info('none')).toBeUndefined()
      expect(await store.archives('none')).toEqual([])
      expect(await all(store.list())).toEqual([])
    },
  },
  {
    title: 'all handles on a place agree on its id',
    ids: ['T18'],
    async keep({ store, another, restart }) {
      expect(store.workspace).toMatch(/^[\w-]+$/)
      const id = store.workspace
      expect((await another()).workspace).toBe(id)
      expect((await restart()).workspace).toBe(id)
    },
  },
]
