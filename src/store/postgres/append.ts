// One statement that appends a group of batches: its parameters, and its answer to each batch.

import { createHash, randomUUID } from 'node:crypto'
import { crc32 } from 'node:zlib'
import { archivedSince, type Batch, conflict, isArchivedSince } from '../append-queue.ts'
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
      const firstId = Number(row['segment'])
      if (typeof expect === 'object' && isArchivedSince(expect, firstId)) {
        return archivedSince(tape.name, expect.since!, firstId)
      }
      return conflict(tape.name, expect!, Number(row['actual']))
    }),
  )
}

/** The tape is locked first: an expectation that an archive has overtaken becomes one that never holds. */
export const appendSql = `
select a.*, s.first_id as segment
from (select set_config('lock_timeout', '30s', true) as patience) p
left join lateral (select first_id from S.tapes where name = $1 and p.patience is not null for update) t on true
cross join lateral (select coalesce(t.first_id, 1) as first_id) s
cross join lateral S.append($1, $2, $3, $4, $5, (
  select array_agg(case when e.since < s.first_id - 1 then -1 else e.id end order by e.i)
  from unnest($6::bigint[], $17::bigint[]) with ordinality as e(id, since, i)
), $7, $8, $9, $10, $11, $12, $13, $14, $15, $16) a
order by a.part`

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
    expects.map((expect) => (typeof expect === 'object' ? (expect.since ?? null) : null)),
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
