import type { AgentTool } from '../tool.ts'
import { bash } from './bash.ts'
import { blobRead } from './blob.ts'
import { fsEdit } from './fs-edit.ts'
import { fsList } from './fs-list.ts'
import { fsRead } from './fs-read.ts'
import { fsSearch } from './fs-search.ts'
import { fsWrite } from './fs-write.ts'
import { agentSpawn } from './spawn.ts'
import { tapeAnchors, tapeFork, tapeHandoff, tapeInfo, tapeSearch } from './tape.ts'

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
  tapeHandoff,
  tapeInfo,
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
    blobRead,
    tapeHandoff,
    tapeAnchors,
    tapeSearch,
    tapeInfo,
    tapeFork,
    agentSpawn,
  ]
}
