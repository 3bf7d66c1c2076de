// One statement that appends a group of batches: its parameters, and its answer to each batch.

import { createHash, randomUUID } from 'node:crypto'
import { crc32 } from 'node:zlib'
import { archivedSince, type Batch, conflict, isArchivedSince } from '../append-queue.ts'
import { asEntry, type Prepared } from '../draft.ts'
import type { Entry } from '../entry.ts'
import type { Database, Parameter, Row, Statement } from './database.ts'
import type { SharedAppends } from './shared-appends.ts'

/** Bounds of one statement. */
export const groupBounds = { entries: 1_000, bytes: 2 * 1024 * 1024 }

/** `read` gives what was written earlier, for a repeated append. */
export async function appendGroup(
  { database, shared }: { database: Database; shared: SharedAppends },
  tape: { name: string; encoded: string },
  batches: readonly Batch[],
  read: (first: number, size: number) => Promise<Entry[]>,
): Promise<(Entry[] | Error)[]> {
  const write = newWriteId()
  const checked = (again: boolean): Statement => ({
    sql: appendSql,
    parameters: appendParameters(tape.encoded, write, again, batches),
  })
  const since = performance.now()
  let earlier: unknown
  if (batches.every(isPlain) && (batches.length === 1 || batches.every(({ expect }) => expect === undefined))) {
    const outcome = await shared.append({ tape: tape.encoded, write, batches })
    if (outcome.firstId !== undefined) {
      let next = outcome.firstId
      return batches.map(({ prepared }) => prepared.map((one) => asEntry(next++, one)))
    }
    earlier = outcome.failure
  }
  return answers(tape.name, batches, await database.write(checked, { earlier, since }), read)
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

/** A word as an index holds it: as JSON, since PostgreSQL takes no NUL, and a long one by its checksum. */
export function indexed(word: string): string
export function indexed(word: string | undefined): string | null
export function indexed(word: string | undefined): string | null {
  if (word === undefined) return null
  const json = JSON.stringify(word)
  return json.length <= 300 ? json : `${json.slice(0, 200)}${createHash('sha256').update(json).digest('hex')}`
}
