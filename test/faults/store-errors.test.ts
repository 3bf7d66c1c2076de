// What can be wrong with a server: each says what to do and shows no password, and the process continues when it is mended.

import { spawn } from 'node:child_process'
import { once } from 'node:events'
import fs from 'node:fs'
import net from 'node:net'
import path from 'node:path'
import { text } from 'node:stream/consumers'
import { jetstream } from '@nats-io/jetstream'
import pg from 'pg'
import { afterAll, expect, test, vi } from 'vitest'
import { openNatsStore } from '../../src/store/nats/engine.ts'
import { openPostgresStore } from '../../src/store/postgres/engine.ts'
import type { Store } from '../../src/store/index.ts'
import { program } from '../cli/cli.ts'
import { administer, startNats } from '../support/nats.ts'
import { startPostgres } from '../support/postgres.ts'

const folder = fs.mkdtempSync('/tmp/baton-errors-')
const limits = path.join(folder, 'nats.conf')
const configure = (password: string) =>
  fs.writeFileSync(
    limits,
    `jetstream { max_file_store: 20MB, max_memory_store: 1MB }\nauthorization { user: baton, password: ${password} }\n`,
  )
configure('hush')
const postgres = await startPostgres({ access: 'local all locked scram-sha-256' })
const nats = await startNats({ args: ['-c', limits] })
const cluster = await startNats({ size: 3, args: ['-c', limits] })
afterAll(async () => {
  await Promise.all([postgres.stop(), nats.stop(), cluster.stop()])
  fs.rmSync(folder, { recursive: true, force: true })
})

/** What a person would do with psql; the rows of the last statement. */
async function psql(...statements: string[]): Promise<{ pid: number }[]> {
  const admin = new pg.Client(postgres.address('x').replace(/&schema=.*/, ''))
  await admin.connect()
  let rows: { pid: number }[] = []
  try {
    for (const statement of statements) rows = (await admin.query<{ pid: number }>(statement)).rows
    return rows
  } finally {
    await admin.end()
  }
}
await psql(
  "create role locked login password 'right'",
  'create role other login',
  'grant all on database postgres to other, locked',
  'create database branch owner other',
)

const onPostgres = (schema: string) => postgres.address(schema).replace('baton@', 'other@')
const onNats = (workspace: string) => nats.address(workspace).replace('nats://', 'nats://baton:hush@')
const open = (address: string): Promise<Store> =>
  address.startsWith('nats:')
    ? openNatsStore(address, { patience: 1_000 })
    : openPostgresStore(address, { patience: 300 })

function shown(error: Error): string {
  return [error.message, JSON.stringify(error), String(error.cause), (error as { hint?: string }).hint].join('\n')
}

async function refusal(work: Promise<unknown>): Promise<Error> {
  return work.then(
    () => expect.fail('it worked'),
    (error: Error) => error,
  )
}

