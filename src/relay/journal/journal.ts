// The relay's tape, and the open requests that are folded from it. What this process writes is folded in at once, what others
// write when somebody asks or while somebody waits. A snapshot now and then keeps the next start short: it is taken when
// there are more entries since the last one than open requests, so its cost stays a fraction of theirs. Behind an archive the tape
// begins with a snapshot; archive.ts knows what came before it.

import { BatonError, CancelledError, ConflictError, LimitError, NotFoundError } from '../../errors.ts'
import { type BlobRef, type Draft, type Entry, type Expect, limits, type Store } from '../../store/index.ts'
import { blobIfLarge, readJsonBlob } from '../../tape/index.ts'
import type { RelayClock } from '../clock.ts'
import type { Envelope, HandoffResponse } from '../schema.ts'
import { after, pause } from '../timers.ts'
import { Archive, type TraceRecord, type TraceTable } from './archive.ts'
import { draftOf, eventIn, type RelayEvent, tape } from './events.ts'
import { type OpenRequest, OpenRequests, type SegmentStart, type Snapshot } from './open-requests.ts'

const leastBetween = 1_000
/** To load a snapshot takes about as long as to fold in so many entries. */
const worthSkipping = 200
const snapshotKey = 'snapshot'
/** How long the tape is followed after the last one who waited, who is often the next to wait. */
const lingerMs = 1_000

/** How often a process that does not follow the tape looks whether it was archived. */
const lookEveryMs = 1_000

type Stored = { readonly through: number; readonly segment?: SegmentStart } & (
  | { readonly board: Snapshot }
  | { readonly blob: BlobRef }
)

/** Which closed traces leave the tape: those beyond either bound; without any, all of them. */
export interface ArchiveOptions {
  /** Those in which nothing happened for so many milliseconds. */
  readonly olderThanMs?: number | undefined
  /** All but the newest so many. */
  readonly keep?: number | undefined
}

export interface ArchiveResult {
  /** How many traces left the tape, with how many requests. */
  readonly traces: number
  readonly requests: number
  /** Traces that stay on the tape: open ones, and closed ones that were to be kept. */
  readonly open: number
  readonly kept: number
}

/** Folds in what any process writes, while it is written. */
class Following {
  /** How long each of those who follow can do without news, in milliseconds. */
  readonly #users = new Set<() => number>()
  readonly done: Promise<void>
  readonly #stop = new AbortController()
  readonly #broken = new AbortController()
  #keepOn: () => void = () => {}
  /** Ends a rest early. */
  #wake: () => void = () => {}

  constructor(journal: Journal, closing: AbortSignal, onEntry: () => void) {
    this.done = this.#run(journal, closing, onEntry)
  }

  get broken(): AbortSignal {
    return this.#broken.signal
  }

  join(restMs: () => number): void {
    this.#users.add(restMs)
    this.#keepOn()
    this.#wake()
  }

