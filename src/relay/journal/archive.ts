// Traces that are over leave the relay's tape for an archive, so that a start, a look-up and the alerts cost what is open. The store
// closes the whole segment of the tape. What is still at hand (open traces, and closed ones that are to be kept) is carried into the
// next segment as a blob; a closed trace is found by its id, and by the ids of its requests, on tapes that nobody reads
// otherwise. They are many, chosen by a hash of the id, because finding one entry of a tape costs reading its index.

import { hash } from 'node:crypto'
import type { BlobRef, Draft, Entry, Store } from '../../store/index.ts'
import { blobIfLarge, readJsonBlob } from '../../tape/index.ts'
import type { TraceState } from '../request/trace-rules.ts'
import { eventIn, tape, traceKey, requestKey } from './events.ts'
import type { SegmentStart } from './open-requests.ts'

/** How many tapes the closed traces are spread over. */
const closedTapes = 64
/** How much of them is written at once. */
const batch = { entries: 500, bytes: 400_000 }
/** About what an entry takes besides its key and its data. */
const overhead = 300

/** What is known of a trace from entries that are in an archive. */
export interface TraceRecord {
  readonly traceId: string
  readonly state: TraceState
  /** When something last happened in it. */
  readonly date: string
  /** The entries under its own key, the oldest first. */
  readonly chain: readonly number[]
  readonly requests: ReadonlyMap<string, RequestRecord>
}

interface RequestRecord {
  /** The entry of the request. */
  readonly entry: number
  /** By what it is about (`request`, `resumed`, `question`…), the newest entry. */
  readonly newest: ReadonlyMap<string, number>
}

/** As it is written: maps become lists. */
type StoredTrace = readonly [
  traceId: string,
  state: TraceState,
  date: string,
  chain: readonly number[],
  requests: readonly (readonly [
    requestId: string,
    entry: number,
    newest: readonly (readonly [about: string, id: number])[],
  ])[],
]

type Closed = { readonly trace: StoredTrace } | { readonly blob: BlobRef } | { readonly traceId: string }

/** What is kept under a key, and about how many bytes the entry takes. */
interface Sized {
  readonly key: string
  readonly data: Closed
  readonly bytes: number
}

type Writable<T> = { -readonly [K in keyof T]: T[K] }
type GrowingRequest = { entry: number; newest: Map<string, number> }
interface GrowingTrace extends Writable<Omit<TraceRecord, 'chain' | 'requests'>> {
  chain: number[]
  requests: Map<string, GrowingRequest>
}

export class Archive {
  readonly #store: Store
  #table: { readonly through: number; readonly traces: Promise<TraceTable> } | undefined

  constructor(store: Store) {
    this.#store = store
  }

