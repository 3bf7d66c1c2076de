// The agent of the chat: its options on the command line, its section of baton.config.json, its tools and its model. The section:
//
//   { "agent": { "handoff": { "at": "70%", "warnAt": "25%", "narrative": true },
//                "permissions": { "allow": ["bash npm test"], "deny": ["fs.write migrations/**"] } } }

import * as z from 'zod'
import {
  type Agent,
  type AgentEvent,
  type Answer,
  type AutomaticHandoff,
  codingTools,
  createAgent,
  permissionPolicy,
  permissionsSchema,
  projectInstructions,
  type Question,
} from '../../agent/index.ts'
import {
  type ChosenModel,
  configuredModels,
  loadConfig,
  loadModel,
  type ModelChoice,
  windowOf,
} from '../../config/index.ts'
import type { Store } from '../../store/index.ts'
import type { Globals } from '../base/output.ts'

export interface ChatOptions extends Globals {
  new?: boolean
  tape?: string
  as?: string
  model?: string
  baseUrl?: string
  yes?: boolean
  print?: string | true
}

/** The chosen model; keys and defaults come from the environment of the command. */
export function modelChoice({ model, baseUrl, io }: ChatOptions): ModelChoice {
  return { model, baseUrl, env: io.env }
}

export interface Hooks {
  ask?: (question: Question) => Promise<Answer>
  onEvent: (event: AgentEvent) => void
}

/** Creates an agent on the tape of that name. */
export type AgentMaker = (tape: string) => Promise<Agent>

/** Throws if the project's settings are invalid. */
export function agentMaker(options: ChatOptions, store: Store, folder: string, hooks: Hooks): AgentMaker {
  const { handoff, permissions } = chatSettings(folder)
  const tools = codingTools()
  const policy = permissionPolicy({ ...permissions, cwd: folder, tools, yes: options.yes === true })
  const as = options.as ?? 'chat'
  return (tape) => {
    const instructions = projectInstructions(folder)
    return createAgent({ store, tape, as, tools, cwd: folder, permissions: policy, handoff, instructions, ...hooks })
  }
}

/** Loads the model; its window is the configured one, else the one that Baton knows. */
export async function findModel(
  choice: ModelChoice,
  folder: string,
): Promise<{ model: ChosenModel; window: number | undefined }> {
  const [model, models] = await Promise.all([loadModel(choice), configuredModels(folder)])
  const names = [model.name, model.name.slice(model.name.indexOf('/') + 1)]
  const own = names.map((name) => models[name]?.window)
  const known = names.map((name) => windowOf(name, {}, 0))
  return { model, window: [...own, ...known].find((window) => window !== undefined) }
}

const whatItMayBe = 'it must be a share such as "80%", a number of tokens, or false'
const threshold = z
  .union([z.literal(false), z.number().positive(), z.templateLiteral([z.number(), '%'])], whatItMayBe)
  .refine((value) => typeof value !== 'string' || !value.startsWith('-'), whatItMayBe)

const handoff = z.strictObject({
  at: threshold
    .optional()
    .describe('when to hand over: a share such as "80%" (the default), tokens, or false for never'),
  warnAt: threshold.optional().describe('when to warn, once in a phase'),
  cooldown: z
    .number()
    .nonnegative()
    .optional()
    .describe('seconds between two automatic handoffs, at least; 60 by default'),
  narrative: z.boolean().optional().describe('the model writes the narrative of the document; false: the ledger does'),
  budget: z.number().int().positive().optional().describe('tokens of the document, at most'),
})

export const agentSection = z.strictObject({
  handoff: handoff.prefault({}).describe('when the chat hands over by itself'),
  permissions: permissionsSchema.prefault({}).describe('rules such as "bash npm test" or "fs.write docs/**"'),
})

interface ChatSettings {
  readonly handoff: AutomaticHandoff
  readonly permissions: z.output<typeof permissionsSchema>
}

function chatSettings(folder: string): ChatSettings {
  const { handoff, permissions } = loadConfig(folder).section('agent', agentSection)
  // Settings that are not given are left out, so that the agent's defaults apply.
  const given = Object.entries(handoff).filter(([, value]) => value !== undefined)
  return { handoff: Object.fromEntries(given), permissions }
}
