export type { Agent, AgentHandoffOptions, AgentOptions, RetryOptions, TurnResult } from './agent.ts'
export type { AutomaticHandoff, Threshold } from './auto-handoff.ts'
export { createAgent } from './create-agent.ts'
export type { AgentEvent, HandoffTrigger, Usage } from './event.ts'
export { type PermissionSettings, permissionPolicy, permissionsSchema, type PolicyOptions } from './permission.ts'
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
} from './tool.ts'
export {
  agentSpawn,
  bash,
  blobRead,
  codingTools,
  fsEdit,
  fsList,
  fsRead,
  fsSearch,
  fsWrite,
  tapeAnchors,
  tapeFork,
  tapeHandoff,
  tapeInfo,
  tapeSearch,
} from './tools/index.ts'
