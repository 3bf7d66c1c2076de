// A task on its tape. A version is an event under the key `version` that holds what changed; when the changes since
// the last full state outweigh it, an anchor with the full state goes in front of the event, in the same batch. So
// loading reads one anchor and what follows it, and the tape grows with what changes, not with what the task holds.

import { json } from 'node:stream/consumers'
import { BatonError, ConflictError, InvalidError, NotFoundError } from '../errors.ts'
import type { AnchorRef, BlobRef, Draft, Entry, Store } from '../store/index.ts'
import { type Delta, movePlaces, type Places, placesOf, Replay } from './delta.ts'
import type { GateResult } from './gates.ts'
import type { TaskState } from './schema.ts'
import { tapeOf, taskOf } from './task-id.ts'

const versionKey = 'version'
/** Larger content goes to a blob, so that a line stays cheap to read whatever a version brings. */
const inlineBytes = 32 * 1024
/** Full states are not worth writing for less. */
const leastDeltas = 16 * 1024
/** How many tasks are kept in memory. */
const remembered = 16

/** What the event of a version says beside its delta. */
export interface VersionNote {
  readonly source_agent: string
  readonly target_agent: string
  readonly phase: string
  readonly artifacts_added: number
  readonly decisions_made: number
  readonly blocking_issues: number
  readonly gates?: readonly GateResult[]
  readonly forced?: string
}

export interface Version extends VersionNote {
  readonly version: number
  readonly date: string
  /** The entry of the task's tape that made it. */
  readonly entry: number
}

type Stored<T> = { readonly value: T } | { readonly blob: BlobRef }

interface VersionData extends VersionNote {
  readonly version: number
  readonly delta: Stored<Delta>
}

interface FullState {
  readonly version: number
  readonly bytes: number
  readonly state: Stored<TaskState>
}

/** A state with its place on the tape. */
export interface Head {
  readonly state: TaskState
  /** The entry of its version, which the next one expects. */
  readonly entry: number
  readonly places: Places
  /** Of the last full state, and of the deltas since. */
  readonly fullBytes: number
  readonly deltaBytes: number
}

export class Versions {
  readonly #store: Store
  readonly #heads = new Map<string, Head>()

  constructor(store: Store) {
    this.#store = store
  }

  /** The newest version; undefined if there is no such task. */
  async head(task: string): Promise<Head | undefined> {
    const tape = tapeOf(task)
    const newest = await this.#store.latest(tape, versionKey)
    if (newest === undefined) return undefined
    const known = this.#heads.get(task)
    if (known?.entry === newest.id) return known
    const [anchor] = await this.#store.anchors(tape, { limit: 1 })
    if (anchor === undefined) throw new InvalidError(`${tape} holds no state, though it holds versions`)
    const start = known !== undefined && known.entry > anchor.id ? known : await this.#at(anchor)
    const head = await this.#replay(tape, start)
    this.#remember(task, head)
    return head
  }

  /** The number of the newest version. */
  async newest(task: string): Promise<number | undefined> {
    const entry = await this.#store.latest(tapeOf(task), versionKey)
    return entry && dataOf(entry).version
  }

