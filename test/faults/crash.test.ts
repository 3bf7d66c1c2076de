import fs from 'node:fs'
import path from 'node:path'
import { expect, test } from 'vitest'
import { openFileStore, type Store } from '../../src/store/index.ts'
import { all, count, message } from '../store/promises/row.ts'
import { sample } from '../support/full.ts'
import { newFolder, Worker, type WorkerOptions } from './support/crew.ts'
import { afterPowerCut } from './support/power-cut.ts'

/** What was promised and is not there. */
async function missing(store: Store, acked: readonly [number, string][]): Promise<string[]> {
  const entries = await all(store.read('main', { archived: true }))
  const found = new Map(entries.map((entry) => [entry.id, (entry.payload as { content: string }).content]))
  return acked.filter(([id, content]) => found.get(id) !== content).map(([, content]) => content)
}

async function assertGapless(store: Store): Promise<number> {
  const ids = (await all(store.read('main', { archived: true }))).map((entry) => entry.id)
  expect(ids).toEqual(count(1, ids.length))
  return ids.length
}

/** Batches are whole: each message says which of how many it is. */
async function assertWhole(store: Store, batch: number): Promise<void> {
  const perBatch = new Map<string, number>()
  for await (const entry of store.read('main', { archived: true })) {
    const { content } = entry.payload as { content: string }
    const [, name] = /^(.*-\d+)-\d+$/.exec(content) ?? []
    if (name !== undefined && !name.includes('archive')) perBatch.set(name, (perBatch.get(name) ?? 0) + 1)
  }
  expect([...perBatch.values()].filter((size) => size !== batch)).toEqual([])
}

const rounds = count(0, 7)
const crews = [
  { title: 'single appends', batch: 1, lanes: 1, archives: false },
  { title: 'batches in groups, with archives', batch: 7, lanes: 4, archives: true },
]

test.each(crews)(
  'nothing acknowledged is lost when writers are killed again and again: $title [T1] [T3] [T16]',
  async ({ batch, lanes, archives }) => {
    const root = path.join(newFolder(), '.baton')
    const acked: [number, string][] = []
    for (const round of sample(rounds, 4)) {
      const jobs = count(1, 3).map((n) => ({ root, batch, lanes, archives, tag: `r${round}w${n}` }))
      const writers = await Promise.all(jobs.map((job) => Worker.start('append', job)))
      // Each dies at a moment of its own: after so many acknowledgements.
      await Promise.all(
        writers.map(async (writer, i) => {
          await writer.hears('acked', () => writer.said.length > 3 + ((round * 7 + i * 11) % 23))
          await writer.kill()
        }),
      )
      for (const writer of writers) acked.push(...writer.acked)
    }
    const store = await openFileStore(root)
    await store.append('main', [message('after')])
    expect(await missing(store, acked)).toEqual([])
    expect(new Set(acked.map(([id]) => id)).size).toBe(acked.length)
    await assertGapless(store)
    await assertWhole(store, batch)
    expect(fs.readdirSync(path.join(root, 'tape')).filter((name) => name.endsWith('.part'))).toEqual([])
    await store.close()
  },
)

/** Kills writers in the middle of their work, cuts the power, and says what of the promised is gone. */
async function lostInPowerCut(options: Pick<WorkerOptions, 'skip'>, crew: object): Promise<string[]> {
  const folder = newFolder()
  const root = path.join(folder, '.baton')
  const log = path.join(folder, 'durable.log')
  const acked: [number, string][] = []
  const writers = await Promise.all(
    count(1, 3).map((n) => Worker.start('append', { root, tag: `w${n}`, ...crew }, { ...options, log })),
  )
  await Promise.all(
    writers.map(async (writer) => {
      await writer.hears('acked', () => writer.said.length > 30)
      await writer.kill()
      acked.push(...writer.acked)
    }),
  )
  const image = path.join(folder, 'image')
  afterPowerCut(root, log, image)
  fs.mkdirSync(path.join(image, 'tape'), { recursive: true })
  const store = await openFileStore(image)
  try {
    await store.append('main', [message('after')])
    await assertGapless(store)
    return await missing(store, acked)
  } finally {
    await store.close()
  }
}

test.each(crews)(
  'nothing acknowledged is lost when the power fails: the file is cut back to its last sync ($title) [T1] [T3]',
  async ({ batch, lanes, archives }) => {
    expect(await lostInPowerCut({}, { batch, lanes, archives })).toEqual([])
  },
)

test('what need not be durable takes no sync of its own, and is as durable as the next append [T1] [T3]', async () => {
  expect(await lostInPowerCut({}, { batch: 1, lanes: 2, passing: true })).toEqual([])
  expect(await lostInPowerCut({}, { batch: 1, lanes: 2, passing: true, archives: true })).toEqual([])
  const folder = newFolder()
  const root = path.join(folder, '.baton')
  const log = path.join(folder, 'durable.log')
  const writer = await Worker.start('append', { root, tag: 'w', times: 3, batch: 1, passing: true }, { log })
  expect(await writer.ended).toBe(0)
  const noted = fs.readFileSync(log, 'utf8')
  const { ino } = fs.statSync(path.join(root, 'tape/main.jsonl'))
  expect(noted.match(new RegExp(`"ino":${ino},`, 'g'))).toHaveLength(3)
})

