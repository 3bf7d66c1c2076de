// One file of a tape, as far as it is known: the position up to which its lines are sound and complete, and its index.
// Reading needs no lock: a line counts once it is whole and its batch is complete.

import fs from 'node:fs'
import type { Damage } from '../store.ts'
import type { Place } from './batch.ts'
import { IndexFile } from './index-file.ts'
import { IndexTable, markEvery, type Row, type RowKind } from './index-table.ts'
import { claimedCrc, hasKind, kindMark, type Line, parseLine, verified } from './line.ts'
import { origin, type Position, Scan } from './scan.ts'

const anchorMark = [kindMark('anchor')]
const keyMember = Buffer.from('"key":')
const idempotencyMember = Buffer.from('"idempotency":')
const smallChunk = 64 * 1024
const largeChunk = 1024 * 1024

export interface Facts {
  anchor?: string | undefined
  key?: string | undefined
  idempotency?: string | undefined
}

export class Segment {
  readonly path: string
  readonly ino: number
  readonly index: IndexFile
  table!: IndexTable
  /** The end of the last sound line of a complete batch. */
  at!: Position
  firstId = 0
  /** What follows `at` and was never acknowledged, as of the last look. */
  tail: Damage | undefined
  /** Damage in the part that was read here, behind the last mark; earlier damage shows when it is read. */
  damage: Damage[] = []
  readonly #fd: number
  #users = 1
  #indexed = 0
  #fingerprint = 0
  #recent = new Map<string, number>()

  /** The segment at that path, or undefined if there is no such file. */
  static open(path: string, indexPath: string): Segment | undefined {
    let fd: number
    try {
      fd = fs.openSync(path, 'r')
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined
      throw error
    }
    try {
      return new Segment(path, indexPath, fd)
    } catch (error) {
      fs.closeSync(fd)
      throw error
    }
  }

  private constructor(path: string, indexPath: string, fd: number) {
    this.path = path
    this.index = new IndexFile(indexPath)
    this.#fd = fd
    this.ino = fs.fstatSync(fd).ino
    this.#load()
  }

  /** The descriptor stays until the last reader is done with it: a number that is used again would read another file. */
  close(): void {
    if (--this.#users === 0) fs.closeSync(this.#fd)
  }

  get fingerprint(): number {
    return this.#fingerprint
  }

  #load(): void {
    const first = this.#readLine(0)
    this.#fingerprint = first === undefined ? 0 : (claimedCrc(first) ?? 0)
    const stored = this.index.load(this.#fingerprint, (mark) => this.#endsAt(mark))
    if (stored === undefined) this.#restart()
    else {
      this.#indexed = stored.marks.length
      this.table = stored
      this.at = { ...stored.marks.at(-1)! }
    }
    this.catchUp()
    const line = first && verified(first, 0, 0)
    this.firstId = line?.id ?? (this.at.offset === 0 ? 0 : 1)
  }

  #restart(): void {
    this.table = new IndexTable()
    this.table.mark(origin)
    this.at = { ...origin }
    this.#recent.clear()
  }

