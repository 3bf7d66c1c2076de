// What is of opencode alone: all of its sessions are in one database, and its screen is drawn behind it.

import fs from 'node:fs'
import path from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { adapterNamed } from '../../src/supervisor/adapters/index.ts'
import type { Sight } from '../../src/supervisor/cycle-state.ts'
import type { Driver } from '../../src/supervisor/driver.ts'
import { type Eyes, openEyes } from '../../src/supervisor/eyes.ts'
import { evidenceOf } from '../../src/supervisor/scene.ts'
import { listSessions } from '../../src/transcripts/index.ts'
import { homeWith } from '../transcripts/home.ts'

function eyesOfRecorded(): { eyes: Eyes; file: string } {
  const { env } = homeWith('opencode')
  const [listed] = listSessions({ env })
  const driver: Driver = {
    place: { driver: 'tmux', socket: '/none', pane: '%0' },
    sent: [],
    alive: () => Promise.resolve(true),
    ended: () => Promise.resolve(undefined),
    look: () => Promise.resolve({ is: 'prompt', draft: '' }),
    screen: () => Promise.resolve(''),
    ready: () => Promise.resolve({ is: 'prompt', draft: '' }),
    submit: () => Promise.resolve(),
    clear: () => Promise.resolve(),
    interrupt: () => Promise.resolve(),
    stop: () => Promise.resolve(),
    close: () => Promise.resolve(),
  }
  const adapter = adapterNamed('opencode', { env })
  const eyes = openEyes({ adapter, driver, cwd: listed!.cwd ?? '/tmp', env, since: 0, session: listed!.id })
  onTestFinished(() => eyes.close())
  return { eyes, file: listed!.path }
}

test('eyes that are closed in the middle of a look watch nothing afterwards, so that a run can end [C19]', async () => {
  const watches = () => process.getActiveResourcesInfo().filter((name) => name === 'FSEventWrap').length
  const before = watches()
  const { eyes } = eyesOfRecorded()
  await eyes.look()
  expect(watches()).toBeGreaterThan(before)
  // Waits before it reads: a database is not read without a pause.
  const late = eyes.look()
  await Promise.all([eyes.close(), late])
  await eyes.look()
  await expect.poll(watches).toBe(before)
})

test('what Baton does is measured from what a row says of itself, not from when its file was written [C12, C14]', async () => {
  const { eyes, file } = eyesOfRecorded()
  const look = await eyes.look()
  expect(look.turn).toBe('idle')
  // A database with a log is written whenever that is merged into it, and for every other session.
  fs.utimesSync(file, new Date(), new Date())
  fs.writeFileSync(path.join(path.dirname(file), 'opencode.db-wal'), '')
  const sight: Sight = {
    seen: 'session',
    look,
    screen: { is: 'prompt', draft: '' },
    heard: false,
    read: false,
    found: { is: 'nothing' },
  }
  expect(evidenceOf(sight)).toBe(Date.parse(look.turnSince!))
  expect(evidenceOf({ ...sight, look: { ...look, turnSince: undefined } })).toBeUndefined()
})
