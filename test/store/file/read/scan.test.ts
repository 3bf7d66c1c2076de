import fc from 'fast-check'
import { expect, test } from 'vitest'
import { type Draft } from '../../../../src/store/index.ts'
import { prepare } from '../../../../src/store/draft.ts'
import { layOut, type Line, origin, type Position, restOf } from '../../../../src/store/file/line.ts'
import { Scan } from '../../../../src/store/file/read/scan.ts'
import type { Damage } from '../../../../src/store/index.ts'
import { runs } from '../../../support/full.ts'

const text = fc.oneof(
  fc.string({ unit: 'binary', maxLength: 30 }),
  fc.constant('J*\n'),
  fc.constant('{"id":3,"kind":"a"'),
)
/** What looks like a line of a tape, as data. */
const lineLike = fc.record({ id: fc.nat(9), kind: text, payload: text, crc: fc.constantFrom('00000000', 'deadbeef') })
const draft: fc.Arbitrary<Draft> = fc.record({
  kind: fc.constantFrom('message', 'anchor-like'),
  payload: fc.oneof(text, fc.array(lineLike, { maxLength: 2 }), lineLike),
})
const batches = fc.array(fc.array(draft, { minLength: 1, maxLength: 3 }), { minLength: 1, maxLength: 5 })

interface File {
  readonly bytes: Buffer
  readonly rests: readonly string[]
  readonly starts: readonly number[]
}

const file: fc.Arbitrary<File> = fc.tuple(batches, fc.constantFrom(0, 500)).map(([drafts, before]) => {
  let at: Position = { ...origin, id: before }
  const written: Buffer[] = []
  const rests: string[] = []
  const starts: number[] = []
  for (const batch of drafts) {
    const prepared = prepare(batch, () => new Date(0))
    const { bytes: lines, places, end } = layOut(prepared, at)
    rests.push(...prepared.map((one) => one.rest))
    starts.push(...places.map((place) => place.offset))
    written.push(lines)
    at = end
  }
  return { bytes: Buffer.concat(written), rests, starts }
})

const junk = fc.oneof(
  fc.uint8Array({ minLength: 1, maxLength: 20 }),
  fc.integer({ min: 1, max: 60 }).map((size) => new Uint8Array(size)),
  fc
    .constantFrom('\n', '}\n', '{"id":2,"kind":"message",', ',"crc":"00000000"}', '"', '9')
    .map((each) => Buffer.from(each)),
)
const place = fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true })
const mutation = fc.oneof(
  fc.record({ do: fc.constant('flip' as const), at: place, bit: fc.nat(7) }),
  fc.record({ do: fc.constant('overwrite' as const), at: place, junk }),
  fc.record({ do: fc.constant('insert' as const), at: place, junk }),
  fc.record({ do: fc.constant('delete' as const), at: place, size: fc.integer({ min: 1, max: 250 }) }),
  fc.record({ do: fc.constant('copy' as const), at: place, from: place, size: fc.integer({ min: 1, max: 250 }) }),
  fc.record({ do: fc.constant('cut' as const), at: place }),
)
type Mutation = typeof mutation extends fc.Arbitrary<infer T> ? T : never

function mutate(bytes: Buffer, one: Mutation): Buffer {
  const at = Math.floor(one.at * bytes.length)
  const [head, tail] = [bytes.subarray(0, at), bytes.subarray(at)]
  switch (one.do) {
    case 'flip': {
      const flipped = Buffer.from(bytes)
      flipped[at]! ^= 1 << one.bit
      return flipped
    }
    case 'overwrite':
      return Buffer.concat([head, one.junk, tail.subarray(one.junk.length)])
    case 'insert':
      return Buffer.concat([head, one.junk, tail])
    case 'delete':
      return Buffer.concat([head, tail.subarray(one.size)])
    case 'copy': {
      const from = Math.floor(one.from * bytes.length)
      return Buffer.concat([head, bytes.subarray(from, from + one.size), tail])
    }
    case 'cut':
      return Buffer.from(head)
  }
}

