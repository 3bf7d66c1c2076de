// Reads tables of a SQLite database without SQLite: Node 20 has none, and opening another program's database with it
// may write beside it. Only what a reader of rows needs: the file's pages with those of its write-ahead log laid over
// them, and the B-trees of tables. Format: sqlite.org/fileformat2.html.

import fs from 'node:fs'
import { StorageError } from '../../errors.ts'

type Value = null | number | bigint | string | Buffer
export type Row = Record<string, Value>

interface Table {
  readonly root: number
  readonly columns: readonly string[]
}

const attempts = 3

/** Calls `work` with the database as it is at one moment; once more if another program wrote meanwhile. */
export function withDatabase<T>(file: string, work: (database: Database) => T): T {
  for (let attempt = 1; ; attempt++) {
    const before = stamp(file)
    const database = new Database(file)
    try {
      const result = work(database)
      if (stamp(file) === before || attempt === attempts) return result
    } catch (error) {
      if (stamp(file) === before || attempt === attempts) throw error
    } finally {
      database.close()
    }
  }
}

function stamp(file: string): string {
  return [file, `${file}-wal`]
    .map((each) => {
      const stat = fs.statSync(each, { throwIfNoEntry: false })
      return stat === undefined ? '-' : `${stat.size}:${stat.mtimeMs}`
    })
    .join(' ')
}

export class Database {
  readonly #file: string
  readonly #fd: number
  readonly #pageSize: number
  readonly #usable: number
  /** Page number to where its newest committed copy lies in the log. */
  readonly #logged = new Map<number, number>()
  readonly #log: Buffer
  #tables: Map<string, Table> | undefined

