// Reads tables of a SQLite database without SQLite: Node 20 has none, and opening another program's database with it
// may write beside it. Only what a reader of rows needs: the file's pages with those of its write-ahead log laid over
// them, and the B-trees of tables and indexes. Format: sqlite.org/fileformat2.html.

import fs from 'node:fs'
import { StorageError } from '../../errors.ts'
import { firstBytes } from '../files.ts'
import { WriteAheadLog } from './write-ahead-log.ts'
import { columnsOf, decode, indexedBy, localBytes, type SqliteRow, type SqliteValue, varint } from './row.ts'

interface Tree {
  readonly root: number
  readonly columns: readonly string[]
}

interface Table extends Tree {
  readonly indexes: Tree[]
}

/** The kinds of pages of a B-tree. */
const kinds = { indexInterior: 2, interior: 5, indexLeaf: 10, leaf: 13 } as const

/** Whether a file is a database, by its first bytes. */
export function isDatabase(file: string): boolean {
  return firstBytes(file, 16).toString('latin1') === 'SQLite format 3\0'
}

const attempts = 3

/** Calls `work` with the database as it is at one moment; once more if another program wrote meanwhile. */
export function withDatabase<T>(file: string, work: (database: SqliteDatabase) => T): T {
  for (let attempt = 1; ; attempt++) {
    const before = stamp(file)
    const database = new SqliteDatabase(file)
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

export class SqliteDatabase {
  readonly #file: string
  readonly #fd: number
  readonly #pageSize: number
  readonly #usable: number
  readonly #log: WriteAheadLog
  /** Pages that lead to others. */
  readonly #interior = new Map<number, Buffer>()
  #tables: Map<string, Table> | undefined

  constructor(file: string) {
    this.#file = file
    this.#fd = fs.openSync(file, 'r')
    try {
      this.#log = new WriteAheadLog(`${file}-wal`)
    } catch (error) {
      fs.closeSync(this.#fd)
      throw error
    }
    const header = Buffer.alloc(100)
    const isEmpty = fs.readSync(this.#fd, header, 0, 100, 0) === 0
    const first = this.#log.pageSize
    // A database that was just created has neither page nor log yet.
    if (isEmpty && first === 0) this.#tables = new Map()
    else if (header.toString('latin1', 0, 15) !== 'SQLite format 3' && first === 0) {
      this.close()
      throw new StorageError(`${file} is not an SQLite database`)
    }
    const size = header.readUInt16BE(16)
    this.#pageSize = size === 1 ? 65_536 : size || first
    this.#usable = this.#pageSize - header[20]!
  }

  close(): void {
    fs.closeSync(this.#fd)
    this.#log.close()
  }

  #page(number: number): Buffer {
    const known = this.#interior.get(number) ?? this.#log.page(number)
    if (known !== undefined) return known
    const page = Buffer.allocUnsafe(this.#pageSize)
    const got = fs.readSync(this.#fd, page, 0, this.#pageSize, (number - 1) * this.#pageSize)
    if (got < this.#pageSize) throw new StorageError(`${this.#file} lacks page ${number}`)
    return page
  }

  /** A page of a B-tree, which is of one of two kinds. */
  #node(number: number, leaf: number, interior: number, depth: number): Node {
    const page = this.#page(number)
    const start = number === 1 ? 100 : 0
    const isLeaf = page[start] === leaf
    if (depth > 40 || !(isLeaf || page[start] === interior))
      throw new StorageError(`${this.#file} is damaged at page ${number}`)
    if (!isLeaf) this.#interior.set(number, page)
    const count = page.readUInt16BE(start + 3)
    const cells = start + (isLeaf ? 8 : 12)
    return { page, isLeaf, count, last: start + 8, cell: (i) => page.readUInt16BE(cells + 2 * i) }
  }

  has(table: string): boolean {
    return this.#schema().has(table)
  }

  /** Every row of a table in the order of its row ids. `only` sees the first columns before the rest is read. */
  *rows(table: string, only: (row: SqliteRow) => boolean = () => true): Generator<SqliteRow> {
    const { root, columns } = this.#table(table)
    for (const cell of this.#cells(root)) {
      const row = this.#row(cell, columns, only)
      if (row !== undefined) yield row
    }
  }

  /** The rows with one of those values in a column, by an index if there is one. `only` sees no more than the columns of the index. */
  *where(
    table: string,
    column: string,
    values: ReadonlySet<string>,
    only: (row: SqliteRow) => boolean = () => true,
  ): Generator<SqliteRow> {
    const { root, columns, indexes } = this.#table(table)
    const index = indexes.find((each) => each.columns[0] === column)
    if (index === undefined) {
      yield* this.rows(table, (row) => values.has(String(row[column])) && only(row))
      return
    }
    for (const value of values) {
      for (const key of this.#keys(index.root, [...index.columns, rowId], Buffer.from(value))) {
        const cell = only(key) ? this.#cellOf(root, Number(key[rowId])) : undefined
        if (cell !== undefined) yield this.#row(cell, columns, () => true)!
      }
    }
  }

  #table(name: string): Table {
    const found = this.#schema().get(name)
    if (found === undefined) throw new StorageError(`${this.#file} has no table ${name}`)
    return found
  }

  #schema(): Map<string, Table> {
    if (this.#tables !== undefined) return this.#tables
    this.#tables = new Map()
    const rows = Array.from(this.#cells(1), (cell) =>
      this.#row(cell, ['type', 'name', 'tbl_name', 'rootpage', 'sql'], () => true)!,
    )
    for (const { type, name, rootpage, sql } of rows) {
      if (type !== 'table' || typeof sql !== 'string') continue
      this.#tables.set(String(name), { root: Number(rootpage), columns: columnsOf(sql), indexes: [] })
    }
    for (const { type, tbl_name, rootpage, sql } of rows) {
      const columns = type === 'index' && typeof sql === 'string' ? indexedBy(sql) : undefined
      if (columns !== undefined) this.#tables.get(String(tbl_name))?.indexes.push({ root: Number(rootpage), columns })
    }
    return this.#tables
  }

  *#cells(number: number, depth = 0): Generator<Cell> {
    const { page, isLeaf, count, last, cell } = this.#node(number, kinds.leaf, kinds.interior, depth)
    for (let i = 0; i < count; i++) {
      if (isLeaf) yield { page, at: cell(i) }
      else yield* this.#cells(page.readUInt32BE(cell(i)), depth + 1)
    }
    if (!isLeaf) yield* this.#cells(page.readUInt32BE(last), depth + 1)
  }

  /** The cell of the row with that id. */
  #cellOf(number: number, id: number, depth = 0): Cell | undefined {
    const { page, isLeaf, count, last, cell } = this.#node(number, kinds.leaf, kinds.interior, depth)
    const idAt = (i: number) => varint(page, isLeaf ? varint(page, cell(i))[1] : cell(i) + 4)[0]
    const i = firstOf(count, (each) => idAt(each) >= id)
    if (isLeaf) return i < count && idAt(i) === id ? { page, at: cell(i) } : undefined
    return this.#cellOf(page.readUInt32BE(i < count ? cell(i) : last), id, depth + 1)
  }

  /** The entries of an index that begin with that text, in its order. */
  *#keys(number: number, columns: readonly string[], text: Buffer, depth = 0): Generator<SqliteRow> {
    const { page, isLeaf, count, last, cell } = this.#node(number, kinds.indexLeaf, kinds.indexInterior, depth)
    const keyAt = (i: number) => this.#key(page, isLeaf ? cell(i) : cell(i) + 4, columns)
    const order = (key: SqliteRow) => orderOf(key[columns[0]!], text)
    const first = firstOf(count, (each) => order(keyAt(each)) >= 0)
    for (let i = first; i < count; i++) {
      if (!isLeaf) yield* this.#keys(page.readUInt32BE(cell(i)), columns, text, depth + 1)
      const key = keyAt(i)
      if (order(key) !== 0) return
      yield key
    }
    if (!isLeaf) yield* this.#keys(page.readUInt32BE(last), columns, text, depth + 1)
  }

  #key(page: Buffer, at: number, columns: readonly string[]): SqliteRow {
    const [size, start] = varint(page, at)
    const local = localBytes(size, this.#usable, Math.floor(((this.#usable - 12) * 64) / 255) - 23)
    const bytes = local === size ? page.subarray(start, start + size) : this.#whole(page, start, local, size)
    return decode(bytes, columns, 0, false)
  }

  #row(cell: Cell, columns: readonly string[], only: (row: SqliteRow) => boolean): SqliteRow | undefined {
    const [size, afterSize] = varint(cell.page, cell.at)
    const [id, start] = varint(cell.page, afterSize)
    const local = localBytes(size, this.#usable, this.#usable - 35)
    const near = cell.page.subarray(start, start + local)
    const early = decode(near, columns, id, local < size)
    if (!only(early)) return undefined
    return local === size ? early : decode(this.#whole(cell.page, start, local, size), columns, id, false)
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

interface Node {
  readonly page: Buffer
  readonly isLeaf: boolean
  readonly count: number
  /** The offset of the number of its last child. */
  readonly last: number
  /** The offset of a cell. */
  readonly cell: (i: number) => number
}

/** The last column of an index: the id of the row. */
const rowId = '\0row'

/** The first of `count` numbers for which `holds` is true, if it is true for all after it. */
function firstOf(count: number, holds: (i: number) => boolean): number {
  let low = 0
  let high = count
  while (low < high) {
    const middle = (low + high) >> 1
    if (holds(middle)) high = middle
    else low = middle + 1
  }
  return low
}

/** The order of an index: numbers, then texts by their bytes, then bytes. */
function orderOf(value: SqliteValue | undefined, text: Buffer): number {
  if (typeof value === 'string') return Buffer.from(value).compare(text)
  return Buffer.isBuffer(value) ? 1 : -1
}
