// What the agent of the chat is made from: the tools, what they may do, and the settings of the project.

import type { Agent } from '../../agent/agent.ts'
import { createAgent } from '../../agent/create-agent.ts'
import type { AgentEvent } from '../../agent/event.ts'
import { permissionPolicy } from '../../agent/permission.ts'
import type { Answer, Question } from '../../agent/tool.ts'
import { codingTools } from '../../agent/tools/index.ts'
import { configuredModels } from '../../config/configured-models.ts'
import { type ChosenModel, loadModel, type ModelChoice } from '../../config/model.ts'
import { windowOf } from '../../config/models.ts'
import type { Store } from '../../store/index.ts'
import type { ChatOptions } from './options.ts'
import { chatSettings } from './settings.ts'

export interface Hooks {
  ask?: (question: Question) => Promise<Answer>
  onEvent: (event: AgentEvent) => void
}

/** An agent on that tape. */
export type Making = (tape: string) => Promise<Agent>

/** Fails where the settings of the project cannot be read. */
export function makingOf(options: ChatOptions, store: Store, folder: string, hooks: Hooks): Making {
  const { handoff, permissions } = chatSettings(folder)
  const tools = codingTools()
  const policy = permissionPolicy({ ...permissions, cwd: folder, tools, yes: options.yes === true })
  return (tape) => createAgent({ store, tape, tools, cwd: folder, permissions: policy, handoff, ...hooks })
}

/** The model and its window: as the project says, else as it is known. */
export async function findModel(choice: ModelChoice): Promise<{ model: ChosenModel; window: number | undefined }> {
  const [model, models] = await Promise.all([loadModel(choice), configuredModels()])
  const names = [model.name, model.name.slice(model.name.indexOf('/') + 1)]
  const own = names.map((name) => models[name]?.window)
  const known = names.map((name) => windowOf(name, {}, 0))
  return { model, window: [...own, ...known].find((window) => window !== undefined) }
}
