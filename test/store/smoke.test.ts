import fs from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { expect, test } from 'vitest'
import { openFileStore } from '../../src/store/index.ts'

const msg = (content: string, meta = {}) => ({ kind: 'message', payload: { role: 'user', content }, meta })
test('smoke', async () => {
  const dir = fs.mkdtempSync(path.join(os.tmpdir(), 'baton-'))
  const store = await openFileStore(path.join(dir, '.baton'))
  await Promise.all(Array.from({ length: 200 }, (_, i) => store.append('main', [msg(`hi ${i}`, { key: `k${i % 7}` })])))
  await store.append('main', [{ kind: 'anchor', payload: { name: 'a', state: { x: 1 } } }, msg('b')])
  for (let i = 0; i < 300; i++) await store.append('main', [msg('x'.repeat(1000))])
  const all = (await Array.fromAsync?.(store.read('main'))) ?? []
  const entries = []
  for await (const e of store.read('main')) entries.push(e)
  expect(entries.length).toBe(502)
  expect(entries.map((e) => e.id)).toEqual(Array.from({ length: 502 }, (_, i) => i + 1))
  const back = []
  for await (const e of store.read('main', { reverse: true, limit: 400 })) back.push(e.id)
  expect(back).toEqual(Array.from({ length: 400 }, (_, i) => 502 - i))
  expect(await store.anchors('main')).toMatchObject([{ id: 201, name: 'a' }])
  expect((await store.latest('main', 'k3'))?.id).toBe(200 - ((200 - 4) % 7))
  const ref = await store.archive('main', (a) => [
    { kind: 'anchor', payload: { name: 'session/start', state: { archived: a.ref } } },
  ])
  console.log(ref, await store.info('main'))
  await store.append('main', [msg('after')])
  const span = []
  for await (const e of store.read('main', { archived: true, after: 490 })) span.push(e.id)
  expect(span).toEqual([491, 492, 493, 494, 495, 496, 497, 498, 499, 500, 501, 502, 503, 504])
  await store.close()
  const again = await openFileStore(path.join(dir, '.baton'))
  for await (const i of again.list()) console.log(i)
  console.log(await again.verify!('main'), fs.readdirSync(path.join(dir, '.baton/tape')))
  await expect(again.append('main', [msg('c')], { expect: 3 })).rejects.toThrow('504')
  await again.close()
})
