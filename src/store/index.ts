// Where tapes and blobs are kept. `store.ts` is the interface of an engine and its promises; `file/` is the engine on files, in which
// `write/writer.ts` is where a byte reaches the disk; `postgres/` and `nats/` are the engines on servers.

export { isDate } from './date.ts'
export { entryFrom, isLost } from './entry.ts'
export type * from './entry.ts'
export { limits } from './store.ts'
export type * from './store.ts'
export { type FileStoreOptions, openFileStore } from './file/engine.ts'
export { copyStore, type CopyProgress, differences, inChunks } from './copy.ts'
export { openStore } from './open.ts'
export { toJson } from './json.ts'
export { lineageTape } from './name.ts'