/** A server that greets as another version would, or one in trouble. */
async function madeUpServer(greet: (socket: net.Socket) => unknown): Promise<{ port: number; end: () => void }> {
  const sockets = new Set<net.Socket>()
  const server = net.createServer((socket) => {
    sockets.add(socket.on('error', () => {}))
    greet(socket)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const end = () => {
    for (const socket of sockets) socket.destroy()
    server.close()
  }
  return { port: (server.address() as net.AddressInfo).port, end }
}

/** A message of PostgreSQL's protocol. */
function message(type: string, body: Buffer): Buffer {
  const head = Buffer.alloc(5)
  head.write(type)
  head.writeInt32BE(body.length + 4, 1)
  return Buffer.concat([head, body])
}
const letIn = message('R', Buffer.alloc(4))
const ready = message('Z', Buffer.from('I'))

/** As much of PostgreSQL's protocol as is needed to be asked for the version. */
function greetAsPostgres12(socket: net.Socket): void {
  const words = (...each: (string | number[])[]) =>
    Buffer.concat(each.map((one) => (typeof one === 'string' ? Buffer.from(`${one}\0`) : Buffer.from(one))))
  const column = (name: string) => words(name, [0, 0, 0, 0, 0, 0, 0, 0, 0, 25, 255, 255, 255, 255, 255, 255, 0, 0])
  let isStarted = false
  socket.on('data', (data) => {
    if (!isStarted) {
      isStarted = true
      socket.write(Buffer.concat([letIn, ready]))
    } else if (data.includes('server_version_num')) {
      const fields = Buffer.concat([Buffer.from([0, 2]), column('version'), column('standby')])
      const row = Buffer.concat([
        Buffer.from([0, 2, 0, 0, 0, 6]),
        Buffer.from('120022'),
        Buffer.from([0, 0, 0, 1, 102]),
      ])
      socket.write(Buffer.concat([message('T', fields), message('D', row), message('C', words('SELECT 1')), ready]))
    } else {
      socket.write(Buffer.concat([message('C', words('BEGIN')), ready]))
    }
  })
}

const info = { server_id: 'x', version: '2.8.4', max_payload: 1_048_576, headers: true, jetstream: true, proto: 1 }
function greetAsNats28(socket: net.Socket): void {
  socket.write(`INFO ${JSON.stringify(info)}\r\n`)
  socket.on('data', (data) => data.includes('PING') && socket.write('PONG\r\n'))
}

test.each<{ title: string; address: () => Promise<string>; says: RegExp; secret?: string }>([
  {
    title: 'PostgreSQL, a wrong password',
    address: async () => postgres.address('e').replace('baton@', 'locked:whisper@'),
    says: /password is wrong.*PGPASSWORD.*pgpass/,
    secret: 'whisper',
  },
  {
    title: 'PostgreSQL, a missing database',
    address: async () => onPostgres('e').replace('/postgres?', '/nowhere?').replace('other@', 'other:whisper@'),
    says: /no such database.*createdb/,
    secret: 'whisper',
  },
  {
    title: 'PostgreSQL, a server that is away',
    address: async () => 'postgres://u:whisper@127.0.0.1:1/x',
    says: /server runs and can be reached/,
    secret: 'whisper',
  },
  {
    title: 'NATS, a wrong password',
    address: async () => onNats('e').replace('hush', 'whisper'),
    says: /password.*wrong.*NATS_PASSWORD/,
    secret: 'whisper',
  },
  {
    // The servers name each other, so that there is always another one to try.
    title: 'NATS, a wrong password for one server of a cluster',
    address: async () => cluster.address('e').replace(/,.*\//, '/').replace('nats://', 'nats://baton:whisper@'),
    says: /password.*wrong.*NATS_PASSWORD/,
    secret: 'whisper',
  },
  {
    title: 'NATS, a wrong password for all servers of a cluster',
    address: async () => cluster.address('e').replace('nats://', 'nats://baton:whisper@'),
    says: /password.*wrong.*NATS_PASSWORD/,
    secret: 'whisper',
  },
  {
    title: 'PostgreSQL, no password where one is needed',
    address: async () => postgres.address('e').replace('baton@', 'locked@'),
    says: /Put it into.*PGPASSWORD.*pgpass/,
  },
  {
    title: 'NATS, a server that is away',
    address: async () => 'nats://u:whisper@127.0.0.1:1/a',
    says: /server runs and can be reached/,
    secret: 'whisper',
  },
])('$title: opening it says what to do [E1] [E2]', async ({ address, says, secret }) => {
  const error = await refusal(open(await address()))
  expect(error).toMatchObject({ code: 'storage', hint: expect.stringMatching(says) })
  if (secret !== undefined) expect(shown(error)).not.toContain(secret)
})

test.each([
  'postgres://u:12/whisper@127.0.0.1:1/x',
  'postgres://u:12?whisper@127.0.0.1:1/x',
  'postgres://u:12#whisper@127.0.0.1:1/x',
  'nats://u:12/whisper@127.0.0.1:1/a',
  'nats://u:whisper%@127.0.0.1:1/a',
])('%s: a password with a sign that needs its code is not shown as something else [E1] [E2]', async (address) => {
  const error = await refusal(open(address))
  expect(error).toMatchObject({ code: 'invalid', hint: expect.stringContaining('%2F') })
  expect(shown(error)).not.toContain('whisper')
})

test('PostgreSQL, a server that still recovers: opening waits for it longer than for one that is away [E1]', async () => {
  const notYet = message('E', Buffer.from('SFATAL\0C57P03\0Mthe database system is starting up\0\0'))
  let refused = 0
  const { port, end } = await madeUpServer((socket) => {
    if (refused++ < 8) return socket.once('data', () => socket.end(notYet))
    const server = net.connect(path.join(postgres.folder, '.s.PGSQL.5432')).on('error', () => socket.destroy())
    socket.pipe(server).pipe(socket)
  })
  const store = await openPostgresStore(`postgres://other@127.0.0.1:${port}/postgres?schema=late`)
  expect(refused).toBeGreaterThan(8)
  await store.close()
  end()
})

test.each<{ title: string; greet: (socket: net.Socket) => void; address: (port: number) => string; says: RegExp }>([
  {
    title: 'PostgreSQL 12',
    greet: greetAsPostgres12,
    address: (port) => `postgres://u:whisper@127.0.0.1:${port}/x`,
    says: /older than PostgreSQL 13/,
  },
  {
    title: 'NATS 2.8',
    greet: greetAsNats28,
    address: (port) => `nats://u:whisper@127.0.0.1:${port}/x`,
    says: /NATS 2\.8\.4, older than 2\.9/,
  },
])('$title: an old server is refused with the reason [E1] [E2]', async ({ greet, address, says }) => {
  const server = await madeUpServer(greet)
  const error = await refusal(open(address(server.port)))
  server.end()
  expect(error).toMatchObject({ code: 'unsupported', hint: 'Upgrade the server.' })
  expect(error.message).toMatch(says)
  expect(shown(error)).not.toContain('whisper')
})

test('PostgreSQL, a server that stops in the moment a connection is open: the process goes on and is told [E1]', async () => {
  const fields = 'SFATAL\0C57P01\0Mterminating connection\0\0'
  const stopping = await madeUpServer((socket) => {
    const bye = Buffer.concat([letIn, ready, message('E', Buffer.from(fields))])
    socket.on('data', () => socket.end(bye))
  })
  const error = await refusal(open(`postgres://u:whisper@127.0.0.1:${stopping.port}/x`))
  stopping.end()
  expect(error).toMatchObject({ code: 'storage', hint: expect.stringMatching(/server runs and can be reached/) })
})

test('PostgreSQL, a read-only replica: opening says that nothing is appended there, and what is there is read [E1] [E2]', async () => {
  const primary = await open(onPostgres('replicated'))
  await primary.append('main', [{ kind: 'count', payload: 1 }])
  await primary.close()
  await psql('alter role other set default_transaction_read_only = on')
  try {
    const replica = await open(onPostgres('replicated'))
    expect(replica.guarantee).toMatch(/read-only replica.*nothing is appended/)
    expect(await replica.info('main')).toMatchObject({ lastId: 1 })
    await replica.close()
  } finally {
    await psql('alter role other reset default_transaction_read_only')
  }
})

test('a server that takes a connection and says nothing: a command tells so, and ends [E1] [E2]', async () => {
  const silent = await madeUpServer(() => {})
  const ended = ['nats', 'postgres'].map(async (scheme) => {
    const args = [program, 'tape', 'ls', '--store', `${scheme}://u@127.0.0.1:${silent.port}/x`]
    const child = spawn(process.execPath, args, { cwd: folder, env: { PATH: process.env.PATH, HOME: folder } })
    const [said, [code]] = await Promise.all([text(child.stderr), once(child, 'close')])
    return { said, code: code as number }
  })
  for (const end of await Promise.all(ended)) {
    expect(end).toEqual({ said: expect.stringContaining('Check that the server runs and can be reached'), code: 1 })
  }
  silent.end()
})

test('NATS, a server that ends: calls that waited behind one that failed do not wait again [E2]', async () => {
  const store = await open(onNats('queued'))
  await store.append('main', [{ kind: 'count', payload: 1 }])
  await nats.kill(0)
  const [first, second] = await Promise.all(['a', 'b'].map((key) => refusal(store.latest('main', key))))
  expect(second).toBe(first)
  await nats.start(0)
  await expect.poll(() => store.latest('main', 'a').catch(String)).toBeUndefined()
  await store.close()
})

const cutAll = "select pg_terminate_backend(pid) from pg_stat_activity where usename in ('other', 'locked')"

/** A database can be renamed only while nobody is connected to it. */
const rename = (from: string, to: string) =>
  vi.waitUntil(
    () =>
      psql(cutAll, `alter database ${from} rename to ${to}`).then(
        () => true,
        () => false,
      ),
    { timeout: 30_000 },
  )

test.each<{
  title: string
  address: string
  spoil: () => Promise<unknown>
  mend: () => Promise<unknown>
  says: RegExp
}>([
  {
    title: 'PostgreSQL, a password that was changed',
    address: postgres.address('changed').replace('baton@', 'locked:right@'),
    spoil: () => psql("alter role locked password 'other'", cutAll),
    mend: () => psql("alter role locked password 'right'"),
    says: /password is wrong.*PGPASSWORD/,
  },
  {
    title: 'PostgreSQL, a database that is gone',
    address: onPostgres('moved').replace('/postgres?', '/branch?'),
    spoil: () => rename('branch', 'elsewhere'),
    mend: () => rename('elsewhere', 'branch'),
    says: /no such database.*createdb/,
  },
  {
    title: 'PostgreSQL, a read-only replica',
    address: onPostgres('readonly'),
    spoil: () => psql('alter role other set default_transaction_read_only = on', cutAll),
    mend: () => psql('alter role other reset default_transaction_read_only', cutAll),
    says: /read-only.*primary/,
  },
  {
    title: 'PostgreSQL, no connection left',
    address: onPostgres('crowded'),
    spoil: () => psql('alter role other connection limit 0', cutAll),
    mend: () => psql('alter role other connection limit -1'),
    says: /no connection left.*max_connections/,
  },
  {
    title: 'PostgreSQL, a full disk',
    address: onPostgres('full'),
    spoil: () =>
      psql(
        "create function disk_full() returns trigger language plpgsql as $$ begin raise 'could not extend file' using errcode = '53100'; end $$",
        'create trigger disk_full before insert on "full".entries execute function disk_full()',
      ),
    mend: () => psql('drop trigger disk_full on "full".entries', 'drop function disk_full()'),
    says: /disk is full/,
  },
  {
    title: 'PostgreSQL, tables that are gone',
    address: onPostgres('renamed'),
    spoil: () => psql('alter schema renamed rename to away'),
    mend: () => psql('alter schema away rename to renamed'),
    says: /tables are gone.*backup/,
  },
  {
    title: 'NATS, a full disk',
    address: onNats('full'),
    spoil: () =>
      administer(onNats('full'), async ({ connection, streams }) => {
        await streams.add({ name: 'filler', subjects: ['filler'] })
        const piece = Buffer.alloc(500_000)
        const fill = async () => {
          for (;;) await jetstream(connection).publish('filler', piece)
        }
        await refusal(fill())
        const crumb = Buffer.alloc(100)
        const rest = async () => {
          for (;;) await jetstream(connection).publish('filler', crumb)
        }
        await refusal(rest())
      }),
    mend: async () => {
      await administer(onNats('full'), ({ streams }) => streams.delete('filler'))
    },
    says: /is full.*Free some space/,
  },
  {
    title: 'NATS, a stream deleted',
    address: onNats('gone'),
    spoil: async () => {
      await administer(onNats('gone'), ({ streams, stream }) => streams.delete(stream))
    },
    mend: async () => (await open(onNats('gone'))).close(),
    says: /Restore it from a backup: baton store copy/,
  },
  {
    title: 'NATS, a password that was changed',
    address: onNats('changed'),
    spoil: async () => {
      configure('other')
      await nats.kill(0)
      await nats.start(0)
    },
    mend: async () => {
      configure('hush')
      await nats.kill(0)
      await nats.start(0)
    },
    says: /server.*(run|reached)|password/,
  },
  {
    title: 'NATS, a server that ends',
    address: onNats('ended'),
    spoil: () => nats.kill(0),
    mend: () => nats.start(0),
    says: /server.*(run|start)/,
  },
])(
  '$title: an append says what to do, and works when that is over [E1] [E2]',
  async ({ address, spoil, mend, says }) => {
    const store = await open(address)
    await store.append('main', [{ kind: 'count', payload: 1 }])
    await spoil()
    const error = await refusal(store.append('main', [{ kind: 'count', payload: 2 }]))
    expect(error).toMatchObject({ code: expect.stringMatching(/storage|unknown_outcome/) })
    expect(shown(error)).toMatch(says)
    expect(shown(error)).not.toMatch(/hush|whisper/)
    await mend()
    await expect.poll(() => store.append('main', [{ kind: 'count', payload: 3 }]).catch(String)).toMatchObject([{}])
    await store.close()
  },
)

test('PostgreSQL, a connection lost while it writes and then a changed password: both are told [E1]', async () => {
  const store = await open(postgres.address('lost').replace('baton@', 'locked:right@'))
  await store.append('main', [{ kind: 'count', payload: 1 }])
  const holder = new pg.Client(postgres.address('x').replace(/&schema=.*/, ''))
  await holder.connect()
  await holder.query('begin')
  await holder.query('lock table lost.tapes')
  const refused = refusal(store.append('main', [{ kind: 'count', payload: 2 }]))
  const waiting = "select pid from pg_stat_activity where usename = 'locked' and wait_event_type = 'Lock'"
  await vi.waitUntil(async () => (await psql(waiting)).length > 0, { timeout: 30_000 })
  await psql("alter role locked password 'other'", cutAll)
  expect(await refused).toMatchObject({
    code: 'unknown_outcome',
    hint: expect.stringMatching(/may or may not.*password is wrong.*PGPASSWORD/),
  })
  await holder.end()
  await psql("alter role locked password 'right'")
  await expect.poll(() => store.append('main', [{ kind: 'count', payload: 3 }]).catch(String)).toMatchObject([{}])
  await store.close()
})
