// Reads lines out of bytes and tells sound from damaged. The common case is one checksum per line. From the first line
// that fails, lines are held until reading is in step again (or the file ends); then salvage.ts says which are sound.
// Damaged bytes neither pass for data nor take their neighbours with them, and every one of them is reported.

import type { Damage, DamageKind } from '../../store.ts'
import { claimedCrc, type Line, leadingId, type Position, verified } from '../line.ts'
import { type Link, type Scrap, salvage } from '../damage/salvage.ts'

/** Held at most, before what can be told is told. */
const holdLines = 64
const holdBytes = 4 * 1024 * 1024

type Visit = (line: Line) => void

export class Scan {
  /** The end of the last line that was delivered. */
  readonly at: Position
  readonly damage: Damage[] = []
  readonly #file: string
  readonly #visit: Visit
  readonly #from: Position
  #rest: Buffer = empty
  /** Where `#rest` begins. */
  #next: number
  #last: Link
  #held: Buffer[] = []
  #heldBytes = 0
  #batch: Line[] = []
  /** Whether damage has been met since the last batch began. */
  #isBroken = false

  constructor(file: string, from: Position, visit: Visit) {
    this.#file = file
    this.#visit = visit
    this.#from = { ...from }
    this.at = { ...from }
    this.#next = from.offset
    this.#last = from.offset === 0 ? undefined : from
  }

  push(chunk: Buffer): void {
    const bytes = this.#rest.length === 0 ? chunk : Buffer.concat([this.#rest, chunk])
    let start = 0
    for (;;) {
      // What was left over has no newline, so the search need not repeat it.
      const end = bytes.indexOf(0x0a, start === 0 ? this.#rest.length : start)
      if (end < 0) break
      this.#line(bytes.subarray(start, end + 1))
      this.#rest = empty
      start = end + 1
    }
    this.#rest = start === bytes.length ? empty : bytes.subarray(start)
  }

  /**
   * At the end of the file. What is left over is a torn tail: bytes without a newline, a run of NUL, or an incomplete
   * last batch, none of them ever acknowledged. Returned, not delivered: the writer cuts it, a reader withholds it.
   * In mid-file, `next` says what the bytes behind the end are sealed to, and there is no tail.
   */
  finish(next?: Position): Damage | undefined {
    let torn: Scrap[] = []
    if (this.#held.length > 0 || this.#rest.length > 0) {
      this.#hold(this.#rest)
      this.#next += this.#rest.length
      this.#rest = empty
      torn = this.#resolve(next ?? 'tail')
    }
    const size = this.#next
    const [first] = this.#batch
    if (next !== undefined) {
      if (first !== undefined) this.#reportCutBatch(size)
      this.#releaseBatch()
      if (this.#last !== undefined && this.#last.id < next.id && !this.#isBroken)
        this.#gap(size, this.#last.id, next.id)
      return undefined
    }
    if (first !== undefined) {
      const message = `an incomplete batch at the end (${this.#batch.length} of ${first.batch![1]}), never acknowledged`
      return this.#tail('batch', first.offset, size - first.offset, message)
    }
    if (torn.length > 0) {
      const isNul = torn.some(({ bytes }) => bytes.includes(0))
      const message = isNul ? 'a run of NUL bytes at the end' : 'a torn last line'
      return this.#tail(
        isNul ? 'nul' : 'torn',
        torn[0]!.offset,
        size - torn[0]!.offset,
        `${message}, never acknowledged`,
      )
    }
    return this.#isOpen ? this.#tail('newline', size, 0, 'the last line lacks its newline') : undefined
  }

  /** Whether the last line delivered lacks its newline. */
  #isOpen = false

  #tail(kind: DamageKind, offset: number, length: number, message: string): Damage {
    return { kind, file: this.#file, offset, length, lost: undefined, message }
  }

  /** `bytes` with its newline. */
  #line(bytes: Buffer): void {
    const offset = this.#next
    this.#next += bytes.length
    const line = this.#sound(bytes.subarray(0, -1), offset)
    if (this.#held.length === 0) {
      if (line !== undefined) return this.#deliver(line)
      // The newline that a line at the end of the file was still waiting for.
      if (bytes.length === 1 && offset === this.#from.offset && offset > 0) {
        this.at.offset++
        return
      }
    }
    const before = this.#held.at(-1)?.subarray(0, -1)
    this.#hold(bytes)
    const seed = before && claimedCrc(before)
    const isInStep = line !== undefined || (seed !== undefined && verified(bytes.subarray(0, -1), offset, seed))
    if (isInStep || this.#held.length >= holdLines || this.#heldBytes >= holdBytes) this.#resolve('more')
  }

  #hold(bytes: Buffer): void {
    if (bytes.length > 0) this.#held.push(bytes)
    this.#heldBytes += bytes.length
  }

