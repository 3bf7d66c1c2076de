// The engine on PostgreSQL: one schema of a database holds a workspace. An entry is kept as the text that was appended, with
// its checksum; the columns beside it are what is looked up. A row for each tape is locked by whoever appends, so ids have no gaps.

import { createHash, randomUUID } from 'node:crypto'
import type { Readable } from 'node:stream'
import { ConflictError, DamagedError, InvalidError, NotFoundError, StorageError } from '../../errors.ts'
import { asAnchor, prepare, type Prepared } from '../draft.ts'
import type { Draft, Entry } from '../entry.ts'
import { decodeName, encodeName, lineageTape, newWorkspaceId } from '../name.ts'
import type * as contract from '../store.ts'
import { type BlobParts, inParts, readParts } from '../blob-parts.ts'
import { AppendQueue } from '../append-queue.ts'
import { ChangeNews } from '../change-news.ts'
import { appendGroup, appendParameters, appendSql, groupBounds, indexed, rowColumns } from './append.ts'
import { checksumDamage, gapDamage, isSound, repairRows, verifyRows } from './repair.ts'
import { SharedAppends } from './shared-appends.ts'
import { Database, type Parameter, type Row, type Statements } from './database.ts'

export interface PostgresStoreOptions extends contract.OpenOptions {
  /** How long a call waits for a server that is away, in milliseconds. */
  patience?: number
}

/** Opens the workspace at `postgres://USER@HOST/DATABASE?schema=NAME`, making its tables if there are none. */
export async function openPostgresStore(address: string, options: PostgresStoreOptions = {}): Promise<contract.Store> {
  const database = new Database(address, options.patience)
  try {
    const workspace = await database.prepare(() => options.workspace ?? newWorkspaceId())
    await sweepUnfinished(database)
    return new PostgresStore(database, workspace, await database.guarantee(), options)
  } catch (error) {
    await database.close()
    throw error
  }
}

/** What a process left behind that died while it made a tape. Nobody takes a day for one. */
async function sweepUnfinished(database: Database): Promise<void> {
  const [stale] = await database.query("select key from S.unfinished where begun < now() - interval '1 day' limit 1")
  if (stale === undefined) return
  await database.query(
    `with gone as (delete from S.unfinished where begun < now() - interval '1 day' returning key)
     delete from S.entries where key in (select key from gone)`,
  )
}

/** How much is read from the server at once. */
const pageRows = 1_000
const pageBytes = 2 * 1024 * 1024
const blobPart = 1024 * 1024

class PostgresStore implements contract.Store {
  readonly workspace: string
  readonly guarantee: string
  readonly #database: Database
  readonly #now: () => Date
  readonly #queues = new Map<string, AppendQueue>()
  readonly #shared: SharedAppends
  readonly #news: ChangeNews
  readonly #closing = new AbortController()
  #closed: Promise<void> | undefined

  constructor(
    database: Database,
    workspace: string,
    guarantee: string,
    { now = () => new Date() }: PostgresStoreOptions,
  ) {
    this.#database = database
    this.#shared = new SharedAppends(database)
    this.workspace = workspace
    this.guarantee = guarantee
    this.#now = now
    this.#news = new ChangeNews(database)
  }

  get place(): string {
    return this.#database.place
  }

