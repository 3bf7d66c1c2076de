// What the supervisor sees of a session: the transcript first, the agent's own status files next, the screen last.

import type { Meter, SessionFile, State } from '../transcripts/index.ts'

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
  /** The last words of the person (or of us) that the transcript holds. */
  readonly prompt: { readonly text: string; readonly at?: string } | undefined
  /** Files that the agent read in this context, as it named them: proof that it read the document. */
  readonly read: readonly string[]
  /** A question that waits for the person. */
  readonly dialog: { readonly question: string } | undefined
  /** Commands that it left running. */
  readonly background: readonly string[]
  /** When the transcript grew last, in milliseconds. */
  readonly changed: number | undefined
  readonly alive: boolean
}

export interface Eyes {
  /** Looks now. */
  look(): Promise<Observation>
  /** Each change as it happens, woken by the file system; the present state first. */
  watch(signal: AbortSignal): AsyncIterable<Observation>
  close(): Promise<void>
}
