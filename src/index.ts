// What most programs need: tapes, documents, the agent, tasks, the relay and the errors. Everything else has an entry of its own, such as
// `@baton/baton/tape` or `@baton/baton/relay`.

export * from './errors.ts'
export {
  type Agent,
  type AgentEvent,
  type AgentOptions,
  type AgentTool,
  codingTools,
  createAgent,
  permissionPolicy,
} from './exports/agent.ts'
export {
  type HandoffDocument,
  handoffSession,
  openSession,
  type SavedDocument,
  savedDocuments,
  writeDocument,
  writeHandoff,
  type WriteHandoffOptions,
  type WriteOptions,
  type Written,
} from './exports/handoff.ts'
export { type Notifier, openNotifier } from './exports/notify.ts'
export {
  type AskOptions,
  type AskResult,
  HandoffEscalationError,
  HandoffRefusedError,
  type HandoffRequest,
  type HandoffResponse,
  openRelay,
  Relay,
  type RelayOptions,
} from './exports/relay.ts'
export { type Draft, type Entry, type Json, type Kind, type Meta, openStore, type Store } from './exports/store.ts'
export {
  type Context,
  type ContextQuery,
  type HandoffOptions,
  type Info,
  type OpenOptions,
  openTape,
  type RecordedMessage,
  Tape,
} from './exports/tape.ts'
export { GateError, openTasks, type TaskHandoff, Tasks, type TaskState } from './exports/task.ts'
