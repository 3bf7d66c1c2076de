// The engine on NATS JetStream: one stream holds a workspace. A tape is a row of numbered subjects with one message each; a message
// holds the batches that were appended together, and its number is taken by whoever stores it first. That needs nothing of the
// server but "store this where nothing is", which also old clusters do right.

import { randomUUID } from 'node:crypto'
import type { Readable } from 'node:stream'
import { ConflictError, DamagedError, StorageError } from '../../errors.ts'
import { type Channel, ChangeNews } from '../change-news.ts'
import { asAnchor, prepare } from '../draft.ts'
import type { Draft, Entry } from '../entry.ts'
import { encodeName, lineageTape } from '../name.ts'
import type {
  AnchorQuery,
  AnchorRef,
  AppendOptions,
  ArchiveRef,
  BlobRef,
  Damage,
  OpenOptions,
  Range,
  Store,
  TapeInfo,
  VerifyReport,
} from '../store.ts'
import { NatsBlobs } from './blobs.ts'
import { NatsStreams } from './connection.ts'
import { entryAt, type Message } from './message.ts'
import { MessageCache, Messages } from './messages.ts'
import { hintSubject, NatsTape, tokenOf } from './tape.ts'

export interface NatsStoreOptions extends OpenOptions {
  /** How long a call waits for servers that are away, in milliseconds. */
  patience?: number
}

/** Opens the workspace at `nats://HOST:4222/WORKSPACE`, making its streams if there are none. */
export async function openNatsStore(address: string, options: NatsStoreOptions = {}): Promise<Store> {
  const streams = await NatsStreams.open(address, options.patience)
  try {
    const { workspace, isIndexNew } = await streams.prepare(options.workspace)
    if (isIndexNew) await registerTapes(streams)
    return new NatsStore(streams, workspace, options)
  } catch (error) {
    await streams.close()
    throw error
  }
}

/** The index stream was lost: the names of the tapes are taken from their messages, and all else comes when it is needed. */
async function registerTapes(streams: NatsStreams): Promise<void> {
  const firsts = await streams.subjects(streams.stream, `${streams.prefix}.t.*.1`)
  for (const subject of firsts) await streams.put(hintSubject(streams, subject.split('.').at(-2)!), Buffer.from('1'))
}

/** Nobody takes a day to make a tape. */
const dayMs = 24 * 60 * 60 * 1_000
const openTapes = 1_000
const listedAtOnce = 32
/** How often it is stored how long a tape is. */
const hintMs = 1_000

class NatsStore implements Store {
  readonly workspace: string
  readonly guarantee: string
  readonly #streams: NatsStreams
  readonly #messages: Messages
  readonly #blobs: NatsBlobs
  readonly #now: () => Date
  readonly #tapes = new Map<string, NatsTape>()
  readonly #news: ChangeNews
  readonly #closing = new AbortController()
  #hasSwept = false
  #closed: Promise<void> | undefined

  constructor(streams: NatsStreams, workspace: string, { now = () => new Date() }: NatsStoreOptions) {
    this.#streams = streams
    this.workspace = workspace
    this.guarantee = streams.guarantee()
    const cache = new MessageCache()
    this.#messages = new Messages(streams, cache)
    streams.onLost = () => {
      cache.clear()
      this.#tapes.clear()
    }
    this.#blobs = new NatsBlobs(streams)
    this.#now = now
    this.#news = new ChangeNews(this.#channel())
  }

  get place(): string {
    return this.#streams.place
  }

