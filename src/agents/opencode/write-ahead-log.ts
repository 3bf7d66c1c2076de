// The write-ahead log of an SQLite database: the newest committed copies of its pages. The pages that were found are kept for the
// next reading, which continues after them: a log that is started again has another salt.

import fs from 'node:fs'
import { StorageError } from '../../errors.ts'

interface Known {
  readonly salt: string
  readonly pageSize: number
  /** Page number to the offset of its newest committed copy. */
  readonly pages: Map<number, number>
  /** The offset after the last commit. */
  end: number
}

const known = new Map<string, Known>()
const remembered = 20
const header = 32
const frame = 24

export class WriteAheadLog {
  readonly #file: string
  readonly #fd: number | undefined
  /** 0 where there is no log. */
  readonly pageSize: number = 0
  readonly #known: Known | undefined

  constructor(file: string) {
    this.#file = file
    this.#fd = open(file)
    if (this.#fd === undefined) return
    const head = this.#bytes(0, header)
    if (head === undefined) return
    this.pageSize = head.readUInt32BE(8)
    const salt = head.toString('latin1', 16, 24)
    const before = known.get(file)
    this.#known = before?.salt === salt ? before : { salt, pageSize: this.pageSize, pages: new Map(), end: header }
    if (known.size >= remembered) known.delete(known.keys().next().value!)
    known.set(file, this.#known)
    this.#goOn(this.#known)
  }

  /** The copy of a page in the log; undefined if only the database itself has it. */
  page(number: number): Buffer | undefined {
    const at = this.#known?.pages.get(number)
    if (at === undefined) return undefined
    const bytes = this.#bytes(at, frame + this.pageSize)
    // The log was started again: what was found in it is no longer there.
    if (bytes?.toString('latin1', 8, 16) !== this.#known!.salt || bytes.readUInt32BE(0) !== number)
      throw new StorageError(`${this.#file} was written while it was read`)
    return bytes.subarray(frame)
  }

  close(): void {
    if (this.#fd !== undefined) fs.closeSync(this.#fd)
  }

  /** Finds the frames up to the last commit; frames with another salt are left from before the log was started again. */
  #goOn(log: Known): void {
    const size = frame + log.pageSize
    const last = fs.fstatSync(this.#fd!).size - size
    const pending = new Map<number, number>()
    for (let at = log.end; at <= last; at += size) {
      const head = this.#bytes(at, frame)
      if (head?.toString('latin1', 8, 16) !== log.salt) return
      pending.set(head.readUInt32BE(0), at)
      if (head.readUInt32BE(4) === 0) continue
      for (const [page, offset] of pending) log.pages.set(page, offset)
      pending.clear()
      log.end = at + size
    }
  }

  #bytes(at: number, length: number): Buffer | undefined {
    const bytes = Buffer.allocUnsafe(length)
    return fs.readSync(this.#fd!, bytes, 0, length, at) < length ? undefined : bytes
  }
}

function open(file: string): number | undefined {
  try {
    return fs.openSync(file, 'r')
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined
    throw error
  }
}
