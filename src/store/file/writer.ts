// All writing to one tape from this process goes through here: appends that arrive together share one lock, one write
// and one sync (group commit), and each is checked and settled on its own. A lone append uses synchronous calls, which
// are faster; a group syncs in the thread pool, so that the next group can gather meanwhile.

import fs from 'node:fs'
import path from 'node:path'
import { promisify } from 'node:util'
import { BatonError, ConflictError, DamagedError, StorageError, UnknownOutcomeError } from '../../errors.ts'
import { asEntry, type Prepared } from '../draft.ts'
import type { Entry } from '../entry.ts'
import type { Expect } from '../store.ts'
import { layOut, type Place } from './batch.ts'
import { syncFolder, writeAll } from './durable.ts'
import type { Layout, TapePaths } from './layout.ts'
import { parseLine } from './line.ts'
import { Lock } from './lock.ts'
import { origin, type Position } from './scan.ts'
import { Segment } from './segment.ts'

const fdatasync = promisify(fs.fdatasync)
const groupBytes = 4 * 1024 * 1024

interface Append {
  readonly prepared: readonly Prepared[]
  readonly expect: Expect | undefined
  readonly resolve: (entries: Entry[]) => void
  readonly reject: (error: unknown) => void
}

/** Work that needs the tape for itself: archive, repair, the arrival of a new tape. */
interface Exclusive {
  readonly work: () => void
  /** Also when the tape is damaged: only for what mends it. */
  readonly damaged: boolean
  readonly reject: (error: unknown) => void
}

interface Placed {
  readonly append: Append
  readonly places: readonly Place[]
  readonly entries: Entry[]
  /** Where the batch ends within the bytes of its group. */
  readonly end: number
}

export interface WriterOptions {
  readonly layout: Layout
  readonly now: () => Date
  /** How long to wait for another process, in milliseconds. */
  readonly patience: number
  /** The highest id in the archives of the tape, for a tape that has no current segment. */
  readonly archivedUpTo: () => number
  readonly onCommit: () => void
}

export class Writer {
  readonly tape: string
  readonly paths: TapePaths
  segment: Segment | undefined
  readonly #options: WriterOptions
  readonly #lock: Lock
  #fd: number | undefined
  #queue: (Append | Exclusive)[] = []
  #running = false
  #committing = false
  #poison: UnknownOutcomeError | undefined
  #idle: (() => void)[] = []

  constructor(tape: string, options: WriterOptions) {
    this.tape = tape
    this.paths = options.layout.of(tape)
    this.#options = options
    this.#lock = new Lock(this.paths.lock, options.patience)
  }

