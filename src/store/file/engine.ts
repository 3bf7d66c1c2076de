// The file engine: a folder of tapes as plain JSON lines, written by any number of processes at once.

import fs from 'node:fs'
import path from 'node:path'
import type { Readable } from 'node:stream'
import { BatonError, ConflictError, DamagedError, InvalidError, NotFoundError } from '../../errors.ts'
import { prepare } from '../draft.ts'
import type { AnchorRef, Draft, Entry } from '../entry.ts'
import type {
  AnchorQuery,
  AppendOptions,
  ArchiveRef,
  BlobRef,
  Damage,
  Range,
  RepairReport,
  Store,
  TapeInfo,
  VerifyReport,
} from '../store.ts'
import { type Archive, archivesOf, linkArchive, namesIn } from './archives.ts'
import { layOut } from './batch.ts'
import { getBlob, putBlob } from './blobs.ts'
import { writeAll } from './durable.ts'
import { Layout, lineageTape, tapeOf } from './layout.ts'
import { hasKind, kindMark, type Line, parseLine } from './line.ts'
import { newWorkspaceId, prepareWorkspace, readManifest, type Summary, writeManifest } from './manifest.ts'
import { writeBeside } from './new-tape.ts'
import { examine, keepCut, rewrite } from './repair.ts'
import { Segment } from './segment.ts'
import { Watcher } from './watcher.ts'
import { asStorageError, Writer } from './writer.ts'

/** Tapes kept open at once; more are closed, least recently used first. */
const openTapes = 200

export interface FileStoreOptions {
  /** How long to wait for another process that holds a tape, in milliseconds. */
  patience?: number
  now?: () => Date
}

interface Handle {
  reading: Segment | undefined
  writer: Writer | undefined
}

/** Opens the workspace in that folder, making it if there is none. */
export async function openFileStore(root: string, options: FileStoreOptions = {}): Promise<Store> {
  const layout = new Layout(path.resolve(root))
  prepareWorkspace(layout)
  const manifest = readManifest(layout)
  const store = new FileStore(layout, options)
  store.workspace = manifest?.workspace ?? (await store.agreeOnId())
  return store
}

class FileStore implements Store {
  workspace = ''
  readonly #layout: Layout
  readonly #now: () => Date
  readonly #patience: number
  readonly #handles = new Map<string, Handle>()
  readonly #watcher = new Watcher()

  constructor(layout: Layout, options: FileStoreOptions) {
    this.#layout = layout
    this.#now = options.now ?? (() => new Date())
    this.#patience = options.patience ?? 30_000
  }

