// The state of a task, handed from agent to agent: `tasks.ts` loads and saves, `handoffs.ts` hands over, `gates.ts` and `questions.ts` decide
// whether it may, `versions.ts` keeps every version on a tape, `state-file.ts` writes the one that people read.

export { type Drift } from './artifacts.ts'
export { type Readiness } from './dependencies.ts'
export { type TaskDiff } from './delta.ts'
export { type AskedQuestion, GateError, type GateResult } from './gates.ts'
export { type HandoffChoices, type People, type TaskQuestion } from './handoffs.ts'
export { openTasks, type OpenTasksOptions } from './open.ts'
export { type PersonDecision, type GateRefusal, type PersonQuestion, type Verdict } from './questions.ts'
export {
  type TaskArtifact,
  type ArtifactWaiver,
  type MetCriterion,
  type ArtifactType,
  type TaskDecision,
  type HandoffCommand,
  type TaskIssue,
  taskSchema,
  type NewTask,
  type TaskPhase,
  type TaskSchemaName,
  type TaskSpec,
  type TaskHandoff,
  type TaskState,
} from './schema.ts'
export { type TaskSettings } from './settings.ts'
export {
  type DecideOptions,
  type TaskProblem,
  type TaskHistoryRow,
  type Prepared,
  type Received,
  Tasks,
  type TasksOptions,
} from './tasks.ts'
export { type LostVersions, type TaskVersion } from './versions.ts'
export { artifactTypes, severities, stateSchema, taskSchemaNames } from './schema.ts'
export { taskSection } from './settings.ts'
export { renderState } from './state-file.ts'