  async append(tape: string, drafts: readonly Draft[], options: contract.AppendOptions = {}): Promise<Entry[]> {
    const encoded = encodeName(tape)
    const prepared = prepare(drafts, this.#now)
    this.#assertOpen()
    return this.#queue(tape, encoded).append(prepared, options.expect)
  }

  #queue(tape: string, encoded: string): AppendQueue {
    const known = this.#queues.get(encoded)
    if (known !== undefined) return known
    if (this.#queues.size > 1_000) for (const [name, queue] of this.#queues) if (queue.isIdle) this.#queues.delete(name)
    const read = (first: number, size: number) => this.#between(tape, first, first + size - 1)
    const queue = new AppendQueue(async (batches) => {
      const answers = await appendGroup(
        { database: this.#database, shared: this.#shared },
        { name: tape, encoded },
        batches,
        read,
      )
      if (answers.some(Array.isArray)) this.#news.changed(encoded)
      return answers
    }, groupBounds)
    this.#queues.set(encoded, queue)
    return queue
  }

  async #between(tape: string, first: number, last: number): Promise<Entry[]> {
    const rows = await this.#database.query(
      `select e.id, e.rest, e.crc from S.tapes t join S.entries e using (key)
       where t.name = $1 and e.id between $2 and $3 order by e.id`,
      [encodeName(tape), first, last],
    )
    return rows.map((row) => this.#entry(row, tape))
  }

  async create(
    tape: string,
    batches: Iterable<readonly Draft[]> | AsyncIterable<readonly Draft[]>,
  ): Promise<contract.TapeInfo> {
    const encoded = encodeName(tape)
    this.#assertOpen()
    const refuseExisting = async (db: Statements) => {
      const [found] = await db.query('select last_id from S.tapes where name = $1', [encoded])
      if (found === undefined) return
      const actual = Number(found['last_id'])
      throw new ConflictError(`There is a tape ${tape} already, with ${actual} entries`, { expected: 0, actual })
    }
    await refuseExisting(this.#database)
    const [made] = await this.#database.query("insert into S.unfinished values (nextval('S.tape_keys')) returning key")
    const key = String(made!['key'])
    try {
      const { lastId, bytes, date } = await this.#fill(key, batches)
      if (date === undefined) throw new InvalidError('A batch needs at least one entry')
      await this.#database.transaction(async (db) => {
        await db.query("select pg_advisory_xact_lock(hashtextextended('S.' || $1, 0))", [encoded])
        const [mine] = await db.query('select last_id from S.tapes where name = $1 and key = $2', [encoded, key])
        if (mine !== undefined) return
        await refuseExisting(db)
        await db.query('insert into S.tapes values ($1, $2, 1, $3, $4, $5)', [encoded, key, lastId, bytes, date])
        await db.query('delete from S.unfinished where key = $1', [key])
      })
    } catch (error) {
      await this.#database.query(
        `with gone as (delete from S.unfinished where key = $1 returning key)
         delete from S.entries where key in (select key from gone)`,
        [key],
      )
      throw error
    }
    this.#news.changed(encoded)
    return (await this.info(tape))!
  }

  async #fill(
    key: string,
    batches: Iterable<readonly Draft[]> | AsyncIterable<readonly Draft[]>,
  ): Promise<{ lastId: number; bytes: number; date: string | undefined }> {
    let [lastId, bytes] = [0, 0]
    let date: string | undefined
    for await (const drafts of batches) {
      const prepared = prepare(drafts, this.#now)
      const columns = rowColumns(prepared)
      await this.#database.query(insertSql, [key, lastId, prepared.length, ...columns.slice(0, -1)])
      lastId += prepared.length
      bytes += prepared.reduce((sum, one) => sum + one.bytes, 0)
      date = String(columns.at(-1)!.at(-1))
    }
    return { lastId, bytes, date }
  }

  async *read(tape: string, range: contract.Range = {}): AsyncIterable<Entry> {
    const encoded = encodeName(tape)
    this.#assertOpen()
    const { kinds, reverse = false, archived = false, onDamage } = range
    let left = range.limit ?? Number.POSITIVE_INFINITY
    if (left <= 0) return
    let after = range.after ?? 0
    let before = Math.min(range.before ?? Number.MAX_SAFE_INTEGER, Number.MAX_SAFE_INTEGER)
    let key: string | null = null
    let previous: number | undefined
    for (let isFirst = true; left > 0 && after < before - 1; isFirst = false) {
      this.#assertOpen()
      const rows = await this.#database.query(pageSql(reverse, isFirst && !archived), [
        encoded,
        after,
        before,
        kinds === undefined ? null : kinds.map((kind) => indexed(kind)),
        Math.min(left, pageRows),
        pageBytes,
        key,
      ])
      for (const row of rows) {
        const id = Number(row['id'])
        // Between entries of chosen kinds there may be others.
        const gap = kinds === undefined && previous !== undefined ? missingBetween(previous, row) : undefined
        if (gap !== undefined) this.#report(gapDamage(this.#database.place, tape, gap.from, gap.to), onDamage)
        previous = id
        if (isSound(row)) yield asEntryOf(row)
        else this.#report(checksumDamage(this.#database.place, tape, id), onDamage)
      }
      if (rows.length === 0) return
      left -= rows.length
      const [first, last] = [rows[0]!, Number(rows.at(-1)!['id'])]
      key = String(first['key'])
      // What was appended or archived since the first page does not count.
      if (isFirst && !reverse) before = Math.min(before, Number(first['last_id']) + 1)
      if (isFirst && reverse && !archived) after = Math.max(after, Number(first['first_id']) - 1)
      if (reverse) before = last
      else after = last
    }
  }

  async anchors(tape: string, query: contract.AnchorQuery = {}): Promise<contract.AnchorRef[]> {
    const encoded = encodeName(tape)
    this.#assertOpen()
    const { name, limit = null, after = 0, before = Number.MAX_SAFE_INTEGER, archived = false } = query
    const rows = await this.#database.query(
      `select e.id, e.rest, e.crc from S.tapes t join S.entries e using (key)
       where t.name = $1 and e.anchor is not null and ($2::text is null or e.anchor = $2)
         and e.id > $3 and e.id < $4 and ($5 or e.id >= t.first_id) order by e.id desc limit $6`,
      [encoded, indexed(name), after, before, archived, limit],
    )
    return rows.map((row) => asAnchor(this.#entry(row, tape))).reverse()
  }

  async latest(tape: string, key: string): Promise<Entry | undefined> {
    const encoded = encodeName(tape)
    this.#assertOpen()
    const [row] = await this.#database.query(
      `select e.id, e.rest, e.crc from S.tapes t join S.entries e using (key)
       where t.name = $1 and e.keyed = $2 and e.id >= t.first_id order by e.id desc limit 1`,
      [encoded, indexed(key)],
    )
    return row && this.#entry(row, tape)
  }

  async *watch(tape: string, after: number | (() => number), signal: AbortSignal): AsyncIterable<Entry> {
    const encoded = encodeName(tape)
    this.#assertOpen()
    const ended = AbortSignal.any([signal, this.#closing.signal])
    yield* this.#news.follow(encoded, after, ended, (last) => this.read(tape, { after: last, archived: true }))
  }

  async info(tape: string): Promise<contract.TapeInfo | undefined> {
    const encoded = encodeName(tape)
    this.#assertOpen()
    // A tape that was removed has archives only.
    const [row] = await this.#database.query(`${infoSql} where t.name = $1 and t.last_id >= t.first_id`, [encoded])
    return row && asInfo(row)
  }

  async *list(prefix = ''): AsyncIterable<contract.TapeInfo> {
    this.#assertOpen()
    let after = ''
    for (;;) {
      const rows = await this.#database.query(
        `${infoSql} where t.name > $1 and t.last_id >= t.first_id order by t.name limit 500`,
        [after],
      )
      for (const row of rows) {
        const info = asInfo(row)
        if (info.tape.startsWith(prefix) && info.tape !== lineageTape) yield info
      }
      if (rows.length < 500) return
      after = String(rows.at(-1)!['name'])
    }
  }

  async archive(tape: string, first: (archive: contract.ArchiveRef) => readonly Draft[]): Promise<contract.ArchiveRef> {
    return this.#closeSegment(tape, 'archive', async (db, encoded, archive) => {
      await db.query(appendSql, openingParameters(encoded, prepare(first(archive), this.#now)))
    })
  }

  async remove(tape: string): Promise<contract.ArchiveRef> {
    return this.#closeSegment(tape, 'delete', async (_db, _encoded, { firstId, lastId }) => {
      if (lastId < firstId) throw new NotFoundError(`There is no tape ${tape} to delete`)
    })
  }

  /** Makes an archive of the entries of a tape. Whatever `then` throws leaves the tape as it was. */
  async #closeSegment(
    tape: string,
    verb: string,
    then: (db: Statements, encoded: string, archive: contract.ArchiveRef) => Promise<void>,
  ): Promise<contract.ArchiveRef> {
    const encoded = encodeName(tape)
    this.#assertOpen()
    let done: contract.ArchiveRef | undefined
    const archive = await this.#database.transaction(async (db) => {
      const [row] = await db.query('select key, first_id, last_id, bytes from S.tapes where name = $1 for update', [
        encoded,
      ])
      if (row === undefined) throw new NotFoundError(`There is no tape ${tape} to ${verb}`)
      // The answer to the commit may have been lost: then this archive is there.
      if (done !== undefined && (await archivesOf(db, encoded)).some(({ ref }) => ref === done!.ref)) return done
      const [firstId, lastId, bytes] = [Number(row['first_id']), Number(row['last_id']), Number(row['bytes'])]
      const archive: contract.ArchiveRef = {
        ref: `archived/${encoded}_${firstId}-${lastId}`,
        tape,
        firstId,
        lastId,
        bytes,
      }
      const values = [String(row['key']), archive.ref, firstId, lastId, bytes]
      await db.query('insert into S.archives values ($1, $2, $3, $4, $5)', values)
      await db.query('update S.tapes set first_id = last_id + 1, bytes = 0 where name = $1', [encoded])
      await then(db, encoded, archive)
      done = archive
      return archive
    })
    this.#news.changed(encoded)
    return archive
  }

  async archives(tape: string): Promise<contract.ArchiveRef[]> {
    const encoded = encodeName(tape)
    this.#assertOpen()
    return archivesOf(this.#database, encoded)
  }

  async purge(tape: string): Promise<contract.ArchiveRef[]> {
    const encoded = encodeName(tape)
    this.#assertOpen()
    return this.#database.transaction(async (db) => {
      const [row] = await db.query('select key, first_id, last_id from S.tapes where name = $1 for update', [encoded])
      if (row === undefined) return []
      const found = await archivesOf(db, encoded)
      await db.query('delete from S.archives where key = $1', [String(row['key'])])
      await db.query('delete from S.entries where key = $1 and id < $2', [String(row['key']), Number(row['first_id'])])
      if (Number(row['last_id']) < Number(row['first_id']))
        await db.query('delete from S.tapes where name = $1', [encoded])
      return found
    })
  }

  async putBlob(bytes: Uint8Array): Promise<contract.BlobRef> {
    this.#assertOpen()
    const content = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)
    const sha256 = createHash('sha256').update(content).digest('hex')
    const [known] = await this.#database.query('select from S.blobs where sha256 = $1', [sha256])
    if (known !== undefined) return { sha256, bytes: content.length }
    await this.#database.transaction(async (db) => {
      const made = await db.query('insert into S.blobs values ($1, $2) on conflict do nothing returning sha256', [
        sha256,
        content.length,
      ])
      if (made.length === 0) return
      for (const [part, piece] of inParts(content, blobPart)) {
        await db.query('insert into S.blob_parts values ($1, $2, $3)', [sha256, part, piece])
      }
    })
    return { sha256, bytes: content.length }
  }

  async getBlob(sha256: string, range: { start?: number; end?: number } = {}): Promise<Readable> {
    this.#assertOpen()
    const blobs: BlobParts = {
      partBytes: blobPart,
      place: this.#database.place,
      size: async () => {
        const [row] = await this.#database.query('select bytes from S.blobs where sha256 = $1', [sha256])
        return row === undefined ? undefined : Number(row['bytes'])
      },
      part: async (_, number) => {
        const of = 'select content from S.blob_parts where sha256 = $1 and part = $2'
        const [row] = await this.#database.query(of, [sha256, number])
        const content = row?.['content']
        return Buffer.isBuffer(content) ? content : undefined
      },
    }
    return readParts(blobs, sha256, range)
  }

  async contents(): Promise<{ tapes: string[]; blobs: string[] }> {
    this.#assertOpen()
    const tapes = await this.#database.query('select name from S.tapes order by name')
    const blobs = await this.#database.query('select sha256 from S.blobs')
    return {
      tapes: tapes.map((row) => decodeName(String(row['name']))!),
      blobs: blobs.map((row) => String(row['sha256'])),
    }
  }

  async verify(tape: string): Promise<contract.VerifyReport[]> {
    const encoded = encodeName(tape)
    this.#assertOpen()
    const found = await verifyRows(this.#database, tape, encoded)
    if (found === undefined) return []
    const bytes = (await this.info(tape))?.bytes ?? 0
    return [{ tape, file: this.#database.place, bytes, ...found, index: 'ok' }]
  }

  async repair(tape: string): Promise<contract.RepairReport> {
    const encoded = encodeName(tape)
    this.#assertOpen()
    const report = await repairRows(this.#database, tape, encoded, {
      now: this.#now,
      putBlob: (bytes) => this.putBlob(bytes),
    })
    this.#news.changed(encoded)
    return report
  }

  close(): Promise<void> {
    this.#closed ??= this.#close()
    return this.#closed
  }

  async #close(): Promise<void> {
    const pending = [...this.#queues.values()].map((queue) => queue.settled())
    this.#closing.abort()
    await Promise.all(pending)
    await this.#news.close()
    await this.#database.close()
  }

  #assertOpen(): void {
    if (!this.#closing.signal.aborted) return
    throw new StorageError(`The store in ${this.#database.place} has been closed`, {
      hint: 'Nothing was written. Open it again.',
    })
  }

  #entry(row: Row, tape: string): Entry {
    if (!isSound(row)) this.#report(checksumDamage(this.#database.place, tape, Number(row['id'])), undefined)
    return asEntryOf(row)
  }

  /** A caller that reads past damage is given it; for others it is an error. */
  #report(damage: contract.Damage, onDamage: ((damage: contract.Damage) => void) | undefined): void {
    if (onDamage !== undefined) return onDamage(damage)
    const { file, offset, message } = damage
    throw new DamagedError(`${message[0]!.toUpperCase()}${message.slice(1)} (${file})`, {
      file,
      offset,
      hint: 'Its neighbours can be read. Restore the database from a backup, or give up what it held: baton tape repair TAPE',
    })
  }
}

