// Verifies and repairs a tape. A damaged row is replaced by an entry that says so, and a missing one is filled in, so that ids have no
// gaps. The text that was there is kept as a blob.

import { crc32 } from 'node:zlib'
import { NotFoundError } from '../../errors.ts'
import { lostDraft, prepare } from '../draft.ts'
import type { BlobRef, Damage, RepairReport } from '../store.ts'
import { indexed } from './append.ts'
import type { Database, Row, Statements } from './database.ts'

const pageRows = 1_000

/** Whether the text of a row is what was written. */
export function isSound(row: Row): boolean {
  return crc32(String(row['rest'])) === Number(row['crc'])
}

export function checksumDamage(place: string, tape: string, id: number): Damage {
  const message = `entry ${id} of ${tape} is not what was written: its checksum differs`
  return { kind: 'checksum', file: place, offset: id, length: 0, lost: { from: id, to: id }, message }
}

export function gapDamage(place: string, tape: string, from: number, to: number): Damage {
  const what = from === to ? `entry ${from} of ${tape} is` : `entries ${from} to ${to} of ${tape} are`
  return { kind: 'gap', file: place, offset: from, length: 0, lost: { from, to }, message: `${what} missing` }
}

/** Where the entries of a tape are, with those of its archives. */
interface Extent {
  readonly key: string
  readonly first: number
  readonly last: number
}

async function extentOf(db: Statements, encoded: string, lock: '' | 'for update'): Promise<Extent | undefined> {
  const [row] = await db.query(`select key, first_id, last_id from S.tapes where name = $1 ${lock}`, [encoded])
  if (row === undefined) return undefined
  const key = String(row['key'])
  const [archived] = await db.query('select min(first_id) as first from S.archives where key = $1', [key])
  return { key, first: Number(archived!['first'] ?? row['first_id']), last: Number(row['last_id']) }
}

/** What is wrong with a tape, in order, with the text of a damaged row; `onSound` is called for each row that is all right. */
async function* faults(
  db: Statements,
  { place, tape }: { place: string; tape: string },
  { key, first, last }: Extent,
  onSound: () => void,
): AsyncGenerator<{ damage: Damage; text?: string }> {
  let next = first
  for (;;) {
    const rows = await db.query(
      'select id, rest, crc from S.entries where key = $1 and id >= $2 and id <= $3 order by id limit $4',
      [key, next, last, pageRows],
    )
    for (const row of rows) {
      const id = Number(row['id'])
      if (id > next) yield { damage: gapDamage(place, tape, next, id - 1) }
      if (isSound(row)) onSound()
      else yield { damage: checksumDamage(place, tape, id), text: String(row['rest']) }
      next = id + 1
    }
    if (rows.length < pageRows) break
  }
  if (next <= last) yield { damage: gapDamage(place, tape, next, last) }
}

/** Undefined for a tape that never was. */
export async function verifyRows(
  database: Database,
  tape: string,
  encoded: string,
): Promise<{ entries: number; damage: Damage[] } | undefined> {
  const extent = await extentOf(database, encoded, '')
  if (extent === undefined) return undefined
  const damage: Damage[] = []
  let entries = 0
  const found = faults(database, { place: database.place, tape }, extent, () => entries++)
  for await (const fault of found) damage.push(fault.damage)
  return { entries, damage }
}

/** Nobody appends meanwhile. `putBlob` is durable when it resolves, before the row that it was taken from is replaced. */
export function repairRows(
  database: Database,
  tape: string,
  encoded: string,
  options: { now: () => Date; putBlob: (bytes: Buffer) => Promise<BlobRef> },
): Promise<RepairReport> {
  return database.transaction(async (db) => {
    const extent = await extentOf(db, encoded, 'for update')
    if (extent === undefined) throw new NotFoundError(`There is no tape ${tape} to repair`)
    const damage: Damage[] = []
    const cut: string[] = []
    let kept = 0
    for await (const fault of faults(db, { place: database.place, tape }, extent, () => kept++)) {
      damage.push(fault.damage)
      const blob = fault.text === undefined ? undefined : (await options.putBlob(Buffer.from(fault.text))).sha256
      if (blob !== undefined) cut.push(`blob:${blob}`)
      const left = blob === undefined ? 'nothing was left of it' : `what was left of it is in blob:${blob}`
      for (let id = fault.damage.lost!.from; id <= fault.damage.lost!.to; id++) {
        const [lost] = prepare([lostDraft(id, left)], options.now)
        const { rest, bytes, kind } = lost!
        await db.query(replaceSql, [extent.key, id, indexed(kind), crc32(rest), bytes, rest])
      }
    }
    if (damage.length > 0) await db.query(bytesSql, [encoded])
    return { tape, damage, cut, kept }
  })
}

const replaceSql = `
  insert into S.entries (key, id, kind, batch_index, batch_size, crc, bytes, rest) values ($1, $2, $3, 0, 1, $4, $5, $6)
  on conflict (key, id) do update set kind = excluded.kind, anchor = null, anchor_from = null, keyed = null,
    idempotency = null, crc = excluded.crc, bytes = excluded.bytes, rest = excluded.rest`

const bytesSql = `
  update S.tapes t set bytes = (
    select coalesce(sum(e.bytes), 0) from S.entries e where e.key = t.key and e.id >= t.first_id
  ) where t.name = $1`
