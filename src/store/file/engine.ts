// The file engine: a folder of tapes as plain JSON lines, written by any number of processes at once.

import fs from 'node:fs'
import path from 'node:path'
import type { Readable } from 'node:stream'
import { BatonError, ConflictError, NotFoundError, StorageError } from '../../errors.ts'
import { followTape } from '../change-news.ts'
import { asAnchor, prepare } from '../draft.ts'
import { lineageTape, newWorkspaceId } from '../name.ts'
import type { Draft, Entry } from '../entry.ts'
import type {
  AnchorQuery,
  AnchorRef,
  AppendOptions,
  ArchiveRef,
  BlobRef,
  OpenOptions,
  Range,
  RepairReport,
  Store,
  TapeInfo,
  VerifyReport,
} from '../store.ts'
import { asStorageError, everySecond, watchFolder, writeAll } from '../../system/index.ts'
import { archivesOf, asArchiveRef, linkArchive, nameArchive, purgeArchives } from './write/archives.ts'
import { getBlob, putBlob } from './write/blobs.ts'
import { infoOf, readManifest, type Summary, writeManifest } from './manifest.ts'
import { Layout, namesIn, prepareWorkspace, tapeOf, tapeOfArchive } from './layout.ts'
import { hasKind, kindMark, layOut, parseLine } from './line.ts'
import { repairTape, verifyTape } from './damage/repair.ts'
import { writeBeside } from './write/new-tape.ts'
import { OpenTapes } from './write/open-tapes.ts'
import { readRange, segmentsOf } from './read/range.ts'
import type { Writer } from './write/writer.ts'

export interface FileStoreOptions extends OpenOptions {
  /** How long to wait for another process that holds a tape, in milliseconds. */
  patience?: number
}

/** So long a read keeps the process to itself: a server has other callers, and a supervisor has sessions to look after. */
const turnMs = 5

/** Opens the workspace in that folder, making it if there is none, unless `make` is false. */
export async function openFileStore(root: string, options: FileStoreOptions = {}): Promise<Store> {
  const layout = new Layout(path.resolve(root))
  if (options.make === false && !fs.existsSync(layout.root))
    return new FileStore(layout, options, new NotFoundError(`There is no workspace in ${layout.root}`))
  try {
    prepareWorkspace(layout)
  } catch (error) {
    if (!isForbidden(error)) throw error
    // Whoever only reads finds nothing there; the first write is told why.
    return new FileStore(layout, options, error)
  }
  let manifest = readManifest(layout)
  if (manifest === undefined && options.workspace !== undefined && !fs.existsSync(layout.of(lineageTape).tape)) {
    manifest = { workspace: options.workspace, tapes: {} }
    writeManifest(layout, manifest)
  }
  const store = new FileStore(layout, options)
  store.workspace = manifest?.workspace ?? (await store.agreeOnId())
  return store
}

/** The folder cannot be made, where the user may not write or the disk is read-only. */
function isForbidden(error: unknown): error is Error {
  const { code, syscall } = ((error as Error).cause ?? {}) as NodeJS.ErrnoException
  return syscall === 'mkdir' && ['EACCES', 'EPERM', 'EROFS'].includes(code ?? '')
}

class FileStore implements Store {
  workspace = newWorkspaceId()
  readonly guarantee = 'An acknowledged entry is on this disk: it survives a crash and a power cut.'
  readonly #layout: Layout
  readonly #now: () => Date
  readonly #tapes: OpenTapes
  readonly #watcher = new Watcher()
  readonly #closing = new AbortController()
  /** Why nothing may be written. */
  readonly #forbidden: Error | undefined

  constructor(layout: Layout, { patience = 30_000, now = () => new Date() }: FileStoreOptions, forbidden?: Error) {
    this.#layout = layout
    this.#forbidden = forbidden
    this.#now = now
    this.#tapes = new OpenTapes(layout, { now, patience, onCommit: (file) => this.#watcher.changed(file) })
  }

  get place(): string {
    return this.#layout.root
  }

