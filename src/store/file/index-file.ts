// The index on disk: a header that names the tape it belongs to, then a frame per mark, each with the rows up to it and
// a checksum chained over the frames before. It is a cache, written without sync: whatever does not add up is thrown
// away and built anew from the tape.

import fs from 'node:fs'
import { crc32 } from 'node:zlib'
import { IndexTable, rowBytes } from './index-table.ts'
import { origin, type Position } from './scan.ts'

const magic = 'BATONIX1'
const headerBytes = 16
const frameBytes = 28
const frameMark = 0x4d41524b

interface Stored {
  bytes: number
  marks: number
  check: number
}

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

  /** Appends the marks that are not stored yet. Called under the tape's lock. */
  save(table: IndexTable, fingerprint: number): void {
    if (table.marks.length <= Math.max(1, this.#stored.marks)) return
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

function header(fingerprint: number): Buffer {
  const bytes = Buffer.alloc(headerBytes)
  bytes.write(magic, 'latin1')
  bytes.writeUInt32BE(fingerprint, 8)
  return bytes
}
