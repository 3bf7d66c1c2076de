// The relay's tape and the board that is folded from it. What this process writes is folded in at once, what others
// write when somebody asks or while somebody waits. A snapshot of the board now and then keeps the next start short:
// it is taken when the entries since the last one outweigh what is open, so its cost stays a fraction of theirs.

import { json } from 'node:stream/consumers'
import { BatonError, CancelledError, LimitError, NotFoundError } from '../errors.ts'
import { type BlobRef, type Draft, type Entry, type Expect, limits, type Store } from '../store/index.ts'
import { Board, type Snapshot } from './board.ts'
import { draftOf, type Fact, factIn, type Requested, requestKey, tape } from './record.ts'
import type { Envelope } from './schema.ts'

const leastBetween = 1_000
const snapshotKey = 'snapshot'
/** Larger ones go to a blob, so that the line stays cheap to read. */
const inlineBytes = 32 * 1024

type Stored =
  | { readonly through: number; readonly board: Snapshot }
  | { readonly through: number; readonly blob: BlobRef }

/** A board that takes in what is written by whomever, while it is written. */
class Following {
  users = 0
  readonly done: Promise<void>
  readonly #stop = new AbortController()
  readonly #broken = new AbortController()

  constructor(store: Store, board: Board, closing: AbortSignal, onEntry: () => void) {
    this.done = this.#run(store, board, closing, onEntry)
  }

  get broken(): AbortSignal {
    return this.#broken.signal
  }

  stop(): void {
    this.#stop.abort()
  }

  async #run(store: Store, board: Board, closing: AbortSignal, onEntry: () => void): Promise<void> {
    try {
      for await (const entry of store.watch(tape, board.at, AbortSignal.any([this.#stop.signal, closing]))) {
        board.apply(entry)
        onEntry()
      }
      this.#broken.abort(closing.reason ?? new CancelledError('The store was closed'))
    } catch (error) {
      this.#broken.abort(error)
    }
  }
}

export class Journal {
  readonly board: Board
  readonly #store: Store
  readonly #onSnapshot: () => void
  readonly #closing = new AbortController()
  /** The entry of the last snapshot, and the last entry it takes into account. */
  #snapshot = { entry: 0, through: 0 }
  #written = 0
  #refreshing: Promise<unknown> | undefined
  #loaded: Promise<void> | undefined
  #saving: Promise<void> | undefined
  #following: Following | undefined

  /** `onSnapshot` is called now and then, while there is work: for what need not be done at once. */
  constructor(store: Store, monotonic: () => number, onSnapshot: () => void) {
    this.#store = store
    this.#onSnapshot = onSnapshot
    this.board = new Board(monotonic)
  }

  /** Durable when resolved. A conflict is a `ConflictError`, as the store says. */
  async append(facts: readonly Fact[], expect?: Expect): Promise<Entry[]> {
    const drafts = facts.map((fact) => draftOf(fact))
    const options = expect === undefined ? {} : { expect }
    const entries = await this.#store.append(tape, drafts, options).catch((error: unknown) => {
      throw tooLarge(error, drafts) ?? error
    })
    for (const entry of entries) this.board.apply(entry)
    this.#written += entries.length
    // Whoever writes much takes part in keeping starts short; a process that writes a line or two need not even load.
    if (this.#written >= leastBetween) {
      this.#written = 0
      this.#refreshing = this.current().catch(() => {}) // whoever needs the board meets the error
    }
    return entries
  }

  /** The newest entry under a key. */
  async latest(key: string): Promise<Entry | undefined> {
    return this.#store.latest(tape, key)
  }

