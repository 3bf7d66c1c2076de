export type { AnchorRef, Draft, Entry, Json, Meta } from './entry.ts'
export { type FileStoreOptions, openFileStore } from './file/engine.ts'
export { openStore } from './open.ts'
export {
  type AnchorQuery,
  type AppendOptions,
  type ArchiveRef,
  type BlobRef,
  type Damage,
  type Expect,
  limits,
  type Range,
  type RepairReport,
  type Store,
  type TapeInfo,
  type VerifyReport,
} from './store.ts'
