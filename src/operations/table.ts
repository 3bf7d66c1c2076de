// Every operation there is. What is listed here appears at every door, with its documentation, its scope and its tests.

import { documentList, documentShow, documentWrite } from './document/documents.ts'
import { workspaceInfo } from './info.ts'
import type { AnyOperation } from './operation.ts'
import { tapeAnchors, tapeContext, tapeHandoff } from './tape/contexts.ts'
import { tapeAppend, tapeRead, tapeSearch, tapeWatch } from './tape/entries.ts'
import { lineageShow, referenceShow, tapeFork, tapeMerge } from './tape/forks.ts'
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
  documentWrite,
  documentList,
  documentShow,
  tapeList,
  tapeInfo,
  tapeAppend,
  tapeRead,
  tapeWatch,
  tapeSearch,
  tapeAnchors,
  tapeHandoff,
  tapeContext,
  tapeFork,
  tapeMerge,
  tapeReset,
  tapePurge,
  tapeVerify,
  tapeRepair,
  tapeExport,
  tapeImport,
  lineageShow,
  referenceShow,
} as const

/** The same as a list, for doors that walk it. */
export const table: readonly AnyOperation[] = Object.values(operations)
