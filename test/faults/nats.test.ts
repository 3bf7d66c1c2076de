// A cluster of three NATS servers whose leader is killed under load: nothing acknowledged is lost, nothing is there twice.

import { randomBytes } from 'node:crypto'
import { buffer } from 'node:stream/consumers'
import { jetstream } from '@nats-io/jetstream'
import { headers } from '@nats-io/transport-node'
import { expect, onTestFinished, test, vi } from 'vitest'
import { openNatsStore } from '../../src/store/nats/engine.ts'
import { type Damage, openStore, type Store } from '../../src/store/index.ts'
import { isFull, runs } from '../support/full.ts'
import { Load } from './support/load.ts'
import { administer, type NatsServers, startNats } from '../support/nats.ts'
import { collect, serverForTest } from '../support/workspace.ts'

/** A store that is closed when the test is over. */
async function openForTest(address: string): Promise<Store> {
  const store = await openStore(address)
  onTestFinished(() => store.close())
  return store
}

/** The server that leads the stream of a workspace, once all others have what it has: NATS promises nothing where two fail at once. */
async function leaderOf(servers: NatsServers, workspace: string): Promise<number> {
  return administer(servers.address(workspace), async ({ streams, stream }) => {
    const leader = await vi.waitUntil(
      async () => {
        const { leader, replicas = [] } = (await streams.info(stream).catch(() => undefined))?.cluster ?? {}
        const isWhole =
          replicas.length === servers.size - 1 && replicas.every(({ current, offline }) => current && !offline)
        return isWhole ? leader?.match(/^n(\d)$/)?.[1] : undefined
      },
      { timeout: 120_000 },
    )
    return Number(leader)
  })
}

