// Reads lines out of bytes and tells sound from damaged. The common case is one checksum per line; everything else
// here is about damage that must neither pass for data nor take its neighbours with it:
// a line that fails is held until its successor has shown whether it was rotten or whether lines before it are missing.

import type { Damage, DamageKind } from '../store.ts'
import { claimedCrc, computedCrc, type Line, leadingId, unchained, verified } from './line.ts'

/** Everything before `offset` has been seen; `id` and `crc` are those of the last line. */
export interface Position {
  offset: number
  id: number
  crc: number
}

export const origin: Position = { offset: 0, id: 0, crc: 0 }

type Visit = (line: Line) => void

export class Scan {
  /** The end of the last line that was delivered. */
  readonly at: Position
  readonly damage: Damage[] = []
  readonly #file: string
  readonly #visit: Visit
  #rest: Buffer = Buffer.alloc(0)
  #next: number
  #id: number
  /** What the next line may be seeded with; none when that is lost. */
  #seeds: readonly number[]
  #suspect: { bytes: Buffer; offset: number } | undefined
  #batch: Line[] = []

  constructor(file: string, from: Position, visit: Visit) {
    this.#file = file
    this.#visit = visit
    this.at = { ...from }
    this.#next = from.offset
    this.#id = from.id
    this.#seeds = [from.crc]
  }

