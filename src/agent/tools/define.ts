import type { AgentTool } from '../tool.ts'

/** A tool whose functions know their input from its schema. */
export function defineTool<Input>(tool: AgentTool<Input>): AgentTool<Input> {
  return tool
}
