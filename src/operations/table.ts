// Every operation there is. What is listed here appears at every door, with its documentation, its scope and its tests.

import { sessionMeters } from './agents/meters.ts'
import { spendingShow } from './agents/spending.ts'
import { supervisedScreen } from './agents/screen.ts'
import { activityShow, meterHistory } from './activity.ts'
import {
  supervisedCycles,
  supervisedList,
  supervisedShow,
  supervisedLogs,
  supervisedControl,
  supervisedRun,
} from './agents/supervised.ts'
import { demoStart } from './agents/demo.ts'
import { sessionLog } from './agents/session-log.ts'
import { sessionFollow, sessionList, sessionImport } from './agents/sessions.ts'
import { sessionContinue, workList } from './agents/work.ts'
import { documentCheck, documentDiff, documentItems, documentList, documentShow } from './document/documents.ts'
import { documentWrite, tapeContinue } from './document/write.ts'
import { escalationAnswer, escalationList, escalationShow } from './relay/escalations.ts'
import { relayAlerts, relayHistory, relayMetrics, relayRecent, relayStatus } from './relay/history.ts'
import { relayAsk, relayCancel, relayReply, relayRequest, relayShow } from './relay/requests.ts'
import {
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
import { doctorCheck, settingsShow } from './settings.ts'
import { traceArchive, traceOwner, traceReturn } from './relay/traces.ts'
import {
  taskList,
  taskShow,
  taskCreate,
  taskHandoff,
  taskReceive,
  taskHistory,
  taskDiff,
  taskDecide,
  taskGate,
  taskReady,
} from './tasks.ts'
import { waitingList } from './waiting.ts'
import { workspaceInfo, workspaceVerify } from './workspace-info.ts'
import type { AnyOperation } from './operation.ts'
import { tapeAnchors, tapeContext, tapeHandoff, tapeTokens } from './tape/contexts.ts'
import { tapeAppend, tapeRead, tapeSearch, tapeWatch } from './tape/entries.ts'
import { tapeDelete, tapePrune } from './tape/delete.ts'
import { lineageShow, tapeFork, tapeMerge } from './tape/forks.ts'
import { contextInbox, contextReceive, tapeGive } from './tape/give.ts'
import { referenceFacts, referenceSection, referenceShow } from './tape/references.ts'
import {
  tapeExport,
  tapeImport,
  tapeInfo,
  tapeList,
  tapePurge,
  tapeRepair,
  tapeReset,
  tapeVerify,
} from './tape/tapes.ts'

/** By the name they have in code: the client is typed by this. */
export const operations = {
  workspaceInfo,
  workspaceVerify,
  tapeList,
  tapeInfo,
  tapeAppend,
  tapeRead,
  tapeWatch,
  tapeSearch,
  tapeAnchors,
  tapeHandoff,
  tapeContext,
  tapeTokens,
  tapeFork,
  tapeMerge,
  tapeReset,
  tapePurge,
  tapeDelete,
  tapePrune,
  tapeVerify,
  tapeRepair,
  tapeExport,
  tapeImport,
  tapeGive,
  contextInbox,
  contextReceive,
  lineageShow,
  referenceShow,
  referenceFacts,
  referenceSection,
  activityShow,
  meterHistory,
  sessionList,
  sessionImport,
  sessionFollow,
  sessionLog,
  sessionContinue,
  workList,
  sessionMeters,
  spendingShow,
  demoStart,
  supervisedList,
  supervisedShow,
  supervisedLogs,
  supervisedCycles,
  supervisedScreen,
  supervisedControl,
  supervisedRun,
  documentWrite,
  tapeContinue,
  documentList,
  documentShow,
  documentItems,
  documentCheck,
  documentDiff,
  relayAsk,
  relayRequest,
  relayShow,
  relayStatus,
  relayInbox,
  relayClaim,
  relayHeartbeat,
  relayRelease,
  relayAnswer,
  relayCancel,
  relayProgress,
  relayReply,
  relayRecent,
  relayHistory,
  relayDead,
  relayDeadRetry,
  relayDeadDrop,
  relayInboxWatch,
  traceOwner,
  traceReturn,
  traceArchive,
  relayAlerts,
  relayMetrics,
  escalationList,
  escalationShow,
  escalationAnswer,
  taskList,
  taskShow,
  taskCreate,
  taskHandoff,
  taskReceive,
  taskHistory,
  taskDiff,
  taskDecide,
  taskGate,
  taskReady,
  waitingList,
  settingsShow,
  doctorCheck,
} as const

export type Operations = typeof operations

/** The same as a list, for doors that walk it. */
export const table: readonly AnyOperation[] = Object.values(operations)
