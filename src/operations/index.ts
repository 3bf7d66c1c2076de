// What can be done to a workspace from outside. `operation.ts` says what an operation is, `table.ts` lists them all, and each
// folder holds those of one noun. The doors project this table; none of them adds to it.

export {
  allows,
  type ReadonlyAnswer,
  type AnyOperation,
  type Call,
  type Caller,
  isLive,
  type LiveOperation,
  type Operation,
  type Scope,
  scopes,
} from './operation.ts'
export { operations, type Operations, table } from './table.ts'
// One by one for the command line, which loads those that a command needs and no other: behind `export *` the bundle would run all.
export { tapeOfSession } from './agents/session-tape.ts'
export { sessionLog } from './agents/session-log.ts'
export { supervisedControl, supervisedList, supervisedLogs, supervisedShow } from './agents/supervised.ts'
export { sessionFollow, sessionImport } from './agents/sessions.ts'
export { sessionContinue, workList } from './agents/work.ts'
export { documentCheck, documentList, documentShow } from './document/documents.ts'
export { documentWrite, tapeContinue } from './document/write.ts'
export { escalationAnswer, escalationList, escalationShow } from './relay/escalations.ts'
export { relayAlerts, relayHistory, relayStatus, traceArchive, traceOwner, traceReturn } from './relay/history.ts'
export { progressText, relayAsk, relayCancel, relayReply, relayRequest, relayShow } from './relay/requests.ts'
export {
  relayAnswer,
  relayClaim,
  relayDead,
  relayDeadDrop,
  relayDeadRetry,
  relayHeartbeat,
  relayInbox,
  relayInboxWatch,
  relayProgress,
  relayRelease,
} from './relay/work.ts'
export {
  taskCreate,
  taskDecide,
  taskDiff,
  taskGate,
  taskHandoff,
  taskHistory,
  taskList,
  taskReady,
  taskReceive,
  taskShow,
} from './tasks.ts'
export { workspaceVerify } from './workspace-info.ts'
export { tapeAnchors, tapeContext, tapeHandoff } from './tape/contexts.ts'
export { tapeDelete, tapePrune } from './tape/delete.ts'
export { tapeAppend, tapeRead, tapeSearch, tapeWatch } from './tape/entries.ts'
export { lineageShow, tapeFork, tapeMerge } from './tape/forks.ts'
export { contextInbox, contextReceive, tapeGive } from './tape/give.ts'
export { factKinds, referenceFacts, referenceSection, referenceShow } from './tape/references.ts'
export {
  importLines,
  tapeExport,
  tapeInfo,
  tapeList,
  tapePurge,
  tapeRepair,
  tapeReset,
  tapeVerify,
} from './tape/tapes.ts'
export { demandTape, folderOf, openWorkspace, type Workspace } from './workspace.ts'
export type { OpenedRelay } from './relay/open.ts'
export { openWorkspaceRelay } from './relay/open.ts'
