// A PostgreSQL server that crashes under load, and connections that are cut: nothing acknowledged is lost, nothing is there twice.

import { randomBytes } from 'node:crypto'
import { buffer } from 'node:stream/consumers'
import pg from 'pg'
import { expect, onTestFinished, test } from 'vitest'
import { saveDocument } from '../../src/handoff/saved.ts'
import { type Damage, openStore } from '../../src/store/index.ts'
import { isFull } from '../support/full.ts'
import { collect, serverForTest } from '../support/workspace.ts'
import { Load } from './support/load.ts'
import { type PostgresServer, startPostgres } from '../support/postgres.ts'

test('a server that crashes and connections that are cut under load: nothing acknowledged is lost, nothing is there twice [E1]', async () => {
  const server = await serverForTest(startPostgres({ durable: true }))
  const schema = `t${randomBytes(4).toString('hex')}`
  const stores = await Promise.all([openStore(server.address(schema)), openStore(server.address(schema))])
  // Both write to all of these tapes, so that each statement carries several and finds some of them held by the other.
  const loads = ['a', 'b', 'c', 'd'].map((tape) => new Load(stores, 2, tape))
  const grown = () => Promise.all(loads.map((load) => load.grown(20)))
  const rounds = isFull ? 20 : 2
  for (let round = 0; round < rounds; round++) {
    await grown()
    await server.crash()
    await grown()
    const admin = new pg.Client(server.address(schema).replace(/&schema=.*/, ''))
    await admin.connect()
    await admin.query("select pg_terminate_backend(pid) from pg_stat_activity where application_name = 'baton'")
    await admin.end()
  }
  await grown()
  for (const load of loads) expect(await load.problems(stores[0])).toEqual([])
  for (const store of stores) await store.close()
})

test('a server that cannot be reached, a wrong database and a broken address each say what to do, and never a password [E1]', async () => {
  const server = await serverForTest(startPostgres())
  const missing = server.address('a').replace('/postgres?', '/nowhere?').replace('baton@', 'baton:hush@')
  await expect(openStore(missing)).rejects.toMatchObject({ code: 'storage', hint: expect.stringMatching(/createdb/) })
  const wrong = openStore(server.address('Bad-Name'))
  await expect(wrong).rejects.toMatchObject({ code: 'invalid', hint: expect.stringMatching(/schema=/) })
  const error: Error = await openStore('postgres://u:hush@[broken/x').then(
    () => expect.fail('opened'),
    (caught: Error) => caught,
  )
  expect(error).toMatchObject({ code: 'invalid' })
  expect(JSON.stringify([error.message, error])).not.toContain('hush')
})

test('a watch hears of what another process writes, also when every notification is lost and the server was away [E1]', async () => {
  const server = await serverForTest(startPostgres())
  const [reader, writer] = await Promise.all([openStore(server.address('w')), openStore(server.address('w'))])
  const stop = new AbortController()
  const seen: number[] = []
  const watching = (async () => {
    for await (const entry of reader.watch('main', 0, stop.signal)) seen.push(entry.id)
  })()
  await writer.append('main', [{ kind: 'count', payload: { n: 1 } }])
  await expect.poll(() => seen).toEqual([1])
  await server.crash()
  await writer.append('main', [{ kind: 'count', payload: { n: 2 } }])
  await expect.poll(() => seen).toEqual([1, 2])
  stop.abort()
  await watching
  await reader.close()
  await writer.close()
})

/** A connection of the server's owner, for what a person would do with psql. */
async function psql(server: PostgresServer, ...statements: string[]): Promise<pg.QueryResult> {
  const admin = new pg.Client(server.address('x').replace(/&schema=.*/, ''))
  await admin.connect()
  try {
    let last: pg.QueryResult | undefined
    for (const statement of statements) last = await admin.query(statement)
    return last!
  } finally {
    await admin.end()
  }
}

