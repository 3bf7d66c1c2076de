// An agent as its user holds it: something to talk to, on a tape.

import type { LanguageModel } from 'ai'
import type { ChosenModel } from '../config/model.ts'
import type { Progress, SessionHandoff } from '../handoff/index.ts'
import type { Store } from '../store/index.ts'
import type { Tape } from '../tape/index.ts'
import type { AutomaticHandoff } from './auto-handoff.ts'
import type { AgentEvent } from './event.ts'
import type { Recovered } from './recovery.ts'
import type { AgentTool, Answer, Permissions, Question } from './tool.ts'

export interface AgentOptions {
  store: Store
  /** By name, or one that is open already. A session that was handed over is followed to where it goes on. */
  tape: string | Tape
  /** Without one, only commands work. */
  model?: ChosenModel | LanguageModel
  tools?: readonly AgentTool[]
  cwd?: string
  /** Without one, every call is allowed. */
  permissions?: Permissions
  /** Asks the person; without it, what would be asked is denied. */
  ask?: (question: Question) => Promise<Answer>
  /** Comes first in the system prompt. */
  system?: string
  handoff?: AutomaticHandoff
  /** How many tokens the model takes; known for most models. */
  window?: number
  retry?: RetryOptions
  /** How many calls to the model a turn may take. */
  maxSteps?: number
  onEvent?: (event: AgentEvent) => void
  now?: () => Date
}

export interface RetryOptions {
  /** How often a call to the model is made before it counts as failed: 5 unless given. */
  attempts?: number
  /** Waited before the second attempt, and twice as long before each further one: 1 unless given. */
  seconds?: number
}

export interface Agent {
  readonly tape: Tape
  /** A turn or a handoff is running. */
  readonly busy: boolean
  /** A handoff document is being written. */
  readonly isGenerating: boolean
  /** `provider/name`, where one is set. */
  readonly modelName: string | undefined
  readonly window: number | undefined
  /** The last process died in a turn; this is where the work stands. */
  readonly recovered: Recovered | undefined
  /** A comma command, a slash command, or a turn; during a turn, a message for it. */
  submit(text: string): Promise<TurnResult>
  /** A turn with this text as it is, whatever it begins with. */
  say(text: string): Promise<TurnResult>
  /** Goes on with a turn that was cut or failed. */
  resume(): Promise<TurnResult>
  /** Puts a message on the tape now; the model sees it before its next call. */
  steer(text: string): Promise<void>
  /** Cancels what runs: the response, its tools, or a handoff. */
  abort(): void
  /** Hands over to a new tape, and goes on there. */
  handoff(goal?: string, options?: AgentHandoffOptions): Promise<SessionHandoff>
  subscribe(listener: (event: AgentEvent) => void): () => void
  /** From the next turn on. */
  setModel(model: ChosenModel | LanguageModel, window?: number): void
  /** Cancels what runs, waits for it to be on the tape, and lets go of the tape. Never hangs on a model. */
  close(): Promise<void>
}

export interface AgentHandoffOptions {
  signal?: AbortSignal
  onProgress?: (progress: Progress) => void
  /** Lets a person change the document before it is used. */
  edit?: (markdown: string) => Promise<string>
  into?: string
}

export type TurnResult =
  /** A turn ran; `text` is what the model said last. */
  | {
      readonly kind: 'turn'
      readonly runId: string
      readonly status: 'done' | 'aborted' | 'failed'
      readonly text: string
      readonly error?: string
    }
  /** A comma command ran: text for people, data for programs. */
  | { readonly kind: 'command'; readonly ok: boolean; readonly text: string; readonly data: unknown }
  /** A slash command, for the door to carry out. */
  | { readonly kind: 'slash'; readonly name: string; readonly rest: string }
  /** It was taken in by the turn that runs. */
  | { readonly kind: 'queued' }
  /** There was nothing in it. */
  | { readonly kind: 'empty' }
