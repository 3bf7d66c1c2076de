// Supervises many sessions in one process: each has a runner of its own, so that a broken one delays no other. The beginnings of
// cycles are staggered, and only so many run at a time.

import { setMaxListeners } from 'node:events'
import { ConflictError } from '../errors.ts'
import { control } from './session/records/control.ts'
import type { AgentPlace } from './drivers/driver.ts'
import { type HealthCheck, healthChecks } from './session/records/health.ts'
import { type SessionRow, sessionRows } from './session/records/session-row.ts'
import type { Ended, Run } from './run.ts'
import { Slots } from './cycle/slots.ts'
import { supervise, type SuperviseOptions } from './supervise.ts'
import { AbandonedScan } from './watcher.ts'

export type SupervisorOptions = Pick<
  SuperviseOptions,
  'store' | 'openAgent' | 'settings' | 'onSettings' | 'timings' | 'notify' | 'onEvent'
>

export interface Supervision {
  readonly name: string
  /** Rejects where the session cannot be supervised, with the agent left as it is. */
  readonly ended: Promise<Ended>
}

export interface Supervisor {
  /** Starts a run, or goes on with the one of that name. */
  start(run: Run): Supervision
  /** Takes hold of an agent that runs already. */
  watchExisting(run: Run, place: AgentPlace): Supervision
  /** After a reboot or a crash: takes up every session that has not ended and that nobody supervises. */
  recover(): Promise<Supervision[]>
  list(): AsyncIterable<SessionRow>
  pause(name: string): Promise<void>
  unpause(name: string): Promise<void>
  stop(name: string): Promise<void>
  cycle(name: string): Promise<void>
  health(): AsyncIterable<HealthCheck>
  /** Lets go of all sessions; the agents live on. */
  close(): Promise<void>
}

export function openSupervisor(options: SupervisorOptions): Supervisor {
  const { store } = options
  const slots = new Slots(store)
  const over = new AbortController()
  // One listener and more for every session.
  setMaxListeners(0, over.signal)
  const running = new Map<string, Promise<Ended>>()

  function take(name: string, more: Partial<Pick<SuperviseOptions, 'run' | 'place'>>): Supervision {
    if (running.has(name)) {
      throw new ConflictError(`${name} is supervised already, by this process`, { actual: 0 })
    }
    const ended = supervise({ ...options, ...more, name, slots, signal: over.signal }).finally(() =>
      running.delete(name),
    )
    running.set(name, ended)
    // Who does not wait for the end need not be told of it twice.
    ended.catch(() => undefined)
    return { name, ended }
  }

  return {
    start: (run) => take(run.name, { run }),
    watchExisting: (run, place) => take(run.name, { run, place }),
    recover: async () => {
      const left = await new AbandonedScan().in(store, '')
      return left.filter(({ name }) => !running.has(name)).map(({ name }) => take(name, {}))
    },
    list: () => sessionRows(store),
    pause: async (name) => void (await control(store, name, 'pause')),
    unpause: async (name) => void (await control(store, name, 'unpause')),
    stop: async (name) => void (await control(store, name, 'stop')),
    cycle: async (name) => void (await control(store, name, 'cycle')),
    health: () => healthChecks(store),
    close: async () => {
      over.abort()
      await Promise.allSettled(running.values())
    },
  }
}
