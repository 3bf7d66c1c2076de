// A PostgreSQL server that crashes under load, and connections that are cut: nothing acknowledged is lost, nothing is there twice.

import { randomBytes } from 'node:crypto'
import pg from 'pg'
import { expect, test } from 'vitest'
import { openStore, type Store } from '../../src/store/index.ts'
import { isFull } from '../support/full.ts'
import { startPostgres } from '../support/postgres.ts'

async function numbers(store: Store): Promise<{ ids: number[]; said: number[] }> {
  const ids: number[] = []
  const said: number[] = []
  for await (const entry of store.read('main')) {
    ids.push(entry.id)
    said.push((entry.payload as { n: number }).n)
  }
  return { ids, said }
}

test('a server that crashes and connections that are cut under load: nothing acknowledged is lost, nothing is there twice [E1]', async ({
  onTestFinished,
}) => {
  const server = await startPostgres({ durable: true })
  onTestFinished(() => server.stop())
  const schema = `t${randomBytes(4).toString('hex')}`
  const stores = await Promise.all([openStore(server.address(schema)), openStore(server.address(schema))])
  const acknowledged = new Map<number, number>()
  let next = 0
  const over = new AbortController()
  const appender = async (store: Store) => {
    while (!over.signal.aborted) {
      const n = ++next
      const [entry] = await store.append('main', [{ kind: 'count', payload: { n } }])
      acknowledged.set(n, entry!.id)
    }
  }
  const grown = async (by: number) => {
    const wanted = acknowledged.size + by
    await expect.poll(() => acknowledged.size, { timeout: 60_000 }).toBeGreaterThan(wanted)
  }
  const work = stores.flatMap((store) => Array.from({ length: 4 }, () => appender(store)))
  const rounds = isFull ? 20 : 2
  for (let round = 0; round < rounds; round++) {
    await grown(20)
    await server.crash()
    await grown(20)
    const admin = new pg.Client(server.address(schema).replace(/&schema=.*/, ''))
    await admin.connect()
    await admin.query("select pg_terminate_backend(pid) from pg_stat_activity where application_name = 'baton'")
    await admin.end()
  }
  await grown(20)
  over.abort()
  await Promise.all(work)
  const { ids, said } = await numbers(stores[0])
  expect(ids).toEqual(Array.from({ length: ids.length }, (_, at) => at + 1))
  expect(new Set(said).size).toBe(said.length)
  for (const [n, id] of acknowledged) expect(said[id - 1]).toBe(n)
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
