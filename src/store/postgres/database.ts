// The connections to one schema of a PostgreSQL server: opened, retried while the server is away, and errors in words a
// reader can act on. Every statement stands alone or in one transaction, so a pooler between us and the server does no harm.

import { createHash, randomBytes } from 'node:crypto'
import fs from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import pg from 'pg'
import { parse, toClientConfig } from 'pg-connection-string'
import {
  BatonError,
  InvalidError,
  LockedError,
  StorageError,
  UnknownOutcomeError,
  UnsupportedError,
} from '../../errors.ts'
import { forSchema, migrations, schemaVersion } from './schema.ts'

/** What a statement may be given. */
export type Parameter = string | number | boolean | null | Buffer | readonly (string | number | null)[]

export type Row = Record<string, unknown>

export interface Statement {
  readonly sql: string
  readonly parameters: readonly Parameter[]
}

export interface Statements {
  /** Runs one statement; `S` in it stands for the schema. */
  query(sql: string, parameters?: readonly Parameter[]): Promise<Row[]>
}

/** Long enough for a server to restart or to fail over. */
const defaultPatience = 30_000
/** A person who names a wrong server gets the error soon. */
const openingPatience = 3_000
/** Longer than a statement waits for a tape that another process holds. */
const statementMs = 35_000
/** Bringing the tables up to date, or repairing a tape, may take a while. */
const statementInTransactionMs = 60_000
const connections = 10
const oldestServer = 130_000

export class Database implements Statements {
  readonly schema: string
  /** The server and the database, without user or password. */
  readonly place: string
  readonly #pool: pg.Pool
  readonly #config: pg.ClientConfig
  readonly #patience: number
  /** Tells notifications of this process from those of others. */
  readonly #self = randomBytes(8).toString('hex')
  readonly #texts = new Map<string, { text: string; name: string }>()
  #keepsPlans = true

