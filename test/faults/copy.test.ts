// `baton store copy` as its users run it, killed in the middle: run again, it continues, and what is there at the end is what was there.

import { spawn } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, expect, test } from 'vitest'
import { openStore, type Store } from '../../src/store/index.ts'
import { batonProcess, program } from '../cli/cli.ts'
import { isFull } from '../support/full.ts'
import { startNats } from '../support/nats.ts'
import { startPostgres } from '../support/postgres.ts'
import { temporaryFolder } from '../support/workspace.ts'

const [postgres, nats] = await Promise.all([startPostgres(), startNats()])
afterAll(() => Promise.all([postgres.stop(), nats.stop()]))

const place = {
  file: () => `${temporaryFolder()}/.baton`,
  postgres: () => postgres.address(`c${randomBytes(6).toString('hex')}`),
  nats: () => nats.address(`c${randomBytes(6).toString('hex')}`),
}

const tapes = 12
const text = 'a line of a tape, '.repeat(40)

async function furnish(store: Store): Promise<void> {
  for (let n = 0; n < tapes; n++) {
    const batch = Array.from({ length: 500 }, (_, at) => ({
      kind: 'message',
      payload: { role: 'user', content: `${n} ${at} ${text}` },
    }))
    await store.append(`t${n}`, batch)
    if (n % 3 === 0) await store.archive(`t${n}`, () => batch.slice(0, 250))
    else await store.append(`t${n}`, batch.slice(0, 250))
  }
  for (let n = 0; n < 5; n++) await store.putBlob(randomBytes(100_000))
}

/** Entries and blobs there are so far. */
async function amount(store: Store): Promise<number> {
  const { tapes: names, blobs } = await store.contents()
  const ids = await Promise.all(names.map(async (name) => (await store.info(name))?.lastId ?? 0))
  return ids.reduce((sum, id) => sum + id, blobs.length)
}

test.each([
  ['file', 'postgres'],
  ['postgres', 'file'],
  ['file', 'nats'],
  ['nats', 'file'],
] as const)(
  'a copy from %s to %s that is killed with -9 again and again goes on where it was, follows what is written meanwhile, and nothing differs [E4]',
  async (one, other) => {
    const cwd = temporaryFolder()
    const [from, to] = [place[one](), place[other]()]
    const source = await openStore(from)
    await furnish(source)
    // The same workspace as the copy would make, to look at while it is made.
    const target = await openStore(to, { workspace: source.workspace })
    let kills = 0
    for (let isDone = false; !isDone && kills < (isFull ? 8 : 2);) {
      const before = await amount(target)
      // At a lower priority, so that the copy does not end before it is looked at.
      const child = spawn('nice', ['-n', '5', process.execPath, program, 'store', 'copy', from, to], {
        cwd,
        env: { ...process.env, HOME: cwd },
        stdio: 'ignore',
      })
      const ended = new Promise<void>((resolve) => child.once('exit', () => resolve()))
      while (child.exitCode === null && (await amount(target)) === before) await sleep(5)
      if (child.kill('SIGKILL')) kills++
      await ended
      isDone = child.exitCode === 0
      await source.append(`t${kills}`, [{ kind: 'count', payload: kills }])
      if (kills === 2) await source.archive('t1', () => [{ kind: 'count', payload: 'opened meanwhile' }])
    }
    expect(kills).toBeGreaterThan(0)
    const copied = await batonProcess(cwd, ['store', 'copy', from, to])
    expect(copied).toMatchObject({ code: 0, out: expect.stringMatching(/^Copied/) })
    const compared = await batonProcess(cwd, ['store', 'verify', to, '--store', from])
    expect(compared).toMatchObject({ code: 0, out: expect.stringContaining('sound') })
    // A copy that was written to itself is refused, with the tape that differs.
    await target.append('t0', [{ kind: 'count', payload: 'elsewhere' }])
    await source.append('t0', [{ kind: 'count', payload: 'here' }])
    const refused = await batonProcess(cwd, ['store', 'copy', from, to])
    expect(refused).toMatchObject({ code: 3, err: expect.stringContaining('t0') })
    await source.close()
    await target.close()
  },
)

test('the command that a copy proposes shows no password [E1, E4]', async () => {
  const [from, to] = [place.file(), place.postgres().replace('baton@', 'baton:whisper@')]
  const source = await openStore(from)
  await source.append('main', [{ kind: 'count', payload: 1 }])
  await source.close()
  const { out, err } = await batonProcess(temporaryFolder(), ['store', 'copy', from, to])
  expect(out + err).toContain(`baton store verify '${to.replace('whisper', '…')}'`)
  expect(out + err).not.toContain('whisper')
})
