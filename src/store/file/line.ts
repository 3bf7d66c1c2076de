// A line on disk: the entry's JSON with `crc` as its last member. The checksum covers the bytes before it and is
// seeded with the previous line's, so that a flipped bit, a lost line and a reordered one all break the chain.

import { crc32 } from 'node:zlib'
import type { Prepared } from '../draft.ts'
import type { Entry, Meta } from '../entry.ts'

export const sealLength = ',"crc":"00000000"}'.length

/** A line found in a file, `bytes` without its newline. */
export interface Line {
  readonly id: number
  readonly offset: number
  /** Where the next line begins: behind the newline, if there is one. */
  readonly end: number
  /** The seed: the previous line's checksum; NaN if that is lost. */
  readonly prev: number
  readonly crc: number
  readonly bytes: Buffer
  readonly batch: BatchMark | undefined
}

type BatchMark = readonly [index: number, size: number]

/** Everything before `offset` has been seen; `id` and `crc` are those of the last line. */
export interface Position {
  offset: number
  id: number
  crc: number
}

export const origin: Position = { offset: 0, id: 0, crc: 0 }

/** The checksum a line claims for itself, or undefined if it does not end in one. */
export function claimedCrc(bytes: Buffer): number | undefined {
  const at = bytes.length - sealLength
  if (at < 0) return undefined
  const tail = /^,"crc":"([0-9a-f]{8})"\}$/.exec(bytes.toString('latin1', at))
  return tail === null ? undefined : Number.parseInt(tail[1]!, 16)
}

export function computedCrc(bytes: Buffer, prev: number): number {
  return crc32(bytes.subarray(0, Math.max(0, bytes.length - sealLength)), prev)
}

/** The id at the head of a line, or 0 if the line does not begin like an entry. */
export function leadingId(bytes: Buffer): number {
  if (bytes[0] !== 0x7b || bytes[1] !== 0x22 || bytes[2] !== 0x69 || bytes[3] !== 0x64) return 0
  if (bytes[4] !== 0x22 || bytes[5] !== 0x3a) return 0
  let id = 0
  for (let i = 6; i < bytes.length; i++) {
    const digit = bytes[i]! - 48
    if (digit < 0 || digit > 9) return bytes[i] === 0x2c ? id : 0
    id = id * 10 + digit
  }
  return 0
}

function batchMark(bytes: Buffer): BatchMark | undefined {
  const end = bytes.length - sealLength
  if (bytes[end - 1] !== 0x5d) return undefined
  const mark = /,"b":\[(\d+),(\d+)\]$/.exec(bytes.toString('latin1', Math.max(0, end - 24), end))
  return mark === null ? undefined : [Number(mark[1]), Number(mark[2])]
}

export function lineFrom(bytes: Buffer, offset: number, prev: number, crc: number): Line {
  const end = offset + bytes.length + 1
  return { id: leadingId(bytes), offset, end, prev, crc, bytes, batch: batchMark(bytes) }
}

/** The line if its bytes are as written behind a line with checksum `prev`. */
export function verified(bytes: Buffer, offset: number, prev: number): Line | undefined {
  const crc = claimedCrc(bytes)
  if (crc === undefined || crc !== computedCrc(bytes, prev)) return undefined
  const line = lineFrom(bytes, offset, prev, crc)
  return line.id === 0 ? undefined : line
}

/** The line as it stands when what came before it is lost, so that its seed cannot be known: as we write it, or nothing. */
export function unchained(bytes: Buffer, offset: number): Line | undefined {
  const crc = claimedCrc(bytes)
  if (crc === undefined || leadingId(bytes) === 0) return undefined
  try {
    const text = bytes.toString('utf8')
    const parsed: unknown = JSON.parse(text)
    if (typeof parsed !== 'object' || parsed === null || !('kind' in parsed) || !('payload' in parsed)) return undefined
    if (JSON.stringify(parsed) !== text) return undefined
  } catch {
    return undefined // not JSON: that is the answer, the caller reports the damage
  }
  return lineFrom(bytes, offset, Number.NaN, crc)
}

/** How a line of that kind goes on behind its id, for a look without parsing. */
export function kindMark(kind: string): Buffer {
  return Buffer.from(`,"kind":${JSON.stringify(kind)},`)
}