  constructor(file: string) {
    this.#file = file
    this.#fd = fs.openSync(file, 'r')
    const header = Buffer.alloc(100)
    const isEmpty = fs.readSync(this.#fd, header, 0, 100, 0) === 0
    this.#log = readLog(`${file}-wal`)
    const first = this.#log.length >= 32 ? this.#log.readUInt32BE(8) : 0
    // One that was just made has neither page nor log yet.
    if (isEmpty && first === 0) this.#tables = new Map()
    else if (header.toString('latin1', 0, 15) !== 'SQLite format 3' && first === 0) {
      fs.closeSync(this.#fd)
      throw new StorageError(`${file} is not an SQLite database`)
    }
    const size = header.readUInt16BE(16)
    this.#pageSize = size === 1 ? 65_536 : size || first
    this.#usable = this.#pageSize - header[20]!
    this.#readLogFrames()
  }

  close(): void {
    fs.closeSync(this.#fd)
  }

  /** Frames up to the last commit, as long as they belong to this log and not to what it overwrote. */
  #readLogFrames(): void {
    const log = this.#log
    if (log.length < 32) return
    const salt = log.toString('latin1', 16, 24)
    const pending = new Map<number, number>()
    for (let at = 32; at + 24 + this.#pageSize <= log.length; at += 24 + this.#pageSize) {
      if (log.toString('latin1', at + 8, at + 16) !== salt) return
      pending.set(log.readUInt32BE(at), at + 24)
      if (log.readUInt32BE(at + 4) === 0) continue
      for (const [page, offset] of pending) this.#logged.set(page, offset)
      pending.clear()
    }
  }

  #page(number: number): Buffer {
    const logged = this.#logged.get(number)
    if (logged !== undefined) return this.#log.subarray(logged, logged + this.#pageSize)
    const page = Buffer.allocUnsafe(this.#pageSize)
    const got = fs.readSync(this.#fd, page, 0, this.#pageSize, (number - 1) * this.#pageSize)
    if (got < this.#pageSize) throw new StorageError(`${this.#file} lacks page ${number}`)
    return page
  }

  has(table: string): boolean {
    return this.#schema().has(table)
  }

  /** Every row of a table in the order of its row ids. `only` sees the first columns before the rest is read. */
  *rows(table: string, only: (row: Row) => boolean = () => true): Generator<Row> {
    const found = this.#schema().get(table)
    if (found === undefined) throw new StorageError(`${this.#file} has no table ${table}`)
    for (const cell of this.#cells(found.root)) {
      const row = this.#row(cell, found.columns, only)
      if (row !== undefined) yield row
    }
  }

  #schema(): Map<string, Table> {
    if (this.#tables !== undefined) return this.#tables
    this.#tables = new Map()
    for (const cell of this.#cells(1)) {
      const row = this.#row(cell, ['type', 'name', 'tbl_name', 'rootpage', 'sql'], () => true)!
      if (row.type !== 'table' || typeof row.sql !== 'string') continue
      this.#tables.set(String(row.name), { root: Number(row.rootpage), columns: columnsOf(row.sql) })
    }
    return this.#tables
  }

  *#cells(number: number, depth = 0): Generator<Cell> {
    if (depth > 40) throw new StorageError(`${this.#file} is damaged at page ${number}`)
    const page = this.#page(number)
    const start = number === 1 ? 100 : 0
    const kind = page[start]
    const count = page.readUInt16BE(start + 3)
    if (kind === 5) {
      for (let i = 0; i < count; i++)
        yield* this.#cells(page.readUInt32BE(page.readUInt16BE(start + 12 + 2 * i)), depth + 1)
      yield* this.#cells(page.readUInt32BE(start + 8), depth + 1)
      return
    }
    if (kind !== 13) throw new StorageError(`${this.#file} is damaged at page ${number}`)
    for (let i = 0; i < count; i++) yield { page, at: page.readUInt16BE(start + 8 + 2 * i) }
  }

  #row(cell: Cell, columns: readonly string[], only: (row: Row) => boolean): Row | undefined {
    const [size, afterSize] = varint(cell.page, cell.at)
    const [rowId, start] = varint(cell.page, afterSize)
    const local = localBytes(size, this.#usable)
    const near = cell.page.subarray(start, start + local)
    const early = decode(near, columns, rowId, local < size)
    if (!only(early)) return undefined
    return local === size ? early : decode(this.#whole(cell.page, start, local, size), columns, rowId, false)
  }

  #whole(page: Buffer, start: number, local: number, size: number): Buffer {
    const parts = [page.subarray(start, start + local)]
    let next = page.readUInt32BE(start + local)
    for (let left = size - local; left > 0 && next !== 0;) {
      const more = this.#page(next)
      const bytes = Math.min(left, this.#usable - 4)
      parts.push(more.subarray(4, 4 + bytes))
      left -= bytes
      next = more.readUInt32BE(0)
    }
    return Buffer.concat(parts)
  }
}

interface Cell {
  readonly page: Buffer
  readonly at: number
}

function readLog(file: string): Buffer {
  try {
    return fs.readFileSync(file)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return Buffer.alloc(0)
    throw error
  }
}

/** How much of a record lies in its leaf; the rest is in overflow pages. */
function localBytes(size: number, usable: number): number {
  const most = usable - 35
  if (size <= most) return size
  const least = Math.floor(((usable - 12) * 32) / 255) - 23
  const fit = least + ((size - least) % (usable - 4))
  return fit <= most ? fit : least
}

function varint(bytes: Buffer, at: number): [value: number, next: number] {
  let value = 0
  for (let i = 0; i < 8; i++) {
    const byte = bytes[at + i] ?? 0
    value = value * 128 + (byte & 127)
    if (byte < 128) return [value, at + i + 1]
  }
  return [value * 256 + (bytes[at + 8] ?? 0), at + 9]
}

/** The columns of a record; of one that is cut off, those that are there. */
function decode(bytes: Buffer, columns: readonly string[], rowId: number, cut: boolean): Row {
  const row: Row = {}
  const [headerEnd, first] = varint(bytes, 0)
  let at = headerEnd
  for (let head = first, i = 0; head < headerEnd && i < columns.length; i++) {
    const [type, next] = varint(bytes, head)
    head = next
    const length = lengths[type] ?? (type < 12 ? 0 : (type - (type % 2 === 0 ? 12 : 13)) / 2)
    if (cut && at + length > bytes.length) return row
    const value = valueOf(bytes, at, type, length)
    row[columns[i]!] = value ?? (type === 0 && columns[i] === 'rowid' ? rowId : null)
    at += length
  }
  return row
}

const lengths: Record<number, number> = { 0: 0, 1: 1, 2: 2, 3: 3, 4: 4, 5: 6, 6: 8, 7: 8, 8: 0, 9: 0 }

function valueOf(bytes: Buffer, at: number, type: number, length: number): Value {
  if (type === 0) return null
  if (type <= 5) return bytes.readIntBE(at, length)
  if (type === 6) {
    const wide = bytes.readBigInt64BE(at)
    return Number.isSafeInteger(Number(wide)) ? Number(wide) : wide
  }
  if (type === 7) return bytes.readDoubleBE(at)
  if (type === 8) return 0
  if (type === 9) return 1
  return type % 2 === 0 ? Buffer.from(bytes.subarray(at, at + length)) : bytes.toString('utf8', at, at + length)
}

/** The names in a CREATE TABLE, without its constraints. */
function columnsOf(sql: string): string[] {
  const body = sql.slice(sql.indexOf('(') + 1, sql.lastIndexOf(')'))
  const columns: string[] = []
  let depth = 0
  let start = 0
  const take = (end: number) => {
    const definition = body.slice(start, end).trim()
    if (!/^(CONSTRAINT|PRIMARY|FOREIGN|UNIQUE|CHECK)\b/i.test(definition)) {
      const name = /^(?:`([^`]+)`|"([^"]+)"|\[([^\]]+)\]|([^\s(]+))/.exec(definition)
      columns.push(name?.[1] ?? name?.[2] ?? name?.[3] ?? name?.[4] ?? '')
    }
    start = end + 1
  }
  for (let i = 0; i < body.length; i++) {
    const character = body[i]
    if (character === '(') depth++
    else if (character === ')') depth--
    else if (character === ',' && depth === 0) take(i)
  }
  take(body.length)
  return columns
}