  /** The id of a workspace without a manifest: the one on its lineage tape, or a new one that all starters agree on. */
  async agreeOnId(): Promise<string> {
    const known = await this.latest(lineageTape, 'workspace')
    let workspace = idIn(known)
    if (workspace === undefined) {
      const payload = { name: 'workspace', data: { id: newWorkspaceId() } }
      const draft = { kind: 'event', payload, meta: { key: 'workspace', context: false } }
      try {
        const [entry] = await this.append(lineageTape, [draft], { expect: { key: 'workspace', id: 0 } })
        workspace = idIn(entry)
      } catch (error) {
        if (!BatonError.is(error) || error.code !== 'conflict') throw error
        workspace = idIn(await this.latest(lineageTape, 'workspace'))
      }
    }
    if (workspace === undefined) throw new InvalidError(`The lineage tape of ${this.#layout.root} names no workspace`)
    writeManifest(this.#layout, { workspace, tapes: {} })
    return workspace
  }

  async append(tape: string, drafts: readonly Draft[], options: AppendOptions = {}): Promise<Entry[]> {
    const prepared = prepare(drafts, this.#now)
    return this.#writer(tape).append(prepared, options.expect)
  }

  async create(tape: string, batches: Iterable<readonly Draft[]> | AsyncIterable<readonly Draft[]>): Promise<TapeInfo> {
    const writer = this.#writer(tape)
    const arrival = await writeBeside(this.#layout, tape, batches, this.#now)
    try {
      await writer.exclusively(() => {
        const lastId = writer.segment?.at.id ?? this.#archivedUpTo(tape)
        if (lastId > 0) {
          throw new ConflictError(`There is a tape ${tape} already, with ${lastId} entries`, {
            expected: 0,
            actual: lastId,
          })
        }
        writer.adopt(arrival.path)
      })
    } finally {
      arrival.discard()
    }
    this.#watcher.changed(writer.paths.tape)
    return (await this.info(tape))!
  }

  async *read(tape: string, range: Range = {}): AsyncIterable<Entry> {
    const { after = 0, before = Number.MAX_SAFE_INTEGER, reverse = false } = range
    const marks = range.kinds?.map(kindMark)
    let left = range.limit ?? Number.MAX_SAFE_INTEGER
    if (left <= 0) return
    const report = range.onDamage ?? throwDamage
    for (const segment of this.#segments(tape, range)) {
      const lines = reverse ? segment.linesBackward(after, before, report) : segment.lines(after, before, report)
      for (const line of lines) {
        if (marks !== undefined && !hasKind(line, marks)) continue
        yield parseLine(line)
        if (--left === 0) return
      }
    }
  }

  async anchors(tape: string, query: AnchorQuery = {}): Promise<AnchorRef[]> {
    const { name, limit = Number.MAX_SAFE_INTEGER, after = 0, before = Number.MAX_SAFE_INTEGER } = query
    const found: AnchorRef[] = []
    const accept = (id: number) => id > after && id < before
    for (const segment of this.#segments(tape, { archived: query.archived ?? false, reverse: true })) {
      const lines = name === undefined ? newestAnchors(segment, accept) : namedAnchors(segment, name, accept)
      for (const line of lines) {
        if (found.length >= limit) break
        found.push(asAnchor(parseLine(line)))
      }
    }
    return found.reverse()
  }

  async latest(tape: string, key: string): Promise<Entry | undefined> {
    const line = this.#segment(tape)?.find('key', key)
    return line && parseLine(line)
  }

  async *watch(tape: string, after: number, signal: AbortSignal): AsyncIterable<Entry> {
    let last = after
    let changed = false
    let wake = () => {}
    const stop = () => wake()
    const unsubscribe = this.#watcher.subscribe(this.#layout.of(tape).tape, () => {
      changed = true
      wake()
    })
    signal.addEventListener('abort', stop)
    try {
      while (!signal.aborted) {
        changed = false
        for await (const entry of this.read(tape, { after: last, archived: true })) {
          last = entry.id
          yield entry
          if (signal.aborted) return
        }
        if (!changed && !signal.aborted) await new Promise<void>((resolve) => (wake = resolve))
      }
    } finally {
      signal.removeEventListener('abort', stop)
      unsubscribe()
    }
  }

  async info(tape: string): Promise<TapeInfo | undefined> {
    const segment = this.#segment(tape)
    return segment === undefined || segment.at.id === 0 ? undefined : infoOf(tape, segment)
  }

  async *list(prefix = ''): AsyncIterable<TapeInfo> {
    const manifest = readManifest(this.#layout)
    const known = manifest?.tapes ?? {}
    const seen: Record<string, Summary> = {}
    let stale = false
    for (const file of namesIn(this.#layout.tapes).sort()) {
      const tape = tapeOf(file)
      if (tape === undefined) continue
      const stat = fs.statSync(path.join(this.#layout.tapes, file), { throwIfNoEntry: false })
      if (stat === undefined) continue
      let summary = known[tape]
      if (summary?.mtime !== stat.mtimeMs || summary.info.bytes !== stat.size) {
        const info = await this.info(tape)
        if (info === undefined) continue
        summary = { mtime: stat.mtimeMs, info }
        stale = true
      }
      seen[tape] = summary
      if (tape.startsWith(prefix)) yield summary.info
    }
    if (stale) this.#remember(seen)
  }

  #remember(tapes: Record<string, Summary>): void {
    try {
      writeManifest(this.#layout, { workspace: this.workspace, tapes })
    } catch {
      // The summary only saves the next listing some work; a read-only workspace does without.
    }
  }

  async archive(tape: string, first: (archive: ArchiveRef) => readonly Draft[]): Promise<ArchiveRef> {
    const writer = this.#writer(tape)
    const archive = await writer.exclusively(() => {
      const { segment, paths } = writer
      if (segment === undefined || segment.at.id === 0) throw new NotFoundError(`There is no tape ${tape} to archive`)
      const { firstId, at } = segment
      const target = linkArchive(this.#layout, tape, this.#now())
      const ref = path.relative(this.#layout.root, target)
      const archived = { ref, tape, firstId, lastId: at.id, bytes: at.offset }
      try {
        const { text } = layOut(prepare(first(archived), this.#now), { offset: 0, id: at.id, crc: 0 })
        const fd = fs.openSync(paths.next, 'w', 0o600)
        try {
          writeAll(fd, Buffer.from(text))
          fs.fsyncSync(fd)
        } finally {
          fs.closeSync(fd)
        }
      } catch (error) {
        fs.rmSync(target, { force: true })
        fs.rmSync(paths.next, { force: true })
        throw error
      }
      writer.adopt(paths.next)
      return archived
    })
    this.#watcher.changed(writer.paths.tape)
    return archive
  }

  async archives(tape: string): Promise<ArchiveRef[]> {
    return archivesOf(this.#layout, tape).map(asArchiveRef)
  }

  async purge(tape: string): Promise<ArchiveRef[]> {
    const archives = await this.#writer(tape).exclusively(() => {
      const found = archivesOf(this.#layout, tape)
      for (const archive of found) {
        fs.rmSync(archive.path)
        fs.rmSync(archive.index, { force: true })
      }
      return found
    })
    return archives.map(asArchiveRef)
  }

  async putBlob(bytes: Uint8Array): Promise<BlobRef> {
    try {
      return putBlob(this.#layout.blobs, bytes)
    } catch (error) {
      throw asStorageError(error, this.#layout.blobs)
    }
  }

  async getBlob(sha256: string, range?: { start?: number; end?: number }): Promise<Readable> {
    return getBlob(this.#layout.blobs, sha256, range)
  }

  async verify(tape: string): Promise<VerifyReport[]> {
    const { tape: current, index } = this.#layout.of(tape)
    const files = archivesOf(this.#layout, tape).map((archive) => ({ file: archive.path, index: archive.index }))
    if (fs.existsSync(current)) files.push({ file: current, index })
    if (files.length === 0) throw new NotFoundError(`There is no tape ${tape}`)
    return files.map(({ file, index: indexFile }) => {
      const { entries, end, damage, tail } = examine(file)
      const all = tail === undefined ? damage : [...damage, tail]
      return { tape, file, entries, bytes: end.offset, damage: all, index: indexState(file, indexFile) }
    })
  }

  async repair(tape: string): Promise<RepairReport> {
    const writer = this.#writer(tape)
    const { tape: current, index, next } = writer.paths
    if (!fs.existsSync(current)) throw new NotFoundError(`There is no tape ${tape}`)
    return writer.exclusively(
      () => {
        const { damage, tail, entries } = examine(current)
        const all = tail === undefined ? damage : [...damage, tail]
        if (all.length === 0) return { tape, damage: [], cut: [], kept: entries }
        const when = this.#now()
        const cut = keepCut(current, all, (offset) => this.#layout.cut(tape, when, offset))
        rewrite(current, next, this.#now)
        fs.rmSync(index, { force: true })
        writer.adopt(next)
        return { tape, damage: all, cut, kept: entries }
      },
      { damaged: true },
    )
  }

  async close(): Promise<void> {
    for (const handle of this.#handles.values()) await handle.writer?.idle()
    for (const tape of [...this.#handles.keys()]) this.#drop(tape)
    this.#watcher.close()
  }

  /** The segments a range falls into, in reading order. */
  *#segments(tape: string, range: Pick<Range, 'after' | 'before' | 'reverse' | 'archived'>): Generator<Segment> {
    const current = this.#segment(tape)
    const firstId = current?.firstId ?? Number.MAX_SAFE_INTEGER
    const needsArchives = range.archived === true && (range.after ?? 0) < firstId - 1
    // Held open from here: an archive made meanwhile takes the current file along, and nothing is read twice.
    const archives = needsArchives ? archivesOf(this.#layout, tape).filter((each) => each.lastId < firstId) : []
    if (range.reverse === true) {
      if (current !== undefined) yield current
      yield* openArchives(archives.reverse(), range)
    } else {
      yield* openArchives(archives, range)
      if (current !== undefined) yield current
    }
  }

  /** The current segment of a tape, up to date, or undefined if there is no such tape. */
  #segment(tape: string): Segment | undefined {
    const paths = this.#layout.of(tape)
    const stat = fs.statSync(paths.tape, { throwIfNoEntry: false })
    if (stat === undefined) return undefined
    const handle = this.#handle(tape)
    const written = handle.writer?.segment
    if (written?.ino === stat.ino) {
      // What this process is still syncing does not count yet.
      if (!handle.writer!.isCommitting) written.catchUp()
      return written
    }
    if (handle.reading?.ino !== stat.ino) {
      handle.reading?.close()
      handle.reading = Segment.open(paths.tape, paths.index)
    } else handle.reading.catchUp()
    return handle.reading
  }

  #writer(tape: string): Writer {
    const handle = this.#handle(tape)
    try {
      handle.writer ??= new Writer(tape, {
        layout: this.#layout,
        now: this.#now,
        patience: this.#patience,
        archivedUpTo: () => this.#archivedUpTo(tape),
        onCommit: () => this.#watcher.changed(this.#layout.of(tape).tape),
      })
    } catch (error) {
      throw asStorageError(error, this.#layout.of(tape).lock)
    }
    return handle.writer
  }

  #archivedUpTo(tape: string): number {
    return archivesOf(this.#layout, tape).at(-1)?.lastId ?? 0
  }

  #handle(tape: string): Handle {
    const known = this.#handles.get(tape)
    if (known !== undefined) {
      this.#handles.delete(tape)
      this.#handles.set(tape, known)
      return known
    }
    if (this.#handles.size >= openTapes) this.#dropIdle()
    const handle: Handle = { reading: undefined, writer: undefined }
    this.#handles.set(tape, handle)
    return handle
  }

  #dropIdle(): void {
    for (const [tape, { writer }] of this.#handles) {
      if (writer?.isBusy === true || writer?.isPoisoned === true) continue
      return this.#drop(tape)
    }
  }

  #drop(tape: string): void {
    const handle = this.#handles.get(tape)
    this.#handles.delete(tape)
    handle?.reading?.close()
    handle?.writer?.close()
  }
}

function* openArchives(archives: readonly Archive[], range: { after?: number; before?: number }): Generator<Segment> {
  const { after = 0, before = Number.MAX_SAFE_INTEGER } = range
  for (const archive of archives) {
    if (archive.lastId <= after || archive.firstId >= before) continue
    const segment = Segment.open(archive.path, archive.index)
    if (segment === undefined) continue
    try {
      yield segment
    } finally {
      segment.close()
    }
  }
}

function* newestAnchors(segment: Segment, accept: (id: number) => boolean): Generator<Line> {
  const { table } = segment
  for (let i = table.anchors.length - 1; i >= 0; i--) {
    const row = table.row(table.anchors[i]!)
    const line = accept(row.id) ? segment.lineOf(row) : undefined
    if (line !== undefined) yield line
  }
}

function* namedAnchors(segment: Segment, name: string, accept: (id: number) => boolean): Generator<Line> {
  let before = Number.MAX_SAFE_INTEGER
  for (;;) {
    const bound = before
    const line = segment.find('anchor', name, (id) => id < bound && accept(id))
    if (line === undefined) return
    yield line
    before = line.id
  }
}

function asAnchor(entry: Entry): AnchorRef {
  const { name, state, from } = entry.payload as { name: string; state?: unknown; from?: number }
  return { id: entry.id, name, state: state ?? {}, ...(from === undefined ? {} : { from }), date: entry.date }
}

function infoOf(tape: string, segment: Segment): TapeInfo {
  const { table, at, firstId } = segment
  const last = newestAnchors(segment, () => true).next().value
  const anchor = last && asAnchor(parseLine(last))
  const from = anchor === undefined ? firstId : Math.max(firstId, anchor.from ?? anchor.id + 1)
  return {
    tape,
    entries: at.id - firstId + 1,
    firstId,
    lastId: at.id,
    anchors: table.anchors.length,
    lastAnchor: anchor && {
      id: anchor.id,
      name: anchor.name,
      ...(anchor.from === undefined ? {} : { from: anchor.from }),
    },
    phase: { entries: at.id - from + 1, bytes: bytesFrom(segment, from) },
    bytes: at.offset,
    date: lastDate(segment),
  }
}

/** How many bytes the entries from that id on take. */
function bytesFrom(segment: Segment, from: number): number {
  const first = segment.lines(from - 1, from + 1).next().value
  return first === undefined ? 0 : segment.at.offset - first.offset
}

function lastDate(segment: Segment): string | undefined {
  const line = segment.linesBackward(segment.at.id - 1, segment.at.id + 1).next().value
  return line && parseLine(line).date
}

function indexState(file: string, index: string): VerifyReport['index'] {
  const segment = Segment.open(file, index)
  try {
    if (segment === undefined || segment.table.marks.length === 1) return 'ok'
    if (!fs.existsSync(index)) return 'missing'
    return segment.indexed > 1 ? 'ok' : 'stale'
  } finally {
    segment?.close()
  }
}

function asArchiveRef({ ref, tape, firstId, lastId, bytes }: Archive): ArchiveRef {
  return { ref, tape, firstId, lastId, bytes }
}

function idIn(entry: Entry | undefined): string | undefined {
  const id = (entry?.payload as { data?: { id?: unknown } } | undefined)?.data?.id
  return typeof id === 'string' ? id : undefined
}

function throwDamage(damage: Damage): never {
  throw new DamagedError(`${damage.file} is damaged at byte ${damage.offset}: ${damage.message}`, {
    file: damage.file,
    offset: damage.offset,
    hint: 'See "baton tape verify", then "baton tape repair".',
  })
}
