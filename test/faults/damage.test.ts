import fs from 'node:fs'
import path from 'node:path'
import { expect, test } from 'vitest'
import { type Entry, openFileStore } from '../../src/store/index.ts'
import { all, anchor, count, message } from '../store/promises/row.ts'
import { sample } from '../support/full.ts'
import { newFolder } from './support/crew.ts'
import { look, newTape, type Original } from './support/image.ts'

const small = () =>
  newTape([
    [message('one')],
    [message('two ü'), anchor('three', { s: 1 }), message('four', { key: 'k' })],
    [message('five')],
    [message('six'), message('seven')],
  ])

/** A tape that holds, as data, what looks like lines of a tape. */
const nested = () => {
  const inner = '{"id":4,"kind":"x","payload":1,"meta":{},"date":"2020-01-01","crc":"00000000"}'
  const line = JSON.parse(inner) as unknown
  return newTape([
    [message('one')],
    [{ kind: 'x', payload: [line, line, inner] }],
    [message('three')],
    [message('four')],
  ])
}

const idsOf = (entries: readonly Entry[]) => entries.map((entry) => entry.id)
const join = (lines: readonly (Buffer | string)[]) => Buffer.concat(lines.map((line) => Buffer.from(line)))
const without = <T>(items: readonly T[], i: number) => items.filter((_, n) => n !== i)
const bare = (line: Buffer) => line.subarray(0, -1)

interface Image {
  readonly title: string
  readonly make: (tape: Original) => Buffer
  readonly delivered: readonly number[]
  readonly kinds: readonly string[]
}

