// Reads whole lines of a file from an offset on, and holds no more than a chunk and the current line in memory. A last line
// without a newline counts if it is a whole JSON object; otherwise it is still being written, and is left for the next time.

import fs from 'node:fs'

export interface Line {
  readonly text: string
  readonly offset: number
  /** Where the next line begins. */
  readonly end: number
  /** Counted from where reading began; the first is 1. */
  readonly number: number
}

const chunkBytes = 1 << 20
const newline = 10

export function* linesOf(fd: number, from = 0, until = Number.POSITIVE_INFINITY): Generator<Line> {
  let buffer: Buffer = Buffer.allocUnsafe(chunkBytes)
  let filled = 0
  let base = from
  let number = 0
  // The last line before the offset may have been read before its newline was written.
  let unfinished = from > 0 && byteAt(fd, from - 1) !== newline
  for (;;) {
    if (filled === buffer.length) buffer = Buffer.concat([buffer], buffer.length * 2)
    const room = Math.min(buffer.length - filled, until - base - filled)
    const got = room > 0 ? fs.readSync(fd, buffer, filled, room, base + filled) : 0
    if (got === 0) {
      if (until !== Number.POSITIVE_INFINITY) return
      const text = buffer.toString('utf8', 0, filled)
      if (isWhole(text)) yield { text, offset: base, end: base + filled, number: number + 1 }
      return
    }
    const searched = filled
    filled += got
    let start = 0
    let at = buffer.indexOf(newline, searched)
    while (at >= 0 && at < filled) {
      const end = at > start && buffer[at - 1] === 13 ? at - 1 : at
      if (!(unfinished && end === start)) {
        number++
        yield { text: buffer.toString(undefined, start, end), offset: base + start, end: base + at + 1, number }
      }
      unfinished = false
      start = at + 1
      at = buffer.indexOf(newline, start)
    }
    buffer.copyWithin(0, start, filled)
    filled -= start
    base += start
  }
}

/** No part of an object is an object: what can be parsed is complete. */
function isWhole(text: string): boolean {
  if (!text.trimStart().startsWith('{') || !text.trimEnd().endsWith('}')) return false
  try {
    JSON.parse(text)
    return true
  } catch {
    return false // still being written
  }
}

function byteAt(fd: number, offset: number): number | undefined {
  const byte = Buffer.alloc(1)
  return fs.readSync(fd, byte, 0, 1, offset) === 1 ? byte[0] : undefined
}
