// The built-in tools, one file for each kind; `tool.ts` says what a tool is.

import type { AgentTool } from './tool.ts'
import { bash } from './bash.ts'
import {
  agentSpawn,
  blobRead,
  tapeAnchors,
  tapeFork,
  tapeHandoff,
  tapeInfo,
  tapeSearch,
  tapeGive,
  tapeInbox,
} from './tape.ts'
import { tapeRead } from './tape-read.ts'
import { fsEdit } from './fs-edit.ts'
import { fsList } from './fs-list.ts'
import { fsRead } from './fs-read.ts'
import { fsSearch } from './fs-search.ts'
import { fsWrite } from './fs-write.ts'
import { todoTool } from './todo.ts'

export {
  agentSpawn,
  bash,
  blobRead,
  fsEdit,
  fsList,
  fsRead,
  fsSearch,
  fsWrite,
  tapeAnchors,
  tapeFork,
  tapeGive,
  tapeHandoff,
  tapeInbox,
  tapeInfo,
  tapeRead,
  tapeSearch,
}

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
    blobRead,
    tapeHandoff,
    tapeAnchors,
    tapeSearch,
    tapeRead,
    tapeInfo,
    tapeFork,
    tapeGive,
    tapeInbox,
    agentSpawn,
  ]
}
