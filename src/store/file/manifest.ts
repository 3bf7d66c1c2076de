// The manifest of a workspace: the version of its format, its id, and a summary of each tape. The summaries are a cache, made
// from the index of a tape without reading it, and the id is also on the lineage tape, so the manifest can be lost.

import fs from 'node:fs'
import { crc32 } from 'node:zlib'
import { StorageError } from '../../errors.ts'
import { asAnchor } from '../draft.ts'
import type { TapeInfo } from '../store.ts'
import { asStorageError, replaceFile } from '../../system/index.ts'
import type { Layout } from './layout.ts'
import { type Line, parseLine } from './line.ts'
import type { Segment } from './read/segment.ts'

const format = 1

/** What a tape's file was like when its summary was made. */
export interface Summary {
  readonly ino: number
  readonly mtime: number
  readonly info: TapeInfo
}

export interface Manifest {
  readonly workspace: string
  readonly tapes: Readonly<Record<string, Summary>>
}

/** The manifest as stored; undefined if it is missing or damaged and has to be made anew. */
export function readManifest(layout: Layout): Manifest | undefined {
  let text: string
  try {
    text = fs.readFileSync(layout.manifest, 'utf8')
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined
    throw asStorageError(error, layout.manifest)
  }
  const stored = parse(text)
  if (stored === undefined) return undefined
  if (typeof stored.format === 'number' && stored.format > format) {
    throw new StorageError(
      `${layout.root} was written by a newer Baton (format ${stored.format}, this one knows ${format})`,
      { hint: 'Nothing was written. Upgrade Baton, or choose another workspace.' },
    )
  }
  const { workspace, tapes, crc } = stored as unknown as Manifest & { crc: unknown }
  return crc === checksum({ workspace, tapes }) ? { workspace, tapes } : undefined
}

function parse(text: string): Record<string, unknown> | undefined {
  try {
    const value: unknown = JSON.parse(text)
    return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : undefined
  } catch {
    return undefined // damaged: it is rebuilt
  }
}

export function writeManifest(layout: Layout, { workspace, tapes }: Manifest): void {
  const crc = checksum({ workspace, tapes })
  replaceFile(layout.manifest, `${JSON.stringify({ format, workspace, tapes, crc })}\n`)
}

function checksum({ workspace, tapes }: Manifest): number {
  return crc32(JSON.stringify([workspace, tapes]))
}

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