/** The entry in a sound row. */
function asEntryOf(row: Row): Entry {
  return JSON.parse(`{"id":${Number(row['id'])}${String(row['rest'])}}`) as Entry
}

/** The ids between two rows that were read one after the other. Archives may be purged meanwhile: what they held is not missing. */
function missingBetween(previous: number, row: Row): { from: number; to: number } | undefined {
  const id = Number(row['id'])
  const [from, to] = [Math.min(id, previous) + 1, Math.max(id, previous) - 1]
  return from <= to && from >= Number(row['first_id']) ? { from, to } : undefined
}

const insertSql = `
  insert into S.entries
    (key, id, kind, anchor, anchor_from, keyed, idempotency, batch_index, batch_size, crc, bytes, rest)
  select $1, $2::bigint + i, e.kind, e.anchor, e.anchor_from, e.keyed, e.idempotency, i - 1, $3, e.crc, octet_length(e.rest), e.rest
  from unnest($4::text[], $5::text[], $6::text[], $7::bigint[], $8::text[], $9::text[], $10::bigint[])
    with ordinality as e(rest, kind, anchor, anchor_from, keyed, idempotency, crc, i)
  on conflict do nothing`

/**
 * A page of entries: at most so many, and no more bytes than the first that exceeds the bound. With `current`, only those of the
 * current segment.
 */