  push(chunk: Buffer): void {
    const bytes = this.#rest.length === 0 ? chunk : Buffer.concat([this.#rest, chunk])
    let start = 0
    for (;;) {
      // What was left over has no newline, so the search need not repeat it.
      const end = bytes.indexOf(0x0a, start === 0 ? this.#rest.length : start)
      if (end < 0) break
      this.#line(bytes.subarray(start, end))
      this.#rest = empty
      start = end + 1
    }
    this.#rest = start === bytes.length ? empty : bytes.subarray(start)
  }

  /**
   * At the end of the file. What is left over is a torn tail: bytes without a newline, a run of NUL, or an incomplete
   * last batch, none of them ever acknowledged. Returned, not delivered: the writer cuts it, a reader withholds it.
   */
  finish(): Damage | undefined {
    if (this.#suspect !== undefined) {
      const { bytes, offset } = this.#suspect
      if (this.#rest.length === 0 && bytes.includes(0)) {
        this.#suspect = undefined
        return this.#tail('nul', offset, bytes.length + 1, 'a run of NUL bytes at the end, never acknowledged')
      }
      this.#judge(undefined)
    }
    const whole = this.#rest.length === 0 ? undefined : this.#sound(this.#rest, this.#next)
    if (whole !== undefined) {
      this.#next += this.#rest.length
      this.#rest = empty
      this.#deliver(whole)
      if (this.#batch.length === 0) return this.#tail('newline', this.#next, 0, 'the last line lacks its newline')
    }
    const first = this.#batch[0]
    if (first !== undefined) {
      const message = `an incomplete batch at the end (${this.#batch.length} of ${first.batch![1]}), never acknowledged`
      return this.#tail('batch', first.offset, this.#next + this.#rest.length - first.offset, message)
    }
    if (this.#rest.length === 0) return undefined
    const nul = this.#rest.includes(0)
    const message = nul ? 'a run of NUL bytes at the end, never acknowledged' : 'a torn last line, never acknowledged'
    return this.#tail(nul ? 'nul' : 'torn', this.#next, this.#rest.length, message)
  }

  #tail(kind: DamageKind, offset: number, length: number, message: string): Damage {
    return { kind, file: this.#file, offset, length, lost: undefined, message }
  }

  #line(bytes: Buffer): void {
    const offset = this.#next
    this.#next += bytes.length + 1
    if (this.#suspect !== undefined && this.#judge({ bytes, offset })) return
    const sound = this.#sound(bytes, offset)
    if (sound !== undefined) return this.#deliver(sound)
    if (this.#seeds.length === 0) {
      const line = unchained(bytes, offset)
      if (line !== undefined && line.id > this.#id) return this.#deliver(line)
    }
    this.#suspect = { bytes, offset }
  }

  #sound(bytes: Buffer, offset: number): Line | undefined {
    for (const seed of this.#seeds) {
      const line = verified(bytes, offset, seed)
      // The first line of a segment may have any id: the one before it is in the archive.
      if (line !== undefined && (line.id === this.#id + 1 || offset === 0)) return line
    }
    return undefined
  }

  /** Decides on the held line, knowing its successor. True when that successor was delivered along with it. */
  #judge(next: { bytes: Buffer; offset: number } | undefined): boolean {
    const { bytes, offset } = this.#suspect!
    this.#suspect = undefined
    const id = leadingId(bytes)
    if (id > this.#id + 1 && next !== undefined) {
      // Sound lines with a hole before them: the successor vouches for this line's checksum.
      const line = unchained(bytes, offset)
      const successor = line && verified(next.bytes, next.offset, line.crc)
      if (line !== undefined && successor?.id === id + 1) {
        this.#report('gap', offset, 0, `entries ${this.#id + 1} to ${id - 1} are missing`, id)
        this.#deliver(line)
        this.#deliver(successor)
        return true
      }
    }
    if (!this.#salvage(bytes, offset)) {
      const nul = bytes.includes(0)
      const kind = nul ? 'nul' : claimedCrc(bytes) === undefined ? 'unreadable' : 'checksum'
      const what = {
        nul: 'NUL bytes in place of data',
        unreadable: 'not a line of this tape',
        checksum: 'its bytes have changed',
      }
      this.#report(kind, offset, bytes.length + 1, what[kind], this.#idBehind(bytes, next?.bytes))
      const claimed = claimedCrc(bytes)
      const computed = this.#seeds.map((seed) => computedCrc(bytes, seed))
      // A line that still ends in a seal is one flipped bit away from sound: its successor must match one of the two.
      this.#seeds = claimed === undefined ? [] : [claimed, ...computed]
      this.#id = this.#idBehind(bytes, next?.bytes) - 1
    }
    return false
  }

  /** The id that the line behind a damaged one should carry. */
  #idBehind(damaged: Buffer, next: Buffer | undefined): number {
    const following = next === undefined ? 0 : leadingId(next)
    if (following > this.#id && following <= this.#id + 1_000_000) return following
    return claimedCrc(damaged) === undefined ? this.#id + 1 : this.#id + 2
  }

  /** Finds whole lines within a damaged one: glued together, or behind a fragment or a run of NUL. */
  #salvage(bytes: Buffer, offset: number): boolean {
    const text = bytes.toString('latin1')
    const starts = Array.from(text.matchAll(/\{"id":\d/g), (match) => match.index)
    const ends = Array.from(text.matchAll(/,"crc":"[0-9a-f]{8}"\}/g), (match) => match.index + match[0].length)
    const found: Line[] = []
    let seeds = this.#seeds
    let id = this.#id
    let from = 0
    for (const start of starts) {
      if (start < from) continue
      for (const end of ends) {
        if (end <= start || (start === 0 && end === bytes.length)) continue
        const part = bytes.subarray(start, end)
        const chained = seeds.map((seed) => verified(part, offset + start, seed)).find((line) => line !== undefined)
        const line = chained ?? (start === 0 ? undefined : unchained(part, offset + start))
        if (line === undefined || line.id <= id) continue
        found.push(line)
        seeds = [line.crc]
        id = line.id
        from = end
        break
      }
    }
    if (found.length === 0) return false
    let end = offset
    for (const line of found) {
      const lost = line.id > this.#id + 1
      if (line.offset > end) {
        const fragment = bytes.subarray(end - offset, line.offset - offset)
        const kind = fragment.every((byte) => byte === 0) ? 'nul' : 'splice'
        const what = kind === 'nul' ? 'NUL bytes before a line' : 'a fragment spliced into the next line'
        this.#report(kind, end, fragment.length, what, line.id)
      } else if (lost) {
        this.#report('gap', line.offset, 0, `entries ${this.#id + 1} to ${line.id - 1} are missing`, line.id)
      } else if (line.offset > offset) {
        this.#report('newline', line.offset, 0, 'a missing newline between two lines', line.id)
      }
      this.#deliver(line)
      end = line.offset + line.bytes.length
    }
    const rest = offset + bytes.length - end
    if (rest > 0) {
      this.#report('splice', end, rest, 'a fragment behind a line', this.#id + 1)
      this.#seeds = []
    }
    return true
  }

  #report(kind: DamageKind, offset: number, length: number, message: string, nextId: number): void {
    const lost = nextId > this.#id + 1 ? { from: this.#id + 1, to: nextId - 1 } : undefined
    this.#releaseBatch()
    this.damage.push({ kind, file: this.#file, offset, length, lost, message })
  }

  /** A batch that lost a member to damage was acknowledged: the members that are left still count. */
  #releaseBatch(): void {
    const held = this.#batch
    this.#batch = []
    for (const line of held) this.#emit(line)
  }

  #deliver(line: Line): void {
    this.#id = line.id
    this.#seeds = [line.crc]
    const { batch } = line
    if (batch === undefined || batch[1] <= 1) {
      if (this.#batch.length > 0) this.#cutBatch(line)
      return this.#emit(line)
    }
    const damaged = this.damage.length > 0
    const expected = this.#batch.length === 0 ? 0 : this.#batch.at(-1)!.batch![0] + 1
    if (batch[0] !== expected) {
      if (this.#batch.length > 0) this.#cutBatch(line)
      // The head of this batch was lost to damage that has been reported: what is left of it counts.
      if (batch[0] !== 0 && damaged) return this.#emit(line)
    }
    this.#batch.push(line)
    if (batch[0] + 1 === batch[1]) this.#releaseBatch()
  }

  /** An incomplete batch that something was written behind. Not the last one, so it is kept, and reported. */
  #cutBatch(next: Line): void {
    const first = this.#batch[0]!
    const message = `a batch of ${first.batch![1]} with only ${this.#batch.length} of its lines`
    const length = next.offset - first.offset
    this.damage.push({ kind: 'batch', file: this.#file, offset: first.offset, length, lost: undefined, message })
    this.#releaseBatch()
  }

  #emit(line: Line): void {
    this.at.offset = line.offset + line.bytes.length + 1
    this.at.id = line.id
    this.at.crc = line.crc
    this.#visit(line)
  }
}

const empty = Buffer.alloc(0)
