// What the agent can do besides talk. A tool says what a call would touch before it runs; a policy decides about that.

import type * as z from 'zod'
import type { Tape } from '../tape/index.ts'

export interface AgentTool<Input = unknown> {
  /** Dotted, such as `fs.read`; a model sees it in its provider's alphabet (`fs_read`), the tape and people as it is here. */
  readonly name: string
  readonly description: string
  readonly input: z.ZodType<Input>
  /** What a call would touch, asked before it runs. Missing: nothing. */
  access?(input: Input, context: ToolContext): Access | Promise<Access>
  /** A thrown error becomes a result that says so; the turn goes on. */
  run(input: Input, context: ToolContext): Promise<ToolOutcome>
}

export type Access =
  | { readonly kind: 'read' | 'write'; readonly paths: readonly string[] }
  | { readonly kind: 'command'; readonly command: string }
  | { readonly kind: 'none' }

export interface ToolContext {
  readonly tape: Tape
  readonly cwd: string
  readonly callId: string
  /** The id of the entry that holds the call, for a handoff made inside it. */
  readonly entryId: number
  readonly runId: string
  /** Aborted when the person cancels the turn. */
  readonly signal: AbortSignal
  readonly onOutput: (chunk: string) => void
  /** The policy, for what a tool comes upon below a folder that it was let into. */
  readonly permissions?: Permissions | undefined
  /** Runs a child agent on a tape of its own, with this agent's model, policy and folder. Missing where children end. */
  readonly spawn?: (child: ChildRequest) => Promise<ChildResult>
}

export interface ChildRequest {
  /** The child's tape, already forked. */
  readonly tape: Tape
  readonly prompt: string
  /** What the child says, as it says it. */
  readonly onText?: (delta: string) => void
}

export interface ChildResult {
  readonly status: 'done' | 'aborted' | 'failed'
  /** What the child said last. */
  readonly text: string
  readonly error?: string
}

export interface ToolOutcome {
  /** Text or JSON, as the model gets it. */
  readonly output: unknown
  readonly isError?: boolean
}

/** Decides about a call; `ask` is put to the person. */
export interface Permissions {
  decide(tool: AgentTool, input: unknown, access: Access): Decision
  /** What "always" would allow from then on, as rules for the person to see before they say it. */
  always?(tool: AgentTool, input: unknown, access: Access): readonly string[]
  /** The person said "always" to such a call. */
  remember?(tool: AgentTool, input: unknown, access: Access): void
}

export type Decision = 'allow' | 'ask' | { readonly deny: string }

/** A call that waits for the person. */
export interface Question {
  readonly id: string
  readonly name: string
  readonly input: unknown
  readonly access: Access
  /** The rules that "always" would add, where the policy knows. */
  readonly always?: readonly string[]
  /** Aborted when the turn is cancelled: nobody waits for the answer any more. */
  readonly signal: AbortSignal
}

export type Answer = 'allow' | 'deny' | 'always'
