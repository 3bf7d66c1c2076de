// One file of a tape, as far as it is known: the position up to which its lines are sound and complete, and its index.
// Reading needs no lock: a line counts once it is whole and its batch is complete.

import fs from 'node:fs'
import type { Damage } from '../../store.ts'
import { IndexFile, IndexTable, markEvery, type Row, type RowKind } from './segment-index.ts'
import { damagedError } from '../damage/damaged-error.ts'
import {
  claimedCrc,
  hasKind,
  kindMark,
  leadingId,
  type Line,
  lineFrom,
  metaOf,
  origin,
  parseLine,
  type Place,
  type Position,
  verified,
} from '../line.ts'
import { Scan } from './scan.ts'

const anchorMark = [kindMark('anchor')]
const keyMember = Buffer.from('"key":')
const idempotencyMember = Buffer.from('"idempotency":')
const smallChunk = 64 * 1024
const largeChunk = 1024 * 1024
/** How much of what was read or written last is kept for those who follow the tape, and read it next. */
const mostKept = 256 * 1024

/** Who is so far behind looks for an index that others have stored, rather than reading every line. */
const farBehind = 4 * markEvery

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
  /** Up to where the bytes are accounted for: `at`, or the end of damaged lines behind it. */
  #end = 0
  /** Where it ended before the last look. */
  #endedAt: Position = origin
  #users = 1
  #indexed = 0
  #fingerprint = 0
  #recent = new Map<string, number>()
  readonly #kept = new KeptLines()

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

  /** Keeps the file open for a reader until its own `close`: a descriptor that is used again would read another file. */
  hold(): this {
    this.#users++
    return this
  }

  close(): void {
    if (--this.#users === 0) fs.closeSync(this.#fd)
  }

  #load(): void {
    this.firstId = 0
    this.damage = []
    this.tail = undefined
    this.#readFirst()
    const stored = this.index.load(this.#fingerprint, (mark) => this.#endsAt(mark))
    this.#indexed = stored?.marks.length ?? 0
    this.table = stored ?? new IndexTable()
    if (stored === undefined) this.table.mark(origin)
    this.at = { ...this.table.marks.at(-1)! }
    this.#endedAt = this.at
    this.#end = this.at.offset
    this.#recent.clear()
    this.catchUp()
    this.#kept.clear()
    if (this.firstId === 0 && this.at.id > 0) this.#readFirst()
  }

  /** Whether the tape still has, right before that position, the line the index says. */
  #endsAt(mark: Position): boolean {
    if (mark.offset > fs.fstatSync(this.#fd).size) return false
    const bytes = this.#read(Math.max(0, mark.offset - 32), mark.offset)
    return bytes.at(-1) === 0x0a && claimedCrc(bytes.subarray(0, -1)) === mark.crc
  }

  /** Reads what has been written since the last look, up to the file's size. */
  catchUp({ size }: { size: number } = fs.fstatSync(this.#fd)): void {
    if (size === this.at.offset) {
      this.tail = undefined
      return
    }
    // Shortened from outside: what is known of it may be gone.
    if (size < this.at.offset) return this.#load()
    if (size - this.at.offset > farBehind && !this.#followIndex()) return this.#load()
    const start = this.at.offset
    this.#endedAt = this.at
    const lines: Line[] = []
    const keeps = size - start <= mostKept
    const scan = new Scan(this.path, this.at, (line) => {
      this.#learn(line, factsOf(line))
      if (keeps) lines.push(line)
    })
    for (const chunk of chunksOf(this.#fd, start, size)) scan.push(chunk)
    this.tail = scan.finish()
    this.damage = [...this.damage.filter((known) => known.offset < start), ...scan.damage]
    this.at = { ...scan.at }
    this.#kept.add(this.#endedAt, this.at, lines)
    this.#end = this.tail?.offset ?? size
    if (this.firstId === 0 && this.at.id > 0) this.#readFirst()
  }

  /** Goes to the last mark that another process has stored; false where the tape does not fit to it. */
  #followIndex(): boolean {
    if (this.damage.length > 0 || !this.index.follow(this.table)) return true
    const mark = this.table.marks.at(-1)!
    if (!this.#endsAt(mark)) return false
    this.at = { ...mark }
    this.#recent.clear()
    return true
  }

  /** Whether a line ends right before that offset, as it should. */
  endsWithNewline(offset: number): boolean {
    return offset === 0 || this.#read(offset - 1, offset)[0] === 0x0a
  }

  /** What the first line says: the id the segment begins with, and what tells it from others. */
  #readFirst(): void {
    const first = this.#readLine(0)
    this.#fingerprint = (first && claimedCrc(first)) ?? 0
    this.firstId = (first && verified(first, 0, 0)?.id) ?? 0
    if (this.firstId > 0 || this.at === undefined) return
    let lost: Damage['lost']
    for (const line of this.lines(0, Number.MAX_SAFE_INTEGER, (damage) => (lost ??= damage.lost))) {
      this.firstId = lost?.from ?? line.id
      return
    }
  }

  /** Takes in a line that was just made durable by us, without reading it back; `bytes` are those of the line. */
  learn(line: Place, facts: Facts, bytes?: Buffer): void {
    if (line.offset < this.at.offset) return
    const before = this.at
    if (line.offset === 0) {
      this.firstId = line.id
      this.#fingerprint = line.crc
    }
    this.#learn(line, facts)
    this.at = { offset: line.end, id: line.id, crc: line.crc }
    this.#end = line.end
    this.#kept.add(before, this.at, bytes === undefined ? [] : [{ ...line, bytes }])
  }

  #learn(line: Place, facts: Facts): void {
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

  /** The last id that was ever written here, as far as can be told. */
  get lastId(): number {
    return Math.max(this.at.id, ...this.damage.map((damage) => damage.lost?.to ?? 0))
  }

  /** Makes durable what a dead writer may have left unsynced. */
  sync(): void {
    fs.fdatasyncSync(this.#fd)
  }

  /** How many marks the stored index had. */
  get indexed(): number {
    return this.#indexed
  }

  /** Whether there are marks that this process has not seen in the stored index. */
  get hasMoreThanIndex(): boolean {
    return this.index.isBehind(this.table)
  }

  saveIndex(): void {
    this.index.save(this.table, this.#fingerprint)
  }

  /** The id of the newest entry with that key, 0 if there is none. */
  latestId(key: string): number {
    const known = this.#recent.get(key)
    if (known !== undefined) return known
    const id = this.newest('key', key)?.id ?? 0
    this.#remember(key, id)
    return id
  }

  /** The newest line with that anchor name, key or idempotency value. */
  newest(kind: RowKind, name: string): Line | undefined {
    const [line] = this.named(kind, name)
    return line
  }

  /** The lines with that anchor name, key or idempotency value, newest first. One that is damaged is an error. */
  *named(kind: RowKind, name: string, accept: (id: number) => boolean = () => true): Generator<Line> {
    for (const row of this.table.candidates(kind, name)) {
      if (!accept(row.id)) continue
      const line = this.#lineOf(row)
      if (factsOf(line)[kind] === name) yield line
    }
  }

  /** The anchors, newest first. One that is damaged is an error. */
  *anchors(accept: (id: number) => boolean = () => true): Generator<Line> {
    for (let i = this.table.anchors.length - 1; i >= 0; i--) {
      const row = this.table.row(this.table.anchors[i]!)
      if (accept(row.id)) yield this.#lineOf(row)
    }
  }

  /** Throws if entries between the bounds are known to be lost: an answer from the index might be another with them. */
  assertWhole(after: number, before = Number.MAX_SAFE_INTEGER): void {
    for (const damage of this.damage) {
      if (damage.lost !== undefined && damage.lost.to > after && damage.lost.from < before) throw damagedError(damage)
    }
  }

  #lineOf(row: Row): Line {
    const bytes = this.#readLine(row.offset)
    const line = bytes && verified(bytes, row.offset, row.prev)
    if (line?.id === row.id) return line
    // Damaged, or behind damage and so without a known seed: let the scan from the last mark decide.
    const damage: Damage[] = []
    for (const found of this.lines(row.id - 1, row.id + 1, (one) => damage.push(one))) return found
    const message = `entry ${row.id} is not where the index says`
    const last = damage.at(-1) ?? {
      kind: 'gap',
      file: this.index.path,
      offset: row.offset,
      length: 0,
      lost: undefined,
      message,
    }
    throw damagedError(last)
  }

  /** The lines with ids between the bounds, both exclusive, as known when called. */
  lines(after: number, before: number, onDamage?: (damage: Damage) => void): Generator<Line> {
    const bounds = { after, before, onDamage }
    const kept = this.damage.length === 0 ? this.#kept.behind(after) : undefined
    if (kept === undefined) return this.#stretch(this.startOf(after), this.#end, bounds)
    return this.#following(kept, this.#kept.to, this.#end, bounds)
  }

  /** As `#stretch`, for who has read so far that the lines up to `to` are still at hand. */
  *#following(lines: readonly Line[], to: Position, end: number, bounds: Bounds): Generator<Line> {
    for (const line of lines) if (line.id > bounds.after && line.id < bounds.before) yield line
    if (bounds.before > to.id + 1 && end > to.offset) yield* this.#stretch(to, end, bounds)
  }

  /** The same, newest first. */
  linesBackward(after: number, before: number, onDamage?: (damage: Damage) => void): Generator<Line> {
    return this.#backward(this.table.marks.length - 1, this.#end, { after, before, onDamage })
  }

  *#backward(newest: number, end: number, range: Bounds): Generator<Line> {
    const { marks } = this.table
    let next: Position | undefined
    for (let i = newest; i >= 0; i--) {
      const mark = marks[i]!
      if (mark.id + 1 < range.before || mark.offset === 0) {
        const found: Damage[] = []
        const onDamage = (damage: Damage) => found.push(damage)
        const lines = [...this.#stretch(mark, next?.offset ?? end, { ...range, onDamage }, next)]
        for (const damage of found.reverse()) range.onDamage?.(damage)
        yield* lines.reverse()
        if (mark.id <= range.after) return
      }
      next = mark
    }
  }

  /** Where reading can start so as to meet the entry behind that id. Who follows the tape has read up to where it ended. */
  startOf(after: number): Position {
    if (this.damage.length === 0) {
      if (after === this.at.id) return this.at
      if (after === this.#endedAt.id) return this.#endedAt
    }
    return this.table.markBefore((mark) => mark.id <= after) ?? origin
  }

  /** The lines from a mark on; `next` is the mark at its end, unless that is the end of the file. */
  *#stretch(from: Position, end: number, { after, before, onDamage }: Bounds, next?: Position): Generator<Line> {
    let found: Line[] = []
    let begun = Number.MAX_SAFE_INTEGER
    const scan = new Scan(this.path, from, (line) => {
      if (line.id <= after || line.id >= before) return
      begun = Math.min(begun, line.offset)
      found.push(line)
    })
    let reported = 0
    const report = () => {
      for (; reported < scan.damage.length; reported++) {
        const damage = scan.damage[reported]!
        const { lost, offset } = damage
        // A stretch begins at a mark: what is damaged before the lines asked for is none of the reader's business.
        if (lost === undefined ? offset >= begun : lost.to > after && lost.from < before) onDamage?.(damage)
      }
    }
    for (const chunk of chunksOf(this.#fd, from.offset, end)) {
      scan.push(chunk)
      report()
      yield* found
      found = []
      if (scan.at.id >= before - 1) return
    }
    scan.finish(next)
    report()
    yield* found
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

  /** The last line, without reading what comes before it; undefined if it does not end where and as it should. */
  lastLine(): Line | undefined {
    const { id, crc, offset } = this.at
    if (offset === 0) return undefined
    for (let length = 2048; ; length *= 8) {
      const from = Math.max(0, offset - 1 - length)
      const bytes = this.#read(from, offset - 1)
      const start = bytes.lastIndexOf(0x0a) + 1
      if (start === 0 && from > 0) continue
      const last = bytes.subarray(start)
      if (claimedCrc(last) !== crc || leadingId(last) !== id) return undefined
      return lineFrom(last, from + start, Number.NaN, crc)
    }
  }

  #read(from: number, to: number): Buffer {
    const bytes = Buffer.allocUnsafe(to - from)
    return bytes.subarray(0, fs.readSync(this.#fd, bytes, 0, bytes.length, from))
  }
}

/** The newest lines, as they were read or written, without a gap between them. */
class KeptLines {
  #lines: Line[] = []
  #from: Position = origin
  /** The end of the last one. */
  to: Position = origin

  /** Takes in all lines between two positions; none where they are too many to be kept. */
  add(from: Position, to: Position, lines: readonly Line[]): void {
    if (from.offset !== this.to.offset || lines.length !== to.id - from.id) this.clear()
    if (lines.length !== to.id - from.id) return
    if (this.#lines.length === 0) this.#from = from
    this.#lines.push(...lines)
    this.to = to
    if (to.offset - this.#from.offset > 2 * mostKept) this.#dropOldest()
  }

  #dropOldest(): void {
    this.#lines = this.#lines.slice(this.#lines.findIndex(({ offset }) => this.to.offset - offset <= mostKept))
    const { id, offset, prev } = this.#lines[0]!
    this.#from = { id: id - 1, offset, crc: prev }
  }

  /** The lines behind that id; undefined where some of them are not kept. */
  behind(after: number): readonly Line[] | undefined {
    const isKept = this.#lines.length > 0 && after >= this.#from.id && after <= this.to.id
    return isKept ? this.#lines.slice(after - this.#from.id) : undefined
  }

  clear(): void {
    this.#lines = []
    this.#from = origin
    this.to = origin
  }
}

interface Bounds {
  readonly after: number
  readonly before: number
  readonly onDamage?: ((damage: Damage) => void) | undefined
}

function factsOf(line: Line): Facts {
  const isAnchor = hasKind(line, anchorMark)
  if (!isAnchor && !line.bytes.includes(keyMember) && !line.bytes.includes(idempotencyMember)) return {}
  const payload = isAnchor ? parseLine(line).payload : undefined
  const meta = metaOf(line) ?? parseLine(line).meta
  const word = (value: unknown) => (typeof value === 'string' ? value : undefined)
  return {
    anchor: word((payload as { name?: unknown } | null | undefined)?.name),
    key: word(meta?.key),
    idempotency: word(meta?.idempotency),
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
