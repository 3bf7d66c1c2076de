// One tape in a stream. Its messages are numbered from 1 without a gap, and each is stored only where none is yet: of several
// writers one gets the next number, and the others look at what it wrote and try the number behind it.

import { randomUUID } from 'node:crypto'
import { InvalidError, NotFoundError } from '../../errors.ts'
import { AppendQueue, type Batch, findConflict } from '../append-queue.ts'
import { asEntry, type Prepared } from '../draft.ts'
import type { Entry } from '../entry.ts'
import { type ArchiveRef, limits } from '../store.ts'
import { encodeMessage, entryAt, type Head, type Message, type Standing } from './message.ts'
import type { Messages } from './messages.ts'
import type { NatsStream } from './stream.ts'
import { TapeIndex } from './tape-index.ts'

/** A stored index is replaced when so much came after it, in messages or in bytes, or more if it is large itself. */
const snapshotEvery = 256
const snapshotWeight = 512 * 1024
const snapshotPart = 700 * 1024

export type Plan = Pick<Head, 'mark' | 'batches' | 'copied'> & { segment: number; prepared: readonly Prepared[] }

export class NatsTape {
  readonly stream: NatsStream
  readonly messages: Messages
  readonly #name: string
  readonly #encoded: string
  readonly #token: string
  readonly #isHidden: boolean
  readonly #placed: () => void
  readonly #queue: AppendQueue
  #index: TapeIndex | undefined
  #saved = { position: 0, weight: 0, bytes: 0 }
  #saving: Promise<void> = Promise.resolve()
  #hinted = { ordinal: 0, at: Number.NEGATIVE_INFINITY }
  #last: Promise<unknown> = Promise.resolve()
  #syncing: Promise<TapeIndex> | undefined
  #nextSync: Promise<TapeIndex> | undefined