function pageSql(reverse: boolean, current: boolean): string {
  const order = reverse ? 'desc' : 'asc'
  return `
    select id, rest, crc, key, first_id, last_id from (
      select id, rest, crc, key, first_id, last_id, bytes, sum(bytes) over (order by id ${order}) as sum from (
        select e.id, e.rest, e.crc, e.bytes, t.key, t.first_id, t.last_id from S.tapes t cross join lateral (
          select id, rest, crc, bytes from S.entries
          where key = t.key and id > ${current ? 'greatest($2, t.first_id - 1)' : '$2'} and id < $3
            and ($4::text[] is null or kind = any($4))
          order by id ${order} limit $5
        ) e where t.name = $1 and ($7::bigint is null or t.key = $7)
      ) page
    ) summed where sum - bytes < $6 order by id ${order}`
}

const infoSql = `
  select t.name, t.first_id, t.last_id, t.bytes, t.date, a.anchors, last.id as anchor_id, last.rest as anchor_rest,
    last.crc as anchor_crc,
    phase.first as phase_first, phase.bytes as phase_bytes
  from S.tapes t
  cross join lateral (
    select count(*) as anchors from S.entries e where e.key = t.key and e.anchor is not null and e.id >= t.first_id
  ) a
  left join lateral (
    select e.id, e.anchor_from, e.rest, e.crc from S.entries e
    where e.key = t.key and e.anchor is not null and e.id >= t.first_id order by e.id desc limit 1
  ) last on true
  cross join lateral (
    select greatest(t.first_id, coalesce(last.anchor_from, last.id + 1, t.first_id)) as first,
      (select coalesce(sum(e.bytes), 0) from S.entries e
       where e.key = t.key and e.id >= greatest(t.first_id, coalesce(last.anchor_from, last.id + 1, t.first_id))) as bytes
  ) phase`