  constructor(address: string, patience = defaultPatience) {
    const { schema, client, place } = parseAddress(address)
    this.schema = schema
    this.place = place
    this.#patience = patience
    this.#config = {
      ...client,
      application_name: 'baton',
      connectionTimeoutMillis: 10_000,
      query_timeout: statementInTransactionMs,
      keepAlive: true,
    }
    this.#pool = new pg.Pool({ ...this.#config, max: connections, idleTimeoutMillis: 30_000, allowExitOnIdle: true })
    // A server that stops ends idle connections; the next statement opens a new one. It may even end one with the message that it is
    // open, before there is a statement that could fail.
    this.#pool.on('error', () => {})
    this.#pool.on('connect', (client) => client.on('error', () => {}))
  }

  /** A statement that may be run twice: it is tried again while the server cannot be reached. */
  query(sql: string, parameters: readonly Parameter[] = []): Promise<Row[]> {
    return this.#persist(() => this.#once(sql, parameters))
  }

  /** A statement that is tried once; what it fails with is for `write`. */
  attempt({ sql, parameters }: Statement): Promise<Row[]> {
    return this.#once(sql, parameters)
  }

  /**
   * A statement that must not be run twice. When its answer is lost, it is run with `again` set, by which it finds out what
   * became of the first. `earlier`: it was attempted, and failed with that; `since` is when that began.
   */
  async write(
    statement: (again: boolean) => Statement,
    { earlier, since }: { earlier?: unknown; since: number },
  ): Promise<Row[]> {
    let again = earlier !== undefined && !neverSent(earlier)
    const isUnknown = earlier !== undefined && isLost(earlier)
    const patience = since + this.#patience - performance.now()
    if (patience <= 0 && isGone(earlier)) throw this.#explain(earlier, isUnknown)
    return this.#persist(
      async () => {
        try {
          const { sql, parameters } = statement(again)
          return await this.#once(sql, parameters)
        } catch (error) {
          again ||= !neverSent(error)
          throw error
        }
      },
      { isWrite: true, isUnknown, patience },
    )
  }

  /** A transaction. It is run again when the server went away before it could be committed. */
  transaction<T>(work: (statements: Statements) => Promise<T>, patience = this.#patience): Promise<T> {
    return this.#persist(
      async () => {
        const client = await this.#pool.connect()
        let failure: Error | undefined
        try {
          await client.query('begin')
          const result = await work({
            query: (sql, parameters = []) => this.#on(client, sql, parameters, statementInTransactionMs),
          })
          await client.query('commit')
          return result
        } catch (error) {
          failure = error instanceof Error ? error : new Error(String(error))
          if (!isGone(error)) await client.query('rollback').catch((late: Error) => (failure = late))
          throw error
        } finally {
          client.release(failure !== undefined && isGone(failure) ? failure : undefined)
        }
      },
      { patience },
    )
  }

  /**
   * Calls `heard` with every name that others notify on this schema's channel. It is only a hint: a lost connection is opened again by the
   * next call, and behind a pooler nothing may ever come.
   */
  async listen(heard: (name: string) => void, lost: () => void): Promise<() => Promise<void>> {
    const client = new pg.Client(this.#config)
    client.on('notification', ({ payload = '' }) => {
      const [sender, name] = payload.split(' ')
      if (sender !== this.#self) heard(name ?? '')
    })
    client.on('error', lost)
    client.on('end', lost)
    await client.connect()
    await client.query(`listen ${this.#channel}`)
    return async () => {
      client.off('end', lost)
      await client.end().catch(lost)
    }
  }

  /** In a separate transaction: PostgreSQL makes commits that notify one by one, and this one has nothing to sync. */
  async notify(names: readonly string[]): Promise<void> {
    const notifySql = "select pg_notify($1, $2 || ' ' || name) from unnest($3::text[]) name"
    await this.#once(notifySql, [this.#channel, this.#self, names])
  }

  get #channel(): string {
    return `baton_${this.schema}`
  }

  /** What a commit on this server means, in one sentence for people. */
  async guarantee(): Promise<string> {
    const [row] = await this.query(
      "select current_setting('fsync') as fsync, current_setting('synchronous_commit') as sync, current_setting('transaction_read_only') as only_read",
    )
    const { fsync, sync, only_read: onlyRead } = row as { fsync: string; sync: string; only_read: string }
    if (onlyRead === 'on')
      return 'The server is a read-only replica: what is there can be read, and nothing is appended.'
    if (fsync === 'off') return 'The server runs with fsync=off: an acknowledged entry is lost when it crashes.'
    if (sync === 'off') {
      return 'The server runs with synchronous_commit=off: the last entries before a crash may be lost although they were acknowledged.'
    }
    return `An acknowledged entry was committed by the server (synchronous_commit=${sync}) and survives its crash.`
  }

  /** Makes the tables where there are none, and brings those of an older version up to date. Safe with many starters. */
  async prepare(workspace: () => string): Promise<string> {
    return this.transaction(
      async (db) => {
        const [server] = await db.query(
          "select current_setting('server_version_num')::int as version, pg_is_in_recovery() as standby",
        )
        if (Number(server!['version']) < oldestServer) {
          throw new UnsupportedError(`The server of ${this.place} is older than PostgreSQL 13`, {
            hint: 'Upgrade the server.',
          })
        }
        const exists = async () =>
          (await db.query('select from pg_tables where schemaname = $1 and tablename = $2', [this.schema, 'workspace']))
            .length > 0
        if (!(await exists())) {
          if (server!['standby'] === true) {
            throw new StorageError(`${this.place} is a read-only replica without Baton's tables`, {
              hint: 'Name the primary server.',
            })
          }
          await db.query('select pg_advisory_xact_lock(hashtextextended($1, 0))', [`baton ${this.schema}`])
        }
        if (!(await exists())) {
          await db.query(`create schema if not exists "${this.schema}"`)
          await db.query(migrations[0]!)
          await db.query('insert into S.workspace values ($1, 1)', [workspace()])
        }
        const [found] = await db.query('select id, version from S.workspace')
        const version = Number(found!['version'])
        if (version > schemaVersion) {
          throw new StorageError(`${this.place} was written by a newer version of Baton (format ${version})`, {
            hint: 'Nothing was written. Upgrade Baton on this machine.',
          })
        }
        if (version < schemaVersion) await this.#migrate(db)
        return String(found!['id'])
      },
      Math.min(openingPatience, this.#patience),
    )
  }

  /** From the version that is there to ours. Of several starters one does it, and the others find it done. */
  async #migrate(db: Statements): Promise<void> {
    const [found] = await db.query('select version from S.workspace for update')
    for (const migration of migrations.slice(Number(found!['version']))) await db.query(migration)
    await db.query('update S.workspace set version = $1', [schemaVersion])
  }

  close(): Promise<void> {
    return this.#pool.end()
  }

  async #once(sql: string, parameters: readonly Parameter[]): Promise<Row[]> {
    const client = await this.#pool.connect()
    let failure: Error | undefined
    try {
      return await this.#on(client, sql, parameters, statementMs, this.#keepsPlans)
    } catch (error) {
      failure = error instanceof Error ? error : new Error(String(error))
      if (!this.#keepsPlans || !isPlanLost(error)) throw error
      // A pooler gave the statement to another connection than the one that knows it; nothing was done.
      this.#keepsPlans = false
      return await this.#on(client, sql, parameters, statementMs)
    } finally {
      client.release(failure !== undefined && isGone(failure) ? failure : undefined)
    }
  }

  /** `isKept`: the server parses and plans the statement once for each connection. */
  async #on(
    client: pg.PoolClient,
    sql: string,
    parameters: readonly Parameter[],
    timeoutMs: number,
    isKept = false,
  ): Promise<Row[]> {
    let known = this.#texts.get(sql)
    if (known === undefined) {
      const text = forSchema(sql, this.schema)
      // The same name is the same text, whoever shares the connection behind a pooler.
      known = { text, name: `baton_${createHash('sha256').update(text).digest('hex').slice(0, 24)}` }
      this.#texts.set(sql, known)
    }
    const { text, name } = known
    // pg takes the timeout here as well, though its types do not say so.
    const statement = { text, query_timeout: timeoutMs }
    if (parameters.length === 0) return (await client.query<Row>(statement)).rows ?? []
    const values = [...parameters]
    return (await client.query<Row>(isKept ? { ...statement, name, values } : { ...statement, values })).rows
  }

  async #persist<T>(
    work: () => Promise<T>,
    { isWrite = false, isUnknown = false, patience = this.#patience } = {},
  ): Promise<T> {
    const start = performance.now()
    for (let wait = 20; ; wait = Math.min(1_000, wait * 2)) {
      try {
        return await work()
      } catch (error) {
        if (BatonError.is(error)) throw error
        isUnknown ||= isWrite && isLost(error)
        const mayReturn = (isGone(error) && !isFinal(error)) || isPassing(error)
        // A server that is starting is the right one, so this is worth a wait even where a wrong address is not.
        const end = start + (codeOf(error) === starting && !isWrite ? this.#patience : patience)
        if (!mayReturn || performance.now() + wait > end) throw this.#explain(error, isUnknown)
      }
      await new Promise((resolve) => setTimeout(resolve, wait))
    }
  }

  #explain(error: unknown, isUnknown: boolean): unknown {
    const code = codeOf(error)
    const isPasswordMissing = error instanceof Error && /client password must be/.test(error.message)
    const why = isPasswordMissing
      ? 'the server asks for a password, and none was given'
      : error instanceof Error
        ? error.message
        : String(error)
    if (code === '55P03' && !isUnknown)
      return new LockedError(`Another process holds this tape of ${this.place}`, { hint: 'Try again.' })
    const hint = isPasswordMissing ? passwordMissing : hints[code]
    if (isUnknown) {
      return new UnknownOutcomeError(`The connection to ${this.place} was lost while it wrote: ${why}`, {
        hint: `It may or may not have been stored; retrying with the same meta.idempotency is safe. ${hint ?? 'Check that the server runs.'}`,
        cause: error,
      })
    }
    if (hint === undefined && !isGone(error) && !(error instanceof pg.DatabaseError)) return error
    const what = hint ?? (isGone(error) ? 'Check that the server runs and can be reached.' : undefined)
    return new StorageError(`Cannot use ${this.place}: ${why}`, {
      hint: what === undefined ? undefined : `Nothing was written. ${what}`,
      cause: error,
    })
  }
}

