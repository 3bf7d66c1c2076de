export { assess, HandoffEscalationError, type Job, process, type State as JobState } from './agent.ts'
export { type Alert, type AlertBook, type AlertBookOptions, openAlertBook } from './alerts-book.ts'
export { type AlertName } from './alerts.ts'
export { type AnswerOptions } from './answers.ts'
export { checkRelay, type CheckResult } from './check.ts'
export { type ClaimOptions } from './claims.ts'
export {
  type ContextHandoff,
  contextHandoffs,
  receiveContextHandoff,
  type ReceivedContext,
  sendContextHandoff,
} from './context-handoff.ts'
export { type RequestOptions } from './manager.ts'
export { alertNotice, answerCommand, escalationNotice } from './notices.ts'
export {
  type AnswerFacts,
  type Rejection,
  type RelayObserver,
  type RequestFacts,
  type RequestSpan,
  type ResumeFacts,
  type WorkFacts,
  type WorkSpan,
} from './observer.ts'
export {
  type AnswerResult,
  type Claim,
  type Counters,
  type Escalation,
  type EscalationDetail,
  type HistoryQuery as HandoffHistoryQuery,
  type HistoryRow as HandoffHistoryRow,
  type InboxItem,
  type Outcome,
  type Owner,
  type RelayStatus,
  type RequestStatus,
} from './outcome.ts'
export { type PersonsAnswer } from './people.ts'
export { type RecoveryAction } from './recovery.ts'
export { openRelay, Relay, type RelayOptions, type ResumeOptions } from './relay.ts'
export {
  type Envelope,
  type HandoffAnswer,
  type HandoffDecision,
  type HandoffRequest,
  type HandoffResponse,
  jsonSchema as relaySchema,
  type MissingInput,
  type Mode as HandoffMode,
  type Priority,
  type Reason as HandoffReason,
  type SchemaName as RelaySchemaName,
  schemaVersion as handoffSchemaVersion,
  type Status as HandoffStatus,
} from './schema.ts'
export { relaySection, type RelaySettings } from './settings.ts'
export { tend, type TendOptions } from './tend.ts'
export { openTeller, type Teller, type TellerOptions } from './teller.ts'
export {
  type Handler as HandoffHandler,
  type HandlerContext as HandoffHandlerContext,
  type ServeOptions,
} from './worker.ts'
