// How the supervisor touches an agent: through a tmux pane, or a process per turn. A driver only acts; whether an act
// arrived is told by the transcript (`eyes.ts`), never by the driver.

import type { Look } from './adapter.ts'

/** Where an agent runs, so that another process can take hold of it again. Plain JSON. */
export type Place =
  | { readonly driver: 'tmux'; readonly socket: string; readonly pane: string; readonly pid?: number }
  | { readonly driver: 'headless'; readonly pid?: number; readonly session?: string }

export interface Driver {
  readonly place: Place
  /** Whether the agent's program runs (headless: whether the next turn can be run). */
  alive(): Promise<boolean>
  /**
   * How the program ended, once it has and as far as it is known: code 0 is its own or a person's doing and stays ended;
   * anything else, and nothing known at all (the tmux server is gone), is a crash.
   */
  exit(): Promise<{ readonly code?: number; readonly signal?: string } | undefined>
  /** What the screen shows now; headless has none. */
  look(): Promise<Look>
  /**
   * Types a prompt and sends it. Refused (typed error, nothing typed) while a dialog is open, the person has a draft, or
   * the pane is not the agent's. Never types twice: a paste that may have arrived in part is not repeated.
   */
  submit(text: string, signal: AbortSignal): Promise<void>
  /** Starts a fresh context. */
  clear(signal: AbortSignal): Promise<void>
  /** Stops the running turn. */
  interrupt(signal: AbortSignal): Promise<void>
  /** Ends the agent. */
  stop(): Promise<void>
  /** Lets go without ending the agent. */
  close(): Promise<void>
}
