// Requests from one agent to another, or to a person. `relay.ts` opens one, `manager.ts` takes a request from admission to its answer;
// `request/` is what is asked and whether it may be, `work/` who answers, `people/` what waits for a person, `journal/` what is kept
// on the tape, `alerts/` what should worry somebody.

export { type AlertName } from './alerts/alert-rules.ts'
export { type Alert, type Alerts, type AlertsOptions, openAlerts } from './alerts/alerts.ts'
export { type AskOptions, type AskResult } from './ask.ts'
export { checkRelay, type CheckResult, isFailed } from './check.ts'
export {
  type ContextHandoff,
  contextHandoffs,
  receiveContextHandoff,
  type ReceivedContext,
  sendContextHandoff,
} from './context-handoff.ts'
export { type RelayObserver } from './context.ts'
export { assess, HandoffEscalationError, HandoffRefusedError, type Job, type JobState, runJob } from './job.ts'
export { type HandoffHistoryQuery, type HandoffHistoryRow } from './journal/history.ts'
export { type ArchiveOptions, type ArchiveResult } from './journal/journal.ts'
export { type Counters, type DeadLetter } from './journal/open-requests.ts'
export { type HandoffProgress, type HandoffQuestion, type RelayStatus, type RequestStatus } from './journal/status.ts'
export { maintainRelay, type MaintainRelayOptions } from './maintenance.ts'
export { type RequestOptions } from './manager.ts'
export { type EscalationAnswer } from './people/escalations.ts'
export { alertNotice, answerCommand, answerCommandFor, escalationNotice } from './people/notices.ts'
export { type OnceNotifier, type OnceNotifierOptions, openOnceNotifier } from './people/notify-once.ts'
export { type RecoveryAction } from './recovery.ts'
export { openRelay, Relay, type RelayOptions, type ResumeOptions } from './relay.ts'
export { type AnswerOptions } from './request/answers.ts'
export { type Owner } from './request/trace-owner.ts'
export {
  type AnswerResult,
  type Claim,
  type Escalation,
  type EscalationDetail,
  type InboxItem,
  type ProvidedInputs,
  type RequestOutcome,
  requestRow,
} from './results.ts'
export {
  answerSchema,
  type Envelope,
  type HandoffAnswer,
  type HandoffDecision,
  type HandoffMode,
  type HandoffReason,
  type HandoffRequest,
  type HandoffResponse,
  handoffSchemaVersion,
  type HandoffStatus,
  type MissingInput,
  type Priority,
  type Rejection,
  relaySchema,
  type RelaySchemaName,
  relaySchemaNames,
} from './schema.ts'
export { limitsSchema, relaySection, type RelaySettings } from './settings.ts'
export { type ClaimOptions } from './work/claims.ts'
export { type ProgressUpdate, type QuestionHandler } from './work/questions.ts'
export { type ServeOptions } from './work/serving.ts'
export { type HandoffHandler, type HandoffHandlerContext } from './work/worker.ts'