const tablesGone = "Baton's tables are gone from the server: restore them from a backup."

const passwordMissing =
  'Put it into the address, into PGPASSWORD, or into ~/.pgpass, which nobody else may be allowed to read.'

/** The code of a server that takes no connections yet, or no longer. */
const starting = '57P03'

const notTrusted =
  'The certificate of the server is not trusted. Name the file of its authority: ?sslmode=verify-full&sslrootcert=FILE'

const hints: Record<string, string> = {
  '28P01': 'The password is wrong. It can be in the address, in PGPASSWORD or in ~/.pgpass.',
  '28000': 'The server does not let this user in; see its pg_hba.conf.',
  '3D000': 'There is no such database. Make it with "createdb".',
  '42501': 'This user lacks the permission. Grant it CREATE on the database, and all on the schema.',
  '25006': 'The server is a read-only replica. Name the primary server.',
  '53100': "The server's disk is full. Free some space and try again.",
  [starting]: 'The server is starting or shutting down. Try again in a moment.',
  '53300': 'The server has no connection left. Raise its max_connections, or put a pooler in front of it.',
  '42P01': tablesGone,
  '3F000': tablesGone,
  '42883': tablesGone,
  ENOTFOUND: 'There is no such host.',
  SELF_SIGNED_CERT_IN_CHAIN: notTrusted,
  DEPTH_ZERO_SELF_SIGNED_CERT: notTrusted,
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: notTrusted,
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY: notTrusted,
  CERT_HAS_EXPIRED: 'The certificate of the server has expired. Renew it there.',
  ERR_TLS_CERT_ALTNAME_INVALID: 'The certificate of the server is for another host name than the one in the address.',
}

