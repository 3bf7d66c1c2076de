// A batch laid out as the lines it will be: ids counted on, each line sealed to the one before, and where each will lie.

import type { Prepared } from '../draft.ts'
import { type BatchMark, type Line, seal } from './line.ts'
import type { Position } from './scan.ts'

/** A line's place in the file. */
export type Place = Omit<Line, 'bytes'>

export function layOut(
  prepared: readonly Prepared[],
  from: Position,
): { text: string; places: Place[]; end: Position } {
  const places: Place[] = []
  const size = prepared.length
  let { id, crc, offset } = from
  let text = ''
  prepared.forEach((one, i) => {
    id++
    const batch: BatchMark | undefined = size === 1 ? undefined : [i, size]
    const mark = batch === undefined ? '' : `,"b":[${i},${size}]`
    const head = `{"id":${id}`
    const line = seal(head + one.rest + mark, crc)
    // But for `rest` everything is ASCII: head, mark, the seal of 18 characters and the newline.
    const end = offset + head.length + one.bytes + mark.length + 19
    places.push({ id, offset, end, prev: crc, crc: line.crc, batch })
    text += line.text
    ;({ crc } = line)
    offset = end
  })
  return { text, places, end: { offset, id, crc } }
}
