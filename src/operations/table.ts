// Every operation there is. What is exported by a module listed here appears at every door, with its documentation, its scope and
// its tests.

import * as activity from './activity.ts'
import * as cycles from './agents/cycles.ts'
import * as demo from './agents/demo.ts'
import * as meters from './agents/meters.ts'
import * as screen from './agents/screen.ts'
import * as sessionLog from './agents/session-log.ts'
import * as sessions from './agents/sessions.ts'
import * as spending from './agents/spending.ts'
import * as supervised from './agents/supervised.ts'
import * as work from './agents/work.ts'
import * as documents from './document/documents.ts'
import * as documentWriting from './document/write.ts'
import * as escalations from './relay/escalations.ts'
import * as relayHistory from './relay/history.ts'
import * as relayRequests from './relay/requests.ts'
import * as relayWork from './relay/work.ts'
import * as settings from './settings.ts'
import * as contexts from './tape/contexts.ts'
import * as tapeDeletion from './tape/delete.ts'
import * as entries from './tape/entries.ts'
import * as forks from './tape/forks.ts'
import * as give from './tape/give.ts'
import * as references from './tape/references.ts'
import * as tapes from './tape/tapes.ts'
import * as tasks from './tasks.ts'
import * as waiting from './waiting.ts'
import * as workspaceInfo from './workspace-info.ts'
import type { AnyOperation } from './operation.ts'

type OperationsOf<Module> = {
  [Name in keyof Module as Module[Name] extends { readonly route: string } ? Name : never]: Module[Name]
}

/** The operations among what a module exports, by name: a bundle keeps the exports in another order than Node. */
function operationsOf<Module extends object>(module: Module): OperationsOf<Module> {
  const all = Object.entries(module).filter(([, value]) => typeof value === 'object' && 'route' in value)
  return Object.fromEntries(all.toSorted(([one], [other]) => (one < other ? -1 : 1))) as OperationsOf<Module>
}

/** By the name they have in code: the client is typed by this. */
export const operations = {
  ...operationsOf(workspaceInfo),
  ...operationsOf(tapes),
  ...operationsOf(entries),
  ...operationsOf(contexts),
  ...operationsOf(forks),
  ...operationsOf(tapeDeletion),
  ...operationsOf(give),
  ...operationsOf(references),
  ...operationsOf(activity),
  ...operationsOf(sessions),
  ...operationsOf(sessionLog),
  ...operationsOf(work),
  ...operationsOf(meters),
  ...operationsOf(spending),
  ...operationsOf(cycles),
  ...operationsOf(demo),
  ...operationsOf(supervised),
  ...operationsOf(screen),
  ...operationsOf(documentWriting),
  ...operationsOf(documents),
  ...operationsOf(relayRequests),
  ...operationsOf(relayHistory),
  ...operationsOf(relayWork),
  ...operationsOf(escalations),
  ...operationsOf(tasks),
  ...operationsOf(waiting),
  ...operationsOf(settings),
} as const

export type Operations = typeof operations

/** The same as a list, for doors that walk it. */
export const table: readonly AnyOperation[] = Object.values(operations)
