// The built-in tools, one file for each kind; `tool.ts` says what a tool is.

import type { AgentTool } from './tool.ts'
import { bash } from './bash.ts'
import * as tape from './tape.ts'
import { tapeRead } from './tape-read.ts'
import { fsEdit } from './fs-edit.ts'
import { fsList } from './fs-list.ts'
import { fsRead } from './fs-read.ts'
import { fsSearch } from './fs-search.ts'
import { fsWrite } from './fs-write.ts'
import { todoTool } from './todo.ts'

export { bash, fsEdit, fsList, fsRead, fsSearch, fsWrite, tapeRead }
export * from './tape.ts'

/** Everything a coding agent needs, in the order in which a model sees it. */
export function codingTools(): AgentTool[] {
  return [
    fsRead,
    fsWrite,
    fsEdit,
    fsList,
    fsSearch,
    bash,
    todoTool,
    tape.blobRead,
    tape.tapeHandoff,
    tape.tapeAnchors,
    tape.tapeSearch,
    tapeRead,
    tape.tapeInfo,
    tape.tapeFork,
    tape.tapeGive,
    tape.tapeInbox,
    tape.agentSpawn,
  ]
}
