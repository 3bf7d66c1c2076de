// The index of a segment, in memory (`IndexTable`) and on disk (`IndexFile`): a mark every 64 KiB from which reading can start, and
// a row for each anchor, key and idempotency value. Rows are kept as bytes, not objects, so that a tape with millions of keys
// opens quickly. A hash finds the newest row of a name, and the line that the row points at decides whether it is the right one.

import fs from 'node:fs'
import { crc32 } from 'node:zlib'
import { origin, type Position } from '../line.ts'

export type RowKind = 'anchor' | 'key' | 'idempotency'

/** Where an indexed line begins; `prev` is the checksum its chain is seeded with. */
export interface Row {
  readonly id: number
  readonly offset: number
  readonly prev: number
}

const rowBytes = 24
export const markEvery = 64 * 1024
/** Building the table costs about as much as looking through all rows so many times. */
const looksBeforeTable = 8
const kindCodes = { anchor: 1, key: 2, idempotency: 3 } as const

export class IndexTable {
  /** The ends of indexed stretches, ascending; the first is where the segment begins. */
  readonly marks: Position[] = []
  /** Per mark, how many rows lie before it. */
  readonly rowsAtMark: number[] = []
  /** Row numbers of the anchors, ascending. */
  readonly anchors: number[] = []
  #rows: Buffer = Buffer.allocUnsafe(rowBytes * 64)
  #count = 0
  #slots: Int32Array | undefined
  /** How many rows were looked at while there was no table. */
  #lookedAt = 0

  get count(): number {
    return this.#count
  }

