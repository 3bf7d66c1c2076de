export { type Approval } from './approval.ts'
export { type Drift } from './artifacts.ts'
export { type Readiness } from './dependencies.ts'
export { type TaskDiff } from './diff.ts'
export { GateError, type GateResult } from './gates.ts'
export { openTasks, type OpenTasksOptions, stateFolderOf } from './open.ts'
export {
  type Artifact,
  type ArtifactType,
  type Decision,
  type HandoffCommand,
  type Issue,
  jsonSchema,
  type NewTask,
  type Phase,
  type SchemaName,
  type Severity,
  type Spec,
  type TaskHandoff,
  type TaskState,
} from './schema.ts'
export { taskSection, type TaskSettings } from './settings.ts'
export {
  type HandoffChoices,
  type HistoryRow,
  type Prepared,
  type Received,
  Tasks,
  type TasksOptions,
} from './tasks.ts'
export { type Version } from './versions.ts'
