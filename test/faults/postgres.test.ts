// A PostgreSQL server that crashes under load, and connections that are cut: nothing acknowledged is lost, nothing is there twice.

import { randomBytes } from 'node:crypto'
import pg from 'pg'
import { expect, test } from 'vitest'
import { saveDocument } from '../../src/handoff/saved.ts'
import { openStore } from '../../src/store/index.ts'
import { isFull } from '../support/full.ts'
import { Load } from './support/load.ts'
import { type PostgresServer, startPostgres } from '../support/postgres.ts'

test('a server that crashes and connections that are cut under load: nothing acknowledged is lost, nothing is there twice [E1]', async ({
  onTestFinished,
}) => {
  const server = await startPostgres({ durable: true })
  onTestFinished(() => server.stop())
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

test('a server that cannot be reached, a wrong database and a broken address each say what to do, and never a password [E1]', async ({
  onTestFinished,
}) => {
  const server = await startPostgres()
  onTestFinished(() => server.stop())
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

test('a watch hears of what another process writes, also when every notification is lost and the server was away [E1]', async ({
  onTestFinished,
}) => {
  const server = await startPostgres()
  onTestFinished(() => server.stop())
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

test('people see sessions, health checks, handoffs and tasks with psql, also in a store of the first version [E1] [E6]', async ({
  onTestFinished,
}) => {
  const server = await startPostgres()
  onTestFinished(() => server.stop())
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