  append(prepared: readonly Prepared[], expect: Expect | undefined): Promise<Entry[]> {
    return new Promise((resolve, reject) => this.#enqueue({ prepared, expect, resolve, reject }))
  }

  /** Runs `work` under the tape's lock, with the segment looked at afresh and its tail sound. */
  exclusively<T>(work: () => T, { damaged = false } = {}): Promise<T> {
    return new Promise((resolve, reject) => this.#enqueue({ work: () => resolve(work()), damaged, reject }))
  }

  get isBusy(): boolean {
    return this.#running
  }

  /** While a group is written but not yet durable. */
  get isCommitting(): boolean {
    return this.#committing
  }

  get isPoisoned(): boolean {
    return this.#poison !== undefined
  }

  /** Resolves when nothing is waiting to be written. */
  async idle(): Promise<void> {
    if (this.#running) await new Promise<void>((resolve) => this.#idle.push(resolve))
  }

  close(): void {
    this.#forget()
    this.#lock.close()
  }

  /** Drops what is known of the file, because another one has taken its place. */
  #forget(): void {
    this.segment?.close()
    this.segment = undefined
    if (this.#fd !== undefined) fs.closeSync(this.#fd)
    this.#fd = undefined
  }

  #enqueue(item: Append | Exclusive): void {
    this.#queue.push(item)
    if (this.#running) return
    this.#running = true
    // Whoever is ready in this turn of the loop gets into the first group.
    setImmediate(() => void this.#run())
  }

  async #run(): Promise<void> {
    while (this.#queue.length > 0) {
      const group = this.#takeGroup()
      const settle = await this.#locked(group)
      settle()
      if (this.#queue.length === 0) await new Promise((resolve) => setImmediate(resolve))
    }
    this.#running = false
    for (const resolve of this.#idle.splice(0)) resolve()
  }

  #takeGroup(): Append[] | Exclusive {
    const first = this.#queue[0]!
    if ('work' in first) {
      this.#queue.shift()
      return first
    }
    const group: Append[] = []
    let bytes = 0
    for (const item of this.#queue) {
      if ('work' in item || bytes > groupBytes) break
      group.push(item)
      for (const one of item.prepared) bytes += one.bytes
    }
    this.#queue.splice(0, group.length)
    return group
  }

  /** Does the group's work under the lock; what it returns tells the callers, once the lock is free again. */
  async #locked(group: Append[] | Exclusive): Promise<() => void> {
    const fail = (error: unknown) => () => {
      for (const item of Array.isArray(group) ? group : [group]) item.reject(error)
    }
    try {
      if (this.#poison !== undefined) throw this.#poisoned()
      if (!this.#lock.tryNow()) await this.#lock.take()
    } catch (error) {
      return fail(error)
    }
    try {
      const repairs = !Array.isArray(group) && group.damaged
      this.#refresh(repairs)
      if (Array.isArray(group)) return await this.#commit(group)
      group.work()
      return () => {}
    } catch (error) {
      return fail(asStorageError(error, this.paths.tape))
    } finally {
      this.#lock.release()
    }
  }

  /** Looks at the file again: another process may have written, replaced or torn it since. */
  #refresh(repairs: boolean): void {
    const stat = fs.statSync(this.paths.tape, { throwIfNoEntry: false })
    if (stat === undefined) return this.#forget()
    if (stat.ino !== this.segment?.ino) {
      this.#forget()
      this.segment = Segment.open(this.paths.tape, this.paths.index)
    } else this.segment.catchUp()
    const segment = this.segment!
    if (repairs) return
    const damage = segment.damage[0]
    if (damage !== undefined) {
      throw new DamagedError(`${damage.file} is damaged at byte ${damage.offset}: ${damage.message}`, {
        file: damage.file,
        offset: damage.offset,
        hint: `Nothing was written. See "baton tape verify ${this.tape}", then "baton tape repair ${this.tape}".`,
      })
    }
    if (segment.tail !== undefined) this.#mendTail(segment)
  }

  /** Removes what a dead writer left behind the last complete batch; the bytes are kept in a side file. */
  #mendTail(segment: Segment): void {
    const { kind, offset } = segment.tail!
    const fd = this.#writable()
    if (kind === 'newline') {
      writeAll(fd, Buffer.from('\n'))
      fs.fdatasyncSync(fd)
      segment.tail = undefined
      return
    }
    const { size } = fs.fstatSync(fd)
    const cut = this.#options.layout.cut(this.tape, this.#options.now(), offset)
    copyRange(this.paths.tape, offset, size, cut)
    fs.ftruncateSync(fd, offset)
    fs.fsyncSync(fd)
    segment.tail = undefined
  }

  #writable(): number {
    this.#fd ??= fs.openSync(this.paths.tape, 'a', 0o600)
    return this.#fd
  }

  async #commit(group: readonly Append[]): Promise<() => void> {
    const start = this.segment?.at ?? { ...origin, id: this.#options.archivedUpTo() }
    const { placed, texts, settled, again } = this.#place(group, start)
    const tell = () => {
      for (const one of settled) one()
      if (placed.length > 0) this.#options.onCommit()
    }
    if (placed.length === 0 && !again) return tell
    const isNew = this.segment === undefined
    const fd = this.#writable()
    this.segment ??= Segment.open(this.paths.tape, this.paths.index)!
    let kept = 0
    let failure: unknown
    this.#committing = true
    try {
      const outcome = writeGroup(fd, Buffer.from(texts.join('')), start.offset, placed)
      failure = outcome.error
      // Also for an answer from an earlier append alone: that one may have died before its sync.
      await this.#sync(fd, isNew, group.length > 1)
      kept = outcome.kept
    } catch (error) {
      failure = error
    } finally {
      this.#committing = false
    }
    for (const { append, places, entries } of placed.slice(0, kept)) {
      append.prepared.forEach((one, i) => this.segment!.learn(places[i]!, one))
      settled.push(() => append.resolve(entries))
    }
    for (const { append } of placed.slice(kept)) settled.push(() => append.reject(failure))
    if (kept > 0) this.#saveIndex()
    return tell
  }

  /** Checks each append in order and gives ids to those that pass; the others are settled. */
  #place(group: readonly Append[], start: Position) {
    const texts: string[] = []
    const placed: Placed[] = []
    const settled: (() => void)[] = []
    const keys = new Map<string, number>()
    const repeats = new Map<string, Entry[]>()
    let at = start
    let again = false
    for (const append of group) {
      const { prepared, expect } = append
      const repeated = prepared[0]!.idempotency
      const before = repeated === undefined ? undefined : (repeats.get(repeated) ?? this.#written(repeated))
      if (before !== undefined) {
        again = true
        settled.push(() => append.resolve(before))
        continue
      }
      const conflict = expect === undefined ? undefined : this.#conflict(expect, at.id, keys)
      if (conflict !== undefined) {
        settled.push(() => append.reject(conflict))
        continue
      }
      const { text, places, end } = layOut(prepared, at)
      const entries = prepared.map((one, i) => asEntry(places[i]!.id, one))
      prepared.forEach((one, i) => one.key !== undefined && keys.set(one.key, places[i]!.id))
      if (repeated !== undefined) repeats.set(repeated, entries)
      texts.push(text)
      placed.push({ append, places, entries, end: end.offset - start.offset })
      at = end
    }
    return { placed, texts, settled, again }
  }

  #conflict(expect: Expect, lastId: number, keys: ReadonlyMap<string, number>): ConflictError | undefined {
    if (typeof expect === 'number') {
      if (expect === lastId) return undefined
      return new ConflictError(`${this.tape} is at entry ${lastId}, not ${expect}`, {
        expected: expect,
        actual: lastId,
      })
    }
    const actual = keys.get(expect.key) ?? this.segment?.latestId(expect.key) ?? 0
    if (expect.id === actual) return undefined
    return new ConflictError(`The last "${expect.key}" of ${this.tape} is entry ${actual}, not ${expect.id}`, {
      expected: expect.id,
      actual,
    })
  }

  /** What an earlier append with that idempotency value wrote. */
  #written(idempotency: string): Entry[] | undefined {
    const first = this.segment?.find('idempotency', idempotency)
    if (first === undefined) return undefined
    const size = first.batch?.[1] ?? 1
    return Array.from(this.segment!.lines(first.id - 1, first.id + size), parseLine)
  }