function asInfo(row: Row): contract.TapeInfo {
  const [firstId, lastId] = [Number(row['first_id']), Number(row['last_id'])]
  const last: Row = { id: row['anchor_id'], rest: row['anchor_rest'], crc: row['anchor_crc'] }
  // A damaged anchor is not known here; a reader of the tape gets the error.
  const anchor = last['id'] === null || !isSound(last) ? undefined : asAnchor(asEntryOf(last))
  const first = Number(row['phase_first'])
  return {
    tape: decodeName(String(row['name']))!,
    entries: lastId - firstId + 1,
    firstId,
    lastId,
    anchors: Number(row['anchors']),
    lastAnchor: anchor && {
      id: anchor.id,
      name: anchor.name,
      ...(anchor.from === undefined ? {} : { from: anchor.from }),
    },
    phase: { entries: Math.max(0, lastId - first + 1), bytes: Number(row['phase_bytes']) },
    bytes: Number(row['bytes']),
    date: String(row['date']),
  }
}

function openingParameters(encoded: string, prepared: readonly Prepared[]): Parameter[] {
  return appendParameters(encoded, randomUUID(), false, [{ prepared, expect: undefined }])
}

async function archivesOf(db: Statements, encoded: string): Promise<contract.ArchiveRef[]> {
  const rows = await db.query(
    `select a.ref, a.first_id, a.last_id, a.bytes from S.tapes t join S.archives a using (key)
     where t.name = $1 order by a.first_id`,
    [encoded],
  )
  return rows.map((row) => ({
    ref: String(row['ref']),
    tape: decodeName(encoded)!,
    firstId: Number(row['first_id']),
    lastId: Number(row['last_id']),
    bytes: Number(row['bytes']),
  }))
}
