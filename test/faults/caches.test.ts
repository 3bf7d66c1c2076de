import fs from 'node:fs'
import path from 'node:path'
import { expect, test } from 'vitest'
import { openFileStore, type Store } from '../../src/store/index.ts'
import { all, anchor, count, ids, message } from '../store/promises/row.ts'
import { newFolder } from './support/crew.ts'

const keys = ['k1', 'k7', 'seldom', 'never']

/** All that is answered from the index. */
async function answers(store: Store): Promise<unknown> {
  const latest = []
  for (const key of keys) latest.push(await store.latest('main', key))
  const conflicts = await Promise.all(
    keys.map((key) =>
      store.append('main', [message('x')], { expect: { key, id: 1 } }).catch((error: unknown) => error),
    ),
  )
  return {
    latest,
    conflicts: conflicts.map((conflict) => (conflict as { actual?: number }).actual),
    anchors: await store.anchors('main'),
    named: await store.anchors('main', { name: 'a3' }),
    repeated: await store.append('main', [message('x', { idempotency: 'job-40' })]),
    ranges: [
      await ids(store, 'main', { after: 150, before: 160 }),
      await ids(store, 'main', { reverse: true, limit: 5 }),
    ],
    info: await store.info('main'),
  }
}

async function indexed() {
  const root = path.join(newFolder({ inMemory: true }), '.baton')
  const store = await openFileStore(root)
  for (const n of count(1, 250)) {
    const meta = { key: n === 20 ? 'seldom' : `k${n % 9}`, idempotency: `job-${n}` }
    await store.append('main', [
      message(`${n}-${'x'.repeat(1_500)}`, meta),
      ...(n % 25 === 0 ? [anchor(`a${n % 4}`, { n })] : []),
    ])
  }
  const truth = await answers(store)
  await store.close()
  return { root, truth, index: path.join(root, 'tape/main.idx') }
}

async function expectTruth(root: string, truth: unknown, what: string): Promise<void> {
  const store = await openFileStore(root)
  expect(await answers(store), what).toEqual(truth)
  await store.close()
}

test('an index that is lost, cut short, flipped or somebody else’s never makes an answer wrong [T8] [T26]', async () => {
  const { root, truth, index } = await indexed()
  const sound = fs.readFileSync(index)
  expect(sound.length).toBeGreaterThan(1_000)
  fs.rmSync(index)
  await expectTruth(root, truth, 'lost')
  for (let size = 0; size < sound.length; size += Math.ceil(sound.length / 60)) {
    fs.writeFileSync(index, sound.subarray(0, size))
    await expectTruth(root, truth, `cut at ${size}`)
  }
  for (let at = 0; at < sound.length; at += Math.ceil(sound.length / 120)) {
    const flipped = Buffer.from(sound)
    flipped[at]! ^= 1 << (at % 8)
    fs.writeFileSync(index, flipped)
    await expectTruth(root, truth, `flipped at ${at}`)
  }
  fs.writeFileSync(index, Buffer.concat([sound, Buffer.alloc(100)]))
  await expectTruth(root, truth, 'with NUL behind it')
  const other = await indexed()
  fs.copyFileSync(other.index, index)
  await expectTruth(root, truth, 'of another tape')
  fs.rmSync(index)
  fs.mkdirSync(index)
  await expectTruth(root, truth, 'a folder')
})

test('an index that was left behind is caught up with, also under writers that go on [T26]', async () => {
  const { root, index } = await indexed()
  const stale = fs.readFileSync(index).subarray(0, 200)
  const store = await openFileStore(root)
  for (const n of count(1, 100)) {
    await store.append('main', [message('y'.repeat(2_000), { key: 'k1', idempotency: `new-${n}` })])
    if (n === 30) fs.writeFileSync(index, stale)
    if (n === 60) fs.rmSync(index)
  }
  const truth = await answers(store)
  await store.close()
  await expectTruth(root, truth, 'as the writer left it')
  expect(await (await openFileStore(root)).verify!('main')).toMatchObject([{ damage: [], index: 'ok' }])
  fs.rmSync(index)
  await expectTruth(root, truth, 'lost')
})

test('a reader far behind goes on with the index that others have stored, and answers as they do, also when it is spoilt [T26]', async () => {
  for (const spoil of ['nothing', 'lost', 'flipped', 'cut'] as const) {
    const { root, index } = await indexed()
    const reader = await openFileStore(root)
    const behind = await answers(reader)
    const writer = await openFileStore(root)
    const rows = count(1, 400).map((n) => [message('y'.repeat(2_000), { key: `k${n % 9}`, idempotency: `new-${n}` })])
    rows.push([anchor('a3', { n: 1_000 })])
    await Promise.all(rows.map((row) => writer.append('main', row)))
    const bytes = fs.readFileSync(index)
    if (spoil === 'lost') fs.rmSync(index)
    if (spoil === 'flipped') fs.writeFileSync(index, bytes.with(bytes.length - 300, bytes.at(-300)! ^ 1))
    if (spoil === 'cut') fs.writeFileSync(index, bytes.subarray(0, bytes.length - 300))
    const truth = await answers(writer)
    expect(await answers(reader), spoil).toEqual(truth)
    expect(truth).not.toEqual(behind)
    expect(await all(reader.read('main'))).toEqual(await all(writer.read('main')))
    await reader.append('main', [message('z', { key: 'k7' })])
    expect((await writer.latest('main', 'k7'))?.payload).toMatchObject({ content: 'z' })
    await reader.close()
    await writer.close()
  }
})

