// What a transcript says, in one form for every agent. A parser turns an agent's lines into facts; an import turns facts
// into entries, and a list turns them into a row. Facts come in the order of the file.

import type { Draft } from '../store/index.ts'
import type { Fields } from './fields.ts'
import { readUserWords } from '../handoff/index.ts'

/** Reads one agent's format. What it remembers between two lines is plain JSON, so that reading can continue later. */
export interface Parser {
  /** The facts of one parsed line. */
  facts(line: Fields): Fact[]
  /** The facts that were held back for a line which will not come any more. */
  rest?(): Fact[]
  readonly memory: Fields
}

/** `memory`: of the parser that read the lines before. */
export type MakeParser = (memory?: Fields) => Parser

export type Fact =
  | About
  | Said
  | Queued
  | Compacting
  | Compacted
  | Cleared
  | Rewound
  | Used
  | Quotas
  | TurnMoved
  | Limited
  | Damaged

/** What the session is; a later fact replaces the fields that it has. */
export interface About {
  readonly type: 'about'
  readonly session?: string
  readonly cwd?: string
  readonly branch?: string
  readonly model?: string
  readonly title?: string
  /** How good the title is: what a person or the agent chose outranks the first prompt. */
  readonly titleRank?: number
  readonly window?: number
  /** The session it is a subagent of. */
  readonly parent?: string
  readonly kind?: 'subagent'
  /** The session that `/clear` left for this one, where it is named. */
  readonly clearedFrom?: string
}

export interface Said {
  readonly type: 'said'
  readonly draft: Draft
  /** The agent's own id of the line, for compactions and rewinds that name it. */
  readonly source?: string
}

/** Words that the person typed during a turn, and that the model was given within it. */
interface Queued {
  readonly type: 'queued'
  readonly text: string
  readonly date?: string
}

/** The agent has begun to compact its context by itself. */
interface Compacting {
  readonly type: 'compacting'
  readonly date?: string
}

/** The agent replaced its context by a summary. It kept the lines from `keptFrom` on, or repeats them in `kept`. */
export interface Compacted {
  readonly type: 'compacted'
  readonly summary: string
  readonly details?: Record<string, unknown>
  readonly keptFrom?: string
  readonly kept?: readonly Draft[]
  readonly source?: string
  /** Tokens that are left, where the agent says so. */
  readonly tokens?: number
  readonly date?: string
}

/** The agent began again with an empty context. */
interface Cleared {
  readonly type: 'cleared'
  readonly date?: string
}

/** The person went back: what came after the line `to` is no longer in the context. Undefined: to the beginning. */
export interface Rewound {
  readonly type: 'rewound'
  readonly to: string | undefined
  /** The first line that was removed, where the agent names that one instead. */
  readonly before?: string
  /** Tokens that are left, where they are known. */
  readonly tokens?: number
  readonly date?: string
}

/** What one reply of the model used. A later fact with the same `reply` corrects the earlier one. */
export interface Used {
  readonly type: 'used'
  readonly reply?: string
  /** The size of the context now, as the agent calculates it. */
  readonly tokens: number
  readonly window?: number
  readonly model?: string
  readonly input: number
  readonly output: number
  readonly cacheRead: number
  readonly cacheWrite: number
  /** In dollars, where the agent calculates it. */
  readonly cost?: number
  readonly date?: string
  /** Spent outside the session's context: by a subagent, or on a summary. */
  readonly aside?: boolean
}

export interface Quota {
  /** As the agent names it: `five_hour`, `primary`. */
  readonly name: string
  readonly usedPercent: number
  readonly windowMinutes?: number
  readonly resetsAt?: string
}

interface Quotas {
  readonly type: 'quotas'
  readonly quotas: readonly Quota[]
  readonly date?: string
}

/** `asked`: a person gave work. `working`: the agent does it. `idle`: the turn is over. */
export interface TurnMoved {
  readonly type: 'turn'
  readonly to: 'asked' | 'working' | 'idle'
  /** Why an idle turn is over, where it did not end with the agent's reply. */
  readonly because?: 'aborted' | 'failed'
  /** Where the agent says so: this begins a turn, rather than continuing one that seemed to be over. */
  readonly begins?: true
  readonly date?: string
}

interface Limited {
  readonly type: 'limited'
  readonly until?: string
  readonly message: string
  readonly date?: string
}

interface Damaged {
  readonly type: 'damaged'
  readonly damage: LineDamage
}

export interface LineDamage {
  readonly file: string
  readonly line: number
  readonly offset: number
  readonly bytes: number
  readonly message: string
}

/** What was said, as a fact: `at` is when, `source` the agent's own id of the line. */
export function saidFact(kind: string, payload: unknown, at?: string, source?: string, meta?: Draft['meta']): Said {
  const draft: Draft = meta === undefined ? { kind, payload } : { kind, payload, meta }
  if (at !== undefined) draft.date = at
  return source === undefined ? { type: 'said', draft } : { type: 'said', draft, source }
}

/**
 * The title of a session that nobody has named: the first words of the user that say what it is about. Undefined if the agent
 * wrote the words itself, or if they only call one of its commands.
 */
export function titleIn(words: string): string | undefined {
  const heard = readUserWords(words)
  if (heard.kind !== 'words' || /^\/[\w:-]*$/.test(heard.text)) return undefined
  return heard.text.slice(0, 200)
}