  async entry(id: number): Promise<Entry> {
    for await (const entry of this.#store.read(tape, { after: id - 1, before: id + 1 })) return entry
    throw new NotFoundError(`There is no entry ${id} on ${tape}`)
  }

  read(range: { reverse: true; after?: number }): AsyncIterable<Entry> {
    return this.#store.read(tape, range)
  }

  watch(after: number, signal: AbortSignal): AsyncIterable<Entry> {
    return this.#store.watch(tape, after, AbortSignal.any([signal, this.#closing.signal]))
  }

  /** A request as it was accepted, from its entry. */
  async envelope(entry: number): Promise<Envelope> {
    return (factIn(await this.entry(entry)) as Requested).envelope
  }

  /** Several of them, in the order of their entries: those that lie close together are read at once. */
  async envelopes(entries: readonly number[]): Promise<Map<number, Envelope>> {
    const found = new Map<number, Envelope>()
    const first = entries[0] ?? 0
    const last = entries.at(-1) ?? 0
    if (last - first > entries.length * 8) {
      for (const entry of entries) found.set(entry, await this.envelope(entry))
      return found
    }
    const wanted = new Set(entries)
    for await (const entry of this.#store.read(tape, { after: first - 1, before: last + 1 })) {
      if (wanted.delete(entry.id)) found.set(entry.id, (factIn(entry) as Requested).envelope)
    }
    // One that is damaged is told as when it is read alone.
    for (const entry of wanted) found.set(entry, await this.envelope(entry))
    return found
  }

  /** Where the chain of a request ends: its newest claim, escalation or answer. */
  async newestOf(requestId: string): Promise<{ fact: Fact; entry: Entry } | undefined> {
    const entry = await this.latest(requestKey(requestId))
    return entry && { fact: factIn(entry)!, entry }
  }

  /** The board with everything on it that is durable now. */
  async current(): Promise<Board> {
    this.#loaded ??= this.#load().catch((error: unknown) => {
      this.#loaded = undefined // the next one may have more luck
      throw error
    })
    await this.#loaded
    await this.#catchUp()
    return this.board
  }

  async #load(): Promise<void> {
    const [anchor] = await this.#store.anchors(tape, { limit: 1 })
    // Folded from the first entry on, because this process wrote it: there is nothing to load.
    if (anchor !== undefined && this.board.at === 0) {
      const stored = anchor.state as Stored
      this.board.load('board' in stored ? stored.board : await this.#fetch(stored.blob))
      this.#snapshot = { entry: anchor.id, through: stored.through }
    }
  }

  async #fetch(blob: BlobRef): Promise<Snapshot> {
    return (await json(await this.#store.getBlob(blob.sha256))) as Snapshot
  }

  async #catchUp(): Promise<void> {
    for await (const entry of this.#store.read(tape, { after: this.board.at })) this.board.apply(entry)
    this.#saveWhenDue()
  }

  #saveWhenDue(): void {
    const { at, open } = this.board
    if (at - this.#snapshot.through < Math.max(leastBetween, open.size) || this.#saving !== undefined) return
    // It only spares the next start some work, and that one will take its own where this one cannot.
    this.#saving = this.#save()
      .catch(() => {})
      .finally(() => (this.#saving = undefined))
  }

  async #save(): Promise<void> {
    const board = this.board.snapshot()
    const { through } = board
    const text = JSON.stringify(board)
    const state: Stored =
      text.length <= inlineBytes ? { through, board } : { through, blob: await this.#store.putBlob(Buffer.from(text)) }
    const draft: Draft = {
      kind: 'anchor',
      payload: { name: `through ${through}`, state },
      meta: { key: snapshotKey, context: false },
    }
    const expected = this.#snapshot.entry
    this.#snapshot = { entry: expected, through }
    try {
      const [entry] = await this.#store.append(tape, [draft], { expect: { key: snapshotKey, id: expected } })
      this.#snapshot = { entry: entry!.id, through }
      this.board.apply(entry!)
      this.#onSnapshot()
    } catch (error) {
      if (!BatonError.is(error) || error.code !== 'conflict') throw error
      // Another process was faster: its snapshot serves as well.
      const newest = await this.latest(snapshotKey)
      const taken = (newest?.payload as { state?: Stored } | undefined)?.state
      if (newest !== undefined && taken !== undefined) this.#snapshot = { entry: newest.id, through: taken.through }
    }
  }

  /** A board that keeps itself up to date until `stop`; `broken` tells that it ended early, and why. */
  async follow(): Promise<{ broken: AbortSignal; stop: () => void }> {
    await this.current()
    if (this.#following?.broken.aborted === true) this.#following = undefined
    this.#following ??= new Following(this.#store, this.board, this.#closing.signal, () => this.#saveWhenDue())
    const following = this.#following
    following.users++
    const stop = () => {
      if (--following.users > 0) return
      following.stop()
      if (this.#following === following) this.#following = undefined
    }
    return { broken: following.broken, stop }
  }

  async close(): Promise<void> {
    this.#closing.abort(new CancelledError('The relay was closed'))
    await this.#following?.done
    await this.#refreshing
    await this.#saving
  }
}

/** In the words of whoever asks or answers: they know of no batches. */
function tooLarge(error: unknown, drafts: readonly Draft[]): LimitError | undefined {
  if (!BatonError.is(error) || error.code !== 'limit') return undefined
  const bytes = Buffer.byteLength(JSON.stringify(drafts))
  return new LimitError(`What is handed over has ${bytes} bytes, and may have ${limits.batchBytes}`, {
    hint: 'Leave the content in a file or on a tape, and hand over its path or its tape:// reference.',
  })
}
