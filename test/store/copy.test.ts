import { randomBytes } from 'node:crypto'
import { afterAll, expect, test } from 'vitest'
import { copyStore, differences, type Store } from '../../src/store/index.ts'
import { engines } from './engines.ts'
import { all, anchor, fill, message } from './promises/row.ts'

afterAll(async () => {
  for (const engine of engines) await engine.stop()
})

/** Tapes of every shape: long, archived, purged, removed, made at once, Baton's own, with blobs, keys and odd text. */
async function furnish(store: Store): Promise<void> {
  await fill(store, 'main', 1_200, 'long ')
  await store.append('main', [
    anchor('phase', { n: 1 }),
    message('é\u0000\ud83d\ude00 "quoted"', { key: 'k', idempotency: 'j' }),
  ])
  await store.append('main', [{ kind: 'odd kind', payload: [1, { '2': null }], extra: { a: 1 }, date: '2026-01-02' }])
  await store.append('reset', [message('1'), message('2')])
  await store.archive('reset', (archive) => [anchor('session/start', { archived: archive.ref }), message('4')])
  await store.archive('reset', () => [message('5')])
  await fill(store, 'purged', 1_100)
  await store.archive('purged', () => [message('first of the rest')])
  await store.purge('purged')
  await store.append('gone', [message('1')])
  await store.remove('gone')
  await store.create('a/b made', [[message('1')], [anchor('a'), message('3')]])
  await store.append('lineage', [{ kind: 'event', payload: { name: 'fork', data: {} } }])
  for (const size of [0, 10, 1_500_000]) await store.putBlob(randomBytes(size))
}

const places = await Promise.all(engines.map(async (engine) => ({ engine, place: await engine.fresh() })))

test('a store is copied from engine to engine and back, and nothing differs [E4]', async () => {
  const chain = [...places, { engine: engines[0]!, place: await engines[0]!.fresh() }]
  let from = await chain[0]!.place.open()
  await furnish(from)
  const first = from
  for (const { place } of chain.slice(1)) {
    const to = await place.open({ workspace: first.workspace })
    expect(to.workspace).toBe(first.workspace)
    await copyStore(from, to)
    expect(await all(differences(from, to))).toEqual([])
    if (from !== first) await from.close()
    from = to
  }
  expect(await all(differences(first, from))).toEqual([])
  // They go on alike, too.
  for (const tape of ['main', 'reset', 'purged', 'gone']) {
    const [one, other] = await Promise.all([first, from].map((store) => store.append(tape, [message(store.place)])))
    expect(one![0]!.id).toBe(other![0]!.id)
  }
  expect((await all(differences(first, from))).sort()).toEqual(
    ['gone', 'main', 'purged', 'reset'].map((tape) => `${tape}: entry ${lastIds[tape]} differs`),
  )
  await first.close()
  await from.close()
})

const lastIds: Record<string, number> = { gone: 2, main: 1_204, purged: 1_102, reset: 6 }

test.each(engines)(
  'a copy to $name that is cut short again and again goes on where it was, and follows what is written meanwhile [E4]',
  async (engine) => {
    const [here, there] = [await engines[0]!.fresh(), await engine.fresh()]
    const from = await here.open()
    await furnish(from)
    let [steps, cuts] = [0, 0]
    for (let isDone = false; !isDone;) {
      const to = await there.open({ workspace: from.workspace })
      let left = ++steps
      try {
        await copyStore(from, to, () => {
          if (left-- === 0) throw new Error('cut')
        })
        isDone = true
      } catch (error) {
        expect(String(error)).toContain('cut')
        cuts++
        await from.append('main', [message('meanwhile')])
        if (cuts === 2) await from.archive('main', () => [message('opened meanwhile')])
      } finally {
        await to.close()
      }
    }
    expect(cuts).toBeGreaterThan(2)
    const to = await there.open()
    expect(await all(differences(from, to))).toEqual([])
    await to.append('main', [message('elsewhere')])
    await expect(copyStore(from, to)).rejects.toMatchObject({ code: 'conflict' })
    await from.close()
    await to.close()
    await here.discard()
    await there.discard()
  },
)

test('another workspace is not copied into [E4]', async () => {
  const [here, there] = [await engines[0]!.fresh(), await engines[0]!.fresh()]
  const [from, to] = [await here.open(), await there.open()]
  await expect(copyStore(from, to)).rejects.toMatchObject({
    code: 'conflict',
    hint: expect.stringMatching(/does not exist yet/),
  })
  await from.close()
  await to.close()
})
