// The section `agent` of baton.config.json, for the agent of the chat:
//
//   { "agent": { "handoff": { "at": "70%", "warnAt": "25%", "narrative": true },
//                "permissions": { "allow": ["bash npm test"], "deny": ["fs.write migrations/**"] } } }

import * as z from 'zod'
import type { AutomaticHandoff, Threshold } from '../../agent/auto-handoff.ts'
import { permissionsSchema } from '../../agent/permission.ts'
import { loadConfig } from '../../config/config.ts'

const isPercent = (text: string) => /^\d+(\.\d+)?%$/.test(text)
const threshold = z.custom<Threshold | false>(
  (value) => value === false || (typeof value === 'number' ? value > 0 : typeof value === 'string' && isPercent(value)),
  'it must be a share such as "80%", a number of tokens, or false',
)

const handoff = z.strictObject({
  at: threshold.optional(),
  warnAt: threshold.optional(),
  cooldown: z.number().nonnegative().optional(),
  narrative: z.boolean().optional(),
  budget: z.number().int().positive().optional(),
})

const section = z.strictObject({
  handoff: handoff.prefault({}),
  permissions: permissionsSchema.prefault({}),
})

export interface ChatSettings {
  readonly handoff: AutomaticHandoff
  readonly permissions: z.output<typeof permissionsSchema>
}

export function chatSettings(folder: string): ChatSettings {
  const { handoff, permissions } = loadConfig(folder).section('agent', section)
  // What is not given is left out, so that the defaults of the agent hold.
  const given = Object.entries(handoff).filter(([, value]) => value !== undefined)
  return { handoff: Object.fromEntries(given), permissions }
}
