// A whole store into another, on any engines: every tape with its ids, dates, segments and archives, and every blob. What is there
// already is kept, so a copy that was cut short resumes where it ended; what is written meanwhile is copied in a further pass.

import { buffer } from 'node:stream/consumers'
import { ConflictError } from '../errors.ts'
import type { Draft, Entry } from './entry.ts'
import { limits, type Store } from './store.ts'

export interface CopyProgress {
  /** Copied in this run. */
  readonly entries: number
  /** To be copied in all, as far as this run knows. */
  readonly ofEntries: number
  readonly blobs: number
}

/** A tape as it stands at one moment: where its segments begin, and its last id. */
interface Extent {
  readonly starts: readonly number[]
  readonly lastId: number
  readonly isRemoved: boolean
}

/** Some space is left for the text around each entry. */
const chunkBytes = limits.batchBytes - 50 * 1024
const chunkEntries = 500

export async function copyStore(
  from: Store,
  to: Store,
  onProgress: (progress: CopyProgress) => void = () => {},
): Promise<CopyProgress> {
  if (from.workspace !== to.workspace) {
    throw new ConflictError(`${to.place} is another workspace (${to.workspace}, not ${from.workspace})`, {
      actual: 0,
      hint: 'Copy into a folder, a schema or a stream that does not exist yet.',
    })
  }
  let progress: CopyProgress = { entries: 0, ofEntries: 0, blobs: 0 }
  const count = (more: Partial<CopyProgress>) => onProgress((progress = { ...progress, ...more }))
  for (let isGrowing = true; isGrowing;) {
    const { tapes, blobs } = await from.contents()
    const known = new Set((await to.contents()).blobs)
    // Before the entries that name them.
    for (const sha256 of blobs.filter((blob) => !known.has(blob))) {
      await to.putBlob(await buffer(await from.getBlob(sha256)))
      count({ blobs: progress.blobs + 1 })
    }
    const extents = new Map<string, Extent>()
    let left = 0
    for (const tape of tapes) {
      const extent = await extentOf(from, tape)
      extents.set(tape, extent)
      left += Math.max(0, extent.lastId - Math.max((await extentOf(to, tape)).lastId, (extent.starts[0] ?? 1) - 1))
    }
    count({ ofEntries: progress.entries + left })
    for (const [tape, extent] of extents) {
      await copyTape(from, to, tape, extent, (entries) => count({ entries: progress.entries + entries }))
    }
    isGrowing = left > 0
  }
  return progress
}

async function extentOf(store: Store, tape: string): Promise<Extent> {
  for (;;) {
    const archives = await store.archives(tape)
    const info = await store.info(tape)
    // An archive in between would make a segment of no length.
    const after = await store.archives(tape)
    if (after.at(-1)?.lastId !== archives.at(-1)?.lastId) continue
    const starts = [...archives.map(({ firstId }) => firstId), ...(info === undefined ? [] : [info.firstId])]
    return { starts, lastId: info?.lastId ?? archives.at(-1)?.lastId ?? 0, isRemoved: info === undefined }
  }
}

async function copyTape(
  from: Store,
  to: Store,
  tape: string,
  { starts, lastId, isRemoved }: Extent,
  copied: (entries: number) => void,
): Promise<void> {
  const first = starts[0]
  if (first === undefined) return
  let last = (await extentOf(to, tape)).lastId
  if (last >= first) await assertSame(from, to, tape, last)
  // What was purged leaves its numbers behind: they are taken by empty entries, which are purged in turn.
  while (last < first - 1) {
    const size = Math.min(limits.batchEntries, first - 1 - last)
    const empty = Array.from({ length: size }, () => ({ kind: 'purged', payload: null }))
    await to.append(tape, empty, { expect: last })
    last += size
  }
  const opening = new Set(starts)
  for await (const chunk of chunksOf(from.read(tape, { archived: true, after: last, before: lastId + 1 }), opening)) {
    const drafts = chunk.map((entry): Draft => {
      const { id: _, ...draft } = entry
      return draft
    })
    const start = chunk[0]!.id
    const isNext = opening.has(start) && (await to.info(tape)) !== undefined
    if (isNext) await to.archive(tape, () => drafts)
    else await append(to, tape, drafts, start)
    if (start === first && first > 1) await to.purge(tape)
    copied(chunk.length)
  }
  const target = await extentOf(to, tape)
  if (isRemoved && !target.isRemoved) await to.remove(tape)
  if (starts.length === 1 && !isRemoved && target.starts.length > 1) await to.purge(tape)
}