const images: readonly Image[] = [
  {
    title: 'a torn last line',
    make: ({ bytes }) => join([bytes, '{"id":8,"kind":"mess']),
    delivered: count(1, 7),
    kinds: ['torn'],
  },
  {
    title: 'a batch without its last line',
    make: ({ lines }) => join(lines.slice(0, 6)),
    delivered: count(1, 5),
    kinds: ['batch'],
  },
  {
    title: 'NUL bytes at the end',
    make: ({ bytes }) => join([bytes, Buffer.alloc(5_000)]),
    delivered: count(1, 7),
    kinds: ['nul'],
  },
  {
    title: 'NUL bytes and a newline at the end, behind half a batch',
    make: ({ lines }) => join([...lines.slice(0, 6), Buffer.alloc(100), '\n']),
    delivered: count(1, 5),
    kinds: ['batch'],
  },
  {
    title: 'NUL bytes in the place of a line in the middle',
    make: ({ lines }) => join([...lines.slice(0, 4), Buffer.alloc(lines[4]!.length), ...lines.slice(5)]),
    delivered: [1, 2, 3, 4, 6, 7],
    kinds: ['nul'],
  },
  {
    title: 'NUL bytes between two lines',
    make: ({ lines }) => join([...lines.slice(0, 4), Buffer.alloc(300), ...lines.slice(4)]),
    delivered: count(1, 7),
    kinds: ['nul'],
  },
  {
    title: 'a fragment spliced into the next line, which was sealed without it',
    make: ({ lines }) => join([...lines.slice(0, 4), lines[0]!.subarray(0, 40), ...lines.slice(4)]),
    delivered: count(1, 7),
    kinds: ['splice'],
  },
  {
    title: 'a line overwritten from its middle by the next',
    make: ({ lines }) => join([...lines.slice(0, 3), lines[3]!.subarray(0, 60), ...lines.slice(4)]),
    delivered: [1, 2, 3, 5, 6, 7],
    kinds: ['splice'],
  },
  {
    title: 'a line spliced into the middle of another',
    make: ({ lines }) =>
      join([...lines.slice(0, 3), lines[3]!.subarray(0, 60), lines[4]!, lines[3]!.subarray(60), ...lines.slice(5)]),
    delivered: [1, 2, 3, 6, 7],
    kinds: ['checksum', 'unreadable'],
  },
  {
    title: 'a missing newline in the middle',
    make: ({ lines }) => join([...lines.slice(0, 3), bare(lines[3]!), ...lines.slice(4)]),
    delivered: count(1, 7),
    kinds: ['newline'],
  },
  {
    title: 'a missing newline at the end',
    make: ({ bytes }) => bare(bytes),
    delivered: count(1, 7),
    kinds: ['newline'],
  },
  {
    title: 'all newlines missing',
    make: ({ lines }) => join(lines.map(bare)),
    delivered: count(1, 7),
    kinds: ['newline', 'newline', 'newline', 'newline', 'newline', 'newline', 'newline'],
  },
  {
    title: 'a deleted line in the middle',
    make: ({ lines }) => join(without(lines, 4)),
    delivered: [1, 2, 3, 4, 6, 7],
    kinds: ['gap'],
  },
  {
    title: 'a deleted member of a batch',
    make: ({ lines }) => join(without(lines, 2)),
    delivered: [1, 2, 4, 5, 6, 7],
    kinds: ['gap'],
  },
  {
    title: 'a line twice',
    make: ({ lines }) => join([...lines.slice(0, 5), lines[4]!, ...lines.slice(5)]),
    delivered: count(1, 7),
    kinds: ['splice'],
  },
  {
    title: 'the last line twice',
    make: ({ lines }) => join([...lines, lines[6]!]),
    delivered: count(1, 7),
    kinds: ['splice'],
  },
  {
    title: 'two lines that have changed places',
    make: ({ lines }) => join([lines[0]!, lines[1]!, lines[2]!, lines[4]!, lines[3]!, lines[5]!, lines[6]!]),
    delivered: count(1, 7),
    kinds: ['splice'],
  },
  {
    title: 'the last two lines changed about',
    make: ({ lines }) => join([...lines.slice(0, 5), lines[6]!, lines[5]!]),
    delivered: count(1, 7),
    kinds: ['splice'],
  },
  {
    title: 'a first line that is no line',
    make: ({ lines }) => join(['not a line\n', ...lines.slice(1)]),
    delivered: count(2, 7),
    kinds: ['unreadable'],
  },
  {
    title: 'something before the first line',
    make: ({ bytes }) => join(['// a comment\n', bytes]),
    delivered: count(1, 7),
    kinds: ['unreadable'],
  },
  {
    title: 'an empty line in the middle',
    make: ({ lines }) => join([...lines.slice(0, 4), '\n', ...lines.slice(4)]),
    delivered: count(1, 7),
    kinds: ['unreadable'],
  },
  {
    title: 'a last line whose bytes have changed: it was acknowledged, so its id is not given again',
    make: ({ lines }) => join([...lines.slice(0, 6), lines[6]!.toString().replace('seven', 'SEVEN')]),
    delivered: count(1, 6),
    kinds: ['checksum'],
  },
  {
    title: 'a line put in by hand',
    make: ({ lines }) =>
      join([
        ...lines.slice(0, 5),
        '{"id":6,"kind":"message","payload":"x","meta":{},"date":"2020-01-01"}\n',
        ...lines.slice(5),
      ]),
    delivered: count(1, 7),
    kinds: ['unreadable'],
  },
]

test.each(images)('$title: neighbours are delivered, the place is reported, a repair mends it [T3]', async (image) => {
  const tape = await small()
  const { delivered, damage } = await look(tape, image.make(tape))
  expect(idsOf(delivered)).toEqual(image.delivered)
  expect(damage.map((one) => one.kind)).toEqual(image.kinds)
})

test('with the first line deleted, the second cannot be told from a damaged one: it is reported and kept aside [T3]', async () => {
  const tape = await small()
  const { delivered, damage } = await look(tape, join(tape.lines.slice(1)), { repair: false })
  expect(idsOf(delivered)).toEqual(count(3, 7))
  expect(damage).toMatchObject([
    { kind: 'checksum', offset: 0, length: tape.lines[1]!.length, lost: { from: 2, to: 2 } },
  ])
  const store = await openFileStore(tape.root)
  const { cut } = await store.repair!('main')
  expect(cut.map((name) => fs.readFileSync(name))).toEqual([tape.lines[1]])
  expect(idsOf(await all(store.read('main')))).toEqual(count(1, 7))
  await store.close()
})

