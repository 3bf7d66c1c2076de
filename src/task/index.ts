export { type Approval } from './approval.ts'
export { type Drift } from './artifacts.ts'
export { type Readiness } from './dependencies.ts'
export { type TaskDiff } from './diff.ts'
export { GateError, type GateResult } from './gates.ts'
export { openTasks, type OpenTasksOptions } from './open.ts'
export {
  type Artifact as TaskArtifact,
  type ArtifactType,
  type Decision as TaskDecision,
  type HandoffCommand,
  type Issue as TaskIssue,
  jsonSchema as taskSchema,
  type NewTask,
  type Phase as TaskPhase,
  type SchemaName as TaskSchemaName,
  type Spec as TaskSpec,
  type TaskHandoff,
  type TaskState,
} from './schema.ts'
export { type TaskSettings } from './settings.ts'
export {
  type HandoffChoices,
  type HistoryRow,
  type Prepared,
  type Received,
  Tasks,
  type TasksOptions,
} from './tasks.ts'
export { type Version as TaskVersion } from './versions.ts'
