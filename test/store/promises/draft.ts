import { expect } from 'vitest'
import type { Draft } from '../../../src/store/index.ts'
import { all, message, type StorePromise } from './row.ts'

const cycle: Record<string, unknown> = { deep: [] }
cycle['deep'] = [cycle]

class Plain {
  shown = 1
}

/** What JSON would drop or change in silence, or cannot hold. */
const unserialisable: Record<string, unknown> = {
  'a cycle': cycle,
  'a BigInt': { n: 1n },
  'a function': { run: () => 1 },
  'a symbol': { s: Symbol('s') },
  NaN: { n: Number.NaN },
  Infinity: [Number.POSITIVE_INFINITY],
  'a Map': { m: new Map([[1, 2]]) },
  'a Set': { m: new Set([1]) },
  'bytes as such': { bytes: new Uint8Array(3) },
  'an Error': { error: new TypeError('lost') },
  'a RegExp': { r: /x/ },
  'a Promise': { p: Promise.resolve() },
  'an invalid Date': { at: new Date(Number.NaN) },
  'undefined in an array': { list: [1, undefined] },
  'a hole in an array': { list: [1, , 3] }, // oxlint-disable-line no-sparse-arrays
  'toJSON without a result': { toJSON: () => undefined },
  'toJSON with a bad result': { x: { toJSON: () => ({ n: Number.NaN }) } },
  'NaN beside a toJSON that is data': { toJSON: 'text', n: Number.NaN },
  'a throwing getter': {
    get x() {
      throw new Error('no')
    },
  },
}

