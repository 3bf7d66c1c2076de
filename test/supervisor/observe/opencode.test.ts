// What is of opencode alone: all of its sessions are in one database, and its screen is drawn behind it.

import { execFileSync } from 'node:child_process'
import fs from 'node:fs'
import path from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { adapterNamed } from '../../../src/agents/index.ts'
import type { Sighting } from '../../../src/supervisor/cycle/cycle-state.ts'
import { evidenceOf } from '../../../src/supervisor/cycle/sighting.ts'
import type { Driver } from '../../../src/supervisor/drivers/driver.ts'
import { type Observer, openObserver } from '../../../src/supervisor/observe/observation.ts'
import { listSessions } from '../../../src/transcripts/index.ts'
import { homeWith } from '../../transcripts/home.ts'

function observerOfRecorded(): { observer: Observer; file: string } {
  const { env } = homeWith('opencode')
  const [listed] = listSessions({ env })
  const driver: Driver = {
    place: { driver: 'tmux', socket: '/none', pane: '%0' },
    sent: [],
    alive: () => Promise.resolve(true),
    ended: () => Promise.resolve(undefined),
    screenState: () => Promise.resolve({ is: 'prompt', draft: '' }),
    screenText: () => Promise.resolve(''),
    ready: () => Promise.resolve({ is: 'prompt', draft: '' }),
    submit: () => Promise.resolve(),
    clear: () => Promise.resolve(),
    interrupt: () => Promise.resolve(),
    stop: () => Promise.resolve(),
    close: () => Promise.resolve(),
  }
  const adapter = adapterNamed('opencode', { env })
  const observer = openObserver({ adapter, driver, cwd: listed!.cwd ?? '/tmp', env, since: 0, session: listed!.id })
  onTestFinished(() => observer.close())
  return { observer, file: listed!.path }
}

test('eyes that are closed in the middle of a look watch nothing afterwards, so that a run can end [C19]', async () => {
  const watches = () => process.getActiveResourcesInfo().filter((name) => name === 'FSEventWrap').length
  const before = watches()
  const { observer } = observerOfRecorded()
  await observer.observe()
  expect(watches()).toBeGreaterThan(before)
  // Waits before it reads: a database is not read without a pause.
  const late = observer.observe()
  await Promise.all([observer.close(), late])
  await observer.observe()
  await expect.poll(watches).toBe(before)
})

test('an agent that has begun to compact its context by itself is seen to do so, until it has [C5]', async () => {
  const { observer, file } = observerOfRecorded()
  const { session, compacts, compactions } = await observer.observe()
  expect(compacts).toBe(false)
  const insert = (table: string, id: string, columns: string, values: string) =>
    `INSERT INTO ${table} (id, session_id, ${columns}) VALUES ('${id}', '${session}', ${values});`
  const data = (value: object) => `9, 9, '${JSON.stringify(value)}'`
  const request = { role: 'user', time: { created: 9 } }
  execFileSync('sqlite3', [
    file,
    insert('message', 'msg_zz1', 'time_created, time_updated, data', data(request)) +
      insert(
        'part',
        'prt_zz1',
        'message_id, time_created, time_updated, data',
        `'msg_zz1', ${data({ type: 'compaction', auto: true })}`,
      ),
  ])
  expect(await observer.observe()).toMatchObject({ compacts: true })
  const summary = { role: 'assistant', summary: true, finish: 'stop', time: { created: 10, completed: 11 } }
  execFileSync('sqlite3', [file, insert('message', 'msg_zz2', 'time_created, time_updated, data', data(summary))])
  expect(await observer.observe()).toMatchObject({ compactions: compactions + 1, compacts: false })
})

test('what Baton does is measured from what a row says of itself, not from when its file was written [C12, C14]', async () => {
  const { observer, file } = observerOfRecorded()
  const observation = await observer.observe()
  expect(observation.turn).toBe('idle')
  // A database with a log is written whenever that is merged into it, and for every other session.
  fs.utimesSync(file, new Date(), new Date())
  fs.writeFileSync(path.join(path.dirname(file), 'opencode.db-wal'), '')
  const sighting: Sighting = {
    type: 'session',
    observation,
    screen: { is: 'prompt', draft: '' },
    heard: false,
    read: false,
    document: { is: 'nothing' },
  }
  expect(evidenceOf(sighting)).toBe(Date.parse(observation.turnSince!))
  expect(evidenceOf({ ...sighting, observation: { ...observation, turnSince: undefined } })).toBeUndefined()
})
