// The versions of a task on its tape. A version is an event under the key `version` that holds what changed. When the changes since
// the last full state are larger than it, an anchor with the full state goes before the event, in the same batch. So loading
// reads one anchor and what follows it, and the tape grows with the changes, not with the size of the task.

import { BatonError, ConflictError, InvalidError, LimitError, NotFoundError } from '../errors.ts'
import { type AnchorRef, type BlobRef, type Draft, type Entry, isLost, type Store } from '../store/index.ts'
import { shellWord } from '../system/index.ts'
import { blobIfLarge, nearest, readJsonBlob } from '../tape/index.ts'
import { type Delta, updatePositions, type ArtifactPositions, positionsOf, Replay } from './delta.ts'
import type { GateResult } from './gates.ts'
import { type GivenHandoff, stateSchema, type TaskState } from './schema.ts'

const versionKey = 'version'
/** A full state is not written for fewer bytes of changes. */
const leastDeltas = 16 * 1024
/** How many tasks are kept in memory. */
const remembered = 16

/** What the event of a version holds besides its delta. */
export interface VersionNote {
  readonly source_agent: string
  readonly target_agent: string
  readonly phase: string
  readonly artifacts_added: number
  readonly decisions_made: number
  readonly blocking_issues: number
  readonly gates?: readonly GateResult[]
  readonly forced?: string
  /** W3C: the span of the handoff that made it. */
  readonly traceparent?: string
}

export interface TaskVersion extends VersionNote {
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
  /** The versions whose changes are missing in it. */
  readonly lost?: readonly number[]
}

/** What a task has lost with entries of its tape that were damaged. */
export interface LostVersions {
  /** Versions whose changes are missing in the state. */
  readonly versions: readonly number[]
  /** Damaged entries after the newest version: one of them may have been a newer version. */
  readonly behind: number
}

/** A state with its place on the tape. */
export interface TaskHead {
  readonly state: TaskState
  /** The newest entry of a version, which the next one expects. */
  readonly entry: number
  readonly lost: LostVersions
  readonly positions: ArtifactPositions
  /** The span of the handoff that made it, if that is known. */
  readonly traceparent?: string | undefined
  /** The last entry that was looked at. */
  readonly after: number
  /** The size of the last full state, and of the deltas since. */
  readonly fullBytes: number
  readonly deltaBytes: number
}

export class Versions {
  readonly #store: Store
  readonly #heads = new Map<string, TaskHead>()

  constructor(store: Store) {
    this.#store = store
  }

