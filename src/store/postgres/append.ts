// One statement that appends a group of batches: its parameters, and its answer to each batch.

import { createHash, randomUUID } from 'node:crypto'
import { crc32 } from 'node:zlib'
import { type Batch, conflict } from '../append-queue.ts'
import { asEntry, type Prepared } from '../draft.ts'
import type { Entry } from '../entry.ts'
import type { Database, Parameter } from './database.ts'

/** Bounds of one statement. */
export const groupBounds = { entries: 1_000, bytes: 2 * 1024 * 1024 }

/** `read` gives what was written earlier, for a repeated append; `placed` is called when the tape has grown. */
export async function appendGroup(
  database: Database,
  tape: { name: string; encoded: string },
  batches: readonly Batch[],
  { read, placed }: { read: (first: number, size: number) => Promise<Entry[]>; placed: () => void },
): Promise<(Entry[] | Error)[]> {
  const write = randomUUID()
  const rows = await database.write(appendSql, (again) => appendParameters(tape.encoded, write, again, batches))
  if (rows.some((row) => row['outcome'] === 'placed')) placed()
  return Promise.all(
    batches.map(async ({ prepared, expect }, at) => {
      const row = rows[at]!
      const first = Number(row['first_id'])
      if (row['outcome'] === 'placed') return prepared.map((one, index) => asEntry(first + index, one))
      if (row['outcome'] === 'repeated') return read(first, Number(row['size'])).catch((error: Error) => error)
      return conflict(tape.name, expect!, Number(row['actual']))
    }),
  )
}

export const appendSql =
  'select * from S.append($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16) order by part'

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
