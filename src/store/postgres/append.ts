// One statement that appends a group of batches: its parameters, and its answer to each batch.

import { createHash, randomUUID } from 'node:crypto'
import { crc32 } from 'node:zlib'
import { archivedSince, type Batch, conflict, isArchivedSince } from '../append-queue.ts'
import { asEntry, type Prepared } from '../draft.ts'
import type { Entry } from '../entry.ts'
import type { Database, Parameter, Row, Statement } from './database.ts'

/** Bounds of one statement. */
export const groupBounds = { entries: 1_000, bytes: 2 * 1024 * 1024 }

/** `read` gives what was written earlier, for a repeated append. */
export async function appendGroup(
  database: Database,
  tape: { name: string; encoded: string },
  batches: readonly Batch[],
  read: (first: number, size: number) => Promise<Entry[]>,
): Promise<(Entry[] | Error)[]> {
  const write = newWriteId()
  const checked = (again: boolean): Statement => ({
    sql: appendSql,
    parameters: appendParameters(tape.encoded, write, again, batches),
  })
  if (batches.every(isPlain) && (batches.length === 1 || batches.every(({ expect }) => expect === undefined))) {
    const plain = plainAppend(tape.encoded, write, batches)
    const rows = await database.write((again) => (again ? checked(true) : plain))
    const [row] = rows
    // Without a row the tape is new, or not where it was expected: the other statement says which.
    if (row !== undefined && !('outcome' in row)) {
      let next = Number(row['first_id'])
      return batches.map(({ prepared }) => prepared.map((one) => asEntry(next++, one)))
    }
    if (row !== undefined) return answers(tape.name, batches, rows, read)
  }
  return answers(tape.name, batches, await database.write(checked), read)
}

function answers(
  tape: string,
  batches: readonly Batch[],
  rows: readonly Row[],
  read: (first: number, size: number) => Promise<Entry[]>,
): Promise<(Entry[] | Error)[]> {
  return Promise.all(
    batches.map(async ({ prepared, expect }, at) => {
      const row = rows[at]!
      const first = Number(row['first_id'])
      if (row['outcome'] === 'placed') return prepared.map((one, index) => asEntry(first + index, one))
      if (row['outcome'] === 'repeated') return read(first, Number(row['size'])).catch((error: Error) => error)
      const firstId = Number(row['segment'])
      if (typeof expect === 'object' && isArchivedSince(expect, firstId)) {
        return archivedSince(tape, expect.since!, firstId)
      }
      return conflict(tape, expect!, Number(row['actual']))
    }),
  )
}

/** Nothing but the row of the tape has to be looked at. */
function isPlain({ prepared, expect }: Batch): boolean {
  return typeof expect !== 'object' && prepared.every((one) => one.idempotency === undefined)
}

/** Ids that begin with the time lie side by side in the index. */
function newWriteId(): string {
  const time = Date.now().toString(16).padStart(12, '0')
  return `${time.slice(0, 8)}-${time.slice(8)}-7${randomUUID().slice(15)}`
}

function plainAppend(encoded: string, write: string, batches: readonly Batch[]): Statement {
  const expect = batches.length === 1 ? (batches[0]!.expect as number | undefined) : undefined
  const prepared = batches.flatMap((batch) => batch.prepared)
  const bytes = prepared.reduce((sum, one) => sum + one.bytes, 0)
  const columns = rowColumns(prepared)
  const date = columns.pop()!.at(-1)!
  const common = [encoded, prepared.length, bytes, date, expect ?? null, write]
  if (prepared.length === 1) {
    return { sql: plainOneSql, parameters: [...common, ...columns.map(([value]) => value!), prepared[0]!.bytes] }
  }
  const [indexes, sizes, parts]: (number | null)[][] = [[], [], []]
  for (const [part, { prepared: batch }] of batches.entries()) {
    for (let at = 0; at < batch.length; at++) {
      indexes!.push(at)
      sizes!.push(batch.length)
      parts!.push(at === 0 ? part + 1 : null)
    }
  }
  return { sql: plainManySql, parameters: [...common, ...columns, indexes!, sizes!, parts!] }
}

/** The row of the tape is locked and moved on by one statement with the insert: the update finds it only where it was expected. */
const plainHead = `
with t as (
  update S.tapes set last_id = last_id + $2, bytes = bytes + $3, date = $4
  where name = $1 and last_id = coalesce($5::bigint, last_id) and set_config('lock_timeout', '30s', true) is not null
  returning key, last_id - $2 as base
), e as (
  insert into S.entries
    (key, id, kind, anchor, anchor_from, keyed, idempotency, batch_index, batch_size, write, part, crc, bytes, rest)`
const plainTail = `
)
select t.base + 1 as first_id from t`

const plainOneSql = `${plainHead}
  select t.key, t.base + 1, $8::text, $9::text, $10::bigint, $11::text, $12::text, 0, 1, $6::uuid, 1, $13::bigint, $14::int, $7::text
  from t${plainTail}`

const plainManySql = `${plainHead}
  select t.key, t.base + e.i, e.kind, e.anchor, e.anchor_from, e.keyed, e.idempotency, e.batch_index, e.batch_size,
    case when e.part is not null then $6::uuid end, e.part, e.crc, octet_length(e.rest), e.rest
  from t, unnest($7::text[], $8::text[], $9::text[], $10::bigint[], $11::text[], $12::text[], $13::bigint[],
      $14::int[], $15::int[], $16::int[])
    with ordinality as e(rest, kind, anchor, anchor_from, keyed, idempotency, crc, batch_index, batch_size, part, i)${plainTail}`

/** The tape is locked first: an expectation that an archive has overtaken becomes one that never holds. */
export const appendSql = `
select a.part, a.outcome, a.first_id, a.size, a.actual, s.first_id as segment
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
  return [
    prepared.map((one) => one.rest),
    prepared.map((one) => indexed(one.kind)),
    prepared.map((one) => indexed(one.anchor)),
    prepared.map((one) => one.anchorFrom ?? null),
    prepared.map((one) => indexed(one.key)),
    prepared.map((one) => indexed(one.idempotency)),
    prepared.map((one) => crc32(one.rest)),
    prepared.map((one) => one.date),
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