  /** The newest version; undefined if there is no such task. */
  async head(task: string): Promise<TaskHead | undefined> {
    const tape = tapeOf(task)
    const newest = await this.#store.latest(tape, versionKey)
    const known = this.#heads.get(task)
    if (newest !== undefined && known?.entry === newest.id) return known
    const [anchor] = await this.#store.anchors(tape, { limit: 1 })
    if (newest === undefined && anchor === undefined) {
      if ((await this.#store.info(tape)) === undefined) return undefined
      throw allLost(task)
    }
    const isKnownNewer = known !== undefined && known.entry > (anchor?.id ?? 0)
    const start = isKnownNewer ? known : await this.#start(task, anchor)
    if (start === undefined) throw allLost(task)
    const found = await this.#replay(tape, start)
    // Where the event of a full state was lost, the event before it is the newest of its key.
    const head = { ...found, entry: Math.max(found.entry, newest?.id ?? 0) }
    this.#remember(task, head)
    return head
  }

  /** The number of the newest version. */
  async newest(task: string): Promise<number | undefined> {
    return (await this.head(task))?.state.version
  }

  /** The state as it was at a version, and what is missing in it. */
  async at(task: string, version: number): Promise<Pick<TaskHead, 'state' | 'lost'>> {
    const tape = tapeOf(task)
    const head = await this.head(task)
    if (head === undefined) throw await this.unknown(task)
    const last = head.state.version
    if (!Number.isInteger(version) || version < 1 || version > last) throw noVersion(task, version, head)
    if (version === last) return head
    let before: number | undefined
    for (;;) {
      const [anchor] = await this.#store.anchors(tape, { limit: 1, ...(before === undefined ? {} : { before }) })
      if (anchor === undefined || (anchor.state as FullState).version <= version) {
        const start = await this.#start(task, anchor)
        const found = start && (await this.#replay(tape, start, version))
        if (found?.state.version === version) return { state: found.state, lost: { ...found.lost, behind: 0 } }
        throw lostVersion(task, version)
      }
      before = anchor.id
    }
  }

  /** Every version, oldest first. */
  async *list(task: string): AsyncGenerator<TaskVersion> {
    for await (const entry of this.#store.read(tapeOf(task), { kinds: ['event'] })) {
      const data = versionIn(entry)
      if (data === undefined) continue
      const { delta: _delta, ...note } = data
      yield { ...note, date: entry.date, entry: entry.id }
    }
  }

  /** Makes version 1. */
  async create(state: TaskState, note: VersionNote): Promise<TaskHead> {
    // The first full state is the only one that no changes lead to, so its event holds it once more.
    return this.#commit(undefined, state, { set: state }, note)
  }

  /** Makes the next version after a head; a `ConflictError` if there is a newer one. */
  async advance(head: TaskHead, next: TaskState, delta: Delta, note: VersionNote): Promise<TaskHead> {
    return this.#commit(head, next, delta, note)
  }

  async #commit(from: TaskHead | undefined, next: TaskState, delta: Delta, note: VersionNote): Promise<TaskHead> {
    const { task_id: task, version } = next
    const tape = tapeOf(task)
    const change = JSON.stringify(delta)
    const deltaBytes = (from?.deltaBytes ?? 0) + change.length
    const isFull = from === undefined || deltaBytes >= Math.max(from.fullBytes, leastDeltas)
    const full = isFull ? JSON.stringify(next) : ''
    const lost = from?.lost.versions ?? []
    const data: VersionData = { version, ...note, delta: await this.#keep(delta, change) }
    const drafts: Draft[] = [event(versionKey, data)]
    if (isFull) {
      const whole: FullState = {
        version,
        bytes: full.length,
        state: await this.#keep(next, full),
        ...(lost.length === 0 ? {} : { lost }),
      }
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
    if (isNext) updatePositions(from.positions, next, delta)
    const head: TaskHead = {
      state: next,
      entry: entries.at(-1)!.id,
      after: entries.at(-1)!.id,
      traceparent: note.traceparent,
      lost: { versions: lost, behind: 0 },
      // The positions of another head, which a later version has changed, are not those of this state.
      positions: isNext ? from.positions : positionsOf(next),
      fullBytes: isFull ? full.length : from.fullBytes,
      deltaBytes: isFull ? 0 : deltaBytes,
    }
    if (known === undefined || known.entry < head.entry) this.#remember(task, head)
    return head
  }

  async #conflict(task: string, from: number | undefined): Promise<ConflictError> {
    const actual = (await this.newest(task)) ?? 0
    return from === undefined ? taskExists(task, actual) : movedOn(task, from, actual)
  }

  /** Appends entries besides the versions, all or none; undefined if the newest entry of a key is not the expected one. */
  async note(
    task: string,
    notes: readonly { key: string; data: unknown }[],
    expect?: { key: string; id: number },
  ): Promise<Entry | undefined> {
    const drafts = notes.map(({ key, data }) => event(key, data))
    try {
      return (await this.#store.append(tapeOf(task), drafts, expect === undefined ? {} : { expect })).at(-1)
    } catch (error) {
      if (BatonError.is(error) && error.code === 'conflict') return undefined
      throw error
    }
  }

  async latestNote(task: string, key: string): Promise<{ data: unknown; entry: number } | undefined> {
    const entry = await this.#store.latest(tapeOf(task), key)
    return entry && { data: (entry.payload as { data?: unknown }).data, entry: entry.id }
  }

  /** Every entry under one of these keys, oldest first. */
  async *notes(task: string, keys: readonly string[]): AsyncGenerator<{ key: string; data: unknown; date: string }> {
    for await (const { meta, payload, date } of this.#store.read(tapeOf(task), { kinds: ['event'] })) {
      if (meta.key === undefined || !keys.includes(meta.key)) continue
      yield { key: meta.key, data: (payload as { data?: unknown }).data, date }
    }
  }

  /** The newest version of a task that must exist. */
  async existing(task: string): Promise<TaskHead> {
    const head = await this.head(task)
    if (head === undefined) throw await this.unknown(task)
    return head
  }

  async *tasks(): AsyncGenerator<string> {
    for await (const { tape } of this.#store.list('task/')) yield taskOf(tape)
  }

  async unknown(task: string): Promise<NotFoundError> {
    const names: string[] = []
    for await (const each of this.tasks()) names.push(each)
    const close = nearest(task, names)
    const help = close.length > 0 ? { nearest: close } : { hint: 'See "baton task ls".' }
    return new NotFoundError(`There is no task "${task}" in this workspace`, help)
  }

  async #keep<T>(value: T, text: string): Promise<Stored<T>> {
    const blob = await blobIfLarge(this.#store, text)
    return blob === undefined ? { value } : { blob }
  }

  async #fetch<T>(stored: Stored<T>): Promise<T> {
    if ('value' in stored) return stored.value
    return (await readJsonBlob(this.#store, stored.blob.sha256)) as T
  }

  /** The full state of an anchor; without one, the first version, whose event holds its whole state. Undefined without any version. */
  async #start(task: string, anchor: AnchorRef | undefined): Promise<TaskHead | undefined> {
    if (anchor !== undefined) {
      const { state: stored, bytes, lost = [] } = anchor.state as FullState
      return headOf(await this.#fetch(stored), { entry: 0, after: anchor.id, bytes, lost })
    }
    for await (const entry of this.#store.read(tapeOf(task), { kinds: ['event'] })) {
      const data = versionIn(entry)
      if (data === undefined) continue
      const { set } = data.version === 1 ? await this.#fetch(data.delta) : {}
      // What later versions changed still counts when the first one is lost.
      if (set?.task_id === undefined) return headOf(blank(task, entry.date), { entry: 0, after: 0, bytes: 0, lost: [] })
      const bytes = JSON.stringify(set).length
      return headOf(set as TaskState, { entry: entry.id, after: entry.id, bytes, lost: [] })
    }
    return undefined
  }

  /** Applies what follows a head, up to a version or the newest. The returned head owns its positions. */
  async #replay(tape: string, start: TaskHead, until = Number.MAX_SAFE_INTEGER): Promise<TaskHead> {
    let { entry, after, traceparent, deltaBytes } = start
    const lost = [...start.lost.versions]
    let behind = start.lost.behind
    const replay = new Replay(start.state, start.positions)
    for await (const next of this.#store.read(tape, { after, kinds: ['event', 'error'] })) {
      after = next.id
      if (isLost(next)) behind++
      const data = versionIn(next)
      if (data === undefined) continue
      if (data.version > until) break
      entry = next.id
      traceparent = data.traceparent
      behind = 0
      if (data.version <= replay.state.version) continue // the event of the anchor's own version
      for (let version = replay.state.version + 1; version < data.version; version++) lost.push(version)
      const delta = await this.#fetch(data.delta)
      replay.add(delta)
      deltaBytes += 'value' in data.delta ? JSON.stringify(delta).length : data.delta.blob.bytes
    }
    const { state, positions } = replay
    const missing = { versions: lost, behind }
    return { state, entry, after, traceparent, lost: missing, positions, fullBytes: start.fullBytes, deltaBytes }
  }

  #remember(task: string, head: TaskHead): void {
    this.#heads.delete(task)
    this.#heads.set(task, head)
    if (this.#heads.size > remembered) this.#heads.delete(this.#heads.keys().next().value!)
  }
}

function headOf(
  state: TaskState,
  { entry, after, bytes, lost }: { entry: number; after: number; bytes: number; lost: readonly number[] },
): TaskHead {
  const missing = { versions: lost, behind: 0 }
  return { state, entry, after, lost: missing, positions: positionsOf(state), fullBytes: bytes, deltaBytes: 0 }
}

/** A task of which nothing is known but that it existed at that time. */
function blank(task: string, date: string): TaskState {
  const about = { task_id: task, task_title: task, phase: 'planning', phase_started_at: date, handoff_timestamp: date }
  return { ...stateSchema.parse({ ...about, version: 1 }), version: 0 }
}

function event(key: string, data: unknown): Draft {
  return { kind: 'event', payload: { name: key, data }, meta: { key, context: false } }
}

function versionIn(entry: Entry): VersionData | undefined {
  return entry.meta.key === versionKey ? (entry.payload as { data: VersionData }).data : undefined
}

/** What a version says of the handoff, or the whole state, that made it. */
export function noteOf(about: GivenHandoff | TaskState) {
  const { source_agent, target_agent, phase, artifacts, blocking_issues } = about
  const decisions = 'decisions_made' in about ? (about as TaskState).decisions_made : about.decisions
  return {
    source_agent,
    target_agent,
    phase,
    artifacts_added: artifacts.length,
    decisions_made: decisions.length,
    blocking_issues: blocking_issues.length,
  }
}

/** Refuses what was made from another version than the newest. */
export function expectVersion(state: TaskState, expected: number | undefined): void {
  const { task_id: task, version } = state
  if (expected === undefined || expected === version) return
  if (expected > version) throw fromTheFuture(task, expected, version)
  throw movedOn(task, expected, version)
}

export function fromTheFuture(task: string, given: number, actual: number): BatonError {
  return new InvalidError(`Task ${task} has no version ${given} yet: it is at version ${actual}`, { path: 'version' })
}

function movedOn(task: string, from: number, actual: number): ConflictError {
  return new ConflictError(`Task ${task} is at version ${actual}, this was made from version ${from}`, {
    expected: from,
    actual,
    hint: 'Look at what has changed and try again; nothing was written.',
  })
}

function noVersion(task: string, version: number, { state, lost }: TaskHead): NotFoundError {
  const last = state.version
  const there = last === 1 ? 'It has only version 1.' : `It has versions 1 to ${last}.`
  const mayBe = lost.behind > 0 && Number.isInteger(version) && version > last && version <= last + lost.behind
  if (!mayBe) return new NotFoundError(`Task ${task} has no version ${version}`, { hint: there })
  return new NotFoundError(
    `Version ${version} of ${task} is not there; it may be what was lost behind version ${last} with a damaged entry`,
    { hint: there },
  )
}

function lostVersion(task: string, version: number): NotFoundError {
  return new NotFoundError(`Version ${version} of ${task} was lost with a damaged entry of its tape`, {
    hint: `See "baton task history ${task}" for the versions that are there.`,
  })
}

function allLost(task: string): BatonError {
  return new BatonError('damaged', `The state of ${task} was lost with damaged entries of its tape`, {
    hint: `What was left of them is beside the tape, see "baton tape verify ${shellWord(tapeOf(task))}"; its state file may still be there. To continue, make a task with another id.`,
  })
}

function taskExists(task: string, actual: number): ConflictError {
  return new ConflictError(`There is a task ${task} already, at version ${actual}`, {
    expected: 0,
    actual,
    hint: `See it with "baton task show ${task}".`,
  })
}

/** Characters of the encoded id, so that the tape's name and every file named after it fit. */
const longestId = 180
const prefix = 'task/'

function tapeOf(task: string): string {
  encodeTaskId(task)
  return prefix + task
}

function taskOf(tape: string): string {
  return tape.slice(prefix.length)
}

/** The id as part of a file's name. Ids name a tape and a file, so none may lead out of their folders. */
export function encodeTaskId(task: string): string {
  const refuse = (why: string) =>
    new InvalidError(`"${task}" cannot be a task's id: ${why}`, {
      path: 'task_id',
      hint: 'Use letters, digits, spaces and marks such as - _ . : as in TASK-001.',
    })
  if (task === '') throw new InvalidError('A task needs an id', { path: 'task_id' })
  if (/[/\\]/.test(task)) throw refuse('it would leave its folder')
  if (task.startsWith('.')) throw refuse('it begins with a dot')
  if (task.startsWith('-')) throw refuse('it begins with a dash, as options do')
  if (/\p{Cc}/u.test(task) || task.trim() !== task) throw refuse('it holds invisible characters')
  let encoded: string
  try {
    encoded = encodeURIComponent(task)
  } catch {
    throw refuse('it holds half of a character pair')
  }
  if (encoded.length <= longestId) return encoded
  throw new LimitError(`A task's id takes at most ${longestId} bytes when encoded, task_id has ${encoded.length}`)
}