  async #sync(fd: number, isNew: boolean, inPool: boolean): Promise<void> {
    try {
      if (inPool) await fdatasync(fd)
      else fs.fdatasyncSync(fd)
      if (isNew) syncFolder(path.dirname(this.paths.tape))
    } catch (cause) {
      // The kernel may have dropped the pages: a second sync would succeed and mean nothing. So there is none.
      this.#poison = new UnknownOutcomeError(
        `The disk did not confirm the write to ${this.paths.tape}: ${String(cause)}`,
        {
          hint: 'It may or may not be there. Check the disk, open the workspace again, and retry with the same meta.idempotency.',
          cause,
        },
      )
      throw this.#poison
    }
  }

  #poisoned(): StorageError {
    return new StorageError(
      `${this.paths.tape} is closed for writing since the disk failed to confirm an earlier write`,
      {
        hint: 'Nothing was written. Check the disk, then open the workspace again.',
        cause: this.#poison,
      },
    )
  }

  #saveIndex(): void {
    try {
      this.segment!.saveIndex()
    } catch {
      // A cache that cannot be written must not fail the append that is already durable; "tape verify" shows its state.
    }
  }

  /** Puts the prepared next segment in place of the current one, which is reopened at the next look. */
  adopt(next: string): void {
    fs.renameSync(next, this.paths.tape)
    syncFolder(path.dirname(this.paths.tape))
    this.#forget()
  }
}

/** Writes a group. When the disk is full in the middle, whole batches stay and the rest is taken back. */
function writeGroup(
  fd: number,
  bytes: Buffer,
  start: number,
  placed: readonly Placed[],
): { kept: number; error?: unknown } {
  let written = 0
  try {
    while (written < bytes.length) written += fs.writeSync(fd, bytes, written)
    return { kept: placed.length }
  } catch (error) {
    const kept = placed.filter((batch) => batch.end <= written).length
    try {
      fs.ftruncateSync(fd, start + (kept === 0 ? 0 : placed[kept - 1]!.end))
    } catch (cause) {
      throw new UnknownOutcomeError(`A write failed and could not be taken back: ${String(cause)}`, { cause: error })
    }
    return { kept, error: asStorageError(error, 'the tape') }
  }
}

function copyRange(file: string, from: number, to: number, target: string): void {
  const bytes = Buffer.alloc(to - from)
  const source = fs.openSync(file, 'r')
  const fd = fs.openSync(target, 'wx', 0o600)
  try {
    fs.readSync(source, bytes, 0, bytes.length, from)
    writeAll(fd, bytes)
    fs.fsyncSync(fd)
  } finally {
    fs.closeSync(source)
    fs.closeSync(fd)
  }
  syncFolder(path.dirname(target))
}

const hints: Record<string, string> = {
  ENOSPC: 'The disk is full. Nothing of this batch was kept; free some space and try again.',
  EDQUOT: 'Your quota is used up. Nothing of this batch was kept; free some space and try again.',
  EFBIG: 'The file may not grow further (see "ulimit -f"). Nothing of this batch was kept.',
  EROFS: 'The workspace is on a read-only file system; choose another with --workspace.',
  EACCES: 'You have no permission here; check who owns the workspace, or choose another with --workspace.',
  EPERM: 'You have no permission here; check who owns the workspace, or choose another with --workspace.',
}

export function asStorageError(error: unknown, where: string): unknown {
  if (BatonError.is(error) || !(error instanceof Error)) return error
  const { code, message } = error as NodeJS.ErrnoException
  if (code === undefined) return error
  const hint = hints[code]
  return new StorageError(
    `Cannot write ${where}: ${message}`,
    hint === undefined ? { cause: error } : { hint, cause: error },
  )
}
