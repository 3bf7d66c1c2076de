// The commands of docs/deploy.md, as they stand there.

import { execFileSync } from 'node:child_process'
import path from 'node:path'
import pg from 'pg'
import { expect, test } from 'vitest'
import { copyStore, differences, openStore, type Store } from '../../src/store/index.ts'
import { administer, startNats } from '../support/nats.ts'
import { serverProgram, startPostgres } from '../support/postgres.ts'
import { serverForTest, temporaryFolder } from '../support/workspace.ts'
import { all, anchor, message } from './promises/row.ts'

async function furnish(store: Store): Promise<void> {
  await store.append('main', [message('1', { key: 'k' }), anchor('a')])
  await store.archive('main', () => [message('3')])
  await store.append('task/x', [message('1')])
  await store.putBlob(Buffer.from('content'))
}

test('a PostgreSQL store is dumped and restored with its own tools, and nothing differs [E6]', async () => {
  const server = await serverForTest(startPostgres())
  const before = await openStore(server.address('team_a'))
  await furnish(before)
  const dump = path.join(temporaryFolder(), 'team_a.dump')
  const to = ['-h', server.folder, '-U', 'baton']
  execFileSync(serverProgram('pg_dump'), [...to, '-Fc', '-n', 'team_a', '-f', dump, 'postgres'])
  const admin = new pg.Client(server.address('x').replace(/&schema=.*/, ''))
  await admin.connect()
  await admin.query('create database restored')
  await admin.end()
  execFileSync(serverProgram('pg_restore'), [...to, '-d', 'restored', dump])
  const after = await openStore(server.address('team_a').replace('/postgres?', '/restored?'))
  expect(await all(differences(before, after))).toEqual([])
  expect(await after.append('main', [message('4')], { expect: 3 })).toMatchObject([{ id: 4 }])
  await after.close()
  await before.close()
})

test('a NATS store is backed up into a folder, deleted and restored, and nothing differs [E6]', async () => {
  const server = await serverForTest(startNats())
  const address = server.address('team_a')
  const before = await openStore(address)
  await furnish(before)
  const backup = await openStore(path.join(temporaryFolder(), 'backup'), { workspace: before.workspace })
  await copyStore(before, backup)
  await before.append('main', [message('4')])
  // The next backup brings what is new.
  expect(await copyStore(before, backup)).toMatchObject({ entries: 1 })
  await before.close()
  await administer(address, ({ streams, stream }) => streams.delete(stream))
  const after = await openStore(address, { workspace: backup.workspace })
  await copyStore(backup, after)
  expect(await all(differences(backup, after))).toEqual([])
  expect(after.workspace).toBe(before.workspace)
  await after.close()
  await backup.close()
})
