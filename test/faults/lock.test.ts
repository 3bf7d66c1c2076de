import fs from 'node:fs'
import path from 'node:path'
import { expect, test } from 'vitest'
import { openFileStore } from '../../src/store/index.ts'
import { count, ids, message } from '../store/promises/row.ts'
import { newFolder, Worker } from './support/crew.ts'

/** A store with one entry, and the process that holds its lock and was stopped. */
async function stoppedHolder(patience: number) {
  const root = path.join(newFolder(), '.baton')
  const store = await openFileStore(root, { patience })
  await store.append('main', [message('1')])
  const holder = await Worker.start('hold', { root })
  await holder.hears('held')
  holder.process.kill('SIGSTOP')
  return { store, holder }
}

test('a stopped holder keeps its lock: others are told so in time, and nothing is stolen [T3]', async () => {
  const { store, holder } = await stoppedHolder(200)
  const begun = performance.now()
  await expect(store.append('main', [message('waits')])).rejects.toMatchObject({
    code: 'locked',
    message: expect.stringContaining('main.lock'),
    hint: expect.stringContaining('fuser'),
  })
  expect(performance.now() - begun).toBeGreaterThanOrEqual(200)
  expect(performance.now() - begun).toBeLessThan(30_000)
  // Reading needs no lock, and other tapes are not concerned.
  expect(await ids(store, 'main')).toEqual([1])
  await store.append('other', [message('1')])
  holder.process.kill('SIGCONT')
  holder.process.stdin.write('go')
  expect(await holder.ended).toBe(0)
  await store.append('main', [message('3')], { expect: 2 })
  expect(await ids(store, 'main', { archived: true })).toEqual([1, 2, 3])
  await store.close()
})

test('a holder killed while stopped frees its lock at once [T3]', async () => {
  const { store, holder } = await stoppedHolder(50_000)
  const waiting = store.append('main', [message('2')])
  const begun = performance.now()
  await holder.kill()
  expect(await waiting).toMatchObject([{ id: 2 }])
  expect(performance.now() - begun).toBeLessThan(30_000)
  expect(await ids(store, 'main', { archived: true })).toEqual([1, 2])
  expect(await store.archives('main')).toEqual([])
  await store.close()
})

test('a lock file that somebody removed for a stale one does not let two write at once [T3]', async () => {
  const root = path.join(newFolder(), '.baton')
  const stores = [await openFileStore(root), await openFileStore(root), await openFileStore(root)]
  await stores[0]!.append('main', [message('0')])
  const given: number[] = []
  await Promise.all(
    stores.map(async (store) => {
      for (const n of count(1, 30)) {
        const entries = await store.append('main', [message(`${n}`)])
        given.push(entries[0]!.id)
        if (n % 5 === 0) fs.rmSync(path.join(root, 'tape/main.lock'), { force: true })
      }
    }),
  )
  expect(given.sort((a, b) => a - b)).toEqual(count(2, 91))
  expect(await stores[0]!.verify!('main')).toMatchObject([{ damage: [], entries: 91 }])
  for (const store of stores) await store.close()
})