export const drafting: readonly StorePromise[] = [
  {
    title: 'unknown kinds and fields, reasoning signatures and images survive a round trip',
    ids: ['T1'],
    async keep({ store, restart }) {
      const drafts: Draft[] = [
        { kind: 'x-unknown/kind', payload: null, novel: { deep: [1, 'two', null] }, another: false },
        { kind: 'message', payload: [{ type: 'reasoning', text: '…', signature: 'EqQBCg==' }], meta: { x: { y: 1 } } },
        { kind: 'message', payload: { content: [{ type: 'image', data: 'iVBORw0KGgo=', mediaType: 'image/png' }] } },
        { kind: 'scalar', payload: 0, meta: { context: false, run_id: 'r1' } },
        { kind: 'text', payload: '' },
        {
          kind: '{"id":1,"kind":"x"',
          payload: JSON.parse('{"__proto__":{"x":1},"b":[0,2],"crc":"00000000"}') as unknown,
        },
      ]
      const written = await store.append('main', drafts)
      const read = await all((await restart()).read('main'))
      expect(read).toEqual(written)
      read.forEach((entry, i) => expect(JSON.stringify(entry)).toContain(JSON.stringify(drafts[i]!.payload)))
      expect(read[0]).toMatchObject({ novel: { deep: [1, 'two', null] }, another: false })
    },
  },
  {
    title: 'any text survives: line breaks, NUL, emoji, lone surrogates, separators',
    ids: ['T1'],
    async keep({ store, restart }) {
      const texts = [
        'a\nb\r\nc',
        '\0',
        '👩‍👩‍👧 ü 中文',
        '\ud800 alone',
        '\u2028\u2029',
        '"\\',
        ',"crc":"00000000"}',
        '{"id":7,"kind":"a"',
      ]
      await store.append(
        'main',
        texts.map((text) => message(text, { key: text })),
      )
      const again = await restart()
      expect((await all(again.read('main'))).map((entry) => (entry.payload as { content: string }).content)).toEqual(
        texts,
      )
      for (const [i, text] of texts.entries()) expect((await again.latest('main', text))?.id).toBe(i + 1)
    },
  },
  {
    title: 'the date is set by the store unless given, and a given one is kept as it is',
    ids: ['T1'],
    async keep({ store }) {
      const before = Date.now()
      const [set] = await store.append('main', [message('x')])
      expect(Date.parse(set!.date)).toBeGreaterThanOrEqual(before)
      expect(Date.parse(set!.date)).toBeLessThanOrEqual(Date.now())
      const dates = ['2020-02-29T12:00:00.123456Z', '2020-02-29', '2020-02-29T12:00+05:30']
      const given = await store.append(
        'main',
        dates.map((date) => ({ ...message('x'), date })),
      )
      expect(given.map((entry) => entry.date)).toEqual(dates)
      for (const date of ['yesterday', '', '1', '2020-13-01', '2020-02-29 12:00']) {
        await expect(store.append('main', [{ ...message('x'), date }])).rejects.toMatchObject({ path: 'date' })
      }
      await expect(store.append('main', [{ ...message('x'), date: 5 as never }])).rejects.toMatchObject({
        path: 'date',
      })
    },
  },
  {
    title: 'fields that belong to the store are refused by name',
    ids: ['T1'],
    async keep({ store }) {
      for (const field of ['id', 'b', 'crc']) {
        const append = store.append('main', [message('ok'), { ...message('x'), [field]: 1 }])
        await expect(append).rejects.toMatchObject({ code: 'invalid', path: field })
      }
      expect(await store.info('main')).toBeUndefined()
    },
  },
  {
    title: 'what is no entry is refused with the field at fault',
    ids: ['T4'],
    async keep({ store }) {
      const bad: [unknown, string | undefined][] = [
        [null, undefined],
        ['text', undefined],
        [[], undefined],
        [{ payload: 1 }, 'kind'],
        [{ kind: '', payload: 1 }, 'kind'],
        [{ kind: 'x' }, 'payload'],
        [{ kind: 'x', payload: 1, meta: null }, 'meta'],
        [{ kind: 'x', payload: 1, meta: [] }, 'meta'],
        [{ kind: 'x', payload: 1, meta: { key: 5 } }, 'meta.key'],
        [{ kind: 'x', payload: 1, meta: { key: '' } }, 'meta.key'],
        [{ kind: 'x', payload: 1, meta: { idempotency: {} } }, 'meta.idempotency'],
        [{ kind: 'anchor', payload: null }, 'payload.name'],
        [{ kind: 'anchor', payload: { name: '' } }, 'payload.name'],
        [{ kind: 'anchor', payload: { name: 'a', from: 0 } }, 'payload.from'],
        [{ kind: 'anchor', payload: { name: 'a', from: '3' } }, 'payload.from'],
      ]
      for (const [draft, path] of bad) {
        await expect(store.append('main', [draft as Draft])).rejects.toMatchObject({ code: 'invalid', path })
      }
      expect(await store.info('main')).toBeUndefined()
    },
  },
  {
    title: 'what cannot be serialised is a clear error with its place, before anything is written',
    ids: ['T4'],
    async keep({ store }) {
      for (const [what, value] of Object.entries(unserialisable)) {
        const anchored: Draft = { kind: 'anchor', payload: { name: 'a', state: value } }
        const outcome = store.append('main', [message('before'), anchored])
        await expect(outcome, what).rejects.toMatchObject({
          code: 'invalid',
          message: expect.stringContaining('entry 2'),
        })
        await expect(store.append('main', [{ ...message('x'), extra: value }]), what).rejects.toThrow(/extra/)
      }
      expect(await store.info('main')).toBeUndefined()
    },
  },
  {
    title: 'what JSON can hold passes: dates, instances with plain fields, objects without prototype, deep trees',
    ids: ['T4'],
    async keep({ store }) {
      const bare = Object.assign(Object.create(null) as object, { x: 1 })
      const shared = { twice: true }
      let deep: unknown = 1
      for (let i = 0; i < 500; i++) deep = { deep }
      const state = { at: new Date(0), plain: new Plain(), bare, gone: undefined, shared: [shared, shared], deep }
      const [entry] = await store.append('main', [{ kind: 'x', payload: state }])
      expect(entry!.payload).toEqual(JSON.parse(JSON.stringify(state)))
    },
  },
  {
    title: 'nothing the caller mutates after the call changes what is stored',
    ids: ['T4'],
    async keep({ store }) {
      const state = { list: [1], text: 'then' }
      const draft: Draft = { kind: 'anchor', payload: { name: 'a', state }, meta: { key: 'k' } }
      const drafts = [draft]
      const append = store.append('main', drafts)
      state.list.push(2)
      draft.kind = 'other'
      draft.meta!.key = 'other'
      drafts.push(message('more'))
      const [entry] = await append
      expect(entry).toMatchObject({
        kind: 'anchor',
        payload: { state: { list: [1], text: 'then' } },
        meta: { key: 'k' },
      })
      ;(entry!.payload as { state: { text: string } }).state.text = 'now'
      expect(await all(store.read('main'))).toMatchObject([{ payload: { state: { text: 'then' } } }])
    },
  },
  {
    title: 'the index follows what is stored, not what the caller computed it from',
    ids: ['T26'],
    async keep({ store }) {
      const meta = { key: 'seen', toJSON: () => ({ key: 'stored' }) }
      await store.append('main', [{ kind: 'x', payload: 1, meta }])
      expect(await store.latest('main', 'seen')).toBeUndefined()
      expect((await store.latest('main', 'stored'))?.id).toBe(1)
      await store.append('main', [{ kind: 'x', payload: 2 }], { expect: { key: 'seen', id: 0 } })
    },
  },
]
