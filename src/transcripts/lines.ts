// The whole lines of a file from a place on, without holding more of it than a chunk and the line at hand. A last line
// without its newline is still being written: it is left for the next time.

import fs from 'node:fs'

export interface Line {
  readonly text: string
  readonly offset: number
  /** Where the next line begins. */
  readonly end: number
  /** Counted from where reading began, from 1. */
  readonly number: number
}

const chunkBytes = 1 << 20
const newline = 10

export function* linesOf(fd: number, from = 0, until = Number.POSITIVE_INFINITY): Generator<Line> {
  let buffer: Buffer = Buffer.allocUnsafe(chunkBytes)
  let filled = 0
  let base = from
  let number = 0
  for (;;) {
    if (filled === buffer.length) buffer = Buffer.concat([buffer], buffer.length * 2)
    const room = Math.min(buffer.length - filled, until - base - filled)
    const got = room > 0 ? fs.readSync(fd, buffer, filled, room, base + filled) : 0
    if (got === 0) return
    const searched = filled
    filled += got
    let start = 0
    let at = buffer.indexOf(newline, searched)
    while (at >= 0 && at < filled) {
      const end = at > start && buffer[at - 1] === 13 ? at - 1 : at
      number++
      yield { text: buffer.toString('utf8', start, end), offset: base + start, end: base + at + 1, number }
      start = at + 1
      at = buffer.indexOf(newline, start)
    }
    buffer.copyWithin(0, start, filled)
    filled -= start
    base += start
  }
}