export function hasKind(line: Line, marks: readonly Buffer[]): boolean {
  const { bytes } = line
  const at = bytes.indexOf(0x2c, 6)
  return marks.some(
    (mark) => at + mark.length <= bytes.length && bytes.compare(mark, 0, mark.length, at, at + mark.length) === 0,
  )
}

/** The JSON of the entry behind its id, without what the store has added. */
export function restOf(line: Line): string {
  return line.bytes.toString('utf8', line.bytes.indexOf(0x2c), bodyEnd(line))
}

export function parseLine(line: Line): Entry {
  return JSON.parse(`${line.bytes.toString('utf8', 0, bodyEnd(line))}}`) as Entry
}

const metaMember = Buffer.from(',"meta":{')

/** The entry's meta, without parsing the payload before it; undefined where the line has it in another place. */
export function metaOf(line: Line): Meta | undefined {
  const at = line.bytes.lastIndexOf(metaMember)
  if (at < 0) return undefined
  try {
    return (JSON.parse(`{${line.bytes.toString('utf8', at + 1, bodyEnd(line))}}`) as { meta: Meta }).meta
  } catch {
    return undefined // the member of an object inside: its braces do not match
  }
}

function bodyEnd({ bytes, batch }: Line): number {
  const end = bytes.length - sealLength
  return batch === undefined ? end : bytes.lastIndexOf(',"b":[', end)
}

/** A line's place in the file. */
export type Place = Omit<Line, 'bytes'>

/** A batch as the lines it will be: ids counted on, each line sealed to the one before, and where each will lie. */
export function layOut(
  prepared: readonly Pick<Prepared, 'rest' | 'bytes'>[],
  from: Position,
): { bytes: Buffer; places: Place[]; end: Position } {
  const room = prepared.reduce((sum, { bytes }) => sum + bytes + mostAdded, 0)
  const lines = new LineBuffer(from, room)
  const places = prepared.map((one, i) => lines.add(one.rest, markOf(i, prepared.length)))
  return { bytes: lines.take(), places, end: lines.end }
}

/** The mark of the entry at that place of a batch; one that came alone has none. */
export function markOf(index: number, size: number): BatchMark | undefined {
  return size === 1 ? undefined : [index, size]
}

/** Lines that are laid out one behind the other, until they are taken to be written. */
export class LineBuffer {
  #bytes: Buffer
  #filled = 0
  /** Where the first of them will lie. */
  #start: number
  #end: Position
  #content = 0

  /** `room`: in bytes. */
  constructor(from: Position, room: number) {
    this.#bytes = Buffer.allocUnsafe(room)
    this.#start = from.offset
    this.#end = from
  }

  /** The end of the last line. */
  get end(): Position {
    return this.#end
  }

  /** How many bytes all that was ever added is, without what the store adds to each line. */
  get content(): number {
    return this.#content
  }

  get filled(): number {
    return this.#filled
  }

  /** Whether that entry fits, whatever its characters are. */
  hasRoomFor(rest: string): boolean {
    return this.#filled + 3 * rest.length + mostAdded <= this.#bytes.length
  }

  /** `rest`: the JSON of the entry behind its id. Each string is turned into bytes once: nearly all of the time goes into copies. */
  add(rest: string, batch?: BatchMark): Place {
    const bytes = this.#bytes
    const { id: last, crc: prev } = this.#end
    const start = this.#filled
    const id = last + 1
    const mark = batch === undefined ? '' : `,"b":[${batch[0]},${batch[1]}]`
    // Written in one piece, and without naming the encoding: for a short line that takes longer than the writing.
    const head = `{"id":${id}`
    let at = start + bytes.write(`${head}${rest}${mark}`, start)
    this.#content += at - start - head.length - mark.length
    const crc = crc32(bytes.subarray(start, at), prev)
    at += bytes.write(`,"crc":"${crc.toString(16).padStart(8, '0')}"}\n`, at)
    this.#filled = at
    this.#end = { offset: this.#start + at, id, crc }
    return { id, offset: this.#start + start, end: this.#end.offset, prev, crc, batch }
  }

  /** The lines since the last time; valid until the next one is added. */
  take(): Buffer {
    const taken = this.#bytes.subarray(0, this.#filled)
    this.#start += this.#filled
    this.#filled = 0
    return taken
  }
}

/** What a line has besides the JSON of its entry: id, mark and seal, with every number as long as it can be. */
const mostAdded = '{"id":9007199254740991,"b":[9999,9999]'.length + sealLength + '\n'.length
