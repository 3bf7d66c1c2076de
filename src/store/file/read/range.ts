// A range of a tape as it is at one moment, across the current segment and its archives.

import type { Damage, Range } from '../../store.ts'
import { archivesOf, gapBehind } from '../write/archives.ts'
import { damagedError } from '../damage/damaged-error.ts'
import type { Layout } from '../layout.ts'
import type { Line } from '../line.ts'
import { Segment } from './segment.ts'

type Reach = Pick<Range, 'after' | 'before' | 'reverse' | 'archived'>

/** All lines of it, whatever their kind and however many. */
export function* readRange(layout: Layout, tape: string, current: Segment | undefined, range: Range): Generator<Line> {
  const { after = 0, before = Number.MAX_SAFE_INTEGER, reverse = false } = range
  const report =
    range.onDamage ??
    ((damage: Damage) => {
      throw damagedError(damage, tape)
    })
  const linesOf = (segment: Segment) =>
    reverse ? segment.linesBackward(after, before, report) : segment.lines(after, before, report)
  // Taken now, so that what is written while archives are read does not count.
  const newest = current && linesOf(current)
  for (const segment of segmentsOf(layout, tape, current, range, report)) {
    yield* segment === current ? newest! : linesOf(segment)
  }
}

/** The segments a range falls into, in reading order, each held open until the next is asked for. */
export function* segmentsOf(
  layout: Layout,
  tape: string,
  current: Segment | undefined,
  range: Reach,
  report: (damage: Damage) => void = () => {},
): Generator<Segment> {
  // Held from here on: an archive made meanwhile takes the file along, and nothing is read twice.
  current?.hold()
  try {
    if (current !== undefined && range.reverse === true) yield current
    yield* archivedSegments(layout, tape, current?.firstId, range, report)
    if (current !== undefined && range.reverse !== true) yield current
  } finally {
    current?.close()
  }
}

function* archivedSegments(
  layout: Layout,
  tape: string,
  currentFirst: number | undefined,
  range: Reach,
  report: (damage: Damage) => void,
): Generator<Segment> {
  const { after = 0, before = Number.MAX_SAFE_INTEGER, reverse = false, archived = false } = range
  const end = currentFirst ?? Number.MAX_SAFE_INTEGER
  if (!archived || after >= end - 1) return
  const archives = archivesOf(layout, tape).filter((archive) => archive.lastId < end)
  const gaps = archives.map((archive, i) => gapBehind(archive, archives[i + 1]?.firstId ?? currentFirst ?? 0))
  for (let n = 0; n < archives.length; n++) {
    const i = reverse ? archives.length - 1 - n : n
    const { path, index, firstId, lastId } = archives[i]!
    const gap = gaps[i]
    const isMissed = gap?.lost !== undefined && gap.lost.to > after && gap.lost.from < before
    if (isMissed && reverse) report(gap)
    const segment = lastId > after && firstId < before ? Segment.open(path, index) : undefined
    try {
      if (segment !== undefined) yield segment
    } finally {
      segment?.close()
    }
    if (isMissed && !reverse) report(gap)
  }
}
