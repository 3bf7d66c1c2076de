// A CLI agent as the supervisor drives it. What an agent cannot do it does not have: a capability is an optional method,
// and asking for a missing one is a typed error (see `capability`).

import { UnsupportedError } from '../errors.ts'
import type { AgentName, Meter } from '../transcripts/index.ts'

/** A program to run; never a string for a shell. */
export interface Command {
  readonly program: string
  readonly args: readonly string[]
  /** Added to the environment; undefined removes. */
  readonly env?: Readonly<Record<string, string | undefined>>
}

export interface LaunchOptions {
  readonly cwd: string
  /** What the person put behind `--`. */
  readonly args: readonly string[]
  /** The first prompt; else the agent waits for one. */
  readonly prompt?: string
  /** The id that the new session is to have, where the agent takes one. */
  readonly session?: string
}

/** What the screen says, where only the screen can. */
export type Look =
  | { readonly is: 'starting' }
  /** `draft`: somebody has typed something and not sent it. */
  | { readonly is: 'prompt'; readonly draft: string }
  /** A question to the person: never typed into. */
  | { readonly is: 'dialog'; readonly question: string; readonly about: 'permission' | 'trust' | 'limit' | 'other' }
  | { readonly is: 'busy' }
  | { readonly is: 'unknown' }

export interface Adapter {
  /** `claude`, … or the name of a custom agent. */
  readonly name: string
  readonly label: string
  /** Whose transcripts it writes, and where: `env` is what the reader of transcripts is given. */
  readonly transcript: AgentName
  /** In tokens, where it would compact by itself; undefined where it never does, or nobody knows. */
  compactsAt(meter: Meter): number | undefined
  /** With a screen of its own. */
  launch?(options: LaunchOptions): Command
  /** Reopens a session with a screen. */
  resume?(session: string, options: LaunchOptions): Command
  /** One turn without a screen: goes on with `session`, or starts one. */
  turn?(prompt: string, session: string | undefined, options: LaunchOptions): Command
  /** The word that starts a fresh context, such as `/clear`. */
  readonly clear?: string
  /** Keys that stop a turn, in tmux's names, one press after the other. Never C-c. */
  readonly interrupt?: readonly string[]
  /** What a screen of it shows. */
  look?(screen: string): Look
}

/** A capability that the agent lacks. */
export function capability<K extends keyof Adapter>(adapter: Adapter, name: K): NonNullable<Adapter[K]> {
  const found = adapter[name]
  if (found !== undefined && found !== null) return found
  throw new UnsupportedError(`${adapter.label} cannot ${String(name)}`, {
    hint: 'Use another driver, or add what is missing to supervisor.agents in baton.config.json.',
  })
}