  /** Whether the tape still has, right before that position, the line the index says. */
  #endsAt(mark: Position): boolean {
    if (mark.offset > fs.fstatSync(this.#fd).size) return false
    const bytes = this.#read(Math.max(0, mark.offset - 32), mark.offset)
    return bytes.at(-1) === 0x0a && claimedCrc(bytes.subarray(0, -1)) === mark.crc
  }

  /** Reads what has been written since the last look. */
  catchUp(): void {
    const { size } = fs.fstatSync(this.#fd)
    if (size === this.at.offset) {
      this.tail = undefined
      return
    }
    if (size < this.at.offset) {
      // Shortened from outside: what the index knows may be gone.
      this.#restart()
    }
    const scan = new Scan(this.path, this.at, (line) => this.#learn(line, factsOf(line)))
    for (const chunk of chunksOf(this.#fd, this.at.offset, size)) scan.push(chunk)
    this.tail = scan.finish()
    this.damage = [...this.damage.filter((known) => known.offset < this.at.offset), ...scan.damage]
    this.at = { ...scan.at }
    if (this.firstId === 0 && this.at.id > 0) this.#adoptFirst()
  }

  #adoptFirst(): void {
    const first = this.#readLine(0)
    this.#fingerprint = first === undefined ? 0 : (claimedCrc(first) ?? 0)
    this.firstId = (first && verified(first, 0, 0)?.id) ?? 1
  }

  /** Takes in a line that was just made durable by us, without reading it back. */
  learn(line: Place, facts: Facts): void {
    if (line.offset < this.at.offset) return
    if (line.offset === 0) {
      this.firstId = line.id
      this.#fingerprint = line.crc
    }
    this.#learn(line, facts)
    this.at = { offset: line.end, id: line.id, crc: line.crc }
  }

  #learn(line: Omit<Place, 'end'>, facts: Facts): void {
    const startsBatch = line.batch === undefined || line.batch[0] === 0
    const chained = !Number.isNaN(line.prev)
    if (startsBatch && chained && line.offset - this.table.marks.at(-1)!.offset >= markEvery) {
      this.table.mark({ offset: line.offset, id: line.id - 1, crc: line.prev })
    }
    if (facts.anchor !== undefined) this.table.add('anchor', facts.anchor, line)
    if (facts.key !== undefined) {
      this.table.add('key', facts.key, line)
      this.#remember(facts.key, line.id)
    }
    if (facts.idempotency !== undefined) this.table.add('idempotency', facts.idempotency, line)
  }

  #remember(key: string, id: number): void {
    if (this.#recent.size >= 10_000) this.#recent.clear()
    this.#recent.set(key, id)
  }

  /** How many marks the stored index had. */
  get indexed(): number {
    return this.#indexed
  }

  saveIndex(): void {
    this.index.save(this.table, this.#fingerprint)
  }

  /** The id of the newest entry with that key, 0 if there is none. */
  latestId(key: string): number {
    const known = this.#recent.get(key)
    if (known !== undefined) return known
    const id = this.find('key', key)?.id ?? 0
    this.#remember(key, id)
    return id
  }

  /** The newest line with that anchor name, key or idempotency value, among those `accept` takes. */
  find(kind: RowKind, name: string, accept: (id: number) => boolean = () => true): Line | undefined {
    for (const row of this.table.candidates(kind, name)) {
      if (!accept(row.id)) continue
      const line = this.lineOf(row)
      if (line !== undefined && factsOf(line)[kind] === name) return line
    }
    return undefined
  }

  lineOf(row: Row): Line | undefined {
    const bytes = this.#readLine(row.offset)
    const line = bytes && verified(bytes, row.offset, row.prev)
    if (line?.id === row.id) return line
    // Damaged, or behind damage and so without a known seed: let the scan from the last mark decide.
    return [...this.lines(row.id - 1, row.id + 1)][0]
  }

  /** The lines with ids between the bounds, both exclusive, as known at the last look. */
  *lines(after: number, before: number, onDamage?: (damage: Damage) => void): Generator<Line> {
    const from = this.startOf(after)
    yield* this.#stretch(from, this.at.offset, after, before, onDamage)
  }

  /** The same, newest first. */
  *linesBackward(after: number, before: number, onDamage?: (damage: Damage) => void): Generator<Line> {
    let end = this.at.offset
    for (let i = this.table.marks.length - 1; i >= 0; i--) {
      const mark = this.table.marks[i]!
      if (mark.id + 1 >= before && mark.offset > 0) {
        end = mark.offset
        continue
      }
      const found: Damage[] = []
      const lines = [...this.#stretch(mark, end, after, before, (damage) => found.push(damage))]
      for (const damage of found.reverse()) onDamage?.(damage)
      yield* lines.reverse()
      if (mark.id <= after) return
      end = mark.offset
    }
  }

  /** Where reading can start so as to meet the entry behind that id. */
  startOf(after: number): Position {
    return this.table.markBefore((mark) => mark.id <= after) ?? origin
  }

  *#stretch(
    from: Position,
    end: number,
    after: number,
    before: number,
    onDamage?: (damage: Damage) => void,
  ): Generator<Line> {
    this.#users++
    try {
      let found: Line[] = []
      const scan = new Scan(this.path, from, (line) => {
        if (line.id > after && line.id < before) found.push(line)
      })
      let reported = 0
      for (const chunk of chunksOf(this.#fd, from.offset, end)) {
        scan.push(chunk)
        for (; reported < scan.damage.length; reported++) onDamage?.(scan.damage[reported]!)
        yield* found
        found = []
        if (scan.at.id >= before - 1) return
      }
      scan.finish()
      for (; reported < scan.damage.length; reported++) onDamage?.(scan.damage[reported]!)
      yield* found
    } finally {
      this.close()
    }
  }

  /** The bytes of the line that begins there, without its newline; undefined at or past the end. */
  #readLine(offset: number): Buffer | undefined {
    for (let length = 2048; ; length *= 8) {
      const bytes = this.#read(offset, offset + length)
      const end = bytes.indexOf(0x0a)
      if (end >= 0) return bytes.subarray(0, end)
      if (bytes.length < length) return undefined
    }
  }

  #read(from: number, to: number): Buffer {
    const bytes = Buffer.allocUnsafe(to - from)
    return bytes.subarray(0, fs.readSync(this.#fd, bytes, 0, bytes.length, from))
  }
}

export function factsOf(line: Line): Facts {
  const isAnchor = hasKind(line, anchorMark)
  if (!isAnchor && !line.bytes.includes(keyMember) && !line.bytes.includes(idempotencyMember)) return {}
  const { payload, meta } = parseLine(line)
  return {
    anchor: isAnchor ? (payload as { name: string }).name : undefined,
    key: meta?.key,
    idempotency: meta?.idempotency,
  }
}

/** Small chunks first, for most reads are short; large ones once it is clear that this one is not. */
export function* chunksOf(fd: number, from: number, to: number): Generator<Buffer> {
  for (let at = from, size = smallChunk; at < to; size = Math.min(size * 2, largeChunk)) {
    const chunk = Buffer.allocUnsafe(Math.min(size, to - at))
    const length = fs.readSync(fd, chunk, 0, chunk.length, at)
    if (length === 0) return
    at += length
    yield chunk.subarray(0, length)
  }
}
