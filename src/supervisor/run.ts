// The types of one supervised session: what is run, the handle to its agent, and how it ended.

import type { Adapter } from '../agents/index.ts'
import type { AgentPlace, Driver } from './drivers/driver.ts'
import type { Observer } from './observe/observation.ts'
import type { Bounds } from './settings.ts'

/** Plain JSON: it is kept on the session's tape, so that the session can be brought back after a reboot. */
export interface Run {
  /** Of the session; its tape is `session/<name>`. */
  readonly name: string
  /** The adapter's name. */
  readonly agent: string
  /** The project. */
  readonly cwd: string
  readonly driver: AgentPlace['driver']
  /** What the person put behind `--`. */
  readonly args: readonly string[]
  /** The first prompt. */
  readonly prompt?: string
  /** An agent's session that is reopened rather than a new one begun. */
  readonly session?: string
  readonly bounds?: Bounds
}

/** How an agent is opened. */
export type Start =
  /** Starts a new process and a new session. */
  | {
      readonly how: 'launch'
      readonly prompt?: string
      readonly beforeStart: BeforeStart
      /** Sessions of this run that an earlier process wrote: the new one writes none of them. */
      readonly former: readonly string[]
    }
  /** The agent's own way of reopening a session. */
  | { readonly how: 'resume'; readonly session: string; readonly beforeStart: BeforeStart }
  /** Attaches to a process that runs; a `NotFoundError` where it was only about to be started. */
  | {
      readonly how: 'attach'
      readonly place: AgentPlace
      readonly session?: string
      /** As above, where it was started anew. */
      readonly former?: readonly string[]
    }

/** Called when it is settled where the agent will run, right before it is started there; it is started when this resolves. */
type BeforeStart = (place: AgentPlace, session: string | undefined) => Promise<void>

export interface AgentHandle {
  readonly adapter: Adapter
  readonly driver: Driver
  readonly observer: Observer
}

/** Launches, reopens or attaches to the agent of a run. */
export type OpenAgent = (run: Run, start: Start) => Promise<AgentHandle>

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
  | {
      readonly why: 'bound'
      readonly bound: 'usd' | 'hours' | 'cycles' | 'turns' | 'stalled'
      readonly details: string
    }
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