test('a flipped bit at any byte never passes for data and costs at most the line it is in [T3]', async () => {
  const tape = await small()
  const lineOf = tape.lines.flatMap((line, index) => Array.from(line, () => index))
  for (const at of sample([...lineOf.keys()], 200)) {
    const bytes = Buffer.from(tape.bytes)
    bytes[at]! ^= 1 << (at % 7)
    const { delivered } = await look(tape, bytes, { repair: at % 11 === 0 })
    const lost = tape.entries.filter((entry) => !delivered.some((one) => one.id === entry.id)).map((entry) => entry.id)
    expect([[], [lineOf[at]! + 1]]).toContainEqual(lost)
  }
}, 240_000)

test('every byte in turn put to NUL, or taken out: nothing damaged is delivered [T3]', async () => {
  const tape = await small()
  for (const at of sample([...tape.bytes.keys()], 80)) {
    const nul = Buffer.from(tape.bytes)
    nul[at] = 0
    expect((await look(tape, nul, { repair: at % 33 === 0 })).damage).not.toEqual([])
    await look(tape, join([tape.bytes.subarray(0, at), tape.bytes.subarray(at + 1)]), { repair: at % 33 === 0 })
  }
}, 240_000)

test('what looks like a line within a damaged entry is not delivered as one [T3]', async () => {
  const tape = await nested()
  const start = tape.lines[0]!.length
  for (let at = start; at < start + tape.lines[1]!.length; at += 2) {
    const bytes = Buffer.from(tape.bytes)
    bytes[at]! ^= 1
    expect((await look(tape, bytes, { repair: at % 40 === 0 })).damage).not.toEqual([])
  }
  for (let at = start + 1; at < start + tape.lines[1]!.length; at += 5) {
    await look(tape, join([tape.bytes.subarray(0, at), '\n', tape.bytes.subarray(at)]), { repair: false })
    await look(tape, tape.bytes.subarray(0, at), { repair: false })
    await look(tape, join([tape.bytes.subarray(0, at), '\n']), { repair: false })
  }
})

test('a copy of another tape kept as data is not taken for the tape when its first line is damaged [T3]', async () => {
  const other = await newTape([[message('alien')], [message('alien two')]])
  const lines = other.lines.map((line) => JSON.parse(line.toString()) as unknown)
  const tape = await newTape([[{ kind: 'x', payload: lines }], [{ kind: 'x', payload: lines }], [message('three')]])
  for (let at = 0; at < tape.lines[0]!.length + 20; at++) {
    const bytes = Buffer.from(tape.bytes)
    bytes[at]! ^= 2
    expect((await look(tape, bytes, { repair: at % 50 === 0 })).damage).not.toEqual([])
  }
})

test('damage far from the end is found, and what the index answers is never an older entry [T8] [T26]', async () => {
  const root = path.join(newFolder(), '.baton')
  const store = await openFileStore(root)
  await store.append('main', [message('old', { key: 'k' }), anchor('a', { old: true })])
  await store.append('main', [message('NEWER', { key: 'k' }), anchor('a', { state: 'NEWER' })])
  for (const _ of count(1, 200)) await store.append('main', [message('x'.repeat(2_000))])
  await store.close()
  const file = path.join(root, 'tape/main.jsonl')
  const sound = fs.readFileSync(file)
  fs.writeFileSync(file, sound.toString('latin1').replaceAll('NEWER', 'WORSE'), 'latin1')
  for (const index of ['kept', 'lost']) {
    if (index === 'lost') fs.rmSync(path.join(root, 'tape/main.idx'))
    const again = await openFileStore(root)
    await expect(again.latest('main', 'k')).rejects.toMatchObject({ code: 'damaged' })
    await expect(again.anchors('main')).rejects.toMatchObject({ code: 'damaged' })
    await expect(again.anchors('main', { name: 'a' })).rejects.toMatchObject({ code: 'damaged' })
    const keyed = again.append('main', [message('x', { key: 'k' })], { expect: { key: 'k', id: 1 } })
    await expect(keyed).rejects.toMatchObject({ code: 'damaged' })
    // Behind the damage all is well.
    expect(await all(again.read('main', { after: 10 }))).toHaveLength(194)
    expect((await again.verify!('main'))[0]!.damage.map((one) => one.lost)).toEqual([{ from: 3, to: 4 }, undefined])
    await again.close()
  }
  const mended = await openFileStore(root)
  expect((await mended.repair!('main')).cut).toHaveLength(2)
  expect((await mended.latest('main', 'k'))?.id).toBe(1)
  expect(await all(mended.read('main'))).toHaveLength(204)
  await mended.close()
})

