// All writing to one tape from this process goes through here: appends that arrive together share one lock, one write
// and one sync (group commit), and each is checked and settled on its own. A lone append uses synchronous calls, which
// are faster; a group syncs in the thread pool, so that the next group can gather meanwhile. The lock is free again before
// the sync, so that other processes write while the disk works: a sync makes durable all that is in the file, also what
// others wrote before.

import fs from 'node:fs'
import path from 'node:path'
import { StorageError, UnknownOutcomeError } from '../../../errors.ts'
import type { Prepared } from '../../draft.ts'
import type { Entry } from '../../entry.ts'
import type { AppendOptions } from '../../store.ts'
import { quarantine } from '../damage/repair.ts'
import { damagedError } from '../damage/damaged-error.ts'
import { asStorageError, syncFolder, writeAll } from '../../../system/index.ts'
import {
  type Append,
  fillEntries,
  type Group,
  needsSync,
  type Outcome,
  type Placed,
  placeGroup,
  settle,
} from './group.ts'
import type { Layout, TapePaths } from '../layout.ts'
import { Lock } from '../../../system/index.ts'
import { type FileLimit, type OpenFiles, writerDescriptors } from './file-limit.ts'
import { Segment } from '../read/segment.ts'
import { origin } from '../line.ts'

const groupBytes = 4 * 1024 * 1024
/** How many appends of a lone caller share one turn of the event loop. */
const lookAround = 8
/** From how many appends at once it pays to wait for those who return, and for how long at most. */
const crowd = 4
const mostWaitMs = 2
/** Each wait in vain doubles the number of groups that are not waited for, up to so many times. */
const mostInVain = 6

/** Work that needs the tape for itself: archive, repair, the arrival of a new tape. */
interface Exclusive {
  readonly work: () => void
  /** Also when the tape is damaged: only for what mends it. */
  readonly damaged: boolean
  readonly reject: (error: unknown) => void
}

/** A group that was checked, and written as far as there was anything to write. */
interface Written {
  readonly group: Group
  readonly kept: number
  readonly failure: unknown
  /** What was written and is to be synced; undefined where nothing was. */
  readonly to?: { readonly fd: number; readonly start: number }
}

export interface WriterOptions {
  readonly layout: Layout
  readonly now: () => Date
  /** How long to wait for another process, in milliseconds. */
  readonly patience: number
  readonly fileLimit: FileLimit
  /** The file as a reader of this process knows it, if one does: what was read of it need not be read again. */
  readonly known: (ino: number) => Segment | undefined
  /** The highest id in the archives of the tape, for a tape that has no current segment. */
  readonly archivedUpTo: () => number
  readonly onCommit: () => void
}

export class Writer implements OpenFiles {
  readonly descriptors = writerDescriptors
  readonly tape: string
  readonly paths: TapePaths
  segment: Segment | undefined
  readonly #options: WriterOptions
  readonly #lock: Lock
  #fd: number | undefined
  /** The file that is known to have its place in the folder, whatever happens to the power. */
  #placed: number | undefined
  #queue: (Append | Exclusive)[] = []
  #running: Promise<void> | undefined
  #committing = false
  #lastGroup = 0
  /** How many appends were under way when the last group was done. */
  #atOnce = 0
  /** How often callers were waited for in vain of late, and how many groups are therefore not waited for. */
  #waits = { inVain: 0, skipped: 0 }
  /** How long a sync takes, of late. */
  #syncMs = 0
  #aloneFor = 0
  #poison: UnknownOutcomeError | undefined

  constructor(tape: string, options: WriterOptions) {
    this.tape = tape
    this.paths = options.layout.of(tape)
    this.#options = options
    this.#lock = new Lock(this.paths.lock, options.patience)
  }

  append(prepared: readonly Prepared[], { expect, durable }: AppendOptions): Promise<Entry[]> {
    return new Promise((resolve, reject) => this.#enqueue({ prepared, expect, durable, resolve, reject }))
  }

  /** Runs `work` under the tape's lock, with the segment looked at afresh and its tail sound. */
  exclusively<T>(work: () => T, { damaged = false } = {}): Promise<T> {
    return new Promise((resolve, reject) => this.#enqueue({ work: () => resolve(work()), damaged, reject }))
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
    await this.#running
  }

  /** Lets go of the files; the next append opens them again. */
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
    this.#running ??= this.#run()
  }

  async #run(): Promise<void> {
    const { fileLimit } = this.#options
    await fileLimit.enter(this)
    await this.#gather()
    while (this.#queue.length > 0) {
      await this.#awaitReturning()
      const tell = await this.#work(this.#takeGroup())
      this.#atOnce = this.#lastGroup + this.#queue.length
      tell()
      if (this.#queue.length === 0) await this.#gather()
      else if (fileLimit.isCrowded) {
        fileLimit.leave(this)
        await fileLimit.enter(this)
      }
    }
    this.#running = undefined
    fileLimit.leave(this)
  }

  /**
   * Waits for others to join the group: whoever is ready in this turn of the event loop. A caller who is alone, as the
   * last group showed, need not wait for that turn; but now and then it is taken all the same, to see who has come and
   * to let timers and sockets have theirs.
   */
  #gather(): Promise<void> {
    const isAlone = this.#lastGroup === 1 && ++this.#aloneFor % lookAround !== 0
    return new Promise((resolve) => (isAlone ? process.nextTick(resolve) : setImmediate(resolve)))
  }

