// The folder observe/ finds out what a session is doing: from its transcript first, from the agent's own status files next, and
// from the screen last. This file holds the types; `session-observer.ts` observes, `transcript-finder.ts` finds the transcript.

import type { Adapter, SessionFile } from '../../agents/index.ts'
import type { Models } from '../../config/index.ts'
import type { Meter, State } from '../../transcripts/index.ts'
import type { Driver } from '../drivers/driver.ts'
import { SessionObserver } from './session-observer.ts'

export interface Observation {
  /** When the session was observed, in milliseconds. */
  readonly at: number
  /** The transcript that is being written now; undefined until there is one. */
  readonly file: SessionFile | undefined
  /** The agent's id of the session. */
  readonly session: string | undefined
  /** `none`: nothing asked yet. `idle`: the last turn is over. */
  readonly turn: 'none' | 'asked' | 'working' | 'idle'
  /** When the turn got there. */
  readonly turnSince: string | undefined
  readonly turns: number
  readonly state: State
  /**
   * The last limit that the agent told of, whether its time has passed or not; undefined once it has gone on. `asks`: its screen asks
   * whether to keep trying.
   */
  readonly limit?: { readonly until?: string; readonly date?: string; readonly asks?: true } | undefined
  readonly meter: Meter
  readonly model?: string | undefined
  readonly compactions: number
  /** Tokens after the first reply in this context: what it holds before any work. */
  readonly fresh?: number | undefined
  /** The last prompt in the transcript, typed by a person or by Baton. */
  readonly prompt: { readonly text: string; readonly at?: string } | undefined
  /** Files that the agent read in this context, as absolute paths: proof that it read the document. */
  readonly read: readonly string[]
  /** A question that waits for the person. */
  readonly dialog: { readonly question: string } | undefined
  /** Commands that it left running. */
  readonly background: readonly string[]
  /** Tool calls without a result: what the agent was doing last. */
  readonly doing?: readonly string[]
  /** Whether it compacts its context right now, as far as its transcript says so. */
  readonly compacts?: boolean
  /** A stamp of every tool call with its result in this context, without those about handoff documents. */
  readonly work: ReadonlySet<string>
  /** The last error that it told, if nothing has come after it. */
  readonly error: string | undefined
  /** When the transcript grew last, in milliseconds. */
  readonly changed: number | undefined
  readonly alive: boolean
  /**
   * When the agent's process was started, in milliseconds; undefined where nobody knows, and where each turn is a process.
   * What was said, asked or begun before then was said to another process, and proves nothing about this one.
   */
  readonly started?: number | undefined
}

/** Whether a command may be running that the agent began by `since`; `callsShow`: its transcript shows a call before it has ended. */
export function mayRunCommand(
  { doing = [], changed = 0 }: Pick<Observation, 'doing' | 'changed'>,
  callsShow: boolean,
  since: number,
): boolean {
  return callsShow ? doing.length > 0 : changed <= since
}

export interface Observer {
  /** Observes the session now. */
  observe(): Promise<Observation>
  /** Each change as it happens, woken by the file system; the present state first. A slow reader gets the newest only. */
  watch(signal: AbortSignal): AsyncIterable<Observation>
  close(): Promise<void>
}

export interface ObserverOptions {
  readonly adapter: Adapter
  readonly driver: Driver
  readonly cwd: string
  /** Of the agent: tells where it keeps its transcripts. */
  readonly env?: NodeJS.ProcessEnv
  /**
   * When Baton began to start the agent, in milliseconds: older transcripts are not its own, unless it is `session`. Of an
   * agent that ran already the system tells it.
   */
  readonly since?: number
  /** The agent's id of the session, where it is known. */
  readonly session?: string
  /** Transcripts that were there before it was started, however lately they were begun. */
  readonly before?: ReadonlySet<string>
  /** Ids of sessions that an earlier process of this run wrote: a process that was started anew continues none of them. */
  readonly former?: readonly string[]
  /** What the user says about models; see `configuredModels`. */
  readonly models?: Models
}

export function openObserver(options: ObserverOptions): Observer {
  return new SessionObserver(options)
}
