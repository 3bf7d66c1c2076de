// Where tapes and blobs are kept. `store.ts` is the interface of an engine and its promises; `file/` is the engine on files, in which
// `write/writer.ts` is where a byte reaches the disk; `postgres/` and `nats/` are the engines on servers.

export {
  type AnchorPayload,
  type Draft,
  type Entry,
  entryFrom,
  type EntryOf,
  type ErrorPayload,
  type EventPayload,
  type Json,
  type Kind,
  type MessagePayload,
  type Meta,
  type OtherEntry,
  type OtherKind,
  type Part,
  type Payloads,
  type SystemPayload,
  type ToolCall,
  type ToolCallPayload,
  type ToolResult,
  type ToolResultPayload,
  isLost,
} from './entry.ts'
export {
  type AnchorQuery,
  type AnchorRef,
  type AppendOptions,
  type ArchiveRef,
  type BlobRef,
  type Damage,
  type Expect,
  limits,
  type OpenOptions,
  type Range,
  type RepairReport,
  type Store,
  type TapeInfo,
  type VerifyReport,
} from './store.ts'
export { type FileStoreOptions, openFileStore } from './file/engine.ts'
export { copyStore, type CopyProgress, differences, inChunks } from './copy.ts'
export { openStore } from './open.ts'
export { toJson } from './json.ts'
export { lineageTape } from './name.ts'
