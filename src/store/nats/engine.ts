// The engine on NATS JetStream: one stream holds a workspace. A tape is a row of numbered subjects with one message each; a message
// holds the batches that were appended together, and its number is taken by whoever stores it first. That needs nothing of the
// server but "store this where nothing is", which also old clusters do right.

import { randomUUID } from 'node:crypto'
import type { Readable } from 'node:stream'
import { ConflictError, type DamagedError, StorageError } from '../../errors.ts'
import { type NewsChannel, ChangeNews } from '../change-news.ts'
import { asAnchor, prepare } from '../draft.ts'
import type { Draft, Entry } from '../entry.ts'
import { encodeName, lineageTape, newWorkspaceId } from '../name.ts'
import type * as contract from '../store.ts'
import { NatsBlobs } from './blobs.ts'
import { NatsServers } from './connection.ts'
import { entryAt, type Message } from './message.ts'
import { MessageCache, Messages } from './messages.ts'
import { repairTape } from './repair.ts'
import { deleted, NatsStream } from './stream.ts'
import { hintSubject, NatsTape, tokenOf } from './tape.ts'

export interface NatsStoreOptions extends contract.OpenOptions {
  /** How long a call waits for servers that are away, in milliseconds. */
  patience?: number
}

/** Opens the workspace at `nats://HOST:4222/WORKSPACE`, making its streams if there are none. */
export async function openNatsStore(address: string, options: NatsStoreOptions = {}): Promise<contract.Store> {
  const servers = await NatsServers.connect(address, options.patience)
  try {
    const { stream: name, isIndexNew } = await servers.prepare()
    const stream = new NatsStream(servers, name)
    const workspace = await workspaceOf(stream, options.workspace)
    if (isIndexNew) await registerTapes(stream)
    return new NatsStore(roomIn(stream, workspace), options)
  } catch (error) {
    await servers.close()
    throw error
  }
}

const format = 1

/** The id of the workspace, which the first process gives it. */
async function workspaceOf(stream: NatsStream, given = newWorkspaceId()): Promise<string> {
  const subject = `${stream.prefix}.workspace.id`
  let known = (await stream.isNew()) ? undefined : await stream.get(subject)
  if (known === undefined) {
    await stream.create(subject, Buffer.from(JSON.stringify({ workspace: given, format })))
    known = await stream.get(subject)
  }
  const { workspace, format: found } = JSON.parse(known!.toString()) as { workspace: string; format: number }
  if (found <= format) return workspace
  throw new StorageError(`${stream.place} was written by a newer version of Baton (format ${found})`, {
    hint: 'Nothing was written. Upgrade Baton on this machine.',
  })
}

/** The index stream was lost: the names of the tapes are taken from their messages, and all else comes when it is needed. */
async function registerTapes(stream: NatsStream): Promise<void> {
  const firsts = await stream.subjects(`${stream.prefix}.t.*.1`)
  for (const subject of firsts) await stream.put(hintSubject(stream, subject.split('.').at(-2)!), Buffer.from('1'))
}

/** What belongs to one stream: nothing of it is carried over to the next. */
interface Room {
  readonly stream: NatsStream
  readonly workspace: string
  readonly messages: Messages
  readonly blobs: NatsBlobs
  readonly tapes: Map<string, NatsTape>
}

function roomIn(stream: NatsStream, workspace: string): Room {
  const messages = new Messages(stream, new MessageCache())
  return { stream, workspace, messages, blobs: new NatsBlobs(stream), tapes: new Map() }
}

/** Nobody takes a day to make a tape. */
const dayMs = 24 * 60 * 60 * 1_000
const openTapes = 1_000
const listedAtOnce = 32
/** How often it is stored how long a tape is. */
const hintMs = 1_000

class NatsStore implements contract.Store {
  readonly guarantee: string
  readonly #servers: NatsServers
  readonly #now: () => Date
  readonly #news: ChangeNews
  readonly #closing = new AbortController()
  #room: Room
  #nextRoom: Promise<Room> | undefined
  #hasSwept = false
  #closed: Promise<void> | undefined