  /** `hidden` is the name under which a tape is made that nobody sees yet. */
  constructor(
    stream: NatsStream,
    messages: Messages,
    { name, encoded, hidden }: { name: string; encoded: string; hidden?: string },
    placed: () => void = () => {},
  ) {
    this.stream = stream
    this.messages = messages
    this.#name = name
    this.#encoded = encoded
    this.#isHidden = hidden !== undefined
    this.#token = hidden ?? tokenOf(encoded)
    this.#placed = placed
    this.#queue = new AppendQueue((batches) => this.#exclusive(() => this.#send(batches)), {
      entries: limits.batchEntries,
      bytes: limits.batchBytes,
    })
  }

  get isIdle(): boolean {
    return this.#queue.isIdle && this.#syncing === undefined
  }

  append(batch: Batch): Promise<Entry[]> {
    return this.#queue.append(batch.prepared, batch.expect)
  }

  async settled(): Promise<void> {
    await this.#queue.settled()
    await this.#last
    await this.#saving
  }

  /** What is known of the tape once everything that was acknowledged is in it. */
  current(): Promise<TapeIndex> {
    if (this.#syncing === undefined) return this.#startSync()
    // One that is under way may have looked before the last acknowledgement. When it fails, it has waited for the servers long enough.
    this.#nextSync ??= this.#syncing.finally(() => (this.#nextSync = undefined)).then(() => this.#startSync())
    return this.#nextSync
  }

  #startSync(): Promise<TapeIndex> {
    this.#syncing = this.#sync().finally(() => (this.#syncing = undefined))
    return this.#syncing
  }

  async #sync(): Promise<TapeIndex> {
    // What was damaged at the end may have been repaired since.
    if (this.#index?.tail !== undefined) this.#index = undefined
    const known = this.#index ?? (await this.#load()) ?? new TapeIndex(this.#name, this.#encoded)
    // The index that was loaded first is kept: a writer that held another one would never see what others wrote.
    const index = (this.#index ??= known)
    await this.#takeIn(index)
    return index
  }

  async #load(): Promise<TapeIndex | undefined> {
    if (this.#isHidden) return undefined
    const subject = `${this.stream.indexPrefix}.x.${this.#token}`
    const pointer = await this.stream.get(subject)
    if (pointer === undefined) return undefined
    const { position, parts } = JSON.parse(pointer.toString()) as { position: number; parts: number }
    const pieces: Buffer[] = []
    for (let part = 0; part < parts; part++) {
      const piece = await this.stream.get(`${subject}.${position}.${part}`)
      // A newer one is taking its place: the messages themselves say it all.
      if (piece === undefined) return undefined
      pieces.push(piece)
    }
    const bytes = Buffer.concat(pieces)
    const index = TapeIndex.fromBytes(this.#name, this.#encoded, bytes)
    // A stream that was restored to an earlier state has another message there, or none.
    const last = await this.messages.find(this.subject(index, index.position))
    if (last === undefined || (last.damage === undefined && last.write !== index.lastWrite)) return undefined
    this.#saved = { position, weight: index.weight, bytes: bytes.length }
    return index
  }

  /** Takes in the messages that others wrote since the last look. */
  async #takeIn(index: TapeIndex): Promise<void> {
    for (let wide = 1; ; wide = Math.min(64, wide * 2)) {
      const positions = Array.from({ length: wide }, (_, at) => index.position + 1 + at)
      const found = await Promise.all(positions.map((position) => this.messages.find(this.subject(index, position))))
      for (const [at, message] of found.entries()) {
        if (message === undefined) {
          this.#save(index)
          return
        }
        if (index.position === 0 && message.copied !== undefined) {
          index.copied = message.copied
          break
        }
        // A write of this process may have been taken in meanwhile.
        if (positions[at] === index.position + 1) index.add(message)
      }
    }
  }

  subject(index: TapeIndex, position: number): string {
    const { copied } = index
    if (copied === undefined) return `${this.stream.prefix}.${this.#isHidden ? 'c' : 't'}.${this.#token}.${position}`
    return position <= copied.messages
      ? `${this.stream.prefix}.c.${copied.token}.${position}`
      : `${this.stream.prefix}.t.${this.#token}.${position - copied.messages + 1}`
  }

  /** Stores the index in the background. It only saves time, so a failure is made up for by the next. */
  #save(index: TapeIndex): void {
    const { position, weight } = index
    const saved = this.#saved
    const isLong = position - saved.position >= Math.max(snapshotEvery, saved.bytes / 256)
    const isHeavy = weight - saved.weight >= Math.max(snapshotWeight, saved.bytes * 2)
    if (this.#isHidden || index.tail !== undefined || !(isLong || isHeavy)) return
    const bytes = index.toBytes()
    this.#saved = { position, weight, bytes: bytes.length }
    this.#saving = this.#saving.then(() => this.#putSnapshot(position, bytes)).catch(() => {})
  }

  async #putSnapshot(position: number, bytes: Buffer): Promise<void> {
    const subject = `${this.stream.indexPrefix}.x.${this.#token}`
    const before = await this.stream.subjects(`${subject}.>`)
    const parts = Math.ceil(bytes.length / snapshotPart)
    for (let part = 0; part < parts; part++) {
      const piece = bytes.subarray(part * snapshotPart, (part + 1) * snapshotPart)
      await this.stream.put(`${subject}.${position}.${part}`, piece)
    }
    await this.stream.put(subject, Buffer.from(JSON.stringify({ position, parts })))
    for (const old of before) {
      if (!old.startsWith(`${subject}.${position}.`)) await this.stream.drop(old)
    }
  }

  /** One at a time: the writes of this process to this tape do not compete for the next number. */
  #exclusive<T>(work: () => Promise<T>): Promise<T> {
    const result = this.#last.then(work)
    this.#last = result.catch(() => {})
    return result
  }

  async #send(batches: readonly Batch[]): Promise<(Entry[] | Error)[]> {
    let index = this.#index?.tail === undefined ? (this.#index ?? (await this.current())) : await this.current()
    for (let isFresh = false; ; isFresh = true) {
      const answers = this.#decide(index, batches)
      // A write shows by itself whether others have written; before a refusal is reported, the index is brought up to date.
      if (!isFresh && answers.some((answer) => 'conflict' in answer)) {
        index = await this.current()
        continue
      }
      const accepted = answers.flatMap((answer, at) => ('place' in answer ? [batches[at]!.prepared] : []))
      if (accepted.length > 0) {
        const isWritten = await this.#write(index, {
          batches: accepted.map((prepared) => prepared.length),
          segment: index.standing.segment,
          prepared: accepted.flat(),
        })
        // What others wrote may change each answer.
        if (!isWritten) {
          index = await this.current()
          continue
        }
      }
      return Promise.all(
        answers.map(async (answer, at) => {
          if ('place' in answer) return batches[at]!.prepared.map((one, each) => asEntry(answer.place + each, one))
          if ('conflict' in answer) return answer.conflict
          return this.#repeated(answer.first, answer.size).catch((error: Error) => error)
        }),
      )
    }
  }

  /** The answer to each batch, as if those before it were already there. */
  #decide(
    index: TapeIndex,
    batches: readonly Batch[],
  ): ({ place: number } | { conflict: Error } | { first: number; size: number })[] {
    const firstId = index.standing.segment
    let lastId = index.lastId
    const keys = new Map<string, number>()
    const jobs = new Map<string, { first: number; size: number }>()
    const newest = (key: string) => keys.get(key) ?? index.keys.get(key)?.id ?? 0
    return batches.map(({ prepared, expect }) => {
      // A tape that is being made has one writer, which repeats nothing.
      const job = this.#isHidden ? undefined : prepared.find((one) => one.idempotency !== undefined)?.idempotency
      const before = job === undefined ? undefined : (jobs.get(job) ?? index.jobs.get(job))
      if (before !== undefined) return { first: before.first, size: before.size }
      const conflict = findConflict(this.#name, expect, { firstId, lastId, newest })
      if (conflict !== undefined) return { conflict }
      const place = lastId + 1
      for (const one of prepared) {
        lastId++
        if (one.key !== undefined) keys.set(one.key, lastId)
        if (one.idempotency !== undefined) jobs.set(one.idempotency, { first: place, size: prepared.length })
      }
      return { place }
    })
  }

  /** Stores the next message. `false`: another process was faster. */
  async #write(index: TapeIndex, plan: Plan): Promise<boolean> {
    // Ids that the last message may hold must not be given again.
    if (index.tail !== undefined) throw index.tail.damage
    if (index.position === 0 && !this.#isHidden) await this.#register()
    const position = index.position + 1
    const { mark, batches, copied, prepared } = plan
    const head: Head = {
      write: randomUUID(),
      first: index.lastId + 1,
      batches,
      ...(mark === undefined ? {} : { mark }),
      ...(copied === undefined ? {} : { copied }),
      standing: await this.standing(index, position, plan),
    }
    const lines = prepared.map((one) => one.rest)
    const data = encodeMessage(head, lines)
    const subject = this.subject(index, position)
    const isStored = await this.stream.create(subject, data)
    // An earlier try whose answer was lost may hold the place.
    const isMine = isStored || (await this.messages.at(subject)).write === head.write
    if (!isMine) return false
    if (index.position === position - 1) {
      const message: Message = { ...head, count: lines.length, lines }
      this.messages.remember(subject, message, data.length)
      index.add(message)
    }
    this.#placed()
    this.#save(index)
    return true
  }

  /** Makes the tape one that is listed. Before its first message, so that no process can die in between. */
  async #register(): Promise<void> {
    const subject = hintSubject(this.stream, this.#token)
    if ((await this.stream.get(subject)) === undefined) await this.stream.put(subject, Buffer.from('0'))
  }

  /** How the tape that is known so far stands behind a further message. */
  async standing(index: TapeIndex, position: number, { mark, segment, prepared }: Plan): Promise<Standing> {
    const isNew = mark === 'opens' || mark === 'closes'
    const before = isNew ? undefined : index.standing
    const first = index.lastId + 1
    const sum = (from: number) =>
      prepared.reduce((bytes, one, at) => (first + at < from ? bytes : bytes + one.bytes), 0)
    const at = prepared.findLastIndex((one) => one.anchor !== undefined)
    const date = prepared.length === 0 ? index.standing.date : prepared.at(-1)!.date
    const common = {
      segment,
      bytes: (before?.bytes ?? 0) + sum(0),
      anchors: (before?.anchors ?? 0) + prepared.filter((one) => one.anchor !== undefined).length,
      date,
    }
    if (at < 0) {
      const phase = before?.phase ?? { first: segment, bytes: 0 }
      const next = { first: phase.first, bytes: phase.bytes + sum(phase.first) }
      return { ...common, ...(before?.anchor === undefined ? {} : { anchor: before.anchor }), phase: next }
    }
    const name = prepared[at]!.anchor!
    const from = prepared[at]!.anchorFrom
    const anchor = {
      id: first + at,
      position,
      ...(name.length > 200 ? {} : { name }),
      ...(from === undefined ? {} : { from }),
    }
    const phaseFirst = Math.max(segment, from ?? first + at + 1)
    const earlier = phaseFirst < first ? await this.bytesFrom(index, phaseFirst) : 0
    return { ...common, anchor, phase: { first: phaseFirst, bytes: earlier + sum(phaseFirst) } }
  }

  /** The bytes of the entries from an id to the last. */
  async bytesFrom(index: TapeIndex, id: number): Promise<number> {
    let bytes = 0
    for await (const message of this.between(index, id, index.lastId)) {
      // What a damaged one holds is not known.
      const skipped = Math.max(0, id - message.first)
      for (const line of message.lines.slice(skipped)) bytes += Buffer.byteLength(line)
    }
    return bytes
  }

  async #repeated(first: number, size: number): Promise<Entry[]> {
    const index = await this.current()
    const entries: Entry[] = []
    for await (const message of this.between(index, first, first + size - 1)) {
      if (message.damage !== undefined) throw message.damage
      for (let id = Math.max(first, message.first); id < Math.min(first + size, message.first + message.count); id++) {
        entries.push(entryAt(message, id))
      }
    }
    return entries
  }

  /** The messages that hold the ids from `first` to `last`. */
  async *between(index: TapeIndex, first: number, last: number, reverse = false): AsyncGenerator<Message> {
    if (first > last) return
    const [{ from }, { to }] = await Promise.all([this.#locate(index, first), this.#locate(index, last)])
    const subjects = Array.from({ length: to - from + 1 }, (_, at) => this.subject(index, from + at))
    yield* this.messages.each(reverse ? subjects.reverse() : subjects)
  }

  /** The position of the message that holds an id; several, of which it is one, where a damaged one hides which. */
  async #locate(index: TapeIndex, id: number): Promise<{ from: number; to: number }> {
    const floor = index.floor(id)
    let [low, high] = [floor.position, index.ceiling(floor, id)]
    // Most messages hold one entry, so the first guess is mostly right.
    let guess = Math.min(high, low + id - floor.id)
    while (low < high) {
      const message = await this.messages.at(this.subject(index, guess))
      if (message.damage !== undefined) return { from: low, to: high }
      if (id < message.first) high = guess - 1
      else if (id >= message.first + message.count) low = guess + 1
      else return { from: guess, to: guess }
      guess = (low + high) >> 1
    }
    return { from: low, to: high }
  }

  async message(index: TapeIndex, position: number): Promise<Message> {
    return this.messages.at(this.subject(index, position))
  }

  /** Ends the segment with a message, which `opening` gives the first entries of the next; without it, none is opened. */
  archive(opening: ((archive: ArchiveRef) => readonly Prepared[]) | undefined): Promise<ArchiveRef> {
    return this.#exclusive(async () => {
      for (;;) {
        const index = await this.current()
        const { segment, bytes } = index.standing
        if (!index.isListed) {
          throw new NotFoundError(`There is no tape ${this.#name} to ${opening === undefined ? 'delete' : 'archive'}`)
        }
        const archive = index.archiveRef(segment, index.lastId, bytes)
        const prepared = opening?.(archive) ?? []
        const isWritten = await this.#write(index, {
          mark: opening === undefined ? 'closes' : 'opens',
          batches: prepared.length === 0 ? [] : [prepared.length],
          segment: index.lastId + 1,
          prepared,
        })
        if (isWritten) return archive
      }
    })
  }

  purge(): Promise<ArchiveRef[]> {
    return this.#exclusive(async () => {
      for (;;) {
        const index = await this.current()
        const { archives, purged } = index
        if (archives.length === 0) {
          // One that was cut short is completed.
          if (purged > 0 && (await this.message(index, purged)).mark !== 'gone') await this.#clear(index, 1)
          return []
        }
        const plan: Plan = { mark: 'purges', batches: [], segment: index.standing.segment, prepared: [] }
        if (!(await this.#write(index, plan))) continue
        await this.#clear(index, purged + 1)
        return archives
      }
    })
  }

  /** Replaces what was purged by messages without entries: a number that were free again could be written twice. */
  async #clear(index: TapeIndex, from: number): Promise<void> {
    for (let at = from; at <= index.purged; at += 64) {
      const positions = Array.from({ length: Math.min(64, index.purged - at + 1) }, (_, each) => at + each)
      await Promise.all(
        positions.map(async (position) => {
          const { count: _, lines: __, damage, ...head } = await this.message(index, position)
          if (damage !== undefined) return
          const gone = { ...head, mark: 'gone' as const, batches: [] }
          const data = encodeMessage(gone, [])
          await this.stream.replace(this.subject(index, position), data)
          this.messages.remember(this.subject(index, position), { ...gone, count: 0, lines: [] }, data.length)
        }),
      )
    }
  }

  /** The names under which a tape may have been made that became this one, or did not. */
  async hiddenNames(): Promise<string[]> {
    const firsts = await this.stream.subjects(`${this.stream.prefix}.c.*.1`)
    return firsts.map((subject) => subject.split('.').at(-2)!).filter((name) => name.startsWith(`${this.#token}~`))
  }

  /** Changes stored messages while this process writes none to the tape, which it then takes in anew. */
  rewrite<T>(work: (blank: TapeIndex) => Promise<T>): Promise<T> {
    return this.#exclusive(async () => {
      try {
        return await work(new TapeIndex(this.#name, this.#encoded))
      } finally {
        await this.#syncing?.catch(() => {})
        await this.#saving
        for (const filter of ['', '.>']) await this.stream.drop(`${this.stream.indexPrefix}.x.${this.#token}${filter}`)
        this.#index = undefined
        this.#saved = { position: 0, weight: 0, bytes: 0 }
      }
    })
  }

  /** Makes this tape of what was written under a hidden name. `false`: there is one already. */
  adopt(hidden: NatsTape): Promise<boolean> {
    return this.#exclusive(async () => {
      const made = await hidden.current()
      if (made.position === 0) throw new InvalidError('A batch needs at least one entry')
      await this.#register()
      const copied = { token: hidden.#token, messages: made.position }
      const write = randomUUID()
      const head: Head = { write, first: made.lastId + 1, batches: [], copied, standing: made.standing }
      const subject = `${this.stream.prefix}.t.${this.#token}.1`
      const isStored = await this.stream.create(subject, encodeMessage(head, []))
      if (!isStored && (await this.messages.at(subject)).write !== write) return false
      made.copied = copied
      this.#index = made
      this.#placed()
      this.#save(made)
      return true
    })
  }

  /** Stores how many messages there are under the tape's own name, unless that was done so short a time ago. */
  hint(everyMs: number): void {
    const { position = 0, copied } = this.#index ?? {}
    const ordinal = copied === undefined ? position : position - copied.messages + 1
    const now = performance.now()
    if (ordinal === this.#hinted.ordinal || now - this.#hinted.at < everyMs) return
    this.#hinted = { ordinal, at: now }
    // Without an acknowledgement: whoever uses it looks for later messages in any case.
    this.stream.servers.connection.publish(hintSubject(this.stream, this.#token), String(ordinal))
  }

  /** The last message, found without taking in the tape. */
  async head(): Promise<Message | undefined> {
    if (this.#index !== undefined) {
      const index = await this.current()
      return index.position === 0 ? undefined : this.message(index, index.position)
    }
    const hint = await this.stream.get(hintSubject(this.stream, this.#token))
    if (hint === undefined) return undefined
    const hinted = Math.max(1, Number(hint.toString()))
    let head: Message | undefined
    for (let ordinal = hinted; ; ordinal++) {
      const next = await this.messages.find(`${this.stream.prefix}.t.${this.#token}.${ordinal}`)
      if (next === undefined && head === undefined && hinted > 1) break
      if (next === undefined) return head
      head = next
    }
    // The hint is of a later state than the stream, which was restored.
    const index = await this.current()
    return index.position === 0 ? undefined : this.message(index, index.position)
  }
}

export function tokenOf(encoded: string): string {
  return encoded.replaceAll('.', '%2E').replaceAll('*', '%2A')
}

/** Under this subject stands how many messages a tape has, or had a moment ago. */
export function hintSubject(stream: NatsStream, token: string): string {
  return `${stream.indexPrefix}.h.${token}`
}
