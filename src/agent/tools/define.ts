import type * as z from 'zod'
import type { AgentTool } from '../tool.ts'

/** A tool whose functions know their input from its schema. */
export function defineTool<Input>(
  tool: Omit<AgentTool<NoInfer<Input>>, 'input'> & { readonly input: z.ZodType<Input> },
): AgentTool<Input> {
  return tool
}
