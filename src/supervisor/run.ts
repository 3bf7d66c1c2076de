// One supervised session: what is run, what it is touched and seen through, and how it ended.

import type { Adapter } from './adapter.ts'
import type { Driver, Place } from './driver.ts'
import type { Eyes } from './eyes.ts'
import type { Bounds } from './settings.ts'

/** Plain JSON: it is kept on the session's tape, so that the session can be brought back after a reboot. */
export interface Run {
  /** Of the session; its tape is `session/<name>`. */
  readonly name: string
  /** The adapter's name. */
  readonly agent: string
  /** The project. */
  readonly cwd: string
  readonly driver: Place['driver']
  /** What the person put behind `--`. */
  readonly args: readonly string[]
  /** The first prompt. */
  readonly prompt?: string
  /** An agent's session that is reopened rather than a new one begun. */
  readonly session?: string
  readonly bounds?: Bounds
}

/** How an agent is taken hold of. */
export type Start =
  /** Anew. */
  | { readonly how: 'launch'; readonly prompt?: string; readonly mean: Mean }
  /** The agent's own way of reopening a session. */
  | { readonly how: 'resume'; readonly session: string; readonly mean: Mean }
  /** It runs already; a `NotFoundError` where it was only meant to be started there. */
  | { readonly how: 'attach'; readonly place: Place; readonly session?: string }

/** Called when it is settled where the agent will run, right before it is started there; it is started when this resolves. */
type Mean = (place: Place, session: string | undefined) => Promise<void>

export interface Hands {
  readonly adapter: Adapter
  readonly driver: Driver
  readonly eyes: Eyes
}

/** Launches, reopens or takes hold of the agent of a run. */
export type OpenHands = (run: Run, start: Start) => Promise<Hands>

/** `src/notify` has it; this is all that is needed of it. */
export interface Notify {
  notify(told: {
    readonly level: 'info' | 'warning' | 'critical'
    readonly title: string
    readonly body: string
    /** What the person should do, best as a command. */
    readonly action: string
    readonly source: string
    readonly key?: string
  }): Promise<unknown>
}

export type Ended =
  /** The command of `until` succeeded. */
  | { readonly why: 'finished' }
  | { readonly why: 'bound'; readonly bound: 'usd' | 'hours' | 'cycles' | 'stalled'; readonly details: string }
  /** By `baton stop`. */
  | { readonly why: 'stopped' }
  /** By the agent itself or by the person at its screen. */
  | { readonly why: 'exited' }
  /** More often than it may be restarted. */
  | { readonly why: 'crashed'; readonly details: string }
  /** The supervisor let go; the agent lives on. */
  | { readonly why: 'released' }

/** The tape of a session. */
export function sessionTape(name: string): string {
  return `session/${name}`
}
