// The events of a turn, for a screen or a pipe. They show progress only: everything that must be kept is on the tape.

import type { Progress } from '../handoff/index.ts'
import type { Recovered } from './recovery.ts'
import type { Access, Answer } from './tools/tool.ts'

/** What happens during a turn, as it happens. */
export type AgentEvent =
  /** The last process died in a turn; this is where the work stands. */
  | ({ readonly type: 'recovered' } & Recovered)
  | { readonly type: 'turn-start'; readonly runId: string }
  | { readonly type: 'text'; readonly delta: string }
  | { readonly type: 'reasoning'; readonly delta: string }
  | { readonly type: 'tool-start'; readonly id: string; readonly name: string; readonly input: unknown }
  | { readonly type: 'tool-output'; readonly id: string; readonly chunk: string }
  | {
      readonly type: 'tool-end'
      readonly id: string
      readonly name: string
      readonly output: unknown
      readonly isError: boolean
    }
  /** A person or the policy decided about a call; what is allowed without a question makes no event. */
  | {
      readonly type: 'permission'
      readonly id: string
      readonly name: string
      readonly input: unknown
      readonly access: Access
      readonly answer: Answer
      /** Why it was denied, where the policy did so. */
      readonly reason?: string
    }
  | ({ readonly type: 'usage' } & Usage)
  /** A call to the model failed and is made again; what it had said so far is void. */
  | {
      readonly type: 'retry'
      readonly attempt: number
      readonly of: number
      readonly seconds: number
      readonly reason: string
    }
  | ({ readonly type: 'handoff' } & HandoffPhase)
  | { readonly type: 'warning'; readonly message: string }
  /** A message was taken in while a turn runs: it is on the tape and reaches the model before its next call. */
  | { readonly type: 'queued'; readonly message: string }
  | {
      readonly type: 'turn-end'
      readonly runId: string
      readonly status: 'done' | 'aborted' | 'failed'
      readonly error?: string
    }

/** The tokens of one call to the model. */
export interface Usage {
  readonly input: number
  readonly output: number
  readonly cached: number
  /** How much the context holds after this call. */
  readonly contextTokens: number
  readonly window?: number
  readonly percent?: number
}

export type HandoffTrigger = 'automatic' | 'command' | 'overflow'

type HandoffPhase =
  | { readonly phase: 'start'; readonly trigger: HandoffTrigger }
  | { readonly phase: 'progress'; readonly trigger: HandoffTrigger; readonly progress: Progress }
  | {
      readonly phase: 'done'
      readonly trigger: HandoffTrigger
      readonly anchor: string
      readonly message: string
      /** Where the work continues: another tape after `/handoff`, else the same. */
      readonly tape: string
    }
  | { readonly phase: 'failed'; readonly trigger: HandoffTrigger; readonly message: string }
