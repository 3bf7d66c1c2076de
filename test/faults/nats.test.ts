// A cluster of three NATS servers whose leader is killed under load: nothing acknowledged is lost, nothing is there twice.

import { randomBytes } from 'node:crypto'
import { jetstreamManager } from '@nats-io/jetstream'
import { connect } from '@nats-io/transport-node'
import { expect, test } from 'vitest'
import { openNatsStore } from '../../src/store/nats/engine.ts'
import { openStore } from '../../src/store/index.ts'
import { isFull } from '../support/full.ts'
import { Load } from './support/load.ts'
import { type NatsServers, startNats } from '../support/nats.ts'

/** The server that leads the stream of a workspace. */
async function leaderOf(servers: NatsServers, workspace: string): Promise<number> {
  const hosts = /\/\/([^/]*)\//.exec(servers.address(workspace))![1]!.split(',')
  const connection = await connect({ servers: hosts })
  try {
    const streams = (await jetstreamManager(connection, { checkAPI: false })).streams
    let leader: string | undefined
    await expect
      .poll(async () => (leader = (await streams.info(`baton-${workspace}`).catch(() => undefined))?.cluster?.leader), {
        timeout: 60_000,
      })
      .toMatch(/^n\d$/)
    return Number(leader!.slice(1))
  } finally {
    await connection.close()
  }
}

test('the leader of a cluster is killed three times under load: nothing acknowledged is lost, nothing is there twice, ids have no gaps [E2]', async ({
  onTestFinished,
}) => {
  const servers = await startNats({ size: 3 })
  onTestFinished(() => servers.stop())
  const address = servers.address('load')
  const open = async () => {
    // The servers take a moment to find each other.
    for (;;) {
      const opened = await openNatsStore(address, { patience: 60_000 }).catch(() => undefined)
      if (opened !== undefined) return opened
    }
  }
  const stores = [await open(), await open()]
  const load = new Load(stores)
  const rounds = isFull ? 20 : 3
  for (let round = 0; round < rounds; round++) {
    await load.grown(20)
    const leader = await leaderOf(servers, 'load')
    await servers.kill(leader)
    await load.grown(20)
    await servers.start(leader)
  }
  await load.grown(20)
  expect(await load.problems(stores[1]!)).toEqual([])
  for (const store of stores) await store.close()
})

test('a wrong password, a server that is away and a deleted stream each say what to do, never a password [E2]', async ({
  onTestFinished,
}) => {
  const closed = await startNats({ args: ['--user', 'baton', '--pass', 'hush'] })
  onTestFinished(() => closed.stop())
  const right = closed.address('a').replace('nats://', 'nats://baton:hush@')
  const failure = (address: string) =>
    openStore(address).then(
      () => expect.fail('opened'),
      (error: Error) => error,
    )
  const wrong = await failure(right.replace('hush', 'whisper'))
  expect(wrong).toMatchObject({ code: 'storage', hint: expect.stringMatching(/password.*NATS_PASSWORD/) })
  expect(JSON.stringify([wrong.message, wrong, wrong.cause])).not.toContain('whisper')
  expect(await failure('nats://127.0.0.1:1/a')).toMatchObject({ hint: expect.stringMatching(/server runs/) })
  expect(await failure('nats://u:hush@')).toMatchObject({ code: 'invalid' })

  const store = await openNatsStore(right, { patience: 500 })
  expect(store.guarantee).toMatch(/NATS \d.*acknowledges before it syncs its disk/)
  expect(store.place).not.toContain('hush')
  await store.append('main', [{ kind: 'count', payload: 1 }])
  const admin = await connect({ servers: right.split('@')[1]!.split('/')[0]!, user: 'baton', pass: 'hush' })
  const { streams } = await jetstreamManager(admin, { checkAPI: false })
  await streams.delete('baton-a')
  const refused = store.append('main', [{ kind: 'count', payload: 2 }])
  await expect(refused).rejects.toMatchObject({
    code: 'storage',
    hint: expect.stringMatching(/stream baton-a is gone/),
  })
  await admin.close()

  // Someone makes the workspace anew, and the process continues there.
  const anew = await openNatsStore(right)
  expect(await store.append('main', [{ kind: 'count', payload: 3 }])).toMatchObject([{ id: 1 }])
  expect(await anew.latest('main', 'k')).toBeUndefined()
  expect((await anew.info('main'))?.lastId).toBe(1)
  await anew.close()
  await store.close()
})

test('the index of a workspace is made anew from its tapes [E2]', async ({ onTestFinished }) => {
  const servers = await startNats()
  onTestFinished(() => servers.stop())
  const workspace = `w${randomBytes(4).toString('hex')}`
  const before = await openStore(servers.address(workspace))
  await before.create('made', [[{ kind: 'count', payload: 1, meta: { key: 'k' } }]])
  for (let n = 1; n <= 300; n++)
    await before.append('main', [{ kind: 'count', payload: n, meta: { key: `k${n % 7}` } }])
  await before.close()
  const admin = await connect({ servers: /\/\/([^/]*)\//.exec(servers.address(workspace))![1]! })
  await (await jetstreamManager(admin, { checkAPI: false })).streams.delete(`baton-${workspace}-index`)
  await admin.close()
  const after = await openStore(servers.address(workspace))
  onTestFinished(() => after.close())
  const tapes: string[] = []
  for await (const { tape, lastId } of after.list()) tapes.push(`${tape} ${lastId}`)
  expect(tapes).toEqual(['made 1', 'main 300'].sort())
  expect((await after.latest('main', 'k3'))?.id).toBe(297)
})
