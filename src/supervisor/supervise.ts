// One session, from its start or from wherever a supervisor before left it, until it ends.

import { UnsupportedError } from '../errors.ts'
import type { Store } from '../store/index.ts'
import type { HealthCheck, SessionRow } from './health.ts'
import type { Ended, Notify, OpenHands, Run } from './run.ts'
import type { SupervisorSettings } from './settings.ts'

/** What happens, as it happens. */
export type SupervisorEvent =
  | { readonly type: 'row'; readonly row: SessionRow }
  /** A step of the cycle, in words. */
  | {
      readonly type: 'step'
      readonly name: string
      readonly cycle: number
      readonly step: string
      readonly details: string
    }
  | { readonly type: 'health'; readonly check: HealthCheck }
  | { readonly type: 'ended'; readonly name: string; readonly ended: Ended }

export interface SuperviseOptions {
  readonly store: Store
  /** What to run; undefined: what the tape of `name` says. */
  readonly run?: Run
  readonly name: string
  readonly hands: OpenHands
  /** Asked anew at every step, so that a changed configuration counts at once. */
  readonly settings: () => SupervisorSettings
  readonly notify?: Notify
  readonly env?: NodeJS.ProcessEnv
  /** Lets go of the session; the agent lives on. */
  readonly signal: AbortSignal
  readonly onEvent?: (event: SupervisorEvent) => void
}

export async function supervise(_options: SuperviseOptions): Promise<Ended> {
  throw new UnsupportedError('not yet')
}
