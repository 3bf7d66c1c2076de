// What a tape's index knows, in memory: a mark every 64 KiB from which reading can start, and a row for each anchor,
// key and idempotency value. Rows are kept as bytes, not objects, so that a tape with millions of keys opens quickly;
// a hash finds the newest row of a name, and the line it points at decides whether it is the right one.

import { crc32 } from 'node:zlib'
import type { Position } from './scan.ts'

export type RowKind = 'anchor' | 'key' | 'idempotency'

/** Where an indexed line begins; `prev` is the checksum its chain is seeded with. */
export interface Row {
  readonly id: number
  readonly offset: number
  readonly prev: number
}

export const rowBytes = 24
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