  /**
   * Callers whom the last group answered are often on their way back, such as clients of a server. With a sync for each half of
   * them they would get half as much done, so a group that is smaller than the crowd was waits for a part of what a sync takes. Where it
   * takes longer than a sync until all are back, the disk had better sync the one half while this thread answers the other.
   * Other callers have something else to wait for first, such as answers to what they wrote. To wait for them only takes time from
   * whoever they wait for, so it is tried less and less often.
   */
  async #awaitReturning(): Promise<void> {
    const missing = this.#atOnce - this.#queue.length
    if (this.#atOnce < crowd || missing <= 0 || this.#waits.skipped-- > 0) return
    const deadline = performance.now() + Math.min(mostWaitMs, this.#syncMs / 4)
    while (this.#queue.length < this.#atOnce && performance.now() < deadline) {
      await new Promise((resolve) => setImmediate(resolve))
    }
    const isWorthIt = this.#atOnce - this.#queue.length <= missing / 2
    const inVain = isWorthIt ? 0 : Math.min(this.#waits.inVain + 1, mostInVain)
    this.#waits = { inVain, skipped: isWorthIt ? 0 : 2 ** inVain }
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
    this.#lastGroup = group.length
    return group
  }

  /** Does the group's work; what it returns tells the callers. */
  async #work(group: Append[] | Exclusive): Promise<() => void> {
    const fail = (error: unknown) => () => {
      const failure = asStorageError(error, this.paths.tape)
      for (const item of Array.isArray(group) ? group : [group]) item.reject(failure)
    }
    try {
      if (this.#poison !== undefined) throw this.#poisoned()
      if (!this.#lock.tryNow()) await this.#lock.take()
    } catch (error) {
      return fail(error)
    }
    let written: Written | undefined
    try {
      this.#refresh(!Array.isArray(group) && group.damaged)
      if (Array.isArray(group)) written = this.#write(group)
      else group.work()
    } catch (error) {
      return fail(error)
    } finally {
      this.#lock.release()
    }
    return written === undefined ? () => {} : this.#commit(written)
  }

  /** Looks at the file again: another process may have written, replaced or torn it since. */
  #refresh(repairs: boolean): void {
    const stat = fs.statSync(this.paths.tape, { throwIfNoEntry: false })
    // Damage seen by a reader, without the lock, is looked at once more with it.
    if (stat === undefined || stat.ino !== this.segment?.ino || this.segment.damage.length > 0) {
      this.#forget()
      this.segment = stat && this.#options.known(stat.ino)
      if (this.segment === undefined) this.segment = Segment.open(this.paths.tape, this.paths.index)
      else this.segment.catchUp(stat)
    } else this.segment.catchUp(stat)
    if (this.segment === undefined || repairs) return
    const [damage] = this.segment.damage
    if (damage !== undefined) throw damagedError(damage, this.tape)
    if (this.segment.tail !== undefined) this.#mendTail(this.segment)
  }

  /** Removes what a dead writer left behind the last complete batch; the bytes are kept in a side file. */
  #mendTail(segment: Segment): void {
    const { offset, length } = segment.tail!
    const { layout, now } = this.#options
    const fd = this.#writable()
    if (length > 0) {
      quarantine(layout, this.tape, this.paths.tape, offset, fs.fstatSync(fd).size, now())
      fs.ftruncateSync(fd, offset)
    }
    if (!segment.endsWithNewline(offset)) writeAll(fd, Buffer.from('\n'))
    fs.fsyncSync(fd)
    segment.catchUp()
  }

  #writable(): number {
    this.#fd ??= fs.openSync(this.paths.tape, 'a', 0o600)
    return this.#fd
  }