test('writers that share a tape do not spoil its index, however they interleave [T26]', async () => {
  const root = path.join(newFolder({ inMemory: true }), '.baton')
  const stores = await Promise.all([openFileStore(root), openFileStore(root), openFileStore(root)])
  const write = async (store: Store, who: number) => {
    for (const n of count(1, 60)) {
      await Promise.all(
        count(1, 4).map((k) => store.append('main', [message('x'.repeat(2_000), { key: `${who}-${n}-${k}` })])),
      )
    }
  }
  await Promise.all(stores.map((store, i) => write(store, i)))
  expect(await stores[0].verify!('main')).toMatchObject([{ damage: [], index: 'ok' }])
  for (const store of stores) await store.close()
})

test('the index of a segment that was archived is not taken for that of the next [T16] [T26]', async () => {
  const { root } = await indexed()
  const store = await openFileStore(root)
  const before = await store.latest('main', 'k1')
  await store.archive('main', () => [message('next', { key: 'k2' })])
  await store.close()
  const again = await openFileStore(root)
  expect(await again.latest('main', 'k1')).toBeUndefined()
  expect((await again.latest('main', 'k2'))?.id).toBe(before!.id > 0 ? (await again.info('main'))!.firstId : 0)
  expect(await again.anchors('main')).toEqual([])
  expect(await again.anchors('main', { archived: true })).toHaveLength(10)
  await again.close()
})

test('a manifest that is lost or damaged is rebuilt: the id comes from the lineage tape, the summary from the tapes [T17] [T18]', async () => {
  const root = path.join(newFolder({ inMemory: true }), '.baton')
  const store = await openFileStore(root)
  await store.append('a', [message('1'), anchor('x')])
  await store.append('b', [message('1')])
  const { workspace } = store
  const truth = await all(store.list())
  await store.close()
  const file = path.join(root, 'tape/manifest.json')
  const sound = fs.readFileSync(file)
  const damaged: Buffer[] = [
    Buffer.alloc(0),
    Buffer.from('null'),
    Buffer.from('{}'),
    Buffer.from('{"format":1,"tapes":5}'),
    Buffer.alloc(50),
  ]
  for (let at = 0; at < sound.length; at += 9) {
    const flipped = Buffer.from(sound)
    flipped[at]! ^= 1 << (at % 7)
    damaged.push(flipped, sound.subarray(0, at))
  }
  for (const bytes of [undefined, ...damaged]) {
    fs.rmSync(file)
    if (bytes !== undefined) fs.writeFileSync(file, bytes)
    const again = await openFileStore(root).catch((error: unknown) => error as Error)
    // One flip makes a newer format of it, and then nothing is touched.
    if (again instanceof Error) {
      expect(again.message).toContain('newer Baton')
      fs.writeFileSync(file, sound)
      continue
    }
    expect(again.workspace).toBe(workspace)
    expect(await all(again.list())).toEqual(truth)
    await again.close()
  }
})

test('the id of a workspace is found on a damaged or archived lineage tape when the manifest is lost [T18]', async () => {
  const root = path.join(newFolder({ inMemory: true }), '.baton')
  const store = await openFileStore(root)
  const { workspace } = store
  await store.append('lineage', [message('2'), message('3')])
  await store.archive('lineage', () => [message('4')])
  await store.append('lineage', [message('5')])
  await store.close()
  fs.rmSync(path.join(root, 'tape/manifest.json'))
  const file = path.join(root, 'session_graph.jsonl')
  fs.writeFileSync(file, fs.readFileSync(file, 'utf8').replace('"4"', '"6"'))
  const again = await openFileStore(root)
  expect(again.workspace).toBe(workspace)
  expect((await again.repair!('lineage')).damage).toHaveLength(1)
  await again.close()
})

test('a tape that is cut back and grows again while it is open is not answered from what it was [T26]', async () => {
  const root = path.join(newFolder({ inMemory: true }), '.baton')
  const store = await openFileStore(root)
  const big = 'x'.repeat(70_000)
  for (const n of count(1, 5)) await store.append('main', [message(`${n}${big}`, { key: `k${n}` })])
  const file = path.join(root, 'tape/main.jsonl')
  const size = fs.readFileSync(file).indexOf('{"id":3')
  fs.truncateSync(file, size)
  expect(await ids(store, 'main')).toEqual([1, 2])
  for (const n of count(3, 6)) await store.append('main', [message(`other ${n}${big}`, { key: `l${n}` })])
  await store.close()
  const again = await openFileStore(root)
  expect(await again.latest('main', 'k3')).toBeUndefined()
  expect((await again.latest('main', 'l5'))?.id).toBe(5)
  expect(await again.verify!('main')).toMatchObject([{ damage: [], index: 'ok', entries: 6 }])
  await again.close()
})

test('a summary that is out of date is not believed [T17]', async () => {
  const root = path.join(newFolder({ inMemory: true }), '.baton')
  const store = await openFileStore(root)
  await store.append('a', [message('1')])
  await all(store.list())
  const file = path.join(root, 'tape/manifest.json')
  const old = fs.readFileSync(file)
  await store.append('a', [message('2')])
  fs.writeFileSync(file, old)
  expect(await all(store.list())).toMatchObject([{ tape: 'a', entries: 2 }])
  await store.archive('a', () => [message('3')])
  fs.writeFileSync(file, old)
  expect(await all(store.list())).toMatchObject([{ tape: 'a', entries: 1, firstId: 3 }])
  await store.close()
})