  leave(restMs: () => number, onEnd: () => void): void {
    this.#users.delete(restMs)
    if (this.#users.size > 0) return
    this.#keepOn = after(lingerMs, () => {
      this.#stop.abort()
      onEnd()
    })
  }

  /** Nobody waits any more, not even for a while. */
  end(): void {
    this.#keepOn()
  }

  /** How long everybody can do without news. */
  #restMs(): number {
    const least = Math.min(...Array.from(this.#users, (rest) => rest()))
    return Number.isFinite(least) ? least : 0
  }

  async #rest(ms: number): Promise<void> {
    const woken = new AbortController()
    this.#wake = () => woken.abort()
    await pause(ms, AbortSignal.any([woken.signal, this.#stop.signal]))
    this.#wake = () => {}
  }

  async #run(journal: Journal, closing: AbortSignal, onEntry: () => void): Promise<void> {
    const { openRequests } = journal
    let asked = performance.now()
    try {
      for await (const entry of journal.watch(() => openRequests.at, this.#stop.signal)) {
        // It had to be waited for, so what follows was written just now, and more will come.
        const isNews = performance.now() - asked > 0.5
        const restMs = isNews ? this.#restMs() : 0
        // While everything is read again, what is watched cannot be folded in.
        if (entry.id > openRequests.at + 1) await journal.current()
        openRequests.apply(entry)
        onEntry()
        if (restMs > 0) await this.#rest(restMs)
        asked = performance.now()
      }
      this.#keepOn()
      this.#broken.abort(closing.reason ?? new CancelledError('The store was closed'))
    } catch (error) {
      this.#keepOn()
      this.#broken.abort(error)
    }
  }
}

export class Journal {
  readonly openRequests: OpenRequests
  readonly store: Store
  readonly #now: () => number
  readonly #monotonic: () => number
  readonly #onSnapshot: () => void
  readonly #closing = new AbortController()
  /** Aborted when the relay is closed. */
  readonly closing: AbortSignal = this.#closing.signal
  /** How long an append takes, as a moving average in milliseconds. */
  appendMs = 1
  /** This process wrote the entry with which the next snapshot became due, so it is the one to take it. */
  #isToSave = false
  /** How far the tape was when a snapshot could not be written. */
  #failedAt = Number.NEGATIVE_INFINITY
  #written = 0
  #refreshing: Promise<unknown> | undefined
  #loaded: Promise<void> | undefined
  #reading: Promise<void> | undefined
  #nextReading: Promise<void> | undefined
  #saving: Promise<void> | undefined
  #following: Following | undefined
  /** When it was last looked whether the tape was archived. */
  #lookedAt = Number.NEGATIVE_INFINITY
  #looking: Promise<void> | undefined
  /** The tape may begin with another entry than is known. */
  #mustLook = true
  readonly #archive: Archive

  /** `onSnapshot` is called after each snapshot, for housekeeping that need not be done at once. */
  constructor(store: Store, clock: RelayClock, onSnapshot: () => void) {
    this.store = store
    this.#now = clock.now
    this.#monotonic = clock.monotonic
    this.#onSnapshot = onSnapshot
    this.#archive = new Archive(store)
    this.openRequests = new OpenRequests(clock)
  }

  /** Durable when resolved, unless that is not wanted. A conflict is a `ConflictError`, as the store says. */
  async append(events: readonly RelayEvent[], expect?: Expect, durable = true): Promise<Entry[]> {
    const drafts: Draft[] = []
    for (const event of events) drafts.push(draftOf(isHeavy(event) ? await this.#lightened(event) : event))
    const options = { ...(expect === undefined ? {} : { expect }), ...(durable ? {} : { durable }) }
    const start = this.#monotonic()
    const entries = await this.store.append(tape, drafts, options).catch((error: unknown) => {
      this.#checkRepaired(error, expect)
      throw tooLarge(error, drafts) ?? error
    })
    for (const entry of entries) {
      if (this.#following === undefined) this.openRequests.apply(entry)
      else this.openRequests.applyInTurn(entry)
    }
    this.appendMs += (this.#monotonic() - start - this.appendMs) / 8
    const due = this.#nextSnapshot()
    this.#isToSave ||= entries[0]!.id <= due && due <= entries.at(-1)!.id
    this.#written += entries.length
    // A process that writes much also takes snapshots; one that writes a line or two need not even load the state.
    if (this.#written >= leastBetween) {
      this.#written = 0
      this.#refreshing = this.current().catch(() => {}) // whoever needs the state next gets the error
    }
    return entries
  }

  /** Continues from the newest snapshot, for one who was away for so long that to read everything since would take longer. */
  async skipAhead(): Promise<void> {
    const [newest] = await this.store.anchors(tape, { limit: 1 })
    if (newest === undefined) return
    if ((newest.state as Stored).through - this.openRequests.at < worthSkipping) return
    this.openRequests.clear()
    this.#loaded = undefined
    await this.#reload()
  }

  /** The open requests with that entry, which is durable, and all before it. */
  async upTo(id: number): Promise<OpenRequests> {
    return this.openRequests.at >= id ? this.openRequests : this.current()
  }

  /** When an entry that this process saw is gone, a repair has lost it, or an archive has taken it: all is read again. */
  #checkRepaired(error: unknown, expect: Expect | undefined): void {
    if (!BatonError.is(error) || error.code !== 'conflict' || typeof expect !== 'object') return
    this.#mustLook = true
    if (!('actual' in error) || Number(error.actual) >= expect.id) return
    this.openRequests.clear()
    this.#loaded = undefined
    this.#refreshing = this.#reload()
  }

  async #reload(): Promise<void> {
    try {
      await this.current()
      this.openRequests.reloaded()
    } catch {
      // Whoever needs the state next tries again, and gets the error.
    }
  }

  /** Large inputs leave the line for a blob, which is durable before the entry that names it. */
  async #lightened(event: Answering): Promise<RelayEvent> {
    const { providedInputs, ...response } = event.response
    const inputsBlob = await blobIfLarge(this.store, JSON.stringify(providedInputs))
    return inputsBlob === undefined ? event : { ...event, response, inputsBlob }
  }

  /** The event with the inputs that it provides, wherever they are kept. */
  async whole<E extends { response: HandoffResponse; inputsBlob?: BlobRef }>(event: E): Promise<E> {
    if (event.inputsBlob === undefined) return event
    const providedInputs = (await readJsonBlob(this.store, event.inputsBlob.sha256)) as Record<string, never>
    return { ...event, response: { ...event.response, providedInputs } }
  }

  /** The newest entry under a key, since the last archive. */
  async latest(key: string): Promise<Entry | undefined> {
    return this.store.latest(tape, key)
  }

  /** An entry of the tape or its archives. */
  async entry(id: number): Promise<Entry> {
    const range = { after: id - 1, before: id + 1 }
    for await (const entry of this.store.read(tape, range)) return entry
    for await (const entry of this.store.read(tape, { ...range, archived: true })) return entry
    throw new NotFoundError(`There is no entry ${id} on ${tape}`)
  }

  read(range: { reverse?: boolean; after?: number; archived?: boolean; limit?: number }): AsyncIterable<Entry> {
    return this.store.read(tape, range)
  }

  watch(after: number | (() => number), signal: AbortSignal): AsyncIterable<Entry> {
    return this.store.watch(tape, after, AbortSignal.any([signal, this.#closing.signal]))
  }

  /** The envelope of a request, read from its entry. A request that was lost in a repair is not found. */
  async envelope(entry: number): Promise<Envelope> {
    const event = eventIn(await this.entry(entry))
    if (event?.type === 'requested') return event.envelope
    throw new NotFoundError(`The request in ${tape}#${entry} was damaged and could not be kept`, {
      hint: 'Ask again; "baton relay status" lists what was lost.',
    })
  }

  /** The envelope of an open request; undefined when it was lost in a repair, and then the request is no longer open. */
  async envelopeOf(open: OpenRequest): Promise<Envelope | undefined> {
    if (open.envelope !== undefined) return open.envelope
    try {
      const { deadline, ...envelope } = await this.envelope(open.entry)
      // A dead letter that is tried again has a later deadline than it began with.
      const end = open.deadline === undefined ? deadline : new Date(open.deadline).toISOString()
      const acceptedAt = new Date(open.at).toISOString()
      open.envelope = { ...envelope, acceptedAt, ...(end === undefined ? {} : { deadline: end }) }
      return open.envelope
    } catch (error) {
      if (!BatonError.is(error) || error.code !== 'not_found') throw error
      this.openRequests.drop(open)
      return undefined
    }
  }

  /** The entries that were damaged, and lost in a repair. */
  async lost(): Promise<number[]> {
    const ids: number[] = []
    for await (const { id } of this.store.read(tape, { kinds: ['error'] })) ids.push(id)
    return ids
  }

  /** The newest claim, escalation or answer of a request, also of one in an archive. */
  async newestOf(requestId: string): Promise<{ event: RelayEvent; entry: Entry } | undefined> {
    return this.newest('request', requestId)
  }

  /**
   * The newest event of a request about one thing (`request`, `resumed`, `question`…), also from an archive. `head` is what the next
   * entry about it expects.
   */
  async newest(
    about: string,
    requestId: string,
  ): Promise<{ event: RelayEvent; entry: Entry; head: number } | undefined> {
    await this.segment()
    const { archived } = this.openRequests
    const latest = await this.latest(`${about}:${requestId}`)
    const id = latest === undefined ? (await this.archivedRequest(requestId))?.newest.get(about) : undefined
    const entry = latest ?? (id === undefined ? undefined : await this.entry(id))
    const event = entry && eventIn(entry)
    return event && { event, entry, head: latest?.id ?? -archived }
  }

  /** A trace that has entries in an archive, as it was when the archive was made. */
  async archivedTrace(traceId: string): Promise<TraceRecord | undefined> {
    const segment = await this.segment()
    return segment && this.#archive.trace(segment, traceId)
  }

  /** A request of an archive, open or not. */
  async archivedRequest(
    requestId: string,
  ): Promise<{ entry: number; newest: ReadonlyMap<string, number> } | undefined> {
    const segment = await this.segment()
    return segment && (await this.#archive.traceOf(segment, requestId))?.requests.get(requestId)
  }

  /** Where the tape begins after the last archive; undefined when there is none. */
  async segment(): Promise<SegmentStart | undefined> {
    const now = this.#monotonic()
    if (!this.#mustLook) {
      if (this.#following !== undefined && !this.#following.broken.aborted) return this.openRequests.segment
      if (now - this.#lookedAt < lookEveryMs) return this.openRequests.segment
    }
    // Many may ask at once, and one look does for all of them.
    this.#looking ??= this.#look(now).finally(() => (this.#looking = undefined))
    await this.#looking
    return this.openRequests.segment
  }

  async #look(now: number): Promise<void> {
    const archived = await this.#archivedTo()
    this.#lookedAt = now
    this.#mustLook = this.openRequests.archived < archived
    if (this.#mustLook) await this.current()
  }

  /** The last entry of the newest archive; 0 without one. */
  async #archivedTo(): Promise<number> {
    const info = await this.store.info(tape)
    return info === undefined ? ((await this.store.archives(tape)).at(-1)?.lastId ?? 0) : info.firstId - 1
  }

  /** The open requests with everything that is durable now. */
  async current(): Promise<OpenRequests> {
    await this.#load()
    if (!this.#mustLook) {
      await this.#catchUp()
      return this.openRequests
    }
    this.#mustLook = false
    try {
      // An archive that was there before everything is read holds nothing that is not known then, even if its snapshot was lost.
      const archived = await this.#archivedTo()
      await this.#catchUp()
      // Of a tape that was deleted, only archives are left.
      if (this.openRequests.at < archived) await this.#catchUpArchived()
      this.openRequests.archivedTo(archived)
    } catch (error) {
      this.#mustLook = true
      throw error
    }
    return this.openRequests
  }

  #load(): Promise<void> {
    this.#loaded ??= this.#loadSnapshot().catch((error: unknown) => {
      this.#loaded = undefined // the next caller tries again
      throw error
    })
    return this.#loaded
  }

  async #loadSnapshot(): Promise<void> {
    // The anchor that opens the tape behind an archive may have been damaged: then the archive has the one before it.
    const [anchor] = await this.store.anchors(tape, { limit: 1 })
    const [newest] = anchor === undefined ? await this.store.anchors(tape, { limit: 1, archived: true }) : [anchor]
    // This process may have written the first entry itself and folded all since: then there is nothing to load.
    if (this.openRequests.at > 0) return
    if (anchor === undefined) this.openRequests.lostStart = ((await this.store.info(tape))?.firstId ?? 1) - 1
    if (newest === undefined) return
    const stored = newest.state as Stored
    const snapshot =
      'board' in stored ? stored.board : ((await readJsonBlob(this.store, stored.blob.sha256)) as Snapshot)
    this.openRequests.load(snapshot, newest.id, stored.segment)
  }

  /**
   * Folds in what was written before the call. Callers that come while another reads share the next reading: what they ask for may have
   * been written since that one began.
   */
  #catchUp(): Promise<void> {
    if (this.#reading === undefined) {
      this.#reading = this.#readNew().finally(() => (this.#reading = undefined))
      return this.#reading
    }
    this.#nextReading ??= this.#reading
      .catch(() => {}) // those who asked for that one get the error
      .then(() => {
        this.#nextReading = undefined
        return this.#catchUp()
      })
    return this.#nextReading
  }

  async #readNew(): Promise<void> {
    for await (const entry of this.store.read(tape, { after: this.openRequests.at })) {
      // The entries between are in an archive that was made meanwhile.
      if (entry.id > this.openRequests.at + 1) {
        await this.#catchUpArchived()
        // What is not in an archive either is lost: a repair cannot know how many lines were cut from the start of a tape.
        this.openRequests.skipTo(entry.id)
      }
      this.openRequests.apply(entry)
    }
    this.#saveWhenDue()
  }

  async #catchUpArchived(): Promise<void> {
    const range = { after: this.openRequests.at, archived: true }
    for await (const entry of this.store.read(tape, range)) this.openRequests.apply(entry)
  }

  /** The entry with which the next snapshot is due. */
  #nextSnapshot(): number {
    const { saved, byId } = this.openRequests
    return saved.through + Math.max(leastBetween, byId.size)
  }

  /** One process takes it for all. If that one does not, because it reads nothing or has died, any other does a little later. */
  #saveWhenDue(): void {
    const { at, saved } = this.openRequests
    const due = this.#nextSnapshot()
    if (at < (this.#isToSave ? due : due + (due - saved.through) / 4) || this.#saving !== undefined) return
    if (at < this.#failedAt + leastBetween) return
    this.#isToSave = false
    // A snapshot only makes the next start faster, so a failure is not reported; a later process takes its own.
    this.#saving = this.#save()
      .catch(() => void (this.#failedAt = at))
      .finally(() => (this.#saving = undefined))
  }

  /** A snapshot of the open requests as they are now. */
  async #snapshotDraft(): Promise<{ readonly through: number; readonly draft: (opens?: SegmentStart) => Draft }> {
    const snapshot = this.openRequests.snapshot(this.#now())
    const { through } = snapshot
    const blob = await blobIfLarge(this.store, JSON.stringify(snapshot))
    const kept = blob === undefined ? { board: snapshot } : { blob }
    const meta = { key: snapshotKey, context: false }
    const draft = (segment?: SegmentStart): Draft => {
      const state = { through, ...kept, ...(segment === undefined ? {} : { segment }) }
      return { kind: 'anchor', payload: { name: `through ${through}`, state }, meta }
    }
    return { through, draft }
  }

  /**
   * Moves closed traces to an archive, where they can still be looked up; never open ones. Undefined when there is nothing to move, or when
   * another process is faster. Requests continue meanwhile: what is written between the last look and the archive is read
   * from there when it is needed.
   */
  async archive(options: ArchiveOptions = {}): Promise<ArchiveResult | undefined> {
    const { segment, archived, byId, deadLetters, counters } = await this.current()
    const now = this.#now()
    const requests = counters.requests - byId.size
    const inUse = new Set([...byId.values(), ...deadLetters.values()].map(({ traceId }) => traceId))
    const { through, draft } = await this.#snapshotDraft()
    const table = await this.#archive.tableAt(segment, through)
    const { open, kept, over } = sorted(table, inUse, bounds(options, now))
    if (over.length === 0) return undefined
    await this.#archive.keep(over)
    const carried = await this.#archive.carry([...open, ...kept])
    const oldest = kept.reduce((least, { date }) => Math.min(least, Date.parse(date)), now)
    try {
      await this.store.archive(tape, ({ firstId, lastId }) => {
        const expected = archived + 1
        if (firstId !== expected)
          throw new ConflictError('Another process has archived the tape', { expected, actual: firstId })
        const start = { through: lastId, accounted: through, requests, oldest }
        return [draft({ ...start, ...(carried === undefined ? {} : { carried }) })]
      })
    } catch (error) {
      if (BatonError.is(error) && error.code === 'conflict') return undefined
      throw error
    }
    await this.current()
    const moved = over.reduce((sum, trace) => sum + trace.requests.size, 0)
    return { traces: over.length, requests: moved, open: open.length, kept: kept.length }
  }

  /** Whether so many closed requests, or closed traces of that age, are on the tape that it is time for an archive. */
  async isArchiveDue({ requests, ageMs }: { requests: number; ageMs: number }): Promise<boolean> {
    const { segment, counters, byId } = await this.current()
    if (counters.requests - byId.size - (segment?.requests ?? 0) >= requests) return true
    if (segment !== undefined) return segment.oldest < this.#now() - ageMs
    for await (const { date } of this.store.read(tape, { limit: 1 })) return Date.parse(date) < this.#now() - ageMs
    return false
  }

  async #save(): Promise<void> {
    const { through, draft } = await this.#snapshotDraft()
    const expected = this.openRequests.saved.entry
    try {
      const [entry] = await this.store.append(tape, [draft()], { expect: { key: snapshotKey, id: expected } })
      this.openRequests.apply(entry!)
      this.openRequests.saved = { entry: entry!.id, through }
      this.#onSnapshot()
    } catch (error) {
      if (!BatonError.is(error) || error.code !== 'conflict') throw error
      // Another process was faster: its snapshot serves as well.
      const newest = await this.latest(snapshotKey)
      const taken = (newest?.payload as { state?: Stored } | undefined)?.state
      if (newest !== undefined && taken !== undefined)
        this.openRequests.saved = { entry: newest.id, through: taken.through }
    }
  }

  /**
   * Keeps the open requests up to date until `stop`; `broken` is aborted with the reason when that ends early. `restMs` says for how
   * long the caller can do without news.
   */
  async follow(restMs: () => number = () => 0): Promise<{ broken: AbortSignal; stop: () => void }> {
    if (this.#following === undefined || this.#following.broken.aborted) {
      await this.current()
      this.#closing.signal.throwIfAborted()
    }
    if (this.#following === undefined || this.#following.broken.aborted) {
      this.#following = new Following(this, this.#closing.signal, () => this.#saveWhenDue())
    }
    const following = this.#following
    following.join(restMs)
    let isOver = false
    const stop = () => {
      if (isOver) return
      isOver = true
      following.leave(restMs, () => {
        if (this.#following === following) this.#following = undefined
      })
    }
    return { broken: following.broken, stop }
  }

  async close(): Promise<void> {
    this.#closing.abort(new CancelledError('The relay was closed'))
    await this.#following?.done
    this.#following?.end()
    await this.#refreshing
    await this.#saving
  }
}

function bounds({ olderThanMs, keep }: ArchiveOptions, now: number): { oldest: number; keep: number } {
  if (olderThanMs === undefined) return { oldest: 0, keep: keep ?? 0 }
  return { oldest: now - olderThanMs, keep: keep ?? Number.POSITIVE_INFINITY }
}

/** The traces that are open, those that are closed and to be kept, and those that are over. */
function sorted(
  { traces }: TraceTable,
  inUse: ReadonlySet<string>,
  { oldest, keep }: { oldest: number; keep: number },
): Record<'open' | 'kept' | 'over', TraceRecord[]> {
  const all = [...traces.values()]
  const open = all.filter(({ traceId }) => inUse.has(traceId))
  const closed = all.filter(({ traceId }) => !inUse.has(traceId))
  const newestFirst = closed.toSorted((a, b) => Date.parse(b.date) - Date.parse(a.date))
  const isKept = ({ date }: TraceRecord, i: number) => i < keep && Date.parse(date) > oldest
  return { open, kept: newestFirst.filter(isKept), over: newestFirst.filter((trace, i) => !isKept(trace, i)) }
}

type Answering = Extract<RelayEvent, { type: 'answered' | 'late' }>

function isHeavy(event: RelayEvent): event is Answering {
  return (event.type === 'answered' || event.type === 'late') && event.response.providedInputs !== undefined
}

/** The error in terms of requests and answers, because callers do not know of batches. */
function tooLarge(error: unknown, drafts: readonly Draft[]): LimitError | undefined {
  if (!BatonError.is(error) || error.code !== 'limit') return undefined
  const bytes = Buffer.byteLength(JSON.stringify(drafts))
  return new LimitError(`What is handed over has ${bytes} bytes, and may have ${limits.batchBytes}`, {
    hint: 'Leave the content in a file or on a tape, and hand over its path or its tape:// reference.',
  })
}
