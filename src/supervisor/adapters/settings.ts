// What a person says about an agent, in `supervisor.agents` of baton.config.json: how a known one is started, or all
// that is needed to drive one that Baton does not know.

import * as z from 'zod'
import { agentNames } from '../../transcripts/index.ts'

const pattern = z.string().refine(isPattern, 'must be a regular expression')

export const agentSettings = z.strictObject({
  /** The program and the arguments that always come first. */
  command: z.array(z.string().min(1)).min(1).optional(),
  /** Laid over the environment; also tells where its transcripts lie, such as CLAUDE_CONFIG_DIR. */
  env: z.record(z.string(), z.string()).optional(),
  /** In tokens, where it compacts by itself; a value up to 1 is a part of the window. */
  compactsAt: z.number().positive().optional(),
  label: z.string().optional(),
  /** Whose form its transcripts have; needed for an agent of one's own. */
  transcript: z.enum(agentNames).optional(),
  /** Arguments behind the command; `{session}` and `{prompt}` stand for those. */
  launch: z.array(z.string()).optional(),
  resume: z.array(z.string()).optional(),
  turn: z.array(z.string()).optional(),
  resumeTurn: z.array(z.string()).optional(),
  clear: z.string().min(1).optional(),
  /** Whether that makes a new transcript at once, rather than with the next prompt. */
  clearShows: z.boolean().optional(),
  interrupt: z.array(z.string().regex(/^(?!C-c$).+/, 'may not be C-c, which ends most agents')).optional(),
  settle: z.number().int().min(0).max(5_000).optional(),
  /** Of a line on its screen: `ready` where it waits for a prompt, its first group being what is typed there. */
  ready: pattern.optional(),
  busy: pattern.optional(),
  dialog: pattern.optional(),
})

export type AgentSettings = z.output<typeof agentSettings>

function isPattern(source: string): boolean {
  try {
    return new RegExp(source, 'u') instanceof RegExp
  } catch {
    return false
  }
}
