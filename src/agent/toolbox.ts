// The tools under the two names they have: ours, and the one that every provider's alphabet allows.

import { tool, type ToolSet, zodSchema } from 'ai'
import { InvalidError } from '../errors.ts'
import { toolName } from '../tape/pairing.ts'
import type { AgentTool } from './tool.ts'

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

  /** Ours for the one that a model used; what no tool is called stays as it is. */
  nameOf(offered: string): string {
    return this.find(offered)?.name ?? offered
  }
}
