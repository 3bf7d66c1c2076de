// What the supervisor sees of a session: the transcript first, the agent's own status files next, the screen last.

import type { Meter, Models, SessionFile, State } from '../transcripts/index.ts'
import type { Adapter } from './adapter.ts'
import type { Driver } from './driver.ts'
import { SessionEyes } from './eyes/session-eyes.ts'

export interface Observation {
  /** When it was looked, in milliseconds. */
  readonly at: number
  /** The transcript that is being written now; undefined until there is one. */
  readonly file: SessionFile | undefined
  /** The agent's id of it. */
  readonly session: string | undefined
  /** `none`: nothing asked yet. `idle`: the last turn is over. */
  readonly turn: 'none' | 'asked' | 'working' | 'idle'
  /** When the turn got there. */
  readonly turnSince: string | undefined
  readonly turns: number
  readonly state: State
  readonly meter: Meter
  readonly compactions: number
  /** Tokens after the first reply in this context: what it holds before any work. */
  readonly fresh?: number | undefined
  /** The last words of the person (or of us) that the transcript holds. */
  readonly prompt: { readonly text: string; readonly at?: string } | undefined
  /** Files that the agent read in this context, as absolute paths: proof that it read the document. */
  readonly read: readonly string[]
  /** A question that waits for the person. */
  readonly dialog: { readonly question: string } | undefined
  /** Commands that it left running. */
  readonly background: readonly string[]
  /** What it was doing when it was last heard of: calls without a result. */
  readonly doing?: readonly string[]
  /** The last error that it told, if nothing has come after it. */
  readonly error: string | undefined
  /** When the transcript grew last, in milliseconds. */
  readonly changed: number | undefined
  readonly alive: boolean
}

export interface Eyes {
  /** Looks now. */
  look(): Promise<Observation>
  /** Each change as it happens, woken by the file system; the present state first. A slow reader gets the newest only. */
  watch(signal: AbortSignal): AsyncIterable<Observation>
  close(): Promise<void>
}

export interface EyesOptions {
  readonly adapter: Adapter
  readonly driver: Driver
  readonly cwd: string
  /** Of the agent: tells where it keeps its transcripts. */
  readonly env?: NodeJS.ProcessEnv
  /** When the agent was started, in milliseconds: older transcripts are not its own, unless it is `session`. */
  readonly since: number
  /** The agent's id of the session, where it is known. */
  readonly session?: string
  /** Transcripts that were there before it was started, however lately they were begun. */
  readonly before?: ReadonlySet<string>
  /** What the user says about models; see `configuredModels`. */
  readonly models?: Models
}

export function openEyes(options: EyesOptions): Eyes {
  return new SessionEyes(options)
}