function parseAddress(address: string): { client: pg.ClientConfig; schema: string; place: string } {
  let options: ReturnType<typeof parse>
  try {
    // An @ that comes late means that part of a password would be taken for the name of the database.
    if (/^\w+:\/\/[^/?#@]*[/?#].*@/.test(address)) throw new Error('the login is not the beginning')
    options = parse(address)
  } catch {
    // The address is not repeated: it may hold a password.
    throw new InvalidError('That is not the address of a PostgreSQL database', {
      hint: 'It looks like postgres://USER@HOST:5432/DATABASE. In a password, write # / ? @ and % as %23 %2F %3F %40 and %25.',
    })
  }
  const { schema = 'baton', ...rest } = options as typeof options & { schema?: string }
  if (!/^[a-z_][a-z0-9_]{0,40}$/.test(schema)) {
    throw new InvalidError(`"${schema}" cannot be the schema of a store`, {
      hint: 'Use small letters, digits and underscores: postgres://HOST/DATABASE?schema=team_a',
    })
  }
  const host = rest.host === '' || rest.host === null ? 'localhost' : rest.host
  const place = `postgres://${host}${rest.port ? `:${rest.port}` : ''}/${rest.database ?? ''}?schema=${schema}`
  const client = toClientConfig(rest)
  if (client.password || process.env.PGPASSWORD) return { client, schema, place }
  return { client: { ...client, password: () => passwordInFile(client) }, schema, place }
}

/** HOST:PORT:DATABASE:USER:PASSWORD, with a backslash in front of a colon or a backslash that belongs to one of them. */
const passwordLine = /^(?!#)((?:\\.|[^:\\])*):((?:\\.|[^:\\])*):((?:\\.|[^:\\])*):((?:\\.|[^:\\])*):(.*)$/

/** What `~/.pgpass` says, or the file that PGPASSFILE names; nothing if others may read it, as with psql. */
async function passwordInFile({ host, port, database, user }: pg.ClientConfig): Promise<string> {
  const { PGPASSFILE, PGHOST, PGPORT, PGDATABASE, PGUSER, USER } = process.env
  const file = PGPASSFILE || path.join(os.homedir(), '.pgpass')
  const mode = fs.statSync(file, { throwIfNoEntry: false })?.mode
  if (mode === undefined || (mode & 0o077) !== 0) return ''
  const who = user ?? PGUSER ?? USER
  const server = host || PGHOST || 'localhost'
  const wanted = [server, port ?? PGPORT ?? 5432, database ?? PGDATABASE ?? who, who].map(String)
  if (server.startsWith('/')) wanted[0] = 'localhost'
  for (const line of fs.readFileSync(file, 'utf8').split('\n')) {
    const [, ...found] = (passwordLine.exec(line) ?? []).map((field) => field.replaceAll(/\\(.)/g, '$1'))
    if (found.length > 0 && wanted.every((value, at) => found[at] === '*' || found[at] === value)) return found[4]!
  }
  return ''
}

function codeOf(error: unknown): string {
  return typeof error === 'object' && error !== null && 'code' in error ? String(error.code) : ''
}

/** The connection is lost, or was never made. */
function isGone(error: unknown): boolean {
  const code = codeOf(error)
  if (/^(08|57P0)/.test(code) || /^E[A-Z]+$/.test(code)) return true
  const text = error instanceof Error ? error.message : ''
  return /Connection terminated|timeout expired|Query read timeout|timeout exceeded when trying to connect|Client has encountered a connection error/.test(
    text,
  )
}

/** The server does not know the prepared statement, or knows it from before the tables were changed. */
function isPlanLost(error: unknown): boolean {
  return /^(26000|42P05|0A000)$/.test(codeOf(error))
}

/** Waiting will not mend it. */
function isFinal(error: unknown): boolean {
  return codeOf(error) === 'ENOTFOUND'
}

/** Nothing of the statement can have reached the server. */
function neverSent(error: unknown): boolean {
  return (
    /^(ECONNREFUSED|ENOENT|ENOTFOUND|EHOSTUNREACH|ENETUNREACH|57P03|53300)$/.test(codeOf(error)) || isPassing(error)
  )
}

/** The connection was lost, and the statement may have been done. */
function isLost(error: unknown): boolean {
  return isGone(error) && !neverSent(error)
}

/** The server refused it for now and changed nothing: out of connections, a deadlock, a replica that is being promoted. */
function isPassing(error: unknown): boolean {
  return /^(53300|40P01|40001|25006)$/.test(codeOf(error))
}
