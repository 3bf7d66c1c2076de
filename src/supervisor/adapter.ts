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
  /** What the person put behind `--`. */
  readonly args?: readonly string[]
  /** The first prompt; else the agent waits for one. */
  readonly prompt?: string
  /** The id that the new session is to have, where the agent takes one. */
  readonly session?: string
}

/** A screen as it is drawn, line by line. */
export interface Screen {
  readonly lines: readonly string[]
  /** The same lines with blanks for what is drawn faint: hints and suggestions that nobody typed. */
  readonly solid: readonly string[]
}

/** What the screen says, where only the screen can. */
export type Look =
  | { readonly is: 'starting' }
  /** `draft`: somebody has typed something and not sent it. */
  | { readonly is: 'prompt'; readonly draft: string }
  /** A question to the person: never typed into. */
  | { readonly is: 'dialog'; readonly question: string; readonly about: 'permission' | 'trust' | 'limit' | 'other' }
  /** Works, and takes words for later, unless `deaf`: what is typed now is lost. */
  | { readonly is: 'busy'; readonly draft: string; readonly deaf?: boolean }
  | { readonly is: 'unknown' }

/** How a turn without a screen ended, by what it printed. */
export interface TurnOutcome {
  /** The agent's id of the session, as soon as it has said it. */
  readonly session: string | undefined
  /** Why it failed; exit status 0 alone is no success. */
  readonly error: string | undefined
  /** It has said its last word, though its process may linger. */
  readonly over?: boolean
}

/** What a turn without a screen has printed so far; `code` once it has ended. */
export interface TurnOutput {
  readonly out: string
  readonly err: string
  readonly code: number | undefined
}

export interface Adapter {
  /** `claude`, … or the name of a custom agent. */
  readonly name: string
  readonly label: string
  /** Whose transcripts it writes. */
  readonly transcript: AgentName
  /** Laid over the environment: for the agent, and for the reader of its transcripts. Undefined removes. */
  readonly env: Readonly<Record<string, string | undefined>>
  /** In tokens, where it would compact by itself; undefined where it never does, or nobody knows. */
  compactsAt(meter: Meter): number | undefined
  /** With a screen of its own. */
  launch?(options?: LaunchOptions): Command
  /** Reopens a session with a screen. */
  resume?(session: string, options?: LaunchOptions): Command
  /** One turn without a screen: goes on with `session`, or starts one (named `options.session`, if it takes a name). */
  turn?(prompt: string, session: string | undefined, options?: LaunchOptions): Command
  /** What such a turn printed. */
  outcome?(output: TurnOutput): TurnOutcome
  /** The word that starts a fresh context, such as `/clear`. */
  readonly clear?: string
  /**
   * Whether that shows in its transcripts at once, rather than with the next prompt or reply. `usually`: it does, but cannot
   * be told from what another of its kind does in the same folder.
   */
  readonly clearShows?: boolean | 'usually'
  /** Whether what is typed is lost until its screen has been drawn anew behind a clear. */
  readonly clearRedraws?: boolean
  /** Keys that stop a turn, in tmux's names, one press after the other. Never C-c. */
  readonly interrupt?: readonly string[]
  /** Milliseconds between pasted text and Enter: some take what comes right behind a paste for a part of it. */
  readonly settle?: number
  /** Whether its screen always tells that it works: then one that does not is at rest. */
  readonly showsWork?: boolean
  /** Whether a reply that will call a tool looks, in its transcript, like one that ends a turn: then its screen decides. */
  readonly endOnScreen?: boolean
  /** Whether it is given documents word for word, since its tools read nothing that git ignores. */
  readonly inline?: boolean
  /** What a screen of it shows. */
  look?(screen: Screen): Look
}

/** A capability that the agent lacks. */
export function capability<K extends keyof Adapter>(adapter: Adapter, name: K): NonNullable<Adapter[K]> {
  const found = adapter[name]
  if (found !== undefined && found !== null) return found
  throw new UnsupportedError(`${adapter.label} cannot ${String(name)}`, {
    hint: 'Use another driver, or add what is missing to supervisor.agents in baton.config.json.',
  })
}