test('the leader of a cluster is killed three times under load: nothing acknowledged is lost, nothing is there twice, ids have no gaps [E2]', async () => {
  const servers = await serverForTest(startNats({ size: 3 }))
  const address = servers.address('load')
  const open = async () => {
    // The servers take a moment to find each other.
    for (;;) {
      const opened = await openNatsStore(address, { patience: 100_000 }).catch(() => undefined)
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
  // An election takes seconds, and many of them where other tests have the cores.
}, 300_000)

const count = (n: number) => [{ kind: 'count', payload: n }]

test('a stream that is deleted and made anew under a process that is at rest: its next call is refused, nothing is acknowledged that cannot be read [E2]', async () => {
  const address = (await serverForTest(startNats())).address('a')
  const store = await openForTest(address)
  for (let n = 1; n <= 300; n++) await store.append('main', count(n))
  await administer(address, ({ streams, stream }) => streams.delete(stream))
  // All while the process makes no call; as many entries as it knows, so that its next number looks free and right.
  const anew = await openForTest(address)
  for (let n = 1; n <= 300; n++) await anew.append('main', count(-n))
  const calls = await Promise.allSettled([
    store.append('main', count(301)),
    store.append('other', count(1)),
    store.latest('main', 'k'),
    store.putBlob(Buffer.from('content')),
    store.append('main', count(302)),
  ])
  expect(calls.map((call) => (call.status === 'rejected' ? String(call.reason) : call.value))).toEqual(
    calls.map(() => expect.stringMatching(/deleted and recreated.*no longer in it/)),
  )
  // And the process continues with what is there now.
  expect(await store.append('main', count(301))).toMatchObject([{ id: 301 }])
  expect(await collect(anew.read('main', { after: 299 }))).toMatchObject([{ payload: -300 }, { payload: 301 }])
  expect(store.workspace).toBe(anew.workspace)
})

test('many processes that open a workspace at once, new or deleted a moment ago, make one stream [E2]', async () => {
  const address = (await serverForTest(startNats())).address('a')
  const names = new Set<string>()
  for (let round = 0; round < 3; round++) {
    const stores = await Promise.all(Array.from({ length: 12 }, () => openStore(address)))
    expect(new Set(stores.map(({ workspace }) => workspace)).size).toBe(1)
    await Promise.all(stores.map((store, n) => store.append('main', count(n))))
    expect((await stores[0]!.info('main'))?.lastId).toBe(12)
    for (const store of stores) await store.close()
    await administer(address, ({ streams, stream }) => {
      names.add(stream)
      return streams.delete(stream)
    })
  }
  expect(names.size).toBe(3)
})

test('several that begin a workspace at the same moment find one, and the server outlives it, for one workspace after another [E2]', async () => {
  const servers = await serverForTest(startNats())
  for (let n = 0; n < runs(200); n++) {
    const stores = await Promise.all(Array.from({ length: 6 }, () => openStore(servers.address(`new${n}`))))
    expect(new Set(stores.map(({ workspace }) => workspace)).size).toBe(1)
    await Promise.all(stores.map((store) => store.close()))
  }
})

test('a stream that is put back to an earlier state is noticed by its next acknowledgement, and nothing stands behind a gap [E2]', async () => {
  const address = (await serverForTest(startNats())).address('a')
  const store = await openForTest(address)
  for (let n = 1; n <= 300; n++) await store.append('main', count(n))
  const restored = store.workspace
  // The same name, the same workspace, the first ten entries only: an old backup.
  await administer(address, async ({ connection, streams, stream }) => {
    const { config } = await streams.info(stream)
    const kept: [string, Uint8Array][] = []
    for (const subject of ['workspace.id', ...Array.from({ length: 10 }, (_, at) => `t.main.${at + 1}`)]) {
      const found = await streams.getMessage(stream, { last_by_subj: `baton.a.${subject}` })
      kept.push([`baton.a.${subject}`, found!.data])
    }
    await streams.delete(stream)
    await streams.add(config)
    for (const [subject, data] of kept) await jetstream(connection).publish(subject, data)
  })
  await expect(store.append('main', count(301))).rejects.toThrow(/lost entries that it had acknowledged/)
  expect(await store.append('main', count(11))).toMatchObject([{ id: 11 }])
  expect(store.workspace).toBe(restored)
  const fresh = await openForTest(address)
  expect((await collect(fresh.read('main'))).map(({ payload }) => payload)).toEqual([1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11])
  expect(await fresh.info('main')).toMatchObject({ lastId: 11 })
})

test('a watch of a stream that is made anew ends with the reason [E2]', async () => {
  const address = (await serverForTest(startNats())).address('a')
  const store = await openForTest(address)
  await store.append('main', count(1))
  const seen: number[] = []
  const watching = (async () => {
    for await (const { id } of store.watch('main', 0, new AbortController().signal)) seen.push(id)
  })()
  const ended = expect(watching).rejects.toThrow(/recreated|is gone/)
  await expect.poll(() => seen).toEqual([1])
  await administer(address, ({ streams, stream }) => streams.delete(stream))
  await (await openStore(address)).close()
  await ended
})

/** Changes one bit of a stored message, near its end. */
function spoil(address: string, subject: string): Promise<void> {
  return administer(address, async ({ connection, streams, stream }) => {
    const found = await streams.getMessage(stream, { last_by_subj: subject })
    const data = Buffer.from(found!.data)
    data[data.length - 3]! ^= 1
    const rollup = headers()
    rollup.set('Nats-Rollup', 'sub')
    await jetstream(connection).publish(subject, data, { headers: rollup })
  })
}

test('a damaged message is reported with the ids it held, and its neighbours are delivered; one at the end is not written behind until it is repaired [E2] [T4]', async () => {
  const address = (await serverForTest(startNats())).address('a')
  const writer = await openStore(address)
  for (const size of [1, 2, 3, 1, 1]) {
    await writer.append(
      'main',
      Array.from({ length: size }, () => count(size)[0]!),
    )
  }
  await writer.close()
  await spoil(address, 'baton.a.t.main.3')
  for (const reverse of [false, true]) {
    const store = await openForTest(address)
    const damage: Damage[] = []
    const entries = await collect(store.read('main', { reverse, onDamage: (one) => damage.push(one) }))
    expect(entries.map(({ id }) => id)).toEqual(reverse ? [8, 7, 3, 2, 1] : [1, 2, 3, 7, 8])
    expect(damage).toMatchObject([{ file: 'baton.a.t.main.3', lost: { from: 4, to: 6 } }])
    await expect(collect(store.read('main', { reverse }))).rejects.toMatchObject({ code: 'damaged' })
    expect(await collect(store.read('main', { after: 6 }))).toMatchObject([{ id: 7 }, { id: 8 }])
    expect(await store.verify!('main')).toMatchObject([{ entries: 5, damage: [{ lost: { from: 4, to: 6 } }] }])
  }
  const store = await openForTest(address)
  expect(await store.append('main', count(9), { expect: 8 })).toMatchObject([{ id: 9 }])
  await spoil(address, 'baton.a.t.main.6')
  const late = await openForTest(address)
  const damage: Damage[] = []
  const entries = await collect(late.read('main', { after: 6, onDamage: (one) => damage.push(one) }))
  expect(entries.map(({ id }) => id)).toEqual([7, 8])
  expect(damage).toMatchObject([{ file: 'baton.a.t.main.6', lost: { from: 9, to: 9 } }])
  await expect(late.append('main', count(10))).rejects.toMatchObject({ code: 'damaged' })
  // It is listed as far as it is known, and neither hides other tapes nor is copied as if it were whole.
  await late.append('other', count(1))
  expect((await collect(late.list())).map(({ tape, lastId }) => `${tape} ${lastId}`)).toEqual(['main 9', 'other 1'])
  const report = await (await openStore(address)).repair!('main')
  expect(report).toMatchObject({
    tape: 'main',
    kept: 5,
    cut: [expect.stringMatching(/^blob:/), expect.stringMatching(/^blob:/)],
  })
  expect(report.damage).toMatchObject([{ lost: { from: 4, to: 6 } }, { lost: { from: 9, to: 9 } }])
  // Also for a process that knows it as damaged.
  expect(await late.append('main', count(10))).toMatchObject([{ id: 10 }])
  const mended = await collect(late.read('main'))
  expect(mended.map(({ id, kind }) => `${id} ${kind}`)).toEqual(
    ['count', 'count', 'count', 'error', 'error', 'error', 'count', 'count', 'error', 'count'].map(
      (kind, at) => `${at + 1} ${kind}`,
    ),
  )
  expect(mended[3]!.payload).toMatchObject({ kind: 'damaged', message: expect.stringMatching(/blob:[0-9a-f]{64}/) })
  expect(await late.verify!('main')).toMatchObject([{ entries: 10, damage: [] }])
  const kept = await buffer(await late.getBlob(report.cut[1]!.slice('blob:'.length)))
  expect(kept.toString()).toContain('"kind":"count"')
  expect(await late.repair!('main')).toMatchObject({ damage: [], cut: [], kept: 10 })
})

test('a repair keeps what a damaged message said of segments and anchors, and finds a tape that was made at once [E2] [T4]', async () => {
  const address = (await serverForTest(startNats())).address('a')
  const anchor = (name: string) => ({ kind: 'anchor', payload: { name, state: {} } })
  const writer = await openStore(address)
  for (const tape of ['reset', 'removed', 'anchored']) await writer.append(tape, [...count(1), anchor('first')])
  await writer.archive('reset', () => [anchor('second'), ...count(4)])
  await writer.remove('removed')
  await writer.append('anchored', [anchor('second')])
  await writer.append('anchored', count(4))
  await writer.create('made', [count(1), [anchor('first'), ...count(3)]])
  await writer.append('made', count(4))
  await writer.close()
  for (const [tape, position] of Object.entries({ reset: 2, removed: 2, anchored: 2, made: 1 })) {
    await spoil(address, `baton.a.t.${tape}.${position}`)
    const store = await openStore(address)
    await store.repair!(tape)
    await store.close()
  }
  const store = await openForTest(address)
  expect(await store.archives('reset')).toMatchObject([{ firstId: 1, lastId: 2 }])
  expect(await store.info('reset')).toMatchObject({ firstId: 3, lastId: 4, lastAnchor: undefined })
  expect(await store.info('removed')).toBeUndefined()
  expect(await store.append('removed', count(3))).toMatchObject([{ id: 3 }])
  expect(await store.info('anchored')).toMatchObject({
    lastId: 4,
    anchors: 1,
    lastAnchor: { id: 2, name: 'first' },
    phase: { entries: 2 },
  })
  expect((await collect(store.read('made'))).map(({ id, kind }) => `${id} ${kind}`)).toEqual([
    '1 count',
    '2 anchor',
    '3 count',
    '4 count',
  ])
  expect(await store.append('made', count(5), { expect: 4 })).toMatchObject([{ id: 5 }])
})

test('the index of a workspace is made anew from its tapes [E2]', async () => {
  const servers = await serverForTest(startNats())
  const workspace = `w${randomBytes(4).toString('hex')}`
  const before = await openStore(servers.address(workspace))
  await before.create('made', [[{ kind: 'count', payload: 1, meta: { key: 'k' } }]])
  for (let n = 1; n <= 300; n++)
    await before.append('main', [{ kind: 'count', payload: n, meta: { key: `k${n % 7}` } }])
  await before.close()
  await administer(servers.address(workspace), ({ streams }) => streams.delete(`baton-${workspace}-index`))
  const after = await openForTest(servers.address(workspace))
  const tapes: string[] = []
  for await (const { tape, lastId } of after.list()) tapes.push(`${tape} ${lastId}`)
  expect(tapes).toEqual(['made 1', 'main 300'].sort())
  expect((await after.latest('main', 'k3'))?.id).toBe(297)
})