  constructor(room: Room, { now = () => new Date() }: NatsStoreOptions) {
    this.#room = room
    this.#servers = room.stream.servers
    this.guarantee = this.#servers.guarantee()
    this.#now = now
    this.#news = new ChangeNews(this.#channel())
  }

  get workspace(): string {
    return this.#room.workspace
  }

  get place(): string {
    return this.#servers.place
  }

  /** A notification is a message that no stream keeps. */
  #channel(): NewsChannel {
    const { connection, newsPrefix } = this.#servers
    return {
      notify: async (names) => {
        for (const encoded of names) {
          connection.publish(`${newsPrefix}.${tokenOf(encoded)}`)
          this.#room.tapes.get(encoded)?.hint(hintMs)
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

  /** What was known of a stream that is lost ends with it; who calls next begins with the one that is there now. */
  async #current(): Promise<Room> {
    this.#assertOpen()
    if (this.#room.stream.lost === undefined) return this.#room
    this.#nextRoom ??= this.#enter().finally(() => (this.#nextRoom = undefined))
    return this.#nextRoom
  }

  async #enter(): Promise<Room> {
    const name = await this.#servers.persist(() => this.#servers.find())
    if (name === undefined) throw deleted(this.place, this.#room.stream.name)
    const stream = new NatsStream(this.#servers, name)
    this.#room = roomIn(stream, await workspaceOf(stream, this.workspace))
    return this.#room
  }

  async #tape(name: string): Promise<NatsTape> {
    encodeName(name)
    return this.#tapeIn(await this.#current(), name)
  }

  #tapeIn({ stream, messages, tapes }: Room, name: string): NatsTape {
    const encoded = encodeName(name)
    const known = tapes.get(encoded)
    if (known !== undefined) return known
    if (tapes.size >= openTapes) for (const [each, tape] of tapes) if (tape.isIdle) tapes.delete(each)
    const tape = new NatsTape(stream, messages, { name, encoded }, () => this.#news.changed(encoded))
    tapes.set(encoded, tape)
    return tape
  }

  async append(tape: string, drafts: readonly Draft[], { expect }: contract.AppendOptions = {}): Promise<Entry[]> {
    encodeName(tape)
    const prepared = prepare(drafts, this.#now)
    this.#assertOpen()
    // Without a turn of the event loop in between, so that a close behind this call waits for it.
    const room = this.#room.stream.lost === undefined ? this.#room : await this.#current()
    return this.#tapeIn(room, tape).append({ prepared, expect })
  }

  async create(
    name: string,
    batches: Iterable<readonly Draft[]> | AsyncIterable<readonly Draft[]>,
  ): Promise<contract.TapeInfo> {
    const tape = await this.#tape(name)
    const encoded = encodeName(name)
    const refuse = (actual: number): never => {
      throw new ConflictError(`There is a tape ${name} already, with ${actual} entries`, { expected: 0, actual })
    }
    const { position, lastId } = await tape.current()
    if (position > 0) refuse(lastId)
    const { stream, messages } = tape
    await this.#sweep(stream, messages)
    const hidden = `${tokenOf(encoded)}~${Date.now()}~${randomUUID()}`
    const made = new NatsTape(stream, messages, { name, encoded, hidden })
    try {
      for await (const drafts of batches) await made.append({ prepared: prepare(drafts, this.#now), expect: undefined })
      if (!(await tape.adopt(made))) refuse((await tape.current()).lastId)
    } catch (error) {
      await stream.drop(`${stream.prefix}.c.${hidden}.*`)
      throw error
    }
    return (await this.info(name))!
  }

  /** What processes left behind that died while they made a tape. */
  async #sweep(stream: NatsStream, messages: Messages): Promise<void> {
    if (this.#hasSwept) return
    this.#hasSwept = true
    const { prefix } = stream
    for (const subject of await stream.subjects(`${prefix}.c.*.1`)) {
      const hidden = subject.split('.').at(-2)!
      const [token, time] = hidden.split('~')
      if (Date.now() - Number(time) < dayMs) continue
      const first = await messages.find(`${prefix}.t.${token}.1`)
      if (first?.damage === undefined && first?.copied?.token !== hidden) await stream.drop(`${prefix}.c.${hidden}.*`)
    }
  }

  async *read(name: string, range: contract.Range = {}): AsyncIterable<Entry> {
    const tape = await this.#tape(name)
    const { kinds, reverse = false, archived = false } = range
    let left = range.limit ?? Number.POSITIVE_INFINITY
    if (left <= 0) return
    const index = await tape.current()
    const first = Math.max((range.after ?? 0) + 1, archived ? index.kept : index.standing.segment)
    const last = Math.min((range.before ?? Number.MAX_SAFE_INTEGER) - 1, index.lastId)
    const starts = kinds?.map((kind) => `,"kind":${JSON.stringify(kind)},`)
    const report = (lost: { from: number; to: number }, error: DamagedError, most = last) => {
      const [from, to] = [Math.max(first, lost.from), Math.min(most, lost.to)]
      if (from > to) return
      if (range.onDamage === undefined) throw error
      const message = `entries ${from} to ${to} of ${name}: ${error.message}`
      range.onDamage({ kind: 'checksum', file: error.file, offset: 0, length: 0, lost: { from, to }, message })
    }
    const next = index.lastId + 1
    const hasTail = index.tail !== undefined && (range.before ?? Number.MAX_SAFE_INTEGER) > next
    if (hasTail) report({ from: next, to: index.lastSeemingId }, index.tail!.damage, index.lastSeemingId)
    let damage: DamagedError | undefined
    // The ids on both sides of a damaged message say which it held.
    let edge = reverse ? last + 1 : first - 1
    for await (const message of tape.between(index, first, last, reverse)) {
      this.#assertOpen()
      if (message.damage !== undefined) {
        damage = message.damage
        continue
      }
      const behind = message.first + message.count
      if (damage !== undefined) {
        report(reverse ? { from: behind, to: edge - 1 } : { from: edge + 1, to: message.first - 1 }, damage)
      }
      damage = undefined
      edge = reverse ? message.first : behind - 1
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
    if (damage !== undefined) report(reverse ? { from: first, to: edge - 1 } : { from: edge + 1, to: last }, damage)
  }

  async anchors(name: string, query: contract.AnchorQuery = {}): Promise<contract.AnchorRef[]> {
    const tape = await this.#tape(name)
    const { limit, after = 0, before = Number.MAX_SAFE_INTEGER, archived = false } = query
    const index = await tape.current()
    const first = archived ? index.kept : index.standing.segment
    const found: { id: number; position: number }[] = []
    for (let at = index.anchors.length - 1; at >= 0 && found.length !== limit; at--) {
      const anchor = index.anchors[at]!
      if (anchor.id < first || anchor.id <= after) break
      if (anchor.id < before && (query.name === undefined || anchor.name === query.name)) found.push(anchor)
    }
    const refs: contract.AnchorRef[] = []
    const subjects = found.reverse().map(({ position }) => tape.subject(index, position))
    let at = 0
    for await (const message of tape.messages.each(subjects)) refs.push(asAnchor(entryAt(message, found[at++]!.id)))
    return refs
  }

  async latest(name: string, key: string): Promise<Entry | undefined> {
    const tape = await this.#tape(name)
    const index = await tape.current()
    const place = index.keys.get(key)
    return place && entryAt(await tape.message(index, place.position), place.id)
  }

  async *watch(name: string, after: number | (() => number), signal: AbortSignal): AsyncIterable<Entry> {
    const encoded = encodeName(name)
    this.#assertOpen()
    const ended = AbortSignal.any([signal, this.#closing.signal])
    const { stream } = await this.#current()
    yield* this.#news.follow(encoded, after, ended, (last) => {
      // Ids of another stream do not continue those that were seen.
      if (stream.lost !== undefined) throw stream.lost
      return this.read(name, { after: last, archived: true })
    })
  }

  async info(name: string): Promise<contract.TapeInfo | undefined> {
    const tape = await this.#tape(name)
    const head = await tape.head()
    return head && this.#infoFrom(name, tape, head)
  }

  async #infoFrom(name: string, tape: NatsTape, head: Message): Promise<contract.TapeInfo | undefined> {
    // If the last message is damaged, what stands before it is known.
    const index = head.damage === undefined ? undefined : await tape.current()
    const { segment, bytes, anchors, anchor, phase, date } = index?.standing ?? head.standing
    const lastId = index?.lastSeemingId ?? head.first + head.count - 1
    if (lastId < segment) return undefined
    let lastAnchor: contract.TapeInfo['lastAnchor']
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

  async *list(prefix = ''): AsyncIterable<contract.TapeInfo> {
    this.#assertOpen()
    const names = (await this.#names())
      .filter((name) => name.startsWith(prefix) && name !== lineageTape)
      .sort((a, b) => (encodeName(a) < encodeName(b) ? -1 : 1))
    for (let at = 0; at < names.length; at += listedAtOnce) {
      const infos = await Promise.all(names.slice(at, at + listedAtOnce).map((name) => this.info(name)))
      for (const info of infos) if (info !== undefined) yield info
    }
  }

  /** The names of all tapes that ever had an entry. */
  async #names(): Promise<string[]> {
    const { stream } = await this.#current()
    const subjects = await stream.subjects(hintSubject(stream, '*'))
    return subjects.map((subject) => decodeURIComponent(subject.split('.').at(-1)!))
  }

  async contents(): Promise<{ tapes: string[]; blobs: string[] }> {
    this.#assertOpen()
    return { tapes: (await this.#names()).sort(), blobs: await (await this.#current()).blobs.names() }
  }

  async archive(name: string, first: (archive: contract.ArchiveRef) => readonly Draft[]): Promise<contract.ArchiveRef> {
    return (await this.#tape(name)).archive((archive) => prepare(first(archive), this.#now))
  }

  async archives(name: string): Promise<contract.ArchiveRef[]> {
    return [...(await (await this.#tape(name)).current()).archives]
  }

  async remove(name: string): Promise<contract.ArchiveRef> {
    return (await this.#tape(name)).archive(undefined)
  }

  async purge(name: string): Promise<contract.ArchiveRef[]> {
    return (await this.#tape(name)).purge()
  }

  async putBlob(bytes: Uint8Array): Promise<contract.BlobRef> {
    return (await this.#current()).blobs.put(bytes)
  }

  async getBlob(sha256: string, range: { start?: number; end?: number } = {}): Promise<Readable> {
    return (await this.#current()).blobs.get(sha256, range)
  }

  async verify(name: string): Promise<contract.VerifyReport[]> {
    const damage: contract.Damage[] = []
    let entries = 0
    for await (const _ of this.read(name, { archived: true, onDamage: (one) => damage.push(one) })) entries++
    const bytes = damage.length > 0 ? 0 : ((await this.info(name))?.bytes ?? 0)
    if (entries === 0 && damage.length === 0) return []
    return [{ tape: name, file: this.place, entries, bytes, damage, index: 'ok' }]
  }

  async repair(name: string): Promise<contract.RepairReport> {
    const report = await repairTape(await this.#tape(name), (await this.#current()).blobs, this.#now)
    return { tape: name, ...report }
  }

  close(): Promise<void> {
    this.#closed ??= this.#close()
    return this.#closed
  }

  async #close(): Promise<void> {
    const tapes = [...this.#room.tapes.values()]
    const pending = tapes.map((tape) => tape.settled())
    this.#closing.abort()
    await Promise.all(pending)
    await this.#news.close()
    for (const tape of tapes) tape.hint(0)
    await this.#servers.close()
  }

  #assertOpen(): void {
    if (!this.#closing.signal.aborted) return
    throw new StorageError(`The store in ${this.place} has been closed`, {
      hint: 'Nothing was written. Open it again.',
    })
  }
}