  mark(position: Position): void {
    this.marks.push({ ...position })
    this.rowsAtMark.push(this.#count)
  }

  /** Makes room for that many rows at once: growing step by step would copy them again and again. */
  expect(rows: number): void {
    this.#reserve(rows)
  }

  /** Takes rows as they were stored, already checked. */
  load(rows: Buffer): void {
    this.#reserve(rows.length / rowBytes)
    rows.copy(this.#rows, this.#count * rowBytes)
    for (let at = 0; at < rows.length; at += rowBytes) {
      if (rows[at] === kindCodes.anchor) this.anchors.push(this.#count)
      this.#count++
    }
    this.#slots = undefined
  }

  /** Forgets the rows behind the last mark. */
  backToLastMark(): void {
    const rows = this.rowsAtMark.at(-1) ?? 0
    if (rows === this.#count) return
    this.#count = rows
    while (this.anchors.length > 0 && this.anchors.at(-1)! >= rows) this.anchors.pop()
    this.#slots = undefined
  }

  add(kind: RowKind, name: string, row: Row): void {
    this.#reserve(1)
    const at = this.#count * rowBytes
    const rows = this.#rows
    rows.writeUInt32BE(kindCodes[kind] * 0x1000000, at)
    rows.writeUInt32BE(hashOf(kind, name), at + 4)
    rows.writeUInt32BE(row.prev >>> 0, at + 8)
    rows.writeUIntBE(row.id, at + 12, 6)
    rows.writeUIntBE(row.offset, at + 18, 6)
    if (kind === 'anchor') this.anchors.push(this.#count)
    if (this.#slots !== undefined) this.#place(this.#count)
    this.#count++
  }

  bytes(from: number, to: number): Buffer {
    return this.#rows.subarray(from * rowBytes, to * rowBytes)
  }

  row(number: number): Row {
    const at = number * rowBytes
    const rows = this.#rows
    return { prev: rows.readUInt32BE(at + 8), id: rows.readUIntBE(at + 12, 6), offset: rows.readUIntBE(at + 18, 6) }
  }

  /** Rows that may carry that name, newest first; the caller compares with the line, for hashes collide. */
  *candidates(kind: RowKind, name: string): Generator<Row> {
    const hash = hashOf(kind, name)
    let number = this.#newest(hash)
    for (; number >= 0; number--) {
      const at = number * rowBytes
      if (this.#rows.readUInt32BE(at + 4) === hash && this.#rows[at] === kindCodes[kind]) yield this.row(number)
    }
  }

  /** The last mark at or before what `isBefore` still accepts. */
  markBefore(isBefore: (mark: Position) => boolean): Position | undefined {
    let low = 0
    let high = this.marks.length
    while (low < high) {
      const middle = (low + high) >>> 1
      if (isBefore(this.marks[middle]!)) low = middle + 1
      else high = middle
    }
    return this.marks[low - 1]
  }

  /**
   * The newest row with that hash; -1 for none. The first few times the rows are looked through, which is all that a short
   * command needs; whoever asks more often has a table built, kept up to date from then on.
   */
  #newest(hash: number): number {
    if (this.#slots === undefined && this.#lookedAt < this.#count * looksBeforeTable) return this.#lookThrough(hash)
    if (this.#slots === undefined || this.#slots.length < this.#count * 2) {
      let size = 256
      while (size < this.#count * 4) size *= 2
      this.#slots = new Int32Array(size)
      for (let number = 0; number < this.#count; number++) this.#place(number)
    }
    const slots = this.#slots
    for (let slot = hash & (slots.length - 1); ; slot = (slot + 1) & (slots.length - 1)) {
      const number = slots[slot]! - 1
      if (number < 0 || this.#rows.readUInt32BE(number * rowBytes + 4) === hash) return number
    }
  }

  #lookThrough(hash: number): number {
    const rows = this.#rows
    let number = this.#count - 1
    while (number >= 0 && rows.readUInt32BE(number * rowBytes + 4) !== hash) number--
    this.#lookedAt += this.#count - 1 - number
    return number
  }

  #place(number: number): void {
    const slots = this.#slots!
    if (slots.length < (this.#count + 1) * 2) {
      this.#slots = undefined
      return
    }
    const hash = this.#rows.readUInt32BE(number * rowBytes + 4)
    for (let slot = hash & (slots.length - 1); ; slot = (slot + 1) & (slots.length - 1)) {
      const other = slots[slot]! - 1
      if (other >= 0 && this.#rows.readUInt32BE(other * rowBytes + 4) !== hash) continue
      slots[slot] = number + 1
      return
    }
  }

  #reserve(more: number): void {
    const need = (this.#count + more) * rowBytes
    if (need <= this.#rows.length) return
    const grown = Buffer.allocUnsafe(Math.max(need, this.#rows.length * 2))
    this.#rows.copy(grown)
    this.#rows = grown
  }
}

function hashOf(kind: RowKind, name: string): number {
  return crc32(name, kindCodes[kind])
}

const magic = 'BATONIX1'
const headerBytes = 16
const frameBytes = 28
const frameMark = 0x4d41524b

interface Stored {
  bytes: number
  marks: number
  check: number
}

/**
 * On disk, the index is a header that names the tape it belongs to, then a frame per mark: the rows up to the mark, and a checksum
 * chained over the frames before. It is a cache, written without a sync: an index that does not add up is thrown away and built anew
 * from the tape.
 */
export class IndexFile {
  readonly path: string
  #stored: Stored = { bytes: 0, marks: 0, check: 0 }

  constructor(path: string) {
    this.path = path
  }

  /** The table as stored for the tape whose first line has that checksum, or undefined if there is none to trust. */
  load(fingerprint: number, isMark: (position: Position) => boolean): IndexTable | undefined {
    this.#stored = { bytes: 0, marks: 0, check: 0 }
    let bytes: Buffer
    try {
      bytes = fs.readFileSync(this.path)
    } catch {
      return undefined // missing or unreadable: it is built from the tape
    }
    if (bytes.length < headerBytes || !bytes.subarray(0, headerBytes).equals(header(fingerprint))) return undefined
    const table = new IndexTable()
    table.expect(Math.floor(bytes.length / rowBytes))
    table.mark(origin)
    this.#stored = { bytes: headerBytes, marks: 1, check: fingerprint }
    for (let frame = this.#frameAt(bytes, 0); frame !== undefined; frame = this.#frameAt(bytes, 0)) {
      table.load(frame.rows)
      table.mark(frame.end)
      this.#accept(frame)
    }
    const last = table.marks.at(-1)!
    if (last.offset === 0 || isMark(last)) return table
    this.#stored = { bytes: 0, marks: 0, check: 0 }
    return undefined
  }

  /**
   * Takes over the marks that another process has stored beyond those of the table; false where there are none, or where the stored index
   * is not that of this table.
   */
  follow(table: IndexTable): boolean {
    if (this.#stored.bytes === 0) return false
    const stored = { ...this.#stored }
    const start = stored.bytes
    const bytes = readFrom(this.path, start)
    let isFurther = false
    for (let frame = this.#frameAt(bytes, start); frame !== undefined; frame = this.#frameAt(bytes, start)) {
      const mark = table.marks[this.#stored.marks]
      if (mark === undefined) {
        if (!isFurther) table.backToLastMark()
        table.load(frame.rows)
        table.mark(frame.end)
        isFurther = true
      } else if (mark.offset !== frame.end.offset || mark.crc !== frame.end.crc) {
        this.#stored = stored
        return false
      }
      this.#accept(frame)
    }
    return isFurther
  }

  /** Whether the table has marks that are not stored, as far as this process knows. */
  isBehind(table: IndexTable): boolean {
    return table.marks.length > Math.max(1, this.#stored.marks)
  }

  /** Appends the marks that are not stored yet. Called under the tape's lock. */
  save(table: IndexTable, fingerprint: number): void {
    if (!this.isBehind(table)) return
    const fd = fs.openSync(this.path, 'a+', 0o600)
    try {
      const { size } = fs.fstatSync(fd)
      if (this.#stored.bytes === 0 || !this.#catchUp(fd, size, table)) {
        fs.ftruncateSync(fd, 0)
        fs.writeSync(fd, header(fingerprint))
        this.#stored = { bytes: headerBytes, marks: 1, check: fingerprint }
      }
      const frames: Buffer[] = []
      for (let i = this.#stored.marks; i < table.marks.length; i++) frames.push(this.#frame(table, i))
      if (frames.length > 0) fs.writeSync(fd, Buffer.concat(frames))
    } finally {
      fs.closeSync(fd)
    }
  }

  /** Another process may have stored the same marks meanwhile: take its frames for ours, or say that they differ. */
  #catchUp(fd: number, size: number, table: IndexTable): boolean {
    if (size < this.#stored.bytes) return false
    const more = Buffer.alloc(size - this.#stored.bytes)
    fs.readSync(fd, more, 0, more.length, this.#stored.bytes)
    const start = this.#stored.bytes
    for (let frame = this.#frameAt(more, start); frame !== undefined; frame = this.#frameAt(more, start)) {
      const mark = table.marks[this.#stored.marks]
      if (mark?.offset !== frame.end.offset || mark.crc !== frame.end.crc) return false
      this.#accept(frame)
    }
    return this.#stored.bytes === size
  }

  #accept(frame: { length: number; check: number }): void {
    this.#stored.bytes += frame.length
    this.#stored.marks++
    this.#stored.check = frame.check
  }

  /** The frame behind what is accepted, in bytes that begin at `start` of the file. */
  #frameAt(bytes: Buffer, start: number) {
    const at = this.#stored.bytes - start
    if (at + frameBytes > bytes.length || bytes.readUInt32BE(at) !== frameMark) return undefined
    const length = frameBytes + bytes.readUInt32BE(at + 4) * rowBytes
    if (at + length > bytes.length) return undefined
    const check = bytes.readUInt32BE(at + 24)
    const rows = bytes.subarray(at + frameBytes, at + length)
    if (check !== crc32(rows, crc32(bytes.subarray(at, at + 24), this.#stored.check))) return undefined
    const end = {
      offset: bytes.readUIntBE(at + 8, 6),
      id: bytes.readUIntBE(at + 14, 6),
      crc: bytes.readUInt32BE(at + 20),
    }
    return { rows, end, check, length }
  }

  #frame(table: IndexTable, number: number): Buffer {
    const rows = table.bytes(table.rowsAtMark[number - 1]!, table.rowsAtMark[number]!)
    const mark = table.marks[number]!
    const frame = Buffer.alloc(frameBytes + rows.length)
    frame.writeUInt32BE(frameMark, 0)
    frame.writeUInt32BE(rows.length / rowBytes, 4)
    frame.writeUIntBE(mark.offset, 8, 6)
    frame.writeUIntBE(mark.id, 14, 6)
    frame.writeUInt32BE(mark.crc, 20)
    rows.copy(frame, frameBytes)
    const check = crc32(rows, crc32(frame.subarray(0, 24), this.#stored.check))
    frame.writeUInt32BE(check, 24)
    this.#accept({ length: frame.length, check })
    return frame
  }
}

/** What a file has behind that offset; nothing where it cannot be read. */
function readFrom(path: string, offset: number): Buffer {
  let fd: number | undefined
  try {
    fd = fs.openSync(path, 'r')
    const bytes = Buffer.alloc(Math.max(0, fs.fstatSync(fd).size - offset))
    return bytes.subarray(0, fs.readSync(fd, bytes, 0, bytes.length, offset))
  } catch {
    return Buffer.alloc(0) // the tape itself is read instead
  } finally {
    if (fd !== undefined) fs.closeSync(fd)
  }
}

function header(fingerprint: number): Buffer {
  const bytes = Buffer.alloc(headerBytes)
  bytes.write(magic, 'latin1')
  bytes.writeUInt32BE(fingerprint, 8)
  return bytes
}