  /** The id of a workspace without a manifest: the one on its lineage tape, or a new one that all starters agree on. */
  async agreeOnId(): Promise<string> {
    let entry = await this.#workspaceEntry()
    if (entry === undefined) {
      const payload = { name: 'workspace', data: { id: newWorkspaceId() } }
      const draft = { kind: 'event', payload, meta: { key: 'workspace', context: false } }
      try {
        ;[entry] = await this.append(lineageTape, [draft], { expect: { key: 'workspace', id: 0 } })
      } catch (error) {
        if (!BatonError.is(error) || error.code !== 'conflict') throw error
        entry = await this.#workspaceEntry()
      }
    }
    const id = (entry?.payload as { data?: { id?: unknown } } | undefined)?.data?.id
    if (typeof id !== 'string') throw new StorageError(`The lineage tape of ${this.#layout.root} names no workspace`)
    this.#remember({}, id)
    return id
  }

  /** Read rather than looked up: it must be found on a damaged tape and behind a reset, too. */
  async #workspaceEntry(): Promise<Entry | undefined> {
    for await (const entry of this.read(lineageTape, { archived: true, onDamage: () => {} })) {
      if (entry.meta.key === 'workspace') return entry
    }
    return undefined
  }

  async append(tape: string, drafts: readonly Draft[], options: AppendOptions = {}): Promise<Entry[]> {
    const prepared = prepare(drafts, this.#now)
    return this.#writer(tape).append(prepared, options)
  }

  async create(tape: string, batches: Iterable<readonly Draft[]> | AsyncIterable<readonly Draft[]>): Promise<TapeInfo> {
    const refuseExisting = (lastId: number) => {
      if (lastId === 0) return
      const message = `There is a tape ${tape} already, with ${lastId} entries`
      throw new ConflictError(message, { expected: 0, actual: lastId })
    }
    this.#assertWritable()
    const archivedUpTo = () => archivesOf(this.#layout, tape).at(-1)?.lastId ?? 0
    refuseExisting(this.#tapes.segment(tape)?.lastId ?? archivedUpTo())
    try {
      const arrival = await writeBeside(this.#layout, tape, batches, this.#now)
      try {
        const writer = this.#writer(tape)
        await writer.exclusively(() => {
          refuseExisting(writer.segment?.lastId ?? archivedUpTo())
          writer.adopt(arrival.path)
        })
      } finally {
        arrival.discard()
      }
    } catch (error) {
      throw asStorageError(error, this.#layout.of(tape).tape)
    }
    this.#watcher.changed(this.#layout.of(tape).tape)
    return (await this.info(tape))!
  }

  async *read(tape: string, range: Range = {}): AsyncIterable<Entry> {
    this.#assertOpen()
    const marks = range.kinds?.map(kindMark)
    let left = range.limit ?? Number.MAX_SAFE_INTEGER
    if (left <= 0) return
    let turn = performance.now()
    for (const line of readRange(this.#layout, tape, this.#tapes.segment(tape), range)) {
      if (marks === undefined || hasKind(line, marks)) {
        yield parseLine(line)
        if (--left === 0) return
      }
      if (performance.now() - turn < turnMs) continue
      await new Promise((resolve) => setImmediate(resolve))
      turn = performance.now()
    }
  }

  async anchors(tape: string, query: AnchorQuery = {}): Promise<AnchorRef[]> {
    this.#assertOpen()
    const { name, limit = Number.MAX_SAFE_INTEGER, after = 0, before = Number.MAX_SAFE_INTEGER } = query
    const found: AnchorRef[] = []
    const accept = (id: number) => id > after && id < before
    const range = { after, before, archived: query.archived ?? false, reverse: true }
    for (const segment of segmentsOf(this.#layout, tape, this.#tapes.segment(tape), range)) {
      for (const line of name === undefined ? segment.anchors(accept) : segment.named('anchor', name, accept)) {
        if (found.length >= limit) break
        found.push(asAnchor(parseLine(line)))
      }
      segment.assertWhole(found.length < limit ? after : (found.at(-1)?.id ?? before), before)
      if (found.length >= limit) break
    }
    return found.reverse()
  }

  async latest(tape: string, key: string): Promise<Entry | undefined> {
    this.#assertOpen()
    const segment = this.#tapes.segment(tape)
    const line = segment?.newest('key', key)
    segment?.assertWhole(line?.id ?? 0)
    return line && parseLine(line)
  }

  async *watch(tape: string, after: number | (() => number), signal: AbortSignal): AsyncIterable<Entry> {
    this.#assertOpen()
    yield* followTape({
      after,
      ended: AbortSignal.any([signal, this.#closing.signal]),
      subscribe: (listener) => this.#watcher.subscribe(this.#layout.of(tape).tape, listener),
      read: (from) => this.#entriesAfter(tape, from),
    })
  }

  *#entriesAfter(tape: string, after: number): Iterable<Entry> {
    const range = { after, archived: true }
    for (const line of readRange(this.#layout, tape, this.#tapes.segment(tape), range)) yield parseLine(line)
  }

  async info(tape: string): Promise<TapeInfo | undefined> {
    this.#assertOpen()
    const segment = this.#tapes.segment(tape)
    if (segment === undefined || (segment.at.id === 0 && segment.damage.length === 0)) return undefined
    return infoOf(tape, segment)
  }

  async *list(prefix = ''): AsyncIterable<TapeInfo> {
    const known = new Map(Object.entries(readManifest(this.#layout)?.tapes ?? {}))
    const seen = new Map<string, Summary>()
    let stale = false
    for (const file of namesIn(this.#layout.tapes).sort()) {
      const tape = tapeOf(file)
      const stat = tape && fs.statSync(path.join(this.#layout.tapes, file), { throwIfNoEntry: false })
      if (tape === undefined || !stat) continue
      let summary = known.get(tape)
      if (summary?.ino !== stat.ino || summary.mtime !== stat.mtimeMs || summary.info.bytes !== stat.size) {
        const info = await this.info(tape)
        if (info === undefined) continue
        summary = { ino: stat.ino, mtime: stat.mtimeMs, info }
        stale = true
      }
      seen.set(tape, summary)
      if (tape.startsWith(prefix)) yield summary.info
    }
    if (stale || seen.size !== known.size) this.#remember(Object.fromEntries(seen), this.workspace)
  }

  #remember(tapes: Record<string, Summary>, workspace: string): void {
    try {
      writeManifest(this.#layout, { workspace, tapes })
    } catch {
      // It only saves the next start and the next listing some work; a read-only workspace does without.
    }
  }

  async archive(tape: string, first: (archive: ArchiveRef) => readonly Draft[]): Promise<ArchiveRef> {
    const writer = this.#writer(tape)
    const archive = await writer.exclusively(() => this.#archive(writer, first))
    this.#watcher.changed(writer.paths.tape)
    return archive
  }

  #archive({ tape, segment, paths, adopt }: Writer, first: (archive: ArchiveRef) => readonly Draft[]): ArchiveRef {
    if (segment === undefined || segment.at.id === 0) throw new NotFoundError(`There is no tape ${tape} to archive`)
    const target = nameArchive(this.#layout, tape, this.#now())
    const { firstId, at } = segment
    const archive = { ref: path.relative(this.#layout.root, target), tape, firstId, lastId: at.id, bytes: at.offset }
    const { bytes } = layOut(prepare(first(archive), this.#now), { offset: 0, id: at.id, crc: 0 })
    const fd = fs.openSync(paths.next, 'w', 0o600)
    try {
      writeAll(fd, bytes)
      fs.fsyncSync(fd)
    } finally {
      fs.closeSync(fd)
    }
    // Nobody will sync it later, and the next segment counts on from it.
    segment.sync()
    linkArchive(this.#layout, tape, target)
    adopt(paths.next)
    return archive
  }

  async remove(tape: string): Promise<ArchiveRef> {
    const writer = this.#writer(tape)
    const archive = await writer.exclusively(() => {
      const { segment } = writer
      if (segment === undefined || segment.at.id === 0) throw new NotFoundError(`There is no tape ${tape} to delete`)
      const target = nameArchive(this.#layout, tape, this.#now())
      const { firstId, at } = segment
      segment.sync()
      linkArchive(this.#layout, tape, target)
      writer.removeCurrent()
      return { ref: path.relative(this.#layout.root, target), tape, firstId, lastId: at.id, bytes: at.offset }
    })
    this.#watcher.changed(writer.paths.tape)
    return archive
  }

  async archives(tape: string): Promise<ArchiveRef[]> {
    this.#assertOpen()
    return archivesOf(this.#layout, tape).map(asArchiveRef)
  }

  async purge(tape: string): Promise<ArchiveRef[]> {
    const archives = await this.#writer(tape).exclusively(() => purgeArchives(this.#layout, tape))
    return archives.map(asArchiveRef)
  }

  async putBlob(bytes: Uint8Array): Promise<BlobRef> {
    this.#assertWritable()
    try {
      return putBlob(this.#layout.blobs, bytes)
    } catch (error) {
      throw asStorageError(error, this.#layout.blobs)
    }
  }

  async getBlob(sha256: string, range?: { start?: number; end?: number }): Promise<Readable> {
    this.#assertOpen()
    return getBlob(this.#layout.blobs, sha256, range)
  }

  async contents(): Promise<{ tapes: string[]; blobs: string[] }> {
    this.#assertOpen()
    const current = namesIn(this.#layout.tapes).map((file) => tapeOf(file))
    const archived = namesIn(this.#layout.archived).map((file) => tapeOfArchive(file))
    const tapes = new Set([...current, ...archived, lineageTape].filter((name) => name !== undefined))
    return {
      tapes: [...tapes].sort(),
      blobs: namesIn(this.#layout.blobs).filter((name) => /^[0-9a-f]{64}$/.test(name)),
    }
  }

  async verify(tape: string): Promise<VerifyReport[]> {
    this.#assertOpen()
    return verifyTape(this.#layout, tape)
  }

  async repair(tape: string): Promise<RepairReport> {
    const writer = this.#writer(tape)
    const mend = () => repairTape(this.#layout, tape, this.#now, writer.adopt)
    const report = await writer.exclusively(mend, { damaged: true })
    this.#watcher.changed(writer.paths.tape)
    return report
  }

  async close(): Promise<void> {
    this.#closing.abort()
    await this.#tapes.close()
    this.#watcher.close()
  }

  #writer(tape: string): Writer {
    this.#assertWritable()
    return this.#tapes.writer(tape)
  }

  #assertWritable(): void {
    this.#assertOpen()
    if (this.#forbidden !== undefined) throw this.#forbidden
  }

  #assertOpen(): void {
    if (!this.#closing.signal.aborted) return
    throw new StorageError(`The store in ${this.#layout.root} has been closed`, {
      hint: 'Nothing was written. Open it again.',
    })
  }
}

/**
 * Reports when a tape may have grown: at once for writes of this process, by file events for those of other processes, and once a second
 * in any case.
 */
class Watcher {
  readonly #listeners = new Map<string, Set<() => void>>()
  readonly #stops = new Set<() => void>()

  /** Calls `listener` whenever the file may have changed, until the returned function is called. */
  subscribe(file: string, listener: () => void): () => void {
    const listeners = this.#listeners.get(file) ?? new Set()
    this.#listeners.set(file, listeners.add(listener))
    const stopSeconds = everySecond(listener)
    const stopFolder = watchFolder(path.dirname(file), (name) => {
      if (name === undefined || name === path.basename(file)) listener()
    })
    const stop = () => {
      stopSeconds()
      stopFolder?.()
      listeners.delete(listener)
      if (listeners.size === 0) this.#listeners.delete(file)
      this.#stops.delete(stop)
    }
    this.#stops.add(stop)
    return stop
  }

  changed(file: string): void {
    for (const listener of this.#listeners.get(file) ?? []) listener()
  }

  close(): void {
    for (const stop of this.#stops) stop()
  }
}