  /** What is known of a trace from before `segment`. */
  async trace(segment: SegmentStart, traceId: string): Promise<TraceRecord | undefined> {
    return (await this.#carried(segment)).traces.get(traceId) ?? this.#closed(traceId)
  }

  /** The trace of a request from before `segment`. */
  async traceOf(segment: SegmentStart, requestId: string): Promise<TraceRecord | undefined> {
    const table = await this.#carried(segment)
    return table.traceOf(requestId) ?? this.#closedTraceOf(requestId)
  }

  /** All that is known of the traces at `through`, which is in the current segment. */
  async tableAt(segment: SegmentStart | undefined, through: number): Promise<TraceTable> {
    const table = new TraceTable((requestId) => this.#closedTraceOf(requestId))
    if (segment?.carried !== undefined) {
      table.load((await readJsonBlob(this.#store, segment.carried.sha256)) as StoredTrace[])
    }
    const range = { after: segment?.accounted ?? 0, before: through + 1, archived: true }
    for await (const entry of this.#store.read(tape, range)) {
      // A trace that is closed may have been used again.
      const traceId = segment === undefined || isFirstOfTrace(entry) ? undefined : traceIdIn(entry)
      if (traceId !== undefined && !table.traces.has(traceId)) table.put(await this.#closed(traceId))
      await table.fold(entry)
    }
    return table
  }

  /** The traces that were carried into a segment, and what happened to them while the archive was made. */
  #carried(segment: SegmentStart): Promise<TraceTable> {
    if (this.#table?.through !== segment.through) {
      const traces = this.tableAt(segment, segment.through)
      this.#table = { through: segment.through, traces }
      traces.catch(() => (this.#table = undefined)) // the next caller tries again
    }
    return this.#table.traces
  }

  async #closedTraceOf(requestId: string): Promise<TraceRecord | undefined> {
    const found = await this.#find(requestKey(requestId))
    return found !== undefined && 'traceId' in found ? this.#closed(found.traceId) : undefined
  }

  async #closed(traceId: string): Promise<TraceRecord | undefined> {
    const found = await this.#find(traceKey(traceId))
    if (found === undefined || 'traceId' in found) return undefined
    return restored(
      'trace' in found ? found.trace : ((await readJsonBlob(this.#store, found.blob.sha256)) as StoredTrace),
    )
  }

  async #find(key: string): Promise<Closed | undefined> {
    const entry = await this.#store.latest(closedTape(key), key)
    return (entry?.payload as { data?: Closed } | undefined)?.data
  }

  /** Makes closed traces findable by their ids. Durable when resolved; to do it twice changes nothing. */
  async keep(closed: readonly TraceRecord[]): Promise<void> {
    const byTape = new Map<string, Sized[]>()
    const add = (key: string, data: Closed, bytes: number) => {
      const name = closedTape(key)
      const drafts = byTape.get(name) ?? []
      byTape.set(name, drafts)
      drafts.push({ key, data, bytes: bytes + key.length + overhead })
    }
    for (const record of closed) {
      const { traceId, requests } = record
      const trace = stored(record)
      const json = JSON.stringify(trace)
      const blob = await blobIfLarge(this.#store, json)
      add(
        traceKey(traceId),
        blob === undefined ? { trace } : { blob },
        blob === undefined ? Buffer.byteLength(json) : 0,
      )
      for (const requestId of requests.keys()) add(requestKey(requestId), { traceId }, traceId.length)
    }
    await Promise.all(Array.from(byTape, ([name, drafts]) => this.#appendAll(name, drafts)))
  }

  async #appendAll(name: string, drafts: readonly Sized[]): Promise<void> {
    let waiting: Draft[] = []
    let size = 0
    for (const { key, data, bytes } of drafts) {
      if (waiting.length >= batch.entries || (size + bytes > batch.bytes && waiting.length > 0)) {
        await this.#store.append(name, waiting)
        waiting = []
        size = 0
      }
      waiting.push({ kind: 'event', payload: { name: 'handoff.closed', data }, meta: { key, context: false } })
      size += bytes
    }
    if (waiting.length > 0) await this.#store.append(name, waiting)
  }

  /** Undefined when there is nothing to carry. */
  async carry(records: readonly TraceRecord[]): Promise<BlobRef | undefined> {
    if (records.length === 0) return undefined
    return this.#store.putBlob(Buffer.from(JSON.stringify(records.map(stored))))
  }
}

/** What is known of many traces, folded from entries. */
export class TraceTable {
  readonly #traces = new Map<string, GrowingTrace>()
  readonly #byRequest = new Map<string, GrowingTrace>()
  readonly #archived: (requestId: string) => Promise<TraceRecord | undefined>

  /** `archived` finds the trace of a request that is not in the table. */
  constructor(archived: (requestId: string) => Promise<TraceRecord | undefined>) {
    this.#archived = archived
  }

  get traces(): ReadonlyMap<string, TraceRecord> {
    return this.#traces
  }

  traceOf(requestId: string): TraceRecord | undefined {
    return this.#byRequest.get(requestId)
  }

  load(traces: readonly StoredTrace[]): void {
    for (const trace of traces) this.put(restored(trace))
  }

  put(record: TraceRecord | undefined): void {
    if (record === undefined) return
    const requests = new Map(
      Array.from(record.requests, ([id, { entry, newest }]) => [id, { entry, newest: new Map(newest) }]),
    )
    const trace = { ...record, chain: [...record.chain], requests }
    this.#traces.set(record.traceId, trace)
    for (const requestId of requests.keys()) this.#byRequest.set(requestId, trace)
  }

  async fold(entry: Entry): Promise<void> {
    const event = eventIn(entry)
    const key = entry.meta.key
    if (event === undefined || event.type === 'taken' || key === undefined) return
    if (event.type === 'requested' || event.type === 'owner') {
      const traceId = traceIdIn(entry)!
      const trace = this.#traces.get(traceId) ?? {
        traceId,
        state: event.trace,
        date: entry.date,
        chain: [],
        requests: new Map<string, GrowingRequest>(),
      }
      this.#traces.set(traceId, trace)
      Object.assign(trace, { state: event.trace, date: entry.date })
      trace.chain.push(entry.id)
      if (event.type === 'owner') return
      trace.requests.set(event.envelope.requestId, { entry: entry.id, newest: new Map() })
      this.#byRequest.set(event.envelope.requestId, trace)
      return
    }
    const { requestId } = event
    if (!this.#byRequest.has(requestId)) this.put(await this.#archived(requestId))
    const trace = this.#byRequest.get(requestId)
    // The request itself was damaged, and lost when the tape was repaired.
    if (trace === undefined) return
    trace.date = entry.date
    trace.requests.get(requestId)?.newest.set(key.slice(0, key.indexOf(':')), entry.id)
  }
}

function traceIdIn(entry: Entry): string | undefined {
  const event = eventIn(entry)
  if (event?.type === 'requested') return event.envelope.request.traceId
  return event?.type === 'owner' ? event.traceId : undefined
}

/** Whether the state of its trace counts this request alone: then there is nothing of the trace in an older archive. */
function isFirstOfTrace(entry: Entry): boolean {
  const event = eventIn(entry)
  return event?.type === 'requested' && event.trace.hops + (event.trace.people ?? 0) === 1
}

function closedTape(key: string): string {
  const bucket = Number.parseInt(hash('sha256', key).slice(0, 8), 16) % closedTapes
  return `relay/closed/${bucket.toString().padStart(2, '0')}`
}

function stored({ traceId, state, date, chain, requests }: TraceRecord): StoredTrace {
  const rows = Array.from(requests, ([id, { entry, newest }]) => [id, entry, [...newest]] as const)
  return [traceId, state, date, chain, rows]
}

function restored([traceId, state, date, chain, rows]: StoredTrace): TraceRecord {
  const requests = new Map(rows.map(([id, entry, newest]) => [id, { entry, newest: new Map(newest) }]))
  return { traceId, state, date, chain, requests }
}
