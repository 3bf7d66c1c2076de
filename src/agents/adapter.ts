// An agent set up to be driven on this machine: what is known of it, with the program and the environment that the
// configuration gives it. What an agent cannot do it does not have: a capability is an optional method, and asking for a
// missing one is a typed error (see `capability`).

import { UnsupportedError } from '../errors.ts'
import type { LaunchOptions, Terminal, TurnOutcome, TurnOutput } from './agent.ts'
import type { AgentName } from './names.ts'

/** A program to run; never a string for a shell. */
export interface Command {
  readonly program: string
  readonly args: readonly string[]
  /** Added to the environment; undefined removes. */
  readonly env?: Readonly<Record<string, string | undefined>>
}

/** What the point at which it compacts depends on; see `CompactionQuery`. */
interface CompactionPoint {
  readonly window?: number
  readonly model?: string | undefined
  readonly cwd?: string
}

export interface Adapter extends Terminal {
  /** The name of a known agent, or of a custom one. */
  readonly name: string
  readonly label: string
  /** The agent whose form its transcripts have. */
  readonly transcript: AgentName
  /** Laid over the environment: for the agent, and for the reader of its transcripts. Undefined removes. */
  readonly env: Readonly<Record<string, string | undefined>>
  /** In tokens, where it would compact by itself; undefined where it never does, or nobody knows. */
  compactsAt(query: CompactionPoint): number | undefined
  /** With a screen of its own. */
  launch?(options?: LaunchOptions): Command
  /** Reopens a session with a screen. */
  resume?(session: string, options?: LaunchOptions): Command
  /** One turn without a screen: continues `session`, or starts one (named `options.session`, if it takes a name). */
  turn?(prompt: string, session: string | undefined, options?: LaunchOptions): Command
  /** What such a turn printed. */
  outcome?(output: TurnOutput): TurnOutcome
  /** Documents longer than so many bytes are given to it word for word: its tools would not show all of them. */
  readonly inlineAbove?: number
}

/** A capability that the agent lacks. */
export function capability<K extends keyof Adapter>(adapter: Adapter, name: K): NonNullable<Adapter[K]> {
  const found = adapter[name]
  if (found !== undefined && found !== null) return found
  throw new UnsupportedError(`${adapter.label} cannot ${String(name)}`, {
    hint: 'Use another driver, or add what is missing to supervisor.agents in baton.config.json.',
  })
}
