// Finds the sound lines in a stretch of a file that does not read straight on: what a flipped bit, a splice, a missing
// newline, a run of NUL or a lost line has left. Lines are put together by their chain of checksums, wherever they lie.
// A line whose predecessor is lost has no checksum to go by; it counts only if the next line is sealed to it (or there is
// none, and it stands alone on its line), for a damaged entry may well hold, as data, what looks like a line.

import { crc32 } from 'node:zlib'
import { claimedCrc, computedCrc, type Line, leadingId, lineFrom, sealLength, unchained, verified } from '../line.ts'
import { limits } from '../../store.ts'

/** Where a chain stands: its last line, or undefined at the beginning of a file. */
export type Link = { readonly id: number; readonly crc: number } | undefined

/** Bytes that belong to no line, at most one physical line of them. */
export interface Scrap {
  readonly offset: number
  readonly bytes: Buffer
}

export interface Salvage {
  /** In the order of their chain, which need not be that of the file. */
  readonly lines: readonly Line[]
  readonly scraps: readonly Scrap[]
}

interface Physical {
  readonly bytes: Buffer
  readonly start: number
  readonly end: number
}

/** No line is longer: a batch and the few bytes that the store adds. */
const longest = limits.batchBytes + 1024

/** `next` is what the bytes behind the stretch are sealed to, if that is known. */
export function salvage(bytes: Buffer, offset: number, from: Link, next?: Link): Salvage {
  const text = bytes.toString('latin1')
  const starts = Array.from(text.matchAll(/\{"id":(\d{1,15}),"kind":/g), (m) => ({ at: m.index, id: Number(m[1]) }))
  const seals = Array.from(text.matchAll(/,"crc":"([0-9a-f]{8})"\}/g), (m) => ({
    at: m.index,
    crc: Number.parseInt(m[1]!, 16),
  }))
  const physical = physicalLines(bytes)
  const lines: Line[] = []

  /** The line sealed to `last`, wherever it lies. */
  function chained(last: Link): Line | undefined {
    for (const { at, id } of starts) {
      if (last !== undefined && id !== last.id + 1) continue
      let crc = last?.crc ?? 0
      let done = at
      for (const seal of seals) {
        if (seal.at < at) continue
        if (seal.at - at > longest) break
        crc = crc32(bytes.subarray(done, seal.at), crc)
        done = seal.at
        const end = seal.at + sealLength
        // The seed of a first line is no secret: one that lies within another line is some other tape's, kept as data.
        const isWithin = last === undefined && at > 0 && end < bytes.length && bytes[end] !== 0x0a
        if (crc === seal.crc && !isWithin) return lineAt(at, end, last?.crc ?? 0, crc)
      }
    }
    return undefined
  }

  /** The line behind `last` if only its seal has changed: the line after it is still sealed to its content. */
  function proven(last: Link): Line | undefined {
    for (const [i, one] of physical.entries()) {
      const after = physical[i + 1]
      const id = leadingId(one.bytes)
      if (id === 0 || after === undefined || (last !== undefined && id !== last.id + 1)) continue
      const crc = computedCrc(one.bytes, last?.crc ?? 0)
      if (verified(after.bytes, 0, crc)?.id === id + 1) return lineAt(one.start, one.end, last?.crc ?? 0, crc)
    }
    return undefined
  }

  /** The first line behind a loss that something vouches for. */
  function behindLoss(last: Link): Line | undefined {
    for (const [i, one] of physical.entries()) {
      const claimed = claimedCrc(one.bytes)
      if (claimed === undefined) continue
      const before = i === 0 ? undefined : claimedCrc(physical[i - 1]!.bytes)
      const idBefore = i === 0 ? 0 : leadingId(physical[i - 1]!.bytes)
      const sealedTo = before === undefined ? undefined : verified(one.bytes, offset + one.start, before)
      if (sealedTo !== undefined && isBehind(sealedTo.id, last)) return lineAt(one.start, one.end, before!, claimed)
      const after = physical[i + 1]
      const idAfter = after === undefined ? undefined : (verified(after.bytes, 0, claimed)?.id ?? 0)
      for (const { at, id } of starts) {
        if (at < one.start || at >= one.end || !isBehind(id, last)) continue
        // Where a first line should stand, or right behind its predecessor, it had its chance.
        if (i === 0 && last === undefined) continue
        if (at === one.start && before !== undefined && idBefore === id - 1) continue
        const isVouchedFor = after === undefined ? next?.crc === claimed && next.id === id : idAfter === id + 1
        const isLast = at === one.start && after === undefined && next === undefined && id <= (last?.id ?? id) + 1_000
        if (!isVouchedFor && !isLast) continue
        const line = unchained(bytes.subarray(at, one.end), offset + at)
        if (line !== undefined) return lineAt(at, one.end, line.prev, line.crc)
      }
    }
    return undefined
  }

  function lineAt(start: number, end: number, prev: number, crc: number): Line {
    const line = lineFrom(bytes.subarray(start, end), offset + start, prev, crc)
    return bytes[end] === 0x0a ? line : { ...line, end: offset + end }
  }

  let last = from
  for (;;) {
    const line = chained(last) ?? proven(last) ?? behindLoss(last)
    if (line === undefined) break
    lines.push(line)
    last = line
  }
  return { lines, scraps: scrapsBetween(lines, bytes, offset) }
}

function isBehind(id: number, last: Link): boolean {
  return id > (last === undefined ? 1 : last.id + 1)
}

function physicalLines(bytes: Buffer): Physical[] {
  const found: Physical[] = []
  for (let start = 0; start < bytes.length;) {
    const newline = bytes.indexOf(0x0a, start)
    const end = newline < 0 ? bytes.length : newline
    found.push({ bytes: bytes.subarray(start, end), start, end })
    start = end + 1
  }
  return found
}

function scrapsBetween(lines: readonly Line[], bytes: Buffer, offset: number): Scrap[] {
  const scraps: Scrap[] = []
  let at = 0
  const upTo = (end: number) => {
    while (at < end) {
      const newline = bytes.indexOf(0x0a, at)
      const stop = newline < 0 || newline >= end ? end : newline + 1
      scraps.push({ offset: offset + at, bytes: bytes.subarray(at, stop) })
      at = stop
    }
  }
  for (const line of [...lines].sort((a, b) => a.offset - b.offset)) {
    upTo(line.offset - offset)
    at = line.end - offset
  }
  upTo(bytes.length)
  return scraps
}
