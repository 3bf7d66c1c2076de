// OpenTelemetry: `observer.ts` is what the relay reports to, `handoffs.ts` turns it into spans and metrics, `tasks.ts` does so for
// tasks, and `conventions.ts` holds the names that others have agreed on.

export { handoffTelemetry, telemetrySection, type TelemetrySettings } from './handoffs.ts'
export {
  type AnswerFacts,
  type HandoffFacts,
  type HandoffObserver,
  type HandoffRequestSpan,
  type HandoffWorkSpan,
} from './observer.ts'
export { type StartedSdk, startSdk } from './opentelemetry.ts'
export { silentTasks, type TaskHandoffSpan, type TaskObserver, taskTelemetry } from './tasks.ts'
export { type AgentShape, type TokenUsage } from './conventions.ts'
