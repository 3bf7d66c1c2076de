// Health checks and the state of sessions, as entries of their tapes: written on change only, and all of them kept.

import type { Store } from '../store/index.ts'

export type Status = 'ok' | 'warning' | 'critical'

export interface HealthCheck {
  readonly session: string
  /** The project's folder. */
  readonly project: string
  /** `context`, `handoff`, `clear`, `resume`, `agent`, `quota`, `dialog`, `settings`… */
  readonly check_type: string
  readonly status: Status
  readonly details: Readonly<Record<string, unknown>>
  readonly action_taken: string
  readonly date: string
  readonly id: number
}

/** The newest check of each type, of one session or of all; with `history` every change, newest first. */
export async function* healthChecks(
  _store: Store,
  _options: { session?: string; history?: boolean; limit?: number } = {},
): AsyncGenerator<HealthCheck> {}

/** A supervised session as lists show it. */
export interface SessionRow {
  readonly name: string
  readonly agent: string
  readonly project: string
  readonly state:
    | 'starting'
    | 'working'
    | 'waiting'
    | 'limited'
    | 'dialog'
    | 'cycling'
    | 'paused'
    | 'restarting'
    | 'ended'
  /** The step of the cycle and what it waits for, in words. */
  readonly step?: string
  readonly until?: string
  /** 0 to 1; missing: unknown. */
  readonly context_usage?: number
  readonly tokens?: number
  readonly window?: number
  readonly threshold?: number
  readonly last_check: string
  /** The agent's own id of what it writes now. */
  readonly session?: string
  readonly cycles: number
  readonly lastCycle?: string
  /** Turns until the next cycle, by its growth. */
  readonly nextCycleTurns?: number
  readonly usd?: number
  readonly started: string
  /** The supervisor's process; missing: nobody supervises it now. */
  readonly supervisor?: { readonly pid: number; readonly host: string }
  readonly place?: unknown
  /** Why it ended. */
  readonly ended?: string
}

/** The sessions of a workspace, those that have ended too. */
export async function* sessionRows(_store: Store): AsyncGenerator<SessionRow> {}
