// What can be said of a tape from its index, without reading it.

import type { AnchorRef, Entry } from '../entry.ts'
import type { TapeInfo } from '../store.ts'
import { type Line, parseLine } from './line.ts'
import type { Segment } from './segment.ts'

export function infoOf(tape: string, segment: Segment): TapeInfo {
  const { table, at, firstId } = segment
  const line = lastAnchor(segment)
  const anchor = line && asAnchor(parseLine(line))
  const from = anchor === undefined ? firstId : Math.max(firstId, anchor.from ?? anchor.id + 1)
  return {
    tape,
    entries: at.id === 0 ? 0 : at.id - firstId + 1,
    firstId,
    lastId: at.id,
    anchors: table.anchors.length,
    lastAnchor: anchor && {
      id: anchor.id,
      name: anchor.name,
      ...(anchor.from === undefined ? {} : { from: anchor.from }),
    },
    phase: { entries: Math.max(0, at.id - from + 1), bytes: bytesFrom(segment, from, line) },
    bytes: at.offset,
    date: lastDate(segment),
  }
}

export function asAnchor(entry: Entry): AnchorRef {
  const { name, state, from } = entry.payload as { name: string; state?: unknown; from?: number }
  return { id: entry.id, name, state: state ?? {}, ...(from === undefined ? {} : { from }), date: entry.date }
}

function lastAnchor(segment: Segment): Line | undefined {
  try {
    for (const line of segment.anchors()) return line
  } catch {
    // Damaged: a summary does without; whoever asks for the anchor itself is told.
  }
  return undefined
}

/** How many bytes the entries from that id on take; most often they begin right behind the anchor. */
function bytesFrom(segment: Segment, from: number, anchor: Line | undefined): number {
  if (anchor?.id === from - 1) return segment.at.offset - anchor.end
  for (const line of segment.lines(from - 1, from + 1)) return segment.at.offset - line.offset
  return 0
}

/** From the end of the file; where that is not as it was written, from the last line that is. */
function lastDate(segment: Segment): string | undefined {
  try {
    const last = segment.lastLine()
    if (last !== undefined) return parseLine(last).date
  } catch {
    // Damaged in the middle: the scan finds out.
  }
  for (const line of segment.linesBackward(segment.at.id - 1, segment.at.id + 1)) return parseLine(line).date
  return undefined
}
