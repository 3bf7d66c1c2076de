// Appends to one tape, in the order of the calls. Whatever waits while one statement is under way goes out together in the
// next: the server then writes and syncs once for all of them.

import { createHash, randomUUID } from 'node:crypto'
import { crc32 } from 'node:zlib'
import { ConflictError } from '../../errors.ts'
import { asEntry, type Prepared } from '../draft.ts'
import type { Entry } from '../entry.ts'
import type { Expect } from '../store.ts'
import type { Database, Parameter, Row } from './database.ts'

interface Append {
  readonly prepared: readonly Prepared[]
  readonly expect: Expect | undefined
  readonly resolve: (entries: Entry[]) => void
  readonly reject: (error: unknown) => void
}

/** Bounds of one statement. */
const groupEntries = 1_000
const groupBytes = 2 * 1024 * 1024

export class AppendQueue {
  readonly #database: Database
  readonly #tape: string
  readonly #name: string
  readonly #read: (first: number, size: number) => Promise<Entry[]>
  readonly #placed: () => void
  #waiting: Append[] = []
  #running: Promise<void> | undefined

  /** `read`: what was written earlier, for a repeated append. `placed` is called whenever the tape has grown. */
  constructor(
    database: Database,
    tape: { name: string; encoded: string },
    read: (first: number, size: number) => Promise<Entry[]>,
    placed: () => void,
  ) {
    this.#database = database
    this.#name = tape.name
    this.#tape = tape.encoded
    this.#read = read
    this.#placed = placed
  }

  get isIdle(): boolean {
    return this.#running === undefined
  }

  append(prepared: readonly Prepared[], expect: Expect | undefined): Promise<Entry[]> {
    return new Promise((resolve, reject) => {
      this.#waiting.push({ prepared, expect, resolve, reject })
      this.#running ??= this.#run()
    })
  }

  async settled(): Promise<void> {
    while (this.#running !== undefined) await this.#running
  }

  async #run(): Promise<void> {
    // Whoever appends within the same turn of the event loop shares the first statement.
    await Promise.resolve()
    while (this.#waiting.length > 0) await this.#send(this.#takeGroup())
    // In the same breath as the last look: an append in between would wait for nobody.
    this.#running = undefined
  }

  #takeGroup(): Append[] {
    let [entries, bytes, size] = [0, 0, 0]
    for (const { prepared } of this.#waiting) {
      entries += prepared.length
      bytes += prepared.reduce((sum, one) => sum + one.bytes, 0)
      if (size > 0 && (entries > groupEntries || bytes > groupBytes)) break
      size++
    }
    return this.#waiting.splice(0, size)
  }

  async #send(group: readonly Append[]): Promise<void> {
    const write = randomUUID()
    const batches = group.map(({ prepared, expect }) => ({ prepared, expect }))
    try {
      const rows = await this.#database.write(appendSql, (again) => appendParameters(this.#tape, write, again, batches))
      if (rows.some((row) => row['outcome'] === 'placed')) this.#placed()
      await Promise.all(group.map((append, at) => this.#answer(append, rows[at]!)))
    } catch (error) {
      for (const { reject } of group) reject(error)
    }
  }

  async #answer({ prepared, expect, resolve, reject }: Append, row: Row): Promise<void> {
    const first = Number(row['first_id'])
    try {
      if (row['outcome'] === 'placed') resolve(prepared.map((one, at) => asEntry(first + at, one)))
      else if (row['outcome'] === 'repeated') resolve(await this.#read(first, Number(row['size'])))
      else reject(conflict(this.#name, expect!, Number(row['actual'])))
    } catch (error) {
      reject(error)
    }
  }
}

export const appendSql =
  'select * from S.append($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16) order by part'

interface Batch {
  readonly prepared: readonly Prepared[]
  readonly expect: Expect | undefined
}

export function appendParameters(tape: string, write: string, again: boolean, batches: readonly Batch[]): Parameter[] {
  const columns = rowColumns(batches.flatMap(({ prepared }) => prepared))
  let at = 0
  const from: number[] = []
  const to: number[] = []
  for (const { prepared } of batches) {
    from.push(at + 1)
    at += prepared.length
    to.push(at)
  }
  const expects = batches.map(({ expect }) => expect)
  return [
    tape,
    write,
    again,
    from,
    to,
    expects.map((expect) => (typeof expect === 'object' ? expect.id : (expect ?? null))),
    expects.map((expect) => (typeof expect === 'object' ? indexed(expect.key) : null)),
    batches.map(({ prepared }) => indexed(prepared.find((one) => one.idempotency !== undefined)?.idempotency)),
    ...columns,
  ]
}

/** One array for each column that an entry fills: rest, kind, anchor, anchor_from, keyed, idempotency, crc, date. */
export function rowColumns(prepared: readonly Prepared[]): (string | number | null)[][] {
  const entries = prepared.map((one) => asEntry(0, one))
  return [
    prepared.map((one) => one.rest),
    entries.map(({ kind }) => indexed(kind)),
    prepared.map((one) => indexed(one.anchor)),
    entries.map(({ kind, payload }) => (kind === 'anchor' ? ((payload as { from?: number }).from ?? null) : null)),
    prepared.map((one) => indexed(one.key)),
    prepared.map((one) => indexed(one.idempotency)),
    prepared.map((one) => crc32(one.rest)),
    entries.map(({ date }) => date),
  ]
}

/** A word as it stands in an index: as JSON, since PostgreSQL takes no NUL, and a long one by its checksum. */
export function indexed(word: string): string
export function indexed(word: string | undefined): string | null
export function indexed(word: string | undefined): string | null {
  if (word === undefined) return null
  const json = JSON.stringify(word)
  return json.length <= 300 ? json : `${json.slice(0, 200)}${createHash('sha256').update(json).digest('hex')}`
}

function conflict(tape: string, expect: Expect, actual: number): ConflictError {
  if (typeof expect === 'number') {
    return new ConflictError(`${tape} is at entry ${actual}, not ${expect}`, { expected: expect, actual })
  }
  const message = `The last "${expect.key}" of ${tape} is entry ${actual}, not ${expect.id}`
  return new ConflictError(message, { expected: expect.id, actual })
}
