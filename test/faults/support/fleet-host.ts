// What a host of a fleet does, as a process of its own: one JSON line on stdout for each thing that is certain.

import fs from 'node:fs'
import { openRelay, relaySection } from '../../../src/relay/index.ts'
import type { Store } from '../../../src/store/index.ts'
import { openNatsStore } from '../../../src/store/nats/engine.ts'
import { openPostgresStore } from '../../../src/store/postgres/engine.ts'
import { acquire } from '../../../src/supervisor/session/records/lease.ts'
import { leaseKey, sessionRows } from '../../../src/supervisor/session/records/session-row.ts'
import { AbandonedScan } from '../../../src/supervisor/watcher.ts'
import { thisProcess } from '../../../src/system/index.ts'
import { boundless, request, resolved, team } from '../../relay/team.ts'

const [, , job = '', address = '', aheadMs = '0'] = process.argv
// The clock of a host may be wrong.
const realNow = Date.now
Date.now = () => realNow() + Number(aheadMs)

const say = (line: object) => fs.writeSync(1, `${JSON.stringify(line)}\n`)
const settings = relaySection.parse({ ...team, limits: boundless })
const forever = () => new Promise<never>(() => setInterval(() => {}, 60_000))

const jobs: Record<string, (store: Store) => Promise<void>> = {
  /** Appends to one tape, four at once. */
  async append(store) {
    let n = 0
    const lane = async () => {
      for (;;) {
        const tag = `${thisProcess().host}-${n++}`
        const [entry] = await store.append('main', [{ kind: 'count', payload: { tag } }])
        say({ id: entry!.id, tag })
      }
    }
    await Promise.all([lane(), lane(), lane(), lane()])
  },

  /** Supervises a session, as far as others see it: a row, and the lease. */
  async supervise(store) {
    const tape = 'session/night'
    try {
      const lease = await acquire(store, tape, leaseKey, 'night is supervised')
      const run = { name: 'night', agent: 'claude', cwd: '/project', driver: 'headless', args: [] }
      const row = { ...run, project: run.cwd, state: 'working', cycles: 0, host: thisProcess().host }
      const now = new Date(Date.now()).toISOString()
      await store.append(tape, [
        { kind: 'event', payload: { name: 'run', data: run }, meta: { key: 'run', context: false } },
        {
          kind: 'event',
          payload: { name: 'row', data: { ...row, started: now, last_check: now } },
          meta: { key: 'row' },
        },
      ])
      lease.keep(() => say({ lost: true }))
      say({ held: true })
      await forever()
    } catch (error) {
      say({ refused: String(error) })
    }
  },

  /** What this host sees of all sessions, and which it would take up. */
  async sessions(store) {
    for await (const { name, state, host, supervisor } of sessionRows(store)) say({ name, state, host, supervisor })
    say({ abandoned: (await new AbandonedScan().in(store, address)).map(({ name }) => name) })
  },

  async serve(store) {
    const relay = await openRelay({ store, settings })
    say({ serving: true })
    await relay.serve('researcher', () => resolved)
  },

  async ask(store) {
    const relay = await openRelay({ store, settings })
    say({ outcome: await relay.request(request()) })
    await relay.close()
  },
}

// A cut lasts as long as the other host needs for its appends, which on a busy machine may be long.
const patience = 300_000
const store = await (address.startsWith('nats:')
  ? openNatsStore(address, { patience })
  : openPostgresStore(address, { patience }))
await jobs[job]!(store)
await store.close()
process.exit(0)