async function append(to: Store, tape: string, drafts: readonly Draft[], start: number): Promise<void> {
  const [placed] = await to.append(tape, drafts, { expect: start - 1 })
  if (placed?.id === start) return
  throw new ConflictError(`Entries ${start} and later of ${tape} carry an idempotency value that ${to.place} knows`, {
    expected: start,
    actual: placed?.id ?? 0,
    hint: 'Nothing more was written to this tape.',
  })
}

/** Items in chunks. `isFull` says whether the next item begins a new one, given the chunk so far and the bytes with that item. */
export async function* inChunks<T>(
  items: AsyncIterable<T> | Iterable<T>,
  isFull: (item: T, chunk: readonly T[], bytes: number) => boolean,
  overhead = 0,
): AsyncGenerator<T[]> {
  let chunk: T[] = []
  let bytes = 0
  for await (const item of items) {
    const size = Buffer.byteLength(JSON.stringify(item)) + overhead
    if (chunk.length > 0 && isFull(item, chunk, bytes + size)) {
      yield chunk
      chunk = []
      bytes = 0
    }
    chunk.push(item)
    bytes += size
  }
  if (chunk.length > 0) yield chunk
}

/** Entries in chunks, each of one segment and within the bounds of a batch. */
function chunksOf(entries: AsyncIterable<Entry>, opening: ReadonlySet<number>): AsyncGenerator<Entry[]> {
  return inChunks(
    entries,
    ({ id }, chunk, bytes) => opening.has(id) || chunk.length === chunkEntries || bytes > chunkBytes,
  )
}

/** The last entry of the copy must be one of the original: otherwise it is no copy of it. */
async function assertSame(from: Store, to: Store, tape: string, last: number): Promise<void> {
  const [mine, theirs] = await Promise.all([from, to].map((store) => entryOf(store, tape, last)))
  if (mine !== undefined && mine === theirs) return
  throw new ConflictError(`${to.place} holds another tape ${tape}: its entry ${last} differs`, {
    actual: last,
    hint: 'It was written to after it was copied. Copy into a place that does not exist yet.',
  })
}

async function entryOf(store: Store, tape: string, id: number): Promise<string | undefined> {
  for await (const entry of store.read(tape, { archived: true, after: id - 1, before: id + 1 }))
    return JSON.stringify(entry)
  return undefined
}

/** What two stores differ in, in words; nothing if one is a copy of the other. */
export async function* differences(one: Store, other: Store): AsyncGenerator<string> {
  if (one.workspace !== other.workspace) yield `workspace: ${one.workspace} and ${other.workspace}`
  const [mine, theirs] = [await one.contents(), await other.contents()]
  for (const tape of new Set([...mine.tapes, ...theirs.tapes])) yield* tapeDifferences(one, other, tape)
  const [have, lack] = [new Set(mine.blobs), new Set(theirs.blobs)]
  for (const blob of new Set([...have, ...lack])) {
    if (!have.has(blob)) yield `blob ${blob}: only in ${other.place}`
    else if (!lack.has(blob)) yield `blob ${blob}: only in ${one.place}`
  }
}

async function* tapeDifferences(one: Store, other: Store, tape: string): AsyncGenerator<string> {
  const [left, right] = [await extentOf(one, tape), await extentOf(other, tape)]
  if (JSON.stringify(left) !== JSON.stringify(right)) {
    const text = ({ starts, lastId }: Extent) => (lastId === 0 ? 'nothing' : `${starts.join(', ')} to ${lastId}`)
    yield `${tape}: segments from ${text(left)} in ${one.place}, from ${text(right)} in ${other.place}`
    return
  }
  const theirs = other.read(tape, { archived: true })[Symbol.asyncIterator]()
  for await (const entry of one.read(tape, { archived: true, before: left.lastId + 1 })) {
    const { value } = (await theirs.next()) as { value: Entry | undefined }
    if (JSON.stringify(entry) === JSON.stringify(value)) continue
    await theirs.return?.()
    yield `${tape}: entry ${entry.id} differs`
    return
  }
}
