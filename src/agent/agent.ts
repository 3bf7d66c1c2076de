// The agent's public interface: what it is made from, and how to talk to it.

import type { LanguageModel } from 'ai'
import type { ChosenModel } from '../config/index.ts'
import type { Progress, SessionHandoff } from '../handoff/index.ts'
import type { Store } from '../store/index.ts'
import type { Tape } from '../tape/index.ts'
import type { Holder } from '../system/index.ts'
import type { AutoHandoff, AutomaticHandoff } from './handoff.ts'
import type { AgentEvent } from './event.ts'
import type { Instructions } from './instructions.ts'
import type { Recovered } from './recovery.ts'
import type { AgentTool, Answer, ChildRequest, ChildResult, Permissions, Question, Toolbox } from './tools/tool.ts'
import type { ContextSize } from './model/context-size.ts'
import type { Prompt } from './model/images.ts'
import type { Queue } from './queue.ts'

/** The store, the tape, the model and the tools of an agent, and how it behaves. */
export interface AgentOptions {
  store: Store
  /** A tape's name, or a tape that is open already. If its session was handed over, the agent opens the tape where it continues. */
  tape: string | Tape
  /** Who this agent is, for tapes that belong to one; `agent` unless given. */
  as?: string
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
  /** What the project says to agents, such as its AGENTS.md; see `projectInstructions`. */
  instructions?: readonly Instructions[]
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

/** An agent on a tape: it takes messages, runs turns, and hands off before its context is full. */
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
  /** How many tokens the next call takes without a new message: as the provider counted, or about. */
  contextTokens(): Promise<number>
  /** A comma command, a slash command, or a turn, which parts always are; during a turn, a message for it. */
  submit(prompt: Prompt): Promise<TurnResult>
  /** A turn with this text as it is, whatever it begins with, or with parts such as text and images. */
  say(prompt: Prompt): Promise<TurnResult>
  /** Goes on with a turn that was cut or failed. */
  resume(): Promise<TurnResult>
  /** Puts a message on the tape now; the model sees it before its next call. */
  steer(prompt: Prompt): Promise<void>
  /** Cancels what runs: the response, its tools, or a handoff. */
  abort(): void
  /** Hands over to a new tape, and continues there. */
  handoff(goal?: string, options?: AgentHandoffOptions): Promise<SessionHandoff>
  subscribe(listener: (event: AgentEvent) => void): () => void
  /** From the next turn on. */
  setModel(model: ChosenModel | LanguageModel, window?: number): void
  /** Cancels what runs, waits until that is on the tape, and releases the tape. Never waits for a model. */
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
  /** A slash command, which the user interface has to carry out. */
  | { readonly kind: 'slash'; readonly name: string; readonly rest: string }
  /** The text was queued for the turn that is running. */
  | { readonly kind: 'queued' }
  /** The text was empty. */
  | { readonly kind: 'empty' }

/** What the parts of an agent share while it runs. The tape and the model may change between turns, never during one. */
export interface AgentState {
  tape: Tape
  model: { readonly name: string; readonly model: LanguageModel } | undefined
  window: number | undefined
  system: string
  contextSize: ContextSize
  readonly toolbox: Toolbox
  readonly queue: Queue
  readonly autoHandoff: AutoHandoff
  readonly holder: Holder
  readonly cwd: string
  readonly options: AgentOptions
  readonly emit: (event: AgentEvent) => void
  /** Undefined in an agent that may not start children. */
  readonly spawn: ((child: ChildRequest, signal: AbortSignal) => Promise<ChildResult>) | undefined
  /** What tools want done once the turn has ended. */
  readonly afterTurn: (() => Promise<void>)[]
  /** Called when the provider's error message names the size of its model's window. */
  readonly learnWindow: (tokens: number) => void
  /** Called with the size of a context that the model has taken. */
  readonly learnWorked: (tokens: number) => void
  /** False once the model has refused a context because of its images: it then gets their names instead. */
  takesImages: boolean
  readonly now: () => Date
}
