// The interface that every storage engine implements. Everything durable in Baton is a tape behind this interface. The store
// interprets only the fields of an entry that it has to index; the meaning of payloads belongs to the tape.

import type { Readable } from 'node:stream'
import type { Draft, Entry } from './entry.ts'

/**
 * `n`: the last id the caller has seen (0: an empty tape). `{key, id}`: the last entry of the current segment with that key (0: none
 * yet). With `since`, what came behind that entry must not be in an archive: then "none yet" also means none that was archived meanwhile.
 */
export type Expect = number | { key: string; id: number; since?: number }

export interface AppendOptions {
  expect?: Expect
  /**
   * `false`: resolves as soon as every process can read the entries, which the next append makes durable, too. A crash of the machine
   * before that may lose them. For what is worth nothing after such a crash; an engine may make them durable at once.
   */
  durable?: boolean
}

/** Both bounds are exclusive ids. Without `archived`, only the current segment is read. */
export interface Range {
  after?: number
  before?: number
  kinds?: readonly string[]
  limit?: number
  reverse?: boolean
  archived?: boolean
  /** Called for every damaged place; reading then continues after it. Without it, damage throws `DamagedError`. */
  onDamage?: (damage: Damage) => void
}

export interface AnchorQuery {
  name?: string
  /** The newest so many; they still come oldest first. */
  limit?: number
  /** Exclusive ids, as in `Range`. */
  after?: number
  before?: number
  archived?: boolean
}

export interface TapeInfo {
  readonly tape: string
  /** Entries of the current segment; those of earlier ones are in its archives. */
  readonly entries: number
  readonly firstId: number
  readonly lastId: number
  readonly anchors: number
  readonly lastAnchor: { id: number; name: string; from?: number } | undefined
  /** What the context after the last anchor is made from. */
  readonly phase: { entries: number; bytes: number }
  readonly bytes: number
  /** When the last entry was made. */
  readonly date: string | undefined
}

export interface ArchiveRef {
  /** Names the archive within its workspace; for the file engine, a path relative to it. */
  readonly ref: string
  readonly tape: string
  readonly firstId: number
  readonly lastId: number
  readonly bytes: number
}

export interface BlobRef {
  readonly sha256: string
  readonly bytes: number
}

export type DamageKind = 'torn' | 'nul' | 'checksum' | 'unreadable' | 'splice' | 'newline' | 'gap' | 'batch'

export interface Damage {
  readonly kind: DamageKind
  readonly file: string
  /** Where the damaged bytes begin, and how many they are (0 for a gap). */
  readonly offset: number
  readonly length: number
  /** The ids that cannot be read because of it, if any. */
  readonly lost: { from: number; to: number } | undefined
  readonly message: string
}

export interface VerifyReport {
  readonly tape: string
  readonly file: string
  readonly entries: number
  readonly bytes: number
  readonly damage: readonly Damage[]
  /** The state of the rebuildable index beside the tape. */
  readonly index: 'ok' | 'missing' | 'stale'
}

export interface RepairReport {
  readonly tape: string
  readonly damage: readonly Damage[]
  /** Where the bytes that were cut now lie; empty when nothing was. */
  readonly cut: readonly string[]
  readonly kept: number
}

/** What an engine implements: the tapes, anchors and blobs of one workspace. */
export interface Store {
  /** Identifies the workspace in `tape://` references. */
  readonly workspace: string
  /** Where it is, for people: a folder, or an address without user and password. */
  readonly place: string
  /** What an acknowledged append means here, in one sentence for people. */
  readonly guarantee: string
  /** All or none; durable when resolved. */
  append(tape: string, drafts: readonly Draft[], options?: AppendOptions): Promise<Entry[]>
  /** A new tape, made in batches and visible only when complete. An existing one is a `ConflictError`. */
  create(tape: string, batches: Iterable<readonly Draft[]> | AsyncIterable<readonly Draft[]>): Promise<TapeInfo>
  /** The entries of a range as they are when reading begins. An unknown tape is empty. */
  read(tape: string, range?: Range): AsyncIterable<Entry>
  /** From an index, never by scanning the tape; oldest first. */
  anchors(tape: string, query?: AnchorQuery): Promise<AnchorRef[]>
  /** The last entry of the current segment with that `meta.key`, from an index. */
  latest(tape: string, key: string): Promise<Entry | undefined>
  /**
   * Every entry after `after`, now and from now on, once each, across archives and restarts, until aborted. A reader that also learns of
   * entries in other ways says with a function up to where it has them by now; those are passed over.
   */
  watch(tape: string, after: number | (() => number), signal: AbortSignal): AsyncIterable<Entry>
  info(tape: string): Promise<TapeInfo | undefined>
  list(prefix?: string): AsyncIterable<TapeInfo>
  /** Closes the segment; what `first` returns opens the next under the same lock, and ids continue. */
  archive(tape: string, first: (archive: ArchiveRef) => readonly Draft[]): Promise<ArchiveRef>
  archives(tape: string): Promise<ArchiveRef[]>
  /** Closes the segment, and no next one opens: the tape is no longer listed, and its archives stay. A later append counts on. */
  remove(tape: string): Promise<ArchiveRef>
  /** Deletes the archives of a tape for good; the current segment stays. */
  purge(tape: string): Promise<ArchiveRef[]>
  /** Content-addressed; durable when resolved, so an entry that names it never dangles. */
  putBlob(bytes: Uint8Array): Promise<BlobRef>
  getBlob(sha256: string, range?: { start?: number; end?: number }): Promise<Readable>
  /** Everything there is: all tapes by name, also Baton's own and those that were removed and have archives, and all blobs. */
  contents(): Promise<{ tapes: string[]; blobs: string[] }>
  /** Reads a whole tape and reports damage; engines that cannot be damaged from below lack it. */
  verify?(tape: string): Promise<VerifyReport[]>
  repair?(tape: string): Promise<RepairReport>
  close(): Promise<void>
}

export interface OpenOptions {
  /** The id that a workspace is given if there is none yet; a copy has that of its original. */
  workspace?: string
  /** With `false`, a folder that does not exist is not made: it reads as empty and refuses every write. */
  make?: boolean
  now?: () => Date
}

export const limits = {
  batchEntries: 1_000,
  batchBytes: 900 * 1024,
  /** The length of an encoded name, so that every file made from it fits the 255 bytes a file system allows. */
  nameBytes: 200,
} as const

export interface AnchorRef {
  readonly id: number
  readonly name: string
  readonly state: unknown
  /** First entry of the context that this anchor opens; the entry right after the anchor unless given. */
  readonly from?: number
  readonly date: string
}
