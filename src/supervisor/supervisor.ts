// Many sessions at once: each with a runner of its own, so that a broken one delays no other; the beginnings of cycles are
// staggered, and only so many run at a time.

import { UnsupportedError } from '../errors.ts'
import type { Store } from '../store/index.ts'
import type { Place } from './driver.ts'
import type { HealthCheck, SessionRow } from './health.ts'
import type { Ended, Notify, OpenHands, Run } from './run.ts'
import type { SupervisorSettings } from './settings.ts'
import type { SupervisorEvent } from './supervise.ts'

export interface SupervisorOptions {
  readonly store: Store
  readonly hands: OpenHands
  readonly settings: () => SupervisorSettings
  readonly notify?: Notify
  readonly env?: NodeJS.ProcessEnv
  readonly onEvent?: (event: SupervisorEvent) => void
}

export interface Supervisor {
  /** Starts a run, or goes on with the one of that name. Resolves with its end when the session ends. */
  start(run: Run): Promise<{ readonly ended: Promise<Ended> }>
  /** Takes hold of an agent that runs already. */
  watchExisting(run: Run, place: Place): Promise<{ readonly ended: Promise<Ended> }>
  /** After a reboot or a crash: every session that has not ended and that nobody supervises. */
  recover(): Promise<readonly string[]>
  list(): AsyncIterable<SessionRow>
  pause(name: string): Promise<void>
  unpause(name: string): Promise<void>
  stop(name: string): Promise<void>
  cycle(name: string): Promise<void>
  health(): AsyncIterable<HealthCheck>
  /** Lets go of all sessions; the agents live on. */
  close(): Promise<void>
}

export async function openSupervisor(_options: SupervisorOptions): Promise<Supervisor> {
  throw new UnsupportedError('not yet')
}
