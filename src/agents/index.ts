// Everything Baton knows about the agents people already use, one folder for each: where its sessions lie, how they are
// read, how it is started, what its screen shows. docs/adding-an-agent.md explains how to add one.

export { type Adapter, capability, type Command, adapterNamed, agentSettings, type AgentSettings } from './adapter.ts'
export {
  type Agent,
  type AgentStatus,
  type LaunchOptions,
  type Live,
  type ScreenState,
  type Screen,
  type SessionFile,
  type TurnOutcome,
  type TurnOutput,
} from './agent.ts'
export { type AgentConnection, type Change, type ConnectionPlace } from './connection.ts'
export {
  type About,
  type Compacted,
  type Fact,
  type LineDamage,
  type Parser,
  type Quota,
  type Rewound,
  type Said,
  type TurnMoved,
  type Used,
} from './fact.ts'
export { fields, type Fields, given, isFields, json, list, number, text } from './fields.ts'
export { firstBytes, isDocument, readJson, realPath } from './files.ts'
export { type AgentHooks, hooksOf } from './hooks.ts'
export { startWith } from './launch.ts'
export { limitEnd } from './limit-end.ts'
export { type AgentName, agentNames } from './names.ts'
export {
  projectFolders,
  projectSession,
  agentNamed,
  agents,
  anotherAgent,
  registerAgent,
  sessionId,
  sessionKey,
} from './registry.ts'
