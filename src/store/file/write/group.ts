// A group commit, thought through before anything is written: each append is checked in order, as if those before it
// were already on the tape, and either gets its place, is answered by what was written earlier, or is refused alone.

import type { ConflictError } from '../../../errors.ts'
import { findConflict } from '../../append-queue.ts'
import { asEntry, type Prepared } from '../../draft.ts'
import type { Entry } from '../../entry.ts'
import type { Expect } from '../../store.ts'
import { layOut, parseLine, type Place, type Position } from '../line.ts'
import type { Segment } from '../read/segment.ts'

export interface Append {
  readonly prepared: readonly Prepared[]
  readonly expect?: Expect | undefined
  /** `false`: need not wait for the disk. */
  readonly durable?: boolean | undefined
  readonly resolve: (entries: Entry[]) => void
  readonly reject: (error: unknown) => void
}

export interface Placed {
  readonly append: Append
  readonly places: readonly Place[]
  /** Empty until `fillEntries`. */
  readonly entries: Entry[]
  /** Where the batch ends within the bytes of its group. */
  readonly end: number
}

interface Repeated {
  readonly append: Append
  readonly entries: Entry[]
}

interface Refused {
  readonly append: Append
  readonly conflict: ConflictError
}

export interface Group {
  readonly bytes: Buffer
  readonly placed: readonly Placed[]
  readonly repeated: readonly Repeated[]
  readonly refused: readonly Refused[]
}

export function placeGroup(
  tape: string,
  appends: readonly Append[],
  start: Position,
  segment: Segment | undefined,
): Group {
  const placed: Placed[] = []
  const repeated: Repeated[] = []
  const refused: Refused[] = []
  const keys = new Map<string, number>()
  const repeats = new Map<string, Entry[]>()
  const parts: Buffer[] = []
  let at = start
  const firstId = segment === undefined || segment.at.id === 0 ? start.id + 1 : segment.firstId
  const newest = (key: string) => keys.get(key) ?? segment?.latestId(key) ?? 0
  for (const append of appends) {
    const { prepared, expect } = append
    const name = prepared.find((one) => one.idempotency !== undefined)?.idempotency
    const before = name === undefined ? undefined : (repeats.get(name) ?? written(segment, name))
    if (before !== undefined) {
      repeated.push({ append, entries: before })
      continue
    }
    const conflict = findConflict(tape, expect, { firstId, lastId: at.id, newest })
    if (conflict !== undefined) {
      refused.push({ append, conflict })
      continue
    }
    const laidOut = layOut(prepared, at)
    const entries: Entry[] = []
    prepared.forEach((one, i) => {
      if (one.key !== undefined) keys.set(one.key, laidOut.places[i]!.id)
      if (one.idempotency !== undefined) repeats.set(one.idempotency, entries)
    })
    parts.push(laidOut.bytes)
    at = laidOut.end
    placed.push({ append, places: laidOut.places, entries, end: at.offset - start.offset })
  }
  return { bytes: parts.length === 1 ? parts[0]! : Buffer.concat(parts), placed, repeated, refused }
}

/** Makes the entries that the callers will get; apart from placing them, for there is time while the disk syncs. */
export function fillEntries({ placed }: Group): void {
  for (const { append, places, entries } of placed) {
    append.prepared.forEach((one, i) => entries.push(asEntry(places[i]!.id, one)))
  }
}

/** Whether a caller waits for the disk; also for what an earlier append wrote, which may have died before its sync. */
export function needsSync({ placed, repeated }: Group): boolean {
  return repeated.length > 0 || placed.some(({ append }) => append.durable !== false)
}

export interface Outcome {
  /** How many batches of the group are on the tape and durable. */
  readonly kept: number
  readonly isSynced: boolean
  /** Why not all of them are. */
  readonly failure: unknown
}

/** Answers everyone in a group. */
export function settle({ placed, repeated, refused }: Group, { kept, isSynced, failure }: Outcome): void {
  const firstLost = placed[kept]?.places[0]!.id ?? Number.MAX_SAFE_INTEGER
  placed.forEach(({ append, entries }, i) => (i < kept ? append.resolve(entries) : append.reject(failure)))
  for (const { append, entries } of repeated) {
    // A repetition of what is in this group shares its fate; of what was written earlier, only that of the sync.
    const of = placed.findIndex((one) => one.entries === entries)
    if (of < 0 ? isSynced : of < kept) append.resolve(entries)
    else append.reject(failure)
  }
  for (const { append, conflict } of refused) append.reject(conflict.actual >= firstLost ? failure : conflict)
}

/** What an earlier append with that idempotency value wrote. */
function written(segment: Segment | undefined, idempotency: string): Entry[] | undefined {
  const line = segment?.newest('idempotency', idempotency)
  if (line === undefined) return undefined
  const [index, size] = line.batch ?? [0, 1]
  const before = line.id - index - 1
  return Array.from(segment!.lines(before, before + size + 1), parseLine)
}
