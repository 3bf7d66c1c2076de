// The section `agent` of baton.config.json, for the agent of the chat:
//
//   { "agent": { "handoff": { "at": "70%", "warnAt": "25%", "narrative": true },
//                "permissions": { "allow": ["bash npm test"], "deny": ["fs.write migrations/**"] } } }

import * as z from 'zod'
import type { AutomaticHandoff } from '../../agent/auto-handoff.ts'
import { permissionsSchema } from '../../agent/permission.ts'
import { loadConfig } from '../../config/config.ts'

const whatItMayBe = 'it must be a share such as "80%", a number of tokens, or false'
const threshold = z
  .union([z.literal(false), z.number().positive(), z.templateLiteral([z.number(), '%'])], whatItMayBe)
  .refine((value) => typeof value !== 'string' || !value.startsWith('-'), whatItMayBe)

const handoff = z.strictObject({
  at: threshold.optional(),
  warnAt: threshold.optional(),
  cooldown: z.number().nonnegative().optional(),
  narrative: z.boolean().optional(),
  budget: z.number().int().positive().optional(),
})

export const agentSection = z.strictObject({
  handoff: handoff.prefault({}),
  permissions: permissionsSchema.prefault({}),
})

export interface ChatSettings {
  readonly handoff: AutomaticHandoff
  readonly permissions: z.output<typeof permissionsSchema>
}

export function chatSettings(folder: string): ChatSettings {
  const { handoff, permissions } = loadConfig(folder).section('agent', agentSection)
  // What is not given is left out, so that the defaults of the agent hold.
  const given = Object.entries(handoff).filter(([, value]) => value !== undefined)
  return { handoff: Object.fromEntries(given), permissions }
}