  /** A notification is a message that no stream keeps. */
  #channel(): Channel {
    const { connection, newsPrefix } = this.#streams
    return {
      notify: async (names) => {
        for (const encoded of names) {
          connection.publish(`${newsPrefix}.${tokenOf(encoded)}`)
          this.#tapes.get(encoded)?.hint(hintMs)
        }
      },
      listen: async (heard) => {
        const subscription = connection.subscribe(`${newsPrefix}.*`, {
          callback: (_, { subject }) => heard(subject.split('.').at(-1)!.replaceAll('%2E', '.').replaceAll('%2A', '*')),
        })
        await connection.flush()
        return async () => subscription.unsubscribe()
      },
    }
  }

  #tape(name: string): NatsTape {
    const encoded = encodeName(name)
    this.#assertOpen()
    const known = this.#tapes.get(encoded)
    if (known !== undefined) return known
    if (this.#tapes.size >= openTapes) {
      for (const [each, tape] of this.#tapes) if (tape.isIdle) this.#tapes.delete(each)
    }
    const tape = new NatsTape(this.#streams, this.#messages, { name, encoded }, () => this.#news.changed(encoded))
    this.#tapes.set(encoded, tape)
    return tape
  }

  async append(tape: string, drafts: readonly Draft[], { expect }: AppendOptions = {}): Promise<Entry[]> {
    encodeName(tape)
    const prepared = prepare(drafts, this.#now)
    return this.#tape(tape).append({ prepared, expect })
  }

  async create(name: string, batches: Iterable<readonly Draft[]> | AsyncIterable<readonly Draft[]>): Promise<TapeInfo> {
    const tape = this.#tape(name)
    const encoded = encodeName(name)
    const refuse = (actual: number): never => {
      throw new ConflictError(`There is a tape ${name} already, with ${actual} entries`, { expected: 0, actual })
    }
    const { position, lastId } = await tape.current()
    if (position > 0) refuse(lastId)
    await this.#sweep()
    const hidden = `${tokenOf(encoded)}~${Date.now()}~${randomUUID()}`
    const made = new NatsTape(this.#streams, this.#messages, { name, encoded, hidden })
    try {
      for await (const drafts of batches) await made.append({ prepared: prepare(drafts, this.#now), expect: undefined })
      if (!(await tape.adopt(made))) refuse((await tape.current()).lastId)
    } catch (error) {
      await this.#streams.drop(this.#streams.stream, `${this.#streams.prefix}.c.${hidden}.*`)
      throw error
    }
    return (await this.info(name))!
  }

  /** What processes left behind that died while they made a tape. */
  async #sweep(): Promise<void> {
    if (this.#hasSwept) return
    this.#hasSwept = true
    const { prefix, stream } = this.#streams
    for (const subject of await this.#streams.subjects(stream, `${prefix}.c.*.1`)) {
      const hidden = subject.split('.').at(-2)!
      const [token, time] = hidden.split('~')
      if (Date.now() - Number(time) < dayMs) continue
      const first = await this.#messages.find(`${prefix}.t.${token}.1`)
      if (first?.copied?.token !== hidden) await this.#streams.drop(stream, `${prefix}.c.${hidden}.*`)
    }
  }

  async *read(name: string, range: Range = {}): AsyncIterable<Entry> {
    const tape = this.#tape(name)
    const { kinds, reverse = false, archived = false } = range
    let left = range.limit ?? Number.POSITIVE_INFINITY
    if (left <= 0) return
    const index = await tape.current()
    const first = Math.max((range.after ?? 0) + 1, archived ? index.kept : index.standing.segment)
    const last = Math.min((range.before ?? Number.MAX_SAFE_INTEGER) - 1, index.lastId)
    const starts = kinds?.map((kind) => `,"kind":${JSON.stringify(kind)},`)
    for await (const message of tape.between(index, first, last, reverse)) {
      this.#assertOpen()
      const from = Math.max(first, message.first)
      const to = Math.min(last, message.first + message.count - 1)
      for (let at = 0; at <= to - from; at++) {
        const id = reverse ? to - at : from + at
        if (starts !== undefined && !starts.some((start) => message.lines[id - message.first]!.startsWith(start)))
          continue
        yield entryAt(message, id)
        if (--left === 0) return
      }
    }
  }

  async anchors(name: string, query: AnchorQuery = {}): Promise<AnchorRef[]> {
    const tape = this.#tape(name)
    const { limit, after = 0, before = Number.MAX_SAFE_INTEGER, archived = false } = query
    const index = await tape.current()
    const first = archived ? index.kept : index.standing.segment
    const found: { id: number; position: number }[] = []
    for (let at = index.anchors.length - 1; at >= 0 && found.length !== limit; at--) {
      const anchor = index.anchors[at]!
      if (anchor.id < first || anchor.id <= after) break
      if (anchor.id < before && (query.name === undefined || anchor.name === query.name)) found.push(anchor)
    }
    const refs: AnchorRef[] = []
    const subjects = found.reverse().map(({ position }) => tape.subject(index, position))
    let at = 0
    for await (const message of this.#messages.each(subjects)) refs.push(asAnchor(entryAt(message, found[at++]!.id)))
    return refs
  }

  async latest(name: string, key: string): Promise<Entry | undefined> {
    const tape = this.#tape(name)
    const index = await tape.current()
    const place = index.keys.get(key)
    return place && entryAt(await tape.message(index, place.position), place.id)
  }

  async *watch(name: string, after: number, signal: AbortSignal): AsyncIterable<Entry> {
    const encoded = encodeName(name)
    this.#assertOpen()
    const ended = AbortSignal.any([signal, this.#closing.signal])
    yield* this.#news.follow(encoded, after, ended, (last) => this.read(name, { after: last, archived: true }))
  }

  async info(name: string): Promise<TapeInfo | undefined> {
    const tape = this.#tape(name)
    const head = await tape.head()
    return head && this.#infoFrom(name, tape, head)
  }

  async #infoFrom(name: string, tape: NatsTape, head: Message): Promise<TapeInfo | undefined> {
    const { segment, bytes, anchors, anchor, phase, date } = head.standing
    const lastId = head.first + head.count - 1
    if (lastId < segment) return undefined
    let lastAnchor: TapeInfo['lastAnchor']
    if (anchor !== undefined) {
      const { id, from } = anchor
      const anchorName = anchor.name ?? (await this.#anchorName(tape, id, anchor.position))
      lastAnchor = { id, name: anchorName, ...(from === undefined ? {} : { from }) }
    }
    return {
      tape: name,
      entries: lastId - segment + 1,
      firstId: segment,
      lastId,
      anchors,
      lastAnchor,
      phase: { entries: Math.max(0, lastId - phase.first + 1), bytes: phase.bytes },
      bytes,
      date,
    }
  }

  async #anchorName(tape: NatsTape, id: number, position: number): Promise<string> {
    return asAnchor(entryAt(await tape.message(await tape.current(), position), id)).name
  }

  async *list(prefix = ''): AsyncIterable<TapeInfo> {
    this.#assertOpen()
    const names = (await this.#names())
      .filter((name) => name.startsWith(prefix) && name !== lineageTape)
      .sort((a, b) => (encodeName(a) < encodeName(b) ? -1 : 1))
    for (let at = 0; at < names.length; at += listedAtOnce) {
      const infos = await Promise.all(names.slice(at, at + listedAtOnce).map((name) => this.info(name)))
      for (const info of infos) if (info !== undefined) yield info
    }
  }

  /** Of all tapes that ever had an entry. */
  async #names(): Promise<string[]> {
    const subjects = await this.#streams.subjects(this.#streams.indexStream, hintSubject(this.#streams, '*'))
    return subjects.map((subject) => decodeURIComponent(subject.split('.').at(-1)!))
  }

  async contents(): Promise<{ tapes: string[]; blobs: string[] }> {
    this.#assertOpen()
    return { tapes: (await this.#names()).sort(), blobs: await this.#blobs.names() }
  }

  async archive(name: string, first: (archive: ArchiveRef) => readonly Draft[]): Promise<ArchiveRef> {
    return this.#tape(name).archive((archive) => prepare(first(archive), this.#now))
  }

  async archives(name: string): Promise<ArchiveRef[]> {
    return [...(await this.#tape(name).current()).archives]
  }

  async remove(name: string): Promise<ArchiveRef> {
    return this.#tape(name).archive(undefined)
  }

  async purge(name: string): Promise<ArchiveRef[]> {
    return this.#tape(name).purge()
  }

  async putBlob(bytes: Uint8Array): Promise<BlobRef> {
    this.#assertOpen()
    return this.#blobs.put(bytes)
  }

  async getBlob(sha256: string, range: { start?: number; end?: number } = {}): Promise<Readable> {
    this.#assertOpen()
    return this.#blobs.get(sha256, range)
  }

  async verify(name: string): Promise<VerifyReport[]> {
    const damage: Damage[] = []
    let entries = 0
    try {
      for await (const _ of this.read(name, { archived: true })) entries++
    } catch (error) {
      if (!(error instanceof DamagedError)) throw error
      const { file, offset, message } = error
      damage.push({ kind: 'checksum', file, offset, length: 0, lost: undefined, message })
    }
    const info = damage.length > 0 ? undefined : await this.info(name)
    if (info === undefined && entries === 0 && damage.length === 0) return []
    return [{ tape: name, file: this.place, entries, bytes: info?.bytes ?? 0, damage, index: 'ok' }]
  }

  close(): Promise<void> {
    this.#closed ??= this.#close()
    return this.#closed
  }

  async #close(): Promise<void> {
    const pending = [...this.#tapes.values()].map((tape) => tape.settled())
    this.#closing.abort()
    await Promise.all(pending)
    await this.#news.close()
    for (const tape of this.#tapes.values()) tape.hint(0)
    await this.#streams.close()
  }

  #assertOpen(): void {
    if (!this.#closing.signal.aborted) return
    throw new StorageError(`The store in ${this.place} has been closed`, {
      hint: 'Nothing was written. Open it again.',
    })
  }
}