  /** Writes what a group appends, under the lock. It is not durable yet. */
  #write(appends: readonly Append[]): Written {
    const at = this.segment?.at
    const start = at === undefined || at.offset === 0 ? { ...origin, id: this.#options.archivedUpTo() } : at
    const group = placeGroup(this.tape, appends, start, this.segment)
    if (group.placed.length === 0 && group.repeated.length === 0) return { group, kept: 0, failure: undefined }
    const fd = this.#writable()
    this.segment ??= Segment.open(this.paths.tape, this.paths.index)!
    this.#committing = true
    try {
      const written = writeGroup(fd, this.paths.tape, group.bytes, start.offset, group.placed)
      this.#syncPlace()
      return { group, ...written, to: { fd, start: start.offset } }
    } catch (failure) {
      this.#committing = false
      return { group, kept: 0, failure }
    }
  }

  /** The process that put the file into the folder may have died before the folder was synced, so each process does that once. */
  #syncPlace(): void {
    if (this.#placed === this.segment!.ino) return
    syncFolder(path.dirname(this.paths.tape))
    this.#placed = this.segment!.ino
  }

  /** Makes durable what was written, without the lock. */
  async #commit({ group, kept, failure, to }: Written): Promise<() => void> {
    if (to === undefined) return () => settle(group, { kept, isSynced: failure === undefined, failure })
    let outcome: Outcome = { kept, isSynced: true, failure }
    try {
      const isCrowd = group.placed.length > 1 || this.#atOnce >= crowd
      if (needsSync(group)) await this.#sync(to.fd, isCrowd, () => fillEntries(group))
      else fillEntries(group)
    } catch (error) {
      outcome = { kept: 0, isSynced: false, failure: error }
    } finally {
      this.#committing = false
    }
    for (const { append, places } of group.placed.slice(0, outcome.kept)) {
      append.prepared.forEach((one, i) => {
        const place = places[i]!
        this.segment!.learn(place, one, group.bytes.subarray(place.offset - to.start, place.end - 1 - to.start))
      })
    }
    if (outcome.kept > 0) this.#saveIndexIfFree()
    return () => {
      settle(group, outcome)
      if (outcome.kept > 0) this.#options.onCommit()
    }
  }

  /** `meanwhile` is done while the disk works, where that leaves this thread free. */
  async #sync(fd: number, inPool: boolean, meanwhile: () => void): Promise<void> {
    const start = performance.now()
    try {
      const syncing = inPool ? syncInPool(fd) : fs.fdatasyncSync(fd)
      meanwhile()
      if (syncing !== undefined) await syncing
      this.#syncMs += (performance.now() - start - this.#syncMs) / 8
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

  /** Two processes that write an index at the same time spoil it, so whoever does not get the lock leaves it to the other. */
  #saveIndexIfFree(): void {
    if (!this.segment!.hasMoreThanIndex || !this.#lock.tryNow()) return
    try {
      this.#saveIndex()
    } finally {
      this.#lock.release()
    }
  }

  #saveIndex(): void {
    try {
      this.segment!.saveIndex()
    } catch {
      // A cache that cannot be written must not fail the append that is already durable; "tape verify" shows its state.
    }
  }

  /** Puts a prepared file in place of the current one, with its index, which is made here where it has none yet. */
  readonly adopt = (next: string): void => {
    if (fs.existsSync(`${next}.idx`)) fs.renameSync(`${next}.idx`, this.paths.index)
    fs.renameSync(next, this.paths.tape)
    syncFolder(path.dirname(this.paths.tape))
    this.#forget()
    this.segment = Segment.open(this.paths.tape, this.paths.index)
    this.#saveIndex()
  }

  /** Takes the current file away, of which the archive has a second name by now. */
  removeCurrent(): void {
    fs.rmSync(this.paths.index, { force: true })
    fs.rmSync(this.paths.tape, { force: true })
    syncFolder(path.dirname(this.paths.tape))
    this.#forget()
  }
}

function syncInPool(fd: number): Promise<void> {
  return new Promise((resolve, reject) => {
    fs.fdatasync(fd, (error) => (error === null ? resolve() : reject(error)))
  })
}

/** Writes a group. When the disk is full in the middle, whole batches stay and the rest is taken back. */
function writeGroup(
  fd: number,
  file: string,
  bytes: Buffer,
  start: number,
  placed: readonly Placed[],
): { kept: number; failure: unknown } {
  let written = 0
  try {
    while (written < bytes.length) written += fs.writeSync(fd, bytes, written)
    return { kept: placed.length, failure: undefined }
  } catch (error) {
    const kept = placed.filter((batch) => batch.end <= written).length
    try {
      fs.ftruncateSync(fd, start + (kept === 0 ? 0 : placed[kept - 1]!.end))
    } catch (cause) {
      const hint = 'It may or may not be there. Look at the tape, and retry with the same meta.idempotency.'
      throw new UnknownOutcomeError(`A write to ${file} failed (${String(error)}) and could not be taken back`, {
        hint,
        cause,
      })
    }
    return { kept, failure: asStorageError(error, file) }
  }
}