test('damaged archives are read around, reported and repaired like any segment [T16]', async () => {
  const root = path.join(newFolder(), '.baton')
  const store = await openFileStore(root)
  for (const segment of [1, 2, 3]) {
    for (const n of count(1, 4)) await store.append('main', [message(`${segment}.${n}`)])
    await store.archive('main', () => [message('next')])
  }
  const refs = (await store.archives('main')).map((archive) => path.join(root, archive.ref))
  const damage = (i: number, change: (lines: string[]) => string[]) => {
    const lines = fs.readFileSync(refs[i]!, 'utf8').split('\n').slice(0, -1)
    fs.writeFileSync(
      refs[i]!,
      change(lines)
        .map((line) => `${line}\n`)
        .join(''),
    )
  }
  damage(0, (lines) => lines.slice(0, -1))
  damage(1, (lines) => [lines[0]!.replace('next', 'nixt'), ...lines.slice(1)])
  damage(2, (lines) => [...lines.slice(0, -1), lines.at(-1)!.replace('3.4', '4.3')])
  const told: (object | undefined)[] = []
  const read = store.read('main', { archived: true, onDamage: (one) => told.push(one.lost) })
  expect(idsOf(await all(read))).toEqual([1, 2, 3, 6, 7, 8, 9, 10, 11, 12, 13, 15])
  expect(told).toEqual([
    { from: 4, to: 4 },
    { from: 5, to: 5 },
    { from: 14, to: 14 },
  ])
  await expect(all(store.read('main', { archived: true, after: 3, before: 5 }))).rejects.toMatchObject({
    code: 'damaged',
  })
  const { cut } = await store.repair!('main')
  expect(cut).toHaveLength(2)
  expect((await store.verify!('main')).flatMap((report) => report.damage)).toEqual([])
  expect(idsOf(await all(store.read('main', { archived: true })))).toEqual(count(1, 15))
  await store.append('main', [message('on')], { expect: 15 })
  await store.close()
})

test('a damaged blob is not passed off as what was stored, and storing it again mends it [T25]', async () => {
  const root = path.join(newFolder(), '.baton')
  const store = await openFileStore(root)
  const { sha256 } = await store.putBlob(Buffer.from('content'))
  fs.writeFileSync(path.join(root, 'blobs', sha256), 'CONTENT')
  const read = async () => (await all(await store.getBlob(sha256))).join('')
  await expect(read()).rejects.toMatchObject({ code: 'damaged' })
  await store.putBlob(Buffer.from('content'))
  expect(await read()).toBe('content')
  await store.close()
})

test('an archive that somebody deleted is missed and filled in; one that was purged is not [T3, T16]', async () => {
  const root = newFolder()
  const store = await openFileStore(path.join(root, '.baton'))
  const archive = async () => store.archive('main', () => [{ kind: 'event', payload: { name: 'next' } }])
  const missing = async () => (await store.verify!('main')).flatMap((report) => report.damage.map(({ lost }) => lost))
  for (let n = 0; n < 5; n++) await store.append('main', [{ kind: 'event', payload: { n } }])
  await archive()
  await store.purge('main')
  expect(await missing()).toEqual([])
  await store.append('main', [{ kind: 'event', payload: { n: 7 } }])
  const { ref } = await archive()
  expect(await missing()).toEqual([])
  fs.rmSync(path.join(root, '.baton', ref))
  expect(await missing()).toEqual([{ from: 6, to: 7 }])
  await store.repair!('main')
  expect(await missing()).toEqual([])
  expect((await all(store.read('main'))).map(({ id, kind }) => [id, kind])).toEqual([
    [6, 'error'],
    [7, 'error'],
    [8, 'event'],
  ])
  await store.close()
})