test('nothing acknowledged is lost when the power fails after the writer that made the file died before its folder was synced [T1] [T3]', async () => {
  const folder = newFolder()
  const root = path.join(folder, '.baton')
  const log = path.join(folder, 'durable.log')
  const acked: [number, string][] = []
  for (const skip of ['fsync', undefined] as const) {
    const writer = await Worker.start('append', { root, tag: String(skip) }, { log, skip })
    await writer.hears('acked', () => writer.said.length > 3)
    await writer.kill()
    acked.push(...writer.acked)
  }
  afterPowerCut(root, log, path.join(folder, 'image'))
  const store = await openFileStore(path.join(folder, 'image'))
  expect(await missing(store, acked)).toEqual([])
  await store.close()
})

test.each([
  { skip: 'fdatasync', batch: 1, lanes: 1 },
  { skip: 'fdatasync', batch: 2, lanes: 4 },
  { skip: 'fsync', batch: 1, lanes: 1 },
] as const)('the power cut notices a $skip that is left out ($lanes lanes) [T1]', async ({ skip, batch, lanes }) => {
  expect(await lostInPowerCut({ skip }, { batch, lanes })).not.toEqual([])
})

test('a batch cut at any byte is all or none, and the next append goes on behind it [T3]', async () => {
  const folder = newFolder({ inMemory: true })
  const store = await openFileStore(path.join(folder, '.baton'))
  await store.append('main', [message('before'), message('too')])
  await store.append('main', [message('single ü')])
  const file = path.join(folder, '.baton/tape/main.jsonl')
  const before = fs.statSync(file).size
  await store.append('main', [message('one ü'), message('two'), message('three')])
  await store.close()
  const bytes = fs.readFileSync(file)
  // The ends of a line are never left out.
  const edges = [before, ...count(bytes.length - 2, bytes.length)]
  for (const cut of new Set([...sample(count(before, bytes.length), 80), ...edges])) {
    fs.writeFileSync(file, bytes.subarray(0, cut))
    const again = await openFileStore(path.join(folder, '.baton'))
    // The very last byte is a newline, which a reader can do without.
    const whole = cut >= bytes.length - 1 ? 6 : 3
    expect((await all(again.read('main'))).map((entry) => entry.id)).toEqual(count(1, whole))
    const [entry] = await again.append('main', [message('next')])
    expect(entry!.id).toBe(whole + 1)
    expect((await all(again.read('main'))).map((each) => each.id)).toEqual(count(1, whole + 1))
    expect(await again.verify!('main')).toMatchObject([{ damage: [] }])
    const side = fs.readdirSync(path.join(folder, '.baton/tape')).filter((name) => name.endsWith('.cut'))
    const kept = side.map((name) => fs.readFileSync(path.join(folder, '.baton/tape', name)))
    expect(Buffer.concat(kept).equals(whole === 6 ? Buffer.alloc(0) : bytes.subarray(before, cut))).toBe(true)
    for (const name of side) fs.rmSync(path.join(folder, '.baton/tape', name))
    await again.close()
  }
})

test('a single entry cut at any byte is there or not, and its bytes are kept aside [T3]', async () => {
  const folder = newFolder({ inMemory: true })
  const store = await openFileStore(path.join(folder, '.baton'))
  await store.append('main', [message('first')])
  await store.close()
  const file = path.join(folder, '.baton/tape/main.jsonl')
  const bytes = fs.readFileSync(file)
  for (let cut = 0; cut <= bytes.length; cut++) {
    fs.writeFileSync(file, bytes.subarray(0, cut))
    const again = await openFileStore(path.join(folder, '.baton'))
    const [entry] = await again.append('main', [message('next')])
    expect(entry!.id).toBe(cut >= bytes.length - 1 ? 2 : 1)
    expect(await again.verify!('main')).toMatchObject([{ damage: [] }])
    await again.close()
  }
})

test('an archive cut short between its steps has not happened, and the next one goes through [T16]', async () => {
  const root = path.join(newFolder({ inMemory: true }), '.baton')
  const store = await openFileStore(root)
  await store.append('main', [message('1'), message('2')])
  await store.close()
  const tape = path.join(root, 'tape')
  fs.mkdirSync(path.join(tape, 'archived'))
  fs.writeFileSync(path.join(tape, 'main.next'), '{"id":3,"kind":"message"')
  fs.linkSync(path.join(tape, 'main.jsonl'), path.join(tape, 'archived/main_2026-01-01T00-00-00-000Z.jsonl'))
  const again = await openFileStore(root)
  expect(await again.archives('main')).toEqual([])
  expect((await all(again.read('main', { archived: true }))).map((entry) => entry.id)).toEqual([1, 2])
  await again.append('main', [message('3')], { expect: 2 })
  const archive = await again.archive('main', () => [message('4')])
  expect(await again.archives('main')).toEqual([archive])
  expect((await all(again.read('main', { archived: true }))).map((entry) => entry.id)).toEqual([1, 2, 3, 4])
  await again.close()
})