  #sound(bytes: Buffer, offset: number): Line | undefined {
    const line = verified(bytes, offset, this.#last?.crc ?? 0)
    // The first line of a segment may have any id: the one before it is in the archive.
    return line !== undefined && (this.#last === undefined || line.id === this.#last.id + 1) ? line : undefined
  }

  /** Tells what is held apart. Returns what may be a torn tail, if this is the end of the file. */
  #resolve(behind: Position | 'more' | 'tail'): Scrap[] {
    const bytes = Buffer.concat(this.#held)
    const offset = this.#next - bytes.length
    this.#held = []
    this.#heldBytes = 0
    const next = typeof behind === 'object' ? behind : undefined
    const { lines, scraps } = salvage(bytes, offset, this.#last, next)
    const torn = behind === 'tail' ? tornIn(scraps, lines) : []
    const damaged = scraps.slice(0, scraps.length - torn.length)
    let end = offset
    for (const line of lines) {
      const before = damaged.splice(0, damaged.findLastIndex((scrap) => scrap.offset < line.offset) + 1)
      this.#reportBefore(line, before, end)
      this.#deliver(line)
      end = line.end
    }
    if (damaged.length > 0) {
      const known = this.#last?.id ?? this.at.id
      const unread = damaged.filter(({ bytes: scrap }) => isUnread(scrap, known)).length
      this.#report(damaged, known, next?.id ?? (behind === 'more' ? known : known + unread))
    }
    return torn
  }

  #reportBefore(line: Line, scraps: readonly Scrap[], end: number): void {
    // Where a file begins is not known but from its first line; at least one is lost if that is not sealed as such.
    const isFirst = this.#last === undefined && line.prev !== 0
    const before = this.#last?.id ?? (isFirst ? Math.max(0, line.id - 1 - Math.max(1, scraps.length)) : line.id - 1)
    if (scraps.length > 0) this.#report(scraps, before, line.id - 1)
    else if (before < line.id - 1) this.#gap(line.offset, before, line.id - 1)
    else if (line.offset < end) this.#add('splice', line.offset, 0, `entry ${line.id} is out of its place`)
    else if (this.#isOpen) this.#add('newline', line.offset, 0, 'a missing newline between two lines')
    if (claimedCrc(line.bytes) !== line.crc) {
      this.#add('checksum', line.offset, 0, `the checksum of entry ${line.id} has changed, its content has not`)
    }
  }

  #gap(offset: number, before: number, to: number): void {
    const lost = { from: before + 1, to }
    this.#add('gap', offset, 0, `entries ${lost.from} to ${lost.to} are missing`, lost)
  }

  /** The entries behind `before` and up to `to` are lost with these bytes; the first report says so. */
  #report(scraps: readonly Scrap[], before: number, to: number): void {
    let lost = before < to ? { from: before + 1, to } : undefined
    for (const { offset, bytes } of scraps) {
      const { kind, message } = describe(bytes, before)
      this.#add(kind, offset, bytes.length, message, lost)
      lost = undefined
    }
  }

  #add(kind: DamageKind, offset: number, length: number, message: string, lost?: Damage['lost']): void {
    // A batch that lost a member to damage was acknowledged: the members that are left still count.
    this.#releaseBatch()
    this.#isBroken = true
    this.damage.push({ kind, file: this.#file, offset, length, lost, message })
  }

  #deliver(line: Line): void {
    this.#last = line
    this.#isOpen = line.end === line.offset + line.bytes.length
    const [index, size] = line.batch ?? [0, 1]
    if (index !== this.#batch.length || (index > 0 && size !== this.#batch[0]!.batch![1])) {
      if (!this.#isBroken) this.#reportCutBatch(line.offset, line)
      this.#releaseBatch()
    }
    if (index === 0) this.#isBroken = false
    this.#batch.push(line)
    if (this.#isBroken || index + 1 >= size) this.#releaseBatch()
  }

  /** An incomplete batch that something was written behind. Not the last one, so it is kept, and reported. */
  #reportCutBatch(end: number, alone?: Line): void {
    const first = this.#batch[0] ?? alone!
    const message = `a batch of ${first.batch![1]} with only ${Math.max(1, this.#batch.length)} of its lines`
    const length = Math.max(0, end - first.offset)
    this.damage.push({ kind: 'batch', file: this.#file, offset: first.offset, length, lost: undefined, message })
    this.#isBroken = true
  }

  #releaseBatch(): void {
    const held = this.#batch
    if (held.length === 0) return
    this.#batch = []
    for (const line of held) {
      this.at.offset = Math.max(this.at.offset, line.end)
      this.at.id = line.id
      this.at.crc = line.crc
      this.#visit(line)
    }
  }
}

/** The scraps at the end that were never acknowledged: the last without its newline, and runs of NUL. */
function tornIn(scraps: readonly Scrap[], lines: readonly Line[]): Scrap[] {
  const end = Math.max(0, ...lines.map((line) => line.end))
  const first = scraps.findLastIndex(({ offset, bytes }) => offset < end || (isWholeLine(bytes) && !bytes.includes(0)))
  return scraps.slice(first + 1)
}

function isWholeLine(bytes: Buffer): boolean {
  return bytes.at(-1) === 0x0a
}

/** A line that may have been an entry of its own. */
function isUnread(bytes: Buffer, last: number): boolean {
  return isWholeLine(bytes) && bytes.length > 1 && !isRepeated(bytes, last)
}

/** A line that looks like one that was already read. */
function isRepeated(bytes: Buffer, last: number): boolean {
  const id = leadingId(bytes)
  return id > 0 && id <= last && claimedCrc(bytes.subarray(0, -1)) !== undefined
}

function describe(bytes: Buffer, last: number): { kind: DamageKind; message: string } {
  if (bytes.includes(0)) return { kind: 'nul', message: 'NUL bytes in place of data' }
  if (isRepeated(bytes, last)) return { kind: 'splice', message: `a second line for entry ${leadingId(bytes)}` }
  const isSealed = isWholeLine(bytes) && claimedCrc(bytes.subarray(0, -1)) !== undefined
  if (isSealed && leadingId(bytes) > 0) return { kind: 'checksum', message: 'its bytes have changed' }
  if (isWholeLine(bytes)) return { kind: 'unreadable', message: 'not a line of this tape' }
  return { kind: 'splice', message: 'a fragment among the lines' }
}

const empty = Buffer.alloc(0)
