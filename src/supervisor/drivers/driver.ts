// The folder drivers/ starts agents and acts on them: in a tmux pane, or headless with a process for each turn. A driver only
// acts; whether an action arrived is shown by the transcript (`observe/`), never by the driver.

import type { ScreenState } from '../../agents/index.ts'
import { BatonError } from '../../errors.ts'

/** Where an agent runs, so that another process can take hold of it again. Plain JSON. */
export type AgentPlace =
  | {
      readonly driver: 'tmux'
      /** Path of the server's socket. */
      readonly socket: string
      readonly pane: string
      /** The agent's process, and when it was started, as the system tells it: numbers are used again. */
      readonly pid?: number
      readonly started?: string
      /** The pane is not ours: it was there before, and stays when the agent is stopped. */
      readonly adopted?: boolean
      /** An agent was meant to be started there: if it was, the pane carries this mark. */
      readonly mark?: string
    }
  | {
      readonly driver: 'headless'
      /** Where the output of its turns is kept. */
      readonly folder: string
      /** Of the turns so far, the last one: its number and its process. */
      readonly turn?: number
      readonly pid?: number
      readonly started?: string
      /** The session that the next turn goes on with. */
      readonly session?: string
      /** That turn was meant to be started. */
      readonly meant?: boolean
    }

/** How the agent's program ended (headless: its last turn). */
export interface Ending {
  readonly code?: number
  readonly signal?: string
  /** What it said went wrong. */
  readonly error?: string
  /** That error is a limit, of which its transcript holds nothing. */
  readonly isLimit?: boolean
}

export interface Sent {
  readonly text: string
  /** In milliseconds. */
  readonly at: number
}

export interface Driver {
  /** Changes as the agent moves: keep the newest. */
  readonly place: AgentPlace
  /** What this driver sent last, the newest at the end: a transcript is known by it. */
  readonly sent: readonly Sent[]
  /** Words of this driver that the agent has kept in its input, as far as is known: they give way to others. */
  readonly unsent?: string | undefined
  /** Whether the agent's program runs, on a screen that is there (headless: whether the next turn can be run). */
  alive(): Promise<boolean>
  /** How it ended; undefined while it runs, and before it ever ran. */
  ended(): Promise<Ending | undefined>
  /** What the screen shows now. Headless has none: `busy` while a turn runs, else `prompt`. */
  screenState(): Promise<ScreenState>
  /** What a person would see, with the lines that have scrolled away; empty without a screen. */
  screenText(): Promise<string>
  /** Resolves when the agent has started: with a prompt, or a dialog that keeps it from one. */
  ready(signal: AbortSignal): Promise<ScreenState>
  /**
   * Types a prompt and sends it. Refused (`RefusedError`, nothing typed) while a dialog is open, the person has a draft,
   * or the pane is not the agent's. Never types twice: a paste that may have arrived in part is not repeated. The signal
   * counts until the first key.
   */
  submit(text: string, signal: AbortSignal): Promise<void>
  /** Starts a fresh context. Refused as `submit` is. */
  clear(signal: AbortSignal): Promise<void>
  /**
   * Stops the running turn. Nothing happens where none runs; a dialog is left for the person (`RefusedError`), unless it
   * names what it is to be `about`.
   */
  interrupt(signal: AbortSignal, about?: string): Promise<void>
  /** Has an agent keep trying that asks at a limit whether to; nothing happens where its screen does not ask that. */
  keepTrying?(signal: AbortSignal): Promise<void>
  /** Ends what lives on of an agent that is not `alive`: two at a time would work in one project. */
  endRest?(): Promise<void>
  /** Removes what an agent that has ended leaves behind, such as its dead pane. A person's own pane stays. */
  remove?(): Promise<void>
  /** Ends the agent and everything it started. */
  stop(): Promise<void>
  /** Lets go without ending the agent. */
  close(): Promise<void>
}

/** Nothing was typed, for a person's sake or the agent's. */
export class RefusedError extends BatonError {
  readonly reason: 'dialog' | 'draft' | 'gone' | 'starting' | 'deaf' | 'unknown'

  constructor(reason: RefusedError['reason'], message: string, hint?: string) {
    super('refused', message, hint === undefined ? {} : { hint })
    this.reason = reason
  }
}