  /** The state as it was at a version. */
  async at(task: string, version: number): Promise<TaskState> {
    const tape = tapeOf(task)
    const newest = await this.#store.latest(tape, versionKey)
    if (newest === undefined) throw await this.unknown(task)
    const last = dataOf(newest).version
    if (!Number.isInteger(version) || version < 1 || version > last) {
      throw new NotFoundError(`Task ${task} has no version ${version}`, {
        hint: last === 1 ? 'It has only version 1.' : `It has versions 1 to ${last}.`,
      })
    }
    let before = newest.id + 1
    for (;;) {
      const [anchor] = await this.#store.anchors(tape, { limit: 1, before })
      if (anchor === undefined) throw new InvalidError(`${tape} holds no state at or before version ${version}`)
      if ((anchor.state as FullState).version <= version) {
        return (await this.#replay(tape, await this.#at(anchor), version)).state
      }
      before = anchor.id
    }
  }

  /** Every version, oldest first. */
  async *list(task: string): AsyncGenerator<Version> {
    for await (const entry of this.#store.read(tapeOf(task), { kinds: ['event'] })) {
      const data = versionIn(entry)
      if (data === undefined) continue
      const { delta: _delta, ...note } = data
      yield { ...note, date: entry.date, entry: entry.id }
    }
  }

  /** Makes version 1. */
  async create(state: TaskState, note: VersionNote): Promise<Head> {
    return this.#commit(undefined, state, {}, note)
  }

  /** Makes the next version out of a head; a `ConflictError` if the task has moved on from it. */
  async advance(head: Head, next: TaskState, delta: Delta, note: VersionNote): Promise<Head> {
    return this.#commit(head, next, delta, note)
  }

  async #commit(from: Head | undefined, next: TaskState, delta: Delta, note: VersionNote): Promise<Head> {
    const { task_id: task, version } = next
    const tape = tapeOf(task)
    const change = JSON.stringify(delta)
    const deltaBytes = (from?.deltaBytes ?? 0) + change.length
    const isFull = from === undefined || deltaBytes >= Math.max(from.fullBytes, leastDeltas)
    const full = isFull ? JSON.stringify(next) : ''
    const data: VersionData = { version, ...note, delta: await this.#keep(delta, change) }
    const drafts: Draft[] = [event(versionKey, data)]
    if (isFull) {
      const whole: FullState = { version, bytes: full.length, state: await this.#keep(next, full) }
      drafts.unshift({ kind: 'anchor', payload: { name: `v${version}`, state: whole }, meta: { context: false } })
    }
    const expect = { key: versionKey, id: from?.entry ?? 0 }
    let entries: Entry[]
    try {
      entries = await this.#store.append(tape, drafts, { expect })
    } catch (error) {
      if (!BatonError.is(error) || error.code !== 'conflict') throw error
      throw await this.#conflict(task, from?.state.version)
    }
    const known = this.#heads.get(task)
    const isNext = from !== undefined && known === from
    if (isNext) movePlaces(from.places, next, delta)
    const head: Head = {
      state: next,
      entry: entries.at(-1)!.id,
      // The places of a head that somebody else has moved on are not this state's.
      places: isNext ? from.places : placesOf(next),
      fullBytes: isFull ? full.length : from.fullBytes,
      deltaBytes: isFull ? 0 : deltaBytes,
    }
    if (known === undefined || known.entry < head.entry) this.#remember(task, head)
    return head
  }

  async #conflict(task: string, from: number | undefined): Promise<ConflictError> {
    const newest = await this.#store.latest(tapeOf(task), versionKey)
    const actual = newest === undefined ? 0 : dataOf(newest).version
    return from === undefined ? taskExists(task, actual) : movedOn(task, from, actual)
  }

  /** An entry beside the versions, such as an approval: the last of its key can be found at once. */
  async note(task: string, key: string, data: unknown): Promise<Entry> {
    const [entry] = await this.#store.append(tapeOf(task), [event(key, data)])
    return entry!
  }

  async latestNote(task: string, key: string): Promise<{ data: unknown; date: string } | undefined> {
    const entry = await this.#store.latest(tapeOf(task), key)
    return entry && { data: (entry.payload as { data?: unknown }).data, date: entry.date }
  }

  /** Every entry under a key, oldest first. */
  async *notes(task: string, key: string): AsyncGenerator<{ data: unknown; date: string }> {
    for await (const entry of this.#store.read(tapeOf(task), { kinds: ['event'] })) {
      if (entry.meta.key === key) yield { data: (entry.payload as { data?: unknown }).data, date: entry.date }
    }
  }

  async *tasks(): AsyncGenerator<string> {
    for await (const { tape } of this.#store.list('task/')) yield taskOf(tape)
  }

  async unknown(task: string): Promise<NotFoundError> {
    const { nearest } = await import('../tape/nearest.ts')
    const names: string[] = []
    for await (const each of this.tasks()) names.push(each)
    const close = nearest(task, names)
    const help = close.length > 0 ? { nearest: close } : { hint: 'See "baton task ls".' }
    return new NotFoundError(`There is no task "${task}" in this workspace`, help)
  }

  async #keep<T>(value: T, text: string): Promise<Stored<T>> {
    if (text.length <= inlineBytes) return { value }
    return { blob: await this.#store.putBlob(Buffer.from(text)) }
  }

  async #fetch<T>(stored: Stored<T>): Promise<T> {
    if ('value' in stored) return stored.value
    return (await json(await this.#store.getBlob(stored.blob.sha256))) as T
  }

  async #at(anchor: AnchorRef): Promise<Head> {
    const full = anchor.state as FullState
    const state = await this.#fetch(full.state)
    return { state, entry: anchor.id, places: placesOf(state), fullBytes: full.bytes, deltaBytes: 0 }
  }

  /** What follows a head, up to a version or the newest. The head that is returned owns its places. */
  async #replay(tape: string, start: Head, until = Number.MAX_SAFE_INTEGER): Promise<Head> {
    let { entry, deltaBytes } = start
    const replay = new Replay(start.state, start.places)
    for await (const next of this.#store.read(tape, { after: start.entry, kinds: ['event'] })) {
      const data = versionIn(next)
      if (data === undefined) continue
      if (data.version > until) break
      entry = next.id
      if (data.version <= replay.state.version) continue // the event of the anchor's own version
      const delta = await this.#fetch(data.delta)
      replay.add(delta)
      deltaBytes += 'value' in data.delta ? JSON.stringify(delta).length : data.delta.blob.bytes
    }
    const { state, places } = replay
    return { state, entry, places, fullBytes: start.fullBytes, deltaBytes }
  }

  #remember(task: string, head: Head): void {
    this.#heads.delete(task)
    this.#heads.set(task, head)
    if (this.#heads.size > remembered) this.#heads.delete(this.#heads.keys().next().value!)
  }
}

function event(key: string, data: unknown): Draft {
  return { kind: 'event', payload: { name: key, data }, meta: { key, context: false } }
}

function versionIn(entry: Entry): VersionData | undefined {
  return entry.meta.key === versionKey ? dataOf(entry) : undefined
}

function dataOf(entry: Entry): VersionData {
  return (entry.payload as { data: VersionData }).data
}

export function movedOn(task: string, from: number, actual: number): ConflictError {
  return new ConflictError(`Task ${task} is at version ${actual}, this was made from version ${from}`, {
    expected: from,
    actual,
    hint: 'Look at what has changed and try again; nothing was written.',
  })
}

function taskExists(task: string, actual: number): ConflictError {
  return new ConflictError(`There is a task ${task} already, at version ${actual}`, {
    expected: 0,
    actual,
    hint: `See it with "baton task show ${task}".`,
  })
}
