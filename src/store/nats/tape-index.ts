// What a process knows of a tape without reading it again: where ids, keys and anchors are. It is made by going through the messages
// of the tape in order, and stored from time to time, so that the next process goes through the last of them only.

import { gunzipSync, gzipSync } from 'node:zlib'
import type { DamagedError } from '../../errors.ts'
import type { Entry } from '../entry.ts'
import type { ArchiveRef } from '../store.ts'
import type { Message, Standing } from './message.ts'

interface Place {
  readonly id: number
  readonly position: number
}

/** A batch that was appended with an idempotency value. */
interface Job {
  readonly first: number
  readonly size: number
}

/** One in so many messages is remembered with its first id. */
const stride = 64

export class TapeIndex {
  readonly #encoded: string
  readonly #tape: string
  /** How many messages are in it, and about how many bytes they have. */
  position = 0
  weight = 0
  lastId = 0
  /** The id of the last message's write, which distinguishes it from another message in its place. */
  lastWrite: string | undefined
  /** The last messages are damaged. Nobody knows for sure how many entries they hold. */
  tail: { readonly damage: DamagedError; readonly count: number } | undefined
  standing: Standing = { segment: 1, bytes: 0, anchors: 0, phase: { first: 1, bytes: 0 }, date: undefined }
  copied: { token: string; messages: number } | undefined
  archives: ArchiveRef[] = []
  /** The message that opens the current segment, or will. */
  segmentPosition = 1
  /** Ids below are gone. */
  kept = 1
  /** Messages up to this position hold only entries that are gone. */
  purged = 0
  keys = new Map<string, Place>()
  jobs = new Map<string, Job>()
  anchors: (Place & { name: string })[] = []
  #places: Place[] = []

  constructor(tape: string, encoded: string) {
    this.#tape = tape
    this.#encoded = encoded
  }

  /** Takes in the next message of the tape. */
  add(message: Message): void {
    const position = ++this.position
    const first = message.damage === undefined ? message.first : this.lastId + 1
    if ((position - 1) % stride === 0) this.#places.push({ id: first, position })
    if (message.damage !== undefined) {
      this.tail = { damage: message.damage, count: (this.tail?.count ?? 0) + message.count }
      return
    }
    for (const line of message.lines) this.weight += line.length
    if (this.tail !== undefined) this.#passDamage(message)
    this.#endSegment(message)
    this.lastId = message.first + message.count - 1
    this.lastWrite = message.write
    this.standing = message.standing
    let at = 0
    for (const size of message.batches) {
      const batch = { first: message.first + at, size }
      for (const line of message.lines.slice(at, at + size)) this.#addLine(line, message.first + at++, batch, position)
    }
  }

  /** What a damaged message did is seen from the one behind it. */
  #passDamage({ first, mark, standing }: Message): void {
    this.tail = undefined
    this.lastId = first - 1
    const { segment, bytes } = this.standing
    if (mark !== undefined || standing.segment === segment) return
    this.archives.push(this.archiveRef(segment, standing.segment - 1, bytes))
    this.segmentPosition = this.position
    this.keys.clear()
    this.jobs.clear()
  }

  #endSegment({ mark }: Message): void {
    const { segment, bytes } = this.standing
    if (mark === 'opens' || mark === 'closes') {
      if (this.lastId >= segment) this.archives.push(this.archiveRef(segment, this.lastId, bytes))
      this.segmentPosition = mark === 'opens' ? this.position : this.position + 1
      this.keys.clear()
      this.jobs.clear()
    } else if (mark === 'purges') {
      this.archives = []
      this.kept = segment
      this.anchors = this.anchors.filter(({ id }) => id >= segment)
      this.purged = this.segmentPosition - 1
    }
  }

  /** Only what can be indexed is worth parsing. */
  #addLine(line: string, id: number, batch: Job, position: number): void {
    const isAnchor = line.startsWith(',"kind":"anchor",')
    if (!isAnchor && !line.includes('"key":') && !line.includes('"idempotency":')) return
    const { payload, meta } = JSON.parse(`{"id":${id}${line}}`) as Entry
    if (isAnchor) this.anchors.push({ id, position, name: (payload as { name: string }).name })
    if (meta.key !== undefined) this.keys.set(meta.key, { id, position })
    if (meta.idempotency !== undefined) this.jobs.set(meta.idempotency, batch)
  }

  archiveRef(firstId: number, lastId: number, bytes: number): ArchiveRef {
    return { ref: `archived/${this.#encoded}_${firstId}-${lastId}`, tape: this.#tape, firstId, lastId, bytes }
  }

  /** The last id with those that damaged messages at the end seem to hold, at least one. */
  get lastSeemingId(): number {
    return this.tail === undefined ? this.lastId : this.lastId + Math.max(1, this.tail.count)
  }

  get isListed(): boolean {
    return this.lastId >= this.standing.segment
  }

  /** The nearest remembered message at or before an id. */
  floor(id: number): Place {
    let [low, high] = [0, this.#places.length]
    while (high - low > 1) {
      const middle = (low + high) >> 1
      if (this.#places[middle]!.id <= id) low = middle
      else high = middle
    }
    return this.#places[low]!
  }

  /** The last position that can hold an id whose floor is this. */
  ceiling(floor: Place, id: number): number {
    let at = (floor.position - 1) / stride + 1
    // Several remembered messages may begin with the same id, when those between hold no entries.
    while (at < this.#places.length && this.#places[at]!.id <= id) at++
    return Math.min(this.position, at * stride)
  }

  toBytes(): Buffer {
    const { position, weight, lastId, lastWrite, standing, copied, archives, segmentPosition, kept, purged } = this
    const plain: Stored = {
      position,
      weight,
      lastId,
      lastWrite,
      standing,
      copied,
      archives,
      segmentPosition,
      kept,
      purged,
      keys: [...this.keys].map(([key, place]) => [key, place.id, place.position]),
      jobs: [...this.jobs].map(([job, { first, size }]) => [job, first, size]),
      anchors: this.anchors.map((anchor) => [anchor.name, anchor.id, anchor.position]),
      places: this.#places.map(({ id }) => id),
    }
    return gzipSync(JSON.stringify(plain), { level: 1 })
  }

  static fromBytes(tape: string, encoded: string, bytes: Buffer): TapeIndex {
    const { keys, jobs, anchors, places, ...plain } = JSON.parse(gunzipSync(bytes).toString()) as Stored
    const index = Object.assign(new TapeIndex(tape, encoded), plain)
    index.keys = new Map(keys.map(([key, id, position]) => [key, { id, position }]))
    index.jobs = new Map(jobs.map(([job, first, size]) => [job, { first, size }]))
    index.anchors = anchors.map(([name, id, position]) => ({ name, id, position }))
    index.#places = places.map((id, at) => ({ id, position: at * stride + 1 }))
    return index
  }
}

type Stored = Pick<
  TapeIndex,
  | 'position'
  | 'weight'
  | 'lastId'
  | 'lastWrite'
  | 'standing'
  | 'copied'
  | 'archives'
  | 'segmentPosition'
  | 'kept'
  | 'purged'
> & {
  keys: [string, number, number][]
  jobs: [string, number, number][]
  anchors: [string, number, number][]
  places: number[]
}
