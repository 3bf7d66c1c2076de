// The words of the cycle: its states, what is seen, and what is to be done. All plain JSON: a state is kept on the tape.

import type { Look } from './adapter.ts'
import type { Observation } from './eyes.ts'

/** A text for the agent. `typing`: under way. `typed`: sent, not yet seen in the transcript. `refused`: nothing was typed. */
export interface Prompt {
  readonly text: string
  readonly state: 'typing' | 'typed' | 'refused' | 'heard'
  /** When it got there. */
  readonly at: number
  /** When it was to be typed first: a transcript that holds it holds it with a later date. */
  readonly began: number
  /** How often it may have been typed. */
  readonly typings: number
  /** Why nothing was typed. */
  readonly reason?: string
}

export interface Trigger {
  /** 0 to 100; undefined: unknown. */
  readonly percent?: number
  readonly why: 'threshold' | 'prediction' | 'person' | 'crash' | 'limit'
  readonly at: number
}

/** A document that is durable on the session's tape, and a file that the agent can read. */
export interface Stored {
  /** Its entry on the session's tape. */
  readonly id: number
  readonly path: string
  readonly sha256: string
  /** Who wrote it: the agent, or the ledger for one that was silent. */
  readonly by: 'agent' | 'ledger'
  /** How many turns the session had by then: with one more, the document is out of date. */
  readonly turns: number
  readonly tokens: number
  /** Whether anything was changed or run in the context that it speaks for. */
  readonly progress: boolean
}

interface Begun {
  readonly n: number
  readonly trigger: Trigger
  /** The agent's id of the context that is to be replaced. */
  readonly from?: string
  /** When this state began; time spent on a person's answer or on a limit does not count. */
  readonly since: number
  /** An interrupt that nothing has followed yet: there is never a second one. */
  readonly interrupted?: number
}
/** `repaired`: the agent's, with what it lacks filled from the ledger. */
export type Author = 'agent' | 'repaired' | 'ledger'

export interface Watching {
  readonly at: 'watching'
  /** Since when a turn runs past the threshold. */
  readonly over?: number
  readonly interrupted?: number
  /** Something that the agent is to be told. */
  readonly say?: Prompt
}
export interface Asked extends Begun {
  readonly at: 'asked'
  readonly path: string
  readonly asks: 1 | 2
  readonly prompt: Prompt
  /** Since when the turn that was to write the document is over, or the document is there. */
  readonly without?: number
  readonly ready?: number
  readonly storing?: Author
  /** Uncommitted work has been kept meanwhile. */
  readonly snapshot?: boolean
  /** Storing failed: not again before. */
  readonly notBefore?: number
}
export interface Documented extends Begun {
  readonly at: 'documented'
  /** Where the agent was to write: it may still do so. */
  readonly path: string
  readonly document: Stored
  readonly snapshot: boolean
  /** The first clear was ignored, and work may have gone on: what is cleared next is the last. */
  readonly clears?: 2
  /** Work went on behind the document: it is stored anew. */
  readonly storing?: Author
  readonly notBefore?: number
}
export interface Clearing extends Begun {
  readonly at: 'clearing'
  readonly document: Stored
  readonly clears: 1 | 2
  readonly state: 'typing' | 'typed' | 'refused'
}
export interface Resuming extends Begun {
  readonly at: 'resuming'
  readonly document: Stored
  readonly clears: 1 | 2
  readonly tries: 1 | 2
  readonly prompt: Prompt
}
export interface Verifying extends Begun {
  readonly at: 'verifying'
  readonly document: Stored
  readonly clears: 1 | 2
  readonly tries: 1 | 2
  /** How far the transcript was when it showed that the document had been read. */
  readonly read?: number
}
export interface Done extends Begun {
  readonly at: 'done'
  readonly document: Stored
}
export interface Failed extends Begun {
  readonly at: 'failed'
  readonly step: Cycle['at']
  readonly reason: string
  /** What a person should do. */
  readonly advice: string
  readonly document?: Stored
}
export type Cycle = Watching | Asked | Documented | Clearing | Resuming | Verifying | Done | Failed

/** What has become of the file that was asked for. */
export type Found =
  | { readonly is: 'nothing' }
  /** Empty, older than the request, of another project. */
  | { readonly is: 'refused'; readonly reason: string }
  /** Still being written, or lacking something. */
  | { readonly is: 'incomplete'; readonly problems: readonly string[] }
  | { readonly is: 'valid' }

export interface Sight {
  readonly seen: 'session'
  readonly look: Observation
  readonly screen: Look
  /** Whether the transcript holds the prompt that is waited for. */
  readonly heard: boolean
  /** Whether the fresh context has read the document. */
  readonly read: boolean
  readonly found: Found
}

export type Seen =
  | Sight
  /** The document is durable. */
  | { readonly seen: 'stored'; readonly document: Stored }
  | { readonly seen: 'snapshot' }
  /** Done, for all that the driver knows. */
  | { readonly seen: 'done'; readonly what: Touch }
  /** Not done: nothing was typed, nothing was written. */
  | { readonly seen: 'refused'; readonly what: Touch | 'store'; readonly reason: string }
  /** The agent is to be told something. */
  | { readonly seen: 'say'; readonly text: string }

/** What touches the agent. */
export type Touch = 'ask' | 'interrupt' | 'clear' | 'resume' | 'say'

export type Effect =
  | { readonly do: 'ask' | 'resume' | 'say'; readonly text: string }
  | { readonly do: 'interrupt' | 'clear' | 'snapshot' }
  | { readonly do: 'store'; readonly by: Author; readonly path: string; readonly trigger: Trigger }
  | Health
/** A person is told where it is more than `ok`. */
export interface Health {
  readonly do: 'health'
  readonly check: 'handoff' | 'prompt'
  readonly status: 'ok' | 'warning' | 'critical'
  readonly what: string
  /** What a person should do. */
  readonly advice: string
}

/** What the settings come to for this session now. */
export interface Policy {
  /** 0 to 1. */
  readonly threshold: number
  /** 0 to 1: past this the end of a turn is not waited for, since the agent would compact. */
  readonly brink: number
  readonly predict: boolean
  /** A person wants a cycle now. */
  readonly wanted: boolean
  /** Why none may begin now. */
  readonly hold?: string
  /** Where the next document is to be written. */
  readonly path: string
  readonly project: string
  /** The number of the next cycle. */
  readonly n: number
  /** Whether a fresh context shows in the transcripts before its first prompt. */
  readonly clearShows: boolean | 'usually'
  readonly onSilence: 'ledger' | 'ask'
  readonly turnMs: number
  readonly backgroundMs: number
  readonly documentMs: number
  /** How long a turn that ended without a document may still bring one. */
  readonly graceMs: number
  readonly clearMs: number
  readonly submitMs: number
  readonly verifyMs: number
}

export interface Stepped {
  readonly cycle: Cycle
  readonly effects: readonly Effect[]
  /** What is waited for, where the agent is not touched. */
  readonly waits?: Waits
}
export interface Waits {
  readonly for: string
  /** Then it is looked at again, if nothing happens before. */
  readonly until?: number
}