function scan(bytes: Buffer, chunk: number): { lines: Line[]; damage: Damage[] } {
  const lines: Line[] = []
  const scanning = new Scan('tape', origin, (line) => lines.push(line))
  for (let at = 0; at < bytes.length; at += chunk) scanning.push(bytes.subarray(at, at + chunk))
  const tail = scanning.finish()
  return { lines, damage: tail === undefined ? scanning.damage : [...scanning.damage, tail] }
}

/** Which byte of a file is in a line, or in a place that was reported. */
function unaccounted(bytes: Buffer, { lines, damage }: ReturnType<typeof scan>): number[] {
  const seen = Buffer.alloc(bytes.length)
  for (const { offset, end } of lines) seen.fill(1, offset, end)
  for (const { offset, length } of damage) seen.fill(1, offset, offset + length)
  return [...seen.keys()].filter((at) => seen[at] === 0)
}

const chunk = fc.constantFrom(1, 7, 64, 100_000)

test('a sound file is read as it was written, in chunks of any size [T3]', () => {
  fc.assert(
    fc.property(file, chunk, ({ bytes, rests }, size) => {
      const { lines, damage } = scan(bytes, size)
      expect(lines.map(restOf)).toEqual(rests)
      expect(damage).toEqual([])
    }),
  )
})

test('whatever single change is made to a file, only what was written is delivered, and all else is reported [T3]', () => {
  fc.assert(
    fc.property(file, mutation, chunk, ({ bytes, rests }, change, size) => {
      const changed = mutate(bytes, change)
      const found = scan(changed, size)
      const first = found.lines[0] === undefined ? 0 : firstIdOf(bytes)
      for (const line of found.lines) expect(restOf(line)).toBe(rests[line.id - first])
      const ids = found.lines.map((line) => line.id)
      expect(ids).toEqual([...new Set(ids)].sort((a, b) => a - b))
      expect(unaccounted(changed, found)).toEqual([])
      if (!bytes.subarray(0, changed.length).equals(changed)) expect(found.damage).not.toEqual([])
    }),
    { numRuns: runs(2_000) },
  )
})

test('a change costs the lines it touches, and at most the one behind them [T3]', () => {
  const local = mutation.filter((one) => one.do !== 'copy' && one.do !== 'cut')
  fc.assert(
    fc.property(file, local, chunk, ({ bytes, starts }, change, size) => {
      const changed = mutate(bytes, change)
      const first = firstIdOf(bytes)
      const from = commonPrefix(bytes, changed)
      const to = bytes.length - commonPrefix(Buffer.from(bytes).reverse(), Buffer.from(changed).reverse())
      const delivered = new Set(scan(changed, size).lines.map((line) => line.id))
      const untouched = starts.flatMap((start, i) => {
        const end = starts[i + 1] ?? bytes.length
        return end <= from || start >= to ? [first + i] : []
      })
      const missed = untouched.filter((id) => !delivered.has(id))
      expect(missed.length).toBeLessThanOrEqual(isLastBatchCut(changed, size) ? starts.length : 1)
    }),
    { numRuns: runs(1_500) },
  )
})

test('whatever changes are made, what is delivered as verified was written, and nothing goes unreported [T3]', () => {
  const many = fc.array(mutation, { minLength: 2, maxLength: 5 })
  fc.assert(
    fc.property(file, many, chunk, ({ bytes, rests }, changes, size) => {
      const changed = changes.reduce(mutate, bytes)
      const found = scan(changed, size)
      for (const line of found.lines) {
        // Without its predecessor a line has no checksum to go by: it may be delivered unverified.
        if (!Number.isNaN(line.prev)) expect(rests).toContain(restOf(line))
      }
      expect(unaccounted(changed, found)).toEqual([])
    }),
    { numRuns: runs(1_500) },
  )
})

function firstIdOf(bytes: Buffer): number {
  return (JSON.parse(bytes.toString('utf8', 0, bytes.indexOf(0x0a))) as { id: number }).id
}

function commonPrefix(a: Buffer, b: Buffer): number {
  let length = 0
  while (length < a.length && length < b.length && a[length] === b[length]) length++
  return length
}

/** Lines of a batch without its end are withheld together. */
function isLastBatchCut(bytes: Buffer, size: number): boolean {
  return scan(bytes, size).damage.at(-1)?.kind === 'batch'
}
