// Appends that only look at the row of their tape. Those to several tapes that wait for the server go out together: one statement
// and one commit for all of them. A tape that another process holds, that is new, or that is not where it was expected is left
// out, so that no tape ever waits for another; a separate statement then reports the problem, or writes it.

import type { Batch } from '../append-queue.ts'
import { rowColumns } from './append.ts'
import type { Database, Parameter, Statement } from './database.ts'

export interface PlainAppend {
  /** The encoded name. */
  readonly tape: string
  readonly write: string
  readonly batches: readonly Batch[]
}

/** Where it was placed, or why the statement failed for all; neither if it was left out. */
interface Outcome {
  readonly firstId?: number | undefined
  readonly failure?: unknown
}

interface Waiting extends PlainAppend {
  readonly entries: number
  readonly bytes: number
  readonly resolve: (outcome: Outcome) => void
}

/** With so many statements under way, further appends wait for one of them to end. */
const lanes = 2
/** A larger append gets a separate statement, so that small ones do not wait for it. */
const most = { entries: 50, bytes: 64 * 1024, appends: 100 }

export class SharedAppends {
  readonly #database: Database
  #waiting: Waiting[] = []
  #running = 0

  constructor(database: Database) {
    this.#database = database
  }

  append(one: PlainAppend): Promise<Outcome> {
    const prepared = one.batches.flatMap((batch) => batch.prepared)
    const [entries, bytes] = [prepared.length, prepared.reduce((sum, { bytes }) => sum + bytes, 0)]
    return new Promise((resolve) => {
      const append = { ...one, entries, bytes, resolve }
      if (entries > most.entries || bytes > most.bytes) return void this.#write([append])
      this.#waiting.push(append)
      if (this.#waiting.length === 1 && this.#running < lanes) void this.#drain()
    })
  }

  async #drain(): Promise<void> {
    this.#running++
    do {
      // All appends within one turn of the event loop share the statement.
      await new Promise((resolve) => setImmediate(resolve))
      const group = this.#waiting.splice(0, most.appends)
      if (group.length > 0) await this.#write(group)
    } while (this.#waiting.length > 0)
    this.#running--
  }

  async #write(group: readonly Waiting[]): Promise<void> {
    try {
      const [one] = group
      const isOne = group.length === 1 && one!.entries === 1
      const rows = await this.#database.attempt(isOne ? oneEntry(one!) : sharedBy(group))
      const placed = new Map(rows.map((row) => [Number(row['at']), Number(row['first_id'])]))
      for (const [at, { resolve }] of group.entries()) resolve({ firstId: placed.get(at + 1) })
    } catch (failure) {
      for (const { resolve } of group) resolve({ failure })
    }
  }
}

/** What an agent that works alone appends, message by message: a plain statement costs the server a third of the shared one. */
function oneEntry({ tape, write, batches }: PlainAppend): Statement {
  const [{ prepared, expect }] = batches as [Batch]
  const [rest, ...columns] = rowColumns(prepared).map(([value]) => value!)
  return { sql: oneSql, parameters: [tape, (expect as number | undefined) ?? null, write, rest!, ...columns] }
}

const oneSql = `
with t as (
  select key, last_id + 1 as id from S.tapes
  where name = $1 and last_id = coalesce($2::bigint, last_id) for update skip locked
), u as (
  update S.tapes x set last_id = t.id, bytes = x.bytes + octet_length($4::text), date = $11
  from t where x.key = t.key
  returning t.key, t.id
)
insert into S.entries
  (key, id, kind, anchor, anchor_from, keyed, idempotency, batch_index, batch_size, write, part, crc, bytes, rest)
select key, id, $5, $6, $7, $8, $9, 0, 1, $3, 1, $10, octet_length($4::text), $4 from u
returning 1 as at, id as first_id`

function sharedBy(group: readonly Waiting[]): Statement {
  const [at, offset, index, size, part]: (number | null)[][] = [[], [], [], [], []]
  for (const [tape, { batches }] of group.entries()) {
    let next = 1
    for (const [n, { prepared }] of batches.entries()) {
      for (let i = 0; i < prepared.length; i++) {
        at!.push(tape + 1)
        offset!.push(next++)
        index!.push(i)
        size!.push(prepared.length)
        part!.push(i === 0 ? n + 1 : null)
      }
    }
  }
  const columns = rowColumns(group.flatMap(({ batches }) => batches.flatMap(({ prepared }) => prepared)))
  columns.pop()
  const parameters: Parameter[] = [
    group.map(({ tape }) => tape),
    group.map(({ entries }) => entries),
    group.map(({ bytes }) => bytes),
    group.map(({ batches }) => batches.at(-1)!.prepared.at(-1)!.date),
    group.map(({ batches }) => (batches.length === 1 ? ((batches[0]!.expect as number | undefined) ?? null) : null)),
    group.map(({ write }) => write),
    at!,
    offset!,
    ...columns,
    index!,
    size!,
    part!,
  ]
  return { sql: sharedSql, parameters }
}

const sharedSql = `
with t as (
  select x.key, x.last_id as base, w.entries, w.bytes, w.date, w.write, w.at
  from unnest($1::text[], $2::int[], $3::bigint[], $4::text[], $5::bigint[], $6::uuid[])
    with ordinality as w(name, entries, bytes, date, expect, write, at)
  join S.tapes x on x.name = w.name
  where x.last_id = coalesce(w.expect, x.last_id)
  for update of x skip locked
), u as (
  update S.tapes x set last_id = t.base + t.entries, bytes = x.bytes + t.bytes, date = t.date
  from t where x.key = t.key
  returning t.key, t.base, t.write, t.at
), e as (
  insert into S.entries
    (key, id, kind, anchor, anchor_from, keyed, idempotency, batch_index, batch_size, write, part, crc, bytes, rest)
  select u.key, u.base + e.i, e.kind, e.anchor, e.anchor_from, e.keyed, e.idempotency, e.batch_index, e.batch_size,
    case when e.part is not null then u.write end, e.part, e.crc, octet_length(e.rest), e.rest
  from u join unnest($7::int[], $8::int[], $9::text[], $10::text[], $11::text[], $12::bigint[], $13::text[], $14::text[],
      $15::bigint[], $16::int[], $17::int[], $18::int[])
    as e(at, i, rest, kind, anchor, anchor_from, keyed, idempotency, crc, batch_index, batch_size, part) on e.at = u.at
)
select at, base + 1 as first_id from u`
