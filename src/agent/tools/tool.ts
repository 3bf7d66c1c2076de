// The tools of an agent. Before a call runs, its tool says which files or which command it would touch, and a policy decides about that.
// This folder holds the built-in tools, one file for each; ../permissions holds the policy.

import { tool, type ToolSet, zodSchema } from 'ai'
import type * as z from 'zod'
import { InvalidError } from '../../errors.ts'
import { type Tape, toolName } from '../../tape/index.ts'

/** A tool that an agent offers to its model. */
export interface AgentTool<Input = unknown> {
  /** Dotted, such as `fs.read`; a model sees it in its provider's alphabet (`fs_read`), the tape and people as it is here. */
  readonly name: string
  readonly description: string
  readonly input: z.ZodType<Input>
  /** What a call would touch, asked before it runs. A tool without it touches nothing. */
  access?(input: Input, context: ToolContext): Access | Promise<Access>
  /** A thrown error becomes a result that reports it, and the turn continues. */
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
  /** The policy, for files that a tool finds below a folder that it may enter. */
  readonly permissions?: Permissions | undefined
  /** Runs a child agent on a new tape, with this agent's model, policy and folder. Undefined for an agent that may not start children. */
  readonly spawn?: (child: ChildRequest) => Promise<ChildResult>
  /** Has something done once the turn is on the tape to its end. */
  readonly afterTurn?: (work: () => Promise<void>) => void
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

/** A tool whose functions know their input from its schema. */
export function defineTool<Input>(
  name: string,
  tool: Omit<AgentTool<NoInfer<Input>>, 'name' | 'input'> & { readonly input: z.ZodType<Input> },
): AgentTool<Input> {
  return { name, ...tool }
}

/** The tools under the two names they have: ours, and the one that every provider's alphabet allows. */
export class Toolbox {
  readonly tools: readonly AgentTool[]
  /** As the model is offered them; always in the same order, so that the beginning of a request stays the same. */
  readonly offered: ToolSet
  readonly #byName = new Map<string, AgentTool>()

  constructor(tools: readonly AgentTool[]) {
    this.tools = tools
    for (const each of tools) {
      const name = toolName(each.name)
      const other = this.#byName.get(name)
      if (other !== undefined)
        throw new InvalidError(`The tools ${other.name} and ${each.name} are both called ${name}`)
      this.#byName.set(name, each)
    }
    this.offered = Object.fromEntries(
      tools.map(({ name, description, input }) => [
        toolName(name),
        tool({ description, inputSchema: zodSchema(input) }),
      ]),
    )
  }

  /** By either name. */
  find(name: string): AgentTool | undefined {
    return this.#byName.get(toolName(name))
  }

  /** The tool's own name for the name that a model used; an unknown name is returned unchanged. */
  nameOf(offered: string): string {
    return this.find(offered)?.name ?? offered
  }
}
