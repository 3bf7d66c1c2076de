// The types of the cycle: its states, its events and its effects. A state is plain JSON, because it is kept on the tape.

import type { ScreenState } from '../../agents/index.ts'
import type { Observation } from '../observe/observation.ts'

/** A text for the agent. `typing`: under way. `typed`: sent, not yet seen in the transcript. `refused`: nothing was typed. */
export interface Prompt {
  readonly text: string
  readonly state: 'typing' | 'typed' | 'refused' | 'heard'
  /** When the prompt reached this state. */
  readonly at: number
  /** When it was first due to be typed: a transcript can only hold it with a later date. */
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
  /** Who wrote it: the agent, or the ledger where the agent wrote none. */
  readonly by: 'agent' | 'ledger'
  /** How many turns the session had by then: with one more, the document is out of date. */
  readonly turns: number
  readonly tokens: number
  /** Whether anything was changed or run in the context that it describes. */
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
/** `repaired`: written by the agent, with missing parts filled in from the ledger. */
export type Author = 'agent' | 'repaired' | 'ledger'

export interface Watching {
  readonly at: 'watching'
  /** Since when a turn runs past the threshold. */
  readonly over?: number
  /** Since when that turn is about to make the agent compact by itself. */
  readonly full?: number
  readonly interrupted?: number
  /** That interrupt cut off a turn, and no cycle has come of it yet. */
  readonly isCut?: true
  /** A prompt that is to be delivered outside of a cycle. */
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
  /** Storing failed; it is tried again at this time. */
  readonly notBefore?: number
}
export interface Documented extends Begun {
  readonly at: 'documented'
  /** The file that the agent was asked to write; it may still appear. */
  readonly path: string
  readonly document: Stored
  readonly snapshot: boolean
  /** 2: the first clear was ignored and work may have continued, so the next clear is the last. */
  readonly clears?: 1 | 2
  /** Work continued after the document, so it is being stored again. */
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
  /** When the transcript had last changed by the time it showed that the document had been read. */
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

/** The state of the file that the agent was asked for. */
export type DocumentState =
  | { readonly is: 'nothing' }
  /** Empty, older than the request, of another project. */
  | { readonly is: 'refused'; readonly reason: string }
  /** Still being written, or lacking something. */
  | { readonly is: 'incomplete'; readonly problems: readonly string[] }
  | { readonly is: 'valid' }

export interface Sighting {
  readonly type: 'session'
  readonly observation: Observation
  readonly screen: ScreenState
  /** Whether the transcript holds the prompt that is waited for. */
  readonly heard: boolean
  /** Whether the fresh context has read the document. */
  readonly read: boolean
  readonly document: DocumentState
}

export type CycleEvent =
  | Sighting
  /** The document is durable. */
  | { readonly type: 'stored'; readonly document: Stored }
  | { readonly type: 'snapshot' }
  /** Done, as far as the driver knows. */
  | { readonly type: 'done'; readonly what: AgentAction }
  /** Not done: nothing was typed, nothing was written. */
  | { readonly type: 'refused'; readonly what: AgentAction | 'store'; readonly reason: string }
  /** Somebody wants a prompt delivered outside of a cycle. */
  | { readonly type: 'say'; readonly text: string }

/** The effects that act on the agent. */
export type AgentAction = 'ask' | 'interrupt' | 'clear' | 'resume' | 'say'

export type Effect =
  | { readonly do: 'ask' | 'resume' | 'say'; readonly text: string }
  /** `about`: a question on the screen that names this may be dismissed, because only Baton's own request asks it. */
  | { readonly do: 'interrupt'; readonly about?: string }
  | { readonly do: 'clear' | 'snapshot' }
  | { readonly do: 'store'; readonly by: Author; readonly path: string; readonly trigger: Trigger }
  | Health
/** A health check; a person is notified where it is worse than `ok`. */
export interface Health {
  readonly do: 'health'
  readonly check: 'handoff' | 'prompt'
  readonly status: 'ok' | 'warning' | 'critical'
  readonly what: string
  /** What a person should do. */
  readonly advice: string
}

/** The rules by which a step is decided: settings, threshold and circumstances of this moment. */
export interface Policy {
  /** 0 to 1. */
  readonly threshold: number
  /**
   * 0 to 1: beyond this share the agent is about to compact by itself. Its turn is interrupted, and it is not asked for a
   * document any more, since the request itself would make it compact.
   */
  readonly brink: number
  /** Whether the agent can be asked in the middle of a turn. */
  readonly asksInTurn: boolean
  /** Whether a call shows in the transcript before it has ended. */
  readonly callsShow: boolean
  /** Whether a turn that runs on for too long is interrupted. */
  readonly cutsTurns: boolean
  readonly predict: boolean
  /** A person wants a cycle now. */
  readonly wanted: boolean
  /** Why no cycle may begin now. */
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

export interface StepResult {
  readonly cycle: Cycle
  readonly effects: readonly Effect[]
  /** What the cycle waits for, where it does nothing. */
  readonly waits?: Waits
}
export interface Waits {
  readonly for: string
  /** The session is observed again at this time, if no event comes before. */
  readonly until?: number
}