test('people see sessions, health checks, handoffs and tasks with psql, also in a store of the first version [E1] [E6]', async () => {
  const server = await serverForTest(startPostgres())
  const event = (name: string, data: object, key = name) => ({ kind: 'event', payload: { name, data }, meta: { key } })
  const first = await openStore(server.address('v'))
  await first.append('session/night é', [
    event('row', {
      agent: 'claude',
      project: '/p',
      state: 'working',
      context_usage: 0.4,
      cycles: 2,
      started: 's',
      last_check: 'c',
    }),
    event(
      'health',
      { project: '/p', check_type: 'agent', status: 'warning', details: { what: 'slow' }, action_taken: '' },
      'health:agent',
    ),
    event(
      'health',
      { project: '\u0000', check_type: 'model', status: 'ok', details: {}, action_taken: '' },
      'health:model',
    ),
  ])
  await first.append('task/build', [
    event('version', { version: 3, phase: 'review', source_agent: 'a', target_agent: 'b' }),
  ])
  await saveDocument(first, 'main', '# Handoff', { profile: 'session', goal: 'ship', writer: 'ledger' })
  await first.close()
  // As the first version of Baton left it.
  await psql(
    server,
    'drop view v.sessions, v.health_checks, v.handoffs, v.tasks',
    'drop function v.decoded(text), v.as_json(bigint, text)',
    'update v.workspace set version = 1',
  )
  const starters = await Promise.all(Array.from({ length: 4 }, () => openStore(server.address('v'))))
  for (const store of starters) await store.close()
  const rows = async (view: string) => (await psql(server, `select * from v.${view}`)).rows as unknown[]
  expect(await rows('sessions')).toMatchObject([
    { name: 'night é', agent: 'claude', state: 'working', context_usage: 0.4, cycles: 2 },
  ])
  expect(await rows('health_checks')).toMatchObject([
    { session: 'night é', check_type: 'agent', status: 'warning', details: { what: 'slow' } },
    { session: 'night é', check_type: null },
  ])
  expect(await rows('tasks')).toMatchObject([{ task: 'build', version: 3, phase: 'review', target_agent: 'b' }])
  expect(await rows('handoffs')).toMatchObject([
    { tape: 'main', profile: 'session', goal: 'ship', writer: 'ledger', bytes: '9' },
  ])
  await psql(server, 'update v.workspace set version = 99')
  await expect(openStore(server.address('v'))).rejects.toMatchObject({ hint: expect.stringMatching(/Upgrade Baton/) })
})

test('a damaged row and missing ones are reported, their neighbours are read, and a repair keeps ids without gaps [E1] [T4]', async () => {
  const server = await serverForTest(startPostgres())
  const store = await openStore(server.address('d'))
  onTestFinished(() => store.close())
  const anchor = (name: string) => ({ kind: 'anchor', payload: { name, state: {} } })
  const count = (n: number) => ({ kind: 'count', payload: n, meta: { key: 'k' } })
  await store.append('main', [count(1), anchor('first'), count(3)])
  await store.archive('main', () => [anchor('second'), count(5)])
  await store.append('main', [count(6), count(7), anchor('third'), count(9)])
  await store.append('other', [count(1)])
  await psql(
    server,
    `update d.entries set rest = replace(rest, '"third"', '"thirt"') where id = 8`,
    `update d.entries set rest = 'x' where id = 1 and key = (select key from d.tapes where name = 'main')`,
    'delete from d.entries where id between 5 and 6',
    `delete from d.entries where id = 9`,
  )
  for (const reverse of [false, true]) {
    const damage: Damage[] = []
    const entries = await collect(store.read('main', { reverse, archived: true, onDamage: (one) => damage.push(one) }))
    expect(entries.map(({ id }) => id)).toEqual(reverse ? [7, 4, 3, 2] : [2, 3, 4, 7])
    expect(damage.map(({ kind, lost }) => `${kind} ${lost!.from}-${lost!.to}`).sort()).toEqual(
      ['checksum 1-1', 'checksum 8-8', 'gap 5-6'].sort(),
    )
    await expect(collect(store.read('main', { reverse }))).rejects.toMatchObject({ code: 'damaged' })
  }
  // One damaged tape neither hides the others nor keeps them from being written.
  expect((await collect(store.list())).map(({ tape }) => tape)).toEqual(['main', 'other'])
  const [report] = await store.verify!('main')
  expect(report).toMatchObject({ entries: 4 })
  const lost = ['1-1', '5-6', '8-8', '9-9']
  expect(report!.damage.map((one) => `${one.lost!.from}-${one.lost!.to}`)).toEqual(lost)

  const repaired = await store.repair!('main')
  expect(repaired).toMatchObject({ tape: 'main', kept: 4, cut: [expect.stringMatching(/^blob:/), expect.any(String)] })
  expect(repaired.damage.map((one) => `${one.lost!.from}-${one.lost!.to}`)).toEqual(lost)
  expect((await buffer(await store.getBlob(repaired.cut[1]!.slice('blob:'.length)))).toString()).toContain('"thirt"')
  expect(await store.append('main', [count(10)], { expect: 9 })).toMatchObject([{ id: 10 }])
  const mended = await collect(store.read('main', { archived: true }))
  expect(mended.map(({ id, kind }) => `${id} ${kind}`).join(', ')).toBe(
    '1 error, 2 anchor, 3 count, 4 anchor, 5 error, 6 error, 7 count, 8 error, 9 error, 10 count',
  )
  expect(await store.info('main')).toMatchObject({ firstId: 4, lastId: 10, anchors: 1, lastAnchor: { name: 'second' } })
  expect(await store.latest('main', 'k')).toMatchObject({ id: 10 })
  expect(await store.verify!('main')).toMatchObject([{ entries: 10, damage: [] }])
  expect(await store.repair!('main')).toMatchObject({ damage: [], cut: [], kept: 10 })
})
