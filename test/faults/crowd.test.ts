import fs from 'node:fs'
import path from 'node:path'
import { expect, test } from 'vitest'
import { openFileStore } from '../../src/store/index.ts'
import { all, count, ids, message } from '../store/promises/row.ts'
import { newFolder, Worker } from './support/crew.ts'

test('4 processes with 1,000 appends each give ids 1 to 4,000, and each gets its own back [T3]', async () => {
  const root = path.join(newFolder(), '.baton')
  const workers = await Promise.all(
    count(1, 4).map((n) => Worker.start('append', { root, times: 1_000, lanes: n === 1 ? 1 : 8, tag: `w${n}` })),
  )
  expect(await Promise.all(workers.map((worker) => worker.ended))).toEqual([0, 0, 0, 0])
  const acked = workers.flatMap((worker) => worker.acked).sort(([a], [b]) => a - b)
  expect(acked.map(([id]) => id)).toEqual(count(1, 4_000))
  const store = await openFileStore(root)
  const entries = await all(store.read('main'))
  expect(entries.map((entry) => [entry.id, (entry.payload as { content: string }).content])).toEqual(acked)
  expect(await store.verify!('main')).toMatchObject([{ damage: [], entries: 4_000 }])
  await store.close()
})

test('a counter kept by keyed checks is exact under contention, with noise beside it [T26]', async () => {
  const root = path.join(newFolder(), '.baton')
  const counters = await Promise.all(count(1, 4).map(() => Worker.start('count', { root, times: 100 })))
  const noise = await Worker.start('append', { root, tag: 'noise' })
  expect(await Promise.all(counters.map((worker) => worker.ended))).toEqual([0, 0, 0, 0])
  await noise.hears('acked')
  await noise.kill()
  const store = await openFileStore(root)
  expect((await store.latest('main', 'counter'))?.payload).toEqual({ value: 400 })
  await store.close()
})

test('archives racing with appenders and watchers of other processes lose and repeat nothing [T16]', async () => {
  const root = path.join(newFolder(), '.baton')
  const store = await openFileStore(root)
  await store.append('main', [message('0')])
  const total = 1 + 2 * 150 * 2 + 2 * 25
  const watchers = await Promise.all(count(1, 2).map(() => Worker.start('watch', { root, times: total })))
  await Promise.all(watchers.map((watcher) => watcher.hears('watching')))
  const others = await Promise.all([
    Worker.start('append', { root, times: 150, batch: 2, lanes: 3, tag: 'a' }),
    Worker.start('append', { root, times: 150, batch: 2, lanes: 1, tag: 'b' }),
    Worker.start('archive', { root, times: 25 }),
    Worker.start('archive', { root, times: 25 }),
  ])
  expect(await Promise.all(others.map((worker) => worker.ended))).toEqual([0, 0, 0, 0])
  expect(await ids(store, 'main', { archived: true })).toEqual(count(1, total))
  expect(await store.archives('main')).toHaveLength(50)
  for (const watcher of watchers) {
    expect(await watcher.ended).toBe(0)
    const seen = watcher.said.flatMap((said) => ('seen' in said ? [said['seen']] : []))
    expect(seen).toEqual(count(1, total))
  }
  await store.close()
})

test('processes that make a workspace at once agree on its id [T17] [T18]', async () => {
  const root = path.join(newFolder(), 'deep/.baton')
  const workers = await Promise.all(count(1, 6).map((n) => Worker.start('append', { root, times: 2, tag: `w${n}` })))
  expect(await Promise.all(workers.map((worker) => worker.ended))).toEqual([0, 0, 0, 0, 0, 0])
  const named = new Set(workers.map((worker) => worker.said[0]!['workspace']))
  expect(named.size).toBe(1)
  const store = await openFileStore(root)
  expect(named).toContain(store.workspace)
  expect(await ids(store, 'main')).toEqual(count(1, 12))
  await store.close()
})

test('1,000 tapes can be worked with under 256 descriptors [T17]', async () => {
  const root = path.join(newFolder({ inMemory: true }), '.baton')
  const within = ['bash', '-c', 'ulimit -n 256; exec "$0" "$@"']
  const worker = await Worker.start('many', { root, times: 1_000 }, { within })
  expect(await worker.ended).toBe(0)
  const said = await worker.hears('entries')
  expect(said['entries']).toBe(4_000)
  expect(said['fds']).toBeLessThan(200)
})

test('a maker killed in the middle leaves no tape, and its half is swept away by the next [T12]', async () => {
  const root = path.join(newFolder(), '.baton')
  const store = await openFileStore(root)
  fs.writeFileSync(path.join(root, 'tape/main.0123456789ab.part'), '{"id":1,')
  await store.create('other', [[message('1')]])
  expect(fs.readdirSync(path.join(root, 'tape')).filter((name) => name.endsWith('.part'))).toEqual([])
  expect((await all(store.list())).map((info) => info.tape)).toEqual(['other'])
  await store.close()
})
