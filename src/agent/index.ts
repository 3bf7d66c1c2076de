// Baton's own agent: a conversation with a model that is kept on a tape. `create-agent.ts` makes one, `loop.ts` runs its turns,
// `model/` calls the model, `commands/` separates what people type for Baton from what they say to the model, `tools/` is what the
// agent can do and `permissions/` what it may do.

export type { Agent, AgentHandoffOptions, AgentOptions, RetryOptions, TurnResult } from './agent.ts'
export type { AutomaticHandoff, Threshold } from './handoff.ts'
export { createAgent } from './create-agent.ts'
export { imagePart, type Prompt, type PromptWithImages, withImages } from './model/images.ts'
export type { AgentEvent, HandoffTrigger, Usage } from './event.ts'
export { projectInstructions } from './instructions.ts'
export { chatData, chatHolder, chatProcess, chatRegister } from './open-chats.ts'
export {
  type PermissionSettings,
  permissionPolicy,
  permissionsSchema,
  type PolicyOptions,
} from './permissions/policy.ts'
export type { Recovered } from './recovery.ts'
export type {
  Access,
  AgentTool,
  Answer,
  ChildRequest,
  ChildResult,
  Decision,
  Permissions,
  Question,
  ToolContext,
  ToolOutcome,
} from './tools/tool.ts'
export * from './tools/index.ts'
export { findCommand, freeFork, help } from './commands/commands.ts'
export { route } from './commands/router.ts'
export { demandRest } from './turn.ts'
