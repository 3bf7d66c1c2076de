// Closed segments. The current file becomes an archive by a second name for it (a link), and only then does the next
// segment take over its first name: at every instant the tape has exactly one current file and loses none.

import fs from 'node:fs'
import path from 'node:path'
import type { ArchiveRef, Damage } from '../../store.ts'
import { replaceFile, syncFolder } from '../../../system/index.ts'
import { type Layout, namesIn, tapeOfArchive } from '../layout.ts'
import { Segment } from '../read/segment.ts'

export interface Archive extends ArchiveRef {
  readonly path: string
  readonly index: string
}

/** The archives of a tape, oldest first. */
export function archivesOf(layout: Layout, tape: string): Archive[] {
  const current = fs.statSync(layout.of(tape).tape, { throwIfNoEntry: false })?.ino
  const found: Archive[] = []
  for (const file of namesIn(layout.archived)) {
    if (tapeOfArchive(file) !== tape) continue
    const full = path.join(layout.archived, file)
    const segment = Segment.open(full, indexOf(full))
    if (segment === undefined) continue
    const { ino, firstId, lastId, at } = segment
    segment.close()
    // The same file as the current one: an archive that was cut short before the next segment took over.
    if (ino === current) continue
    const ref = path.relative(layout.root, full)
    found.push({ ref, tape, firstId, lastId, bytes: at.offset, path: full, index: indexOf(full) })
  }
  return found.sort((a, b) => a.firstId - b.firstId)
}

export function asArchiveRef({ ref, tape, firstId, lastId, bytes }: Archive): ArchiveRef {
  return { ref, tape, firstId, lastId, bytes }
}

/** Entries missing between an archive and what follows it, which no damage within either shows. */
export function gapBehind(archive: Archive, nextFirst: number): Damage | undefined {
  if (nextFirst <= archive.lastId + 1) return undefined
  const lost = { from: archive.lastId + 1, to: nextFirst - 1 }
  const message = `entries ${lost.from} to ${lost.to} are missing`
  return { kind: 'gap', file: archive.path, offset: archive.bytes, length: 0, lost, message }
}

/** A free name for what a tape holds now. Called under the tape's lock. */
export function nameArchive(layout: Layout, tape: string, when: Date): string {
  if (fs.mkdirSync(layout.archived, { recursive: true, mode: 0o700 }) !== undefined) syncFolder(layout.tapes)
  dropUnfinished(layout, tape)
  for (let n = 0; ; n++) {
    const target = layout.archive(tape, when, n)
    if (!fs.existsSync(target)) return target
  }
}

/** Gives the current file of a tape its second name or, on file systems without links, moves it there. */
export function linkArchive(layout: Layout, tape: string, target: string): void {
  const { tape: current, index } = layout.of(tape)
  // The index goes along by copy, not by move: until the next segment is in place, it is still the current one's.
  if (fs.existsSync(index)) fs.copyFileSync(index, indexOf(target))
  try {
    fs.linkSync(current, target)
  } catch (error) {
    if (!withoutLinks.has((error as NodeJS.ErrnoException).code ?? '')) throw error
    fs.renameSync(current, target)
  }
  syncFolder(layout.archived)
}

const withoutLinks = new Set(['EPERM', 'ENOTSUP', 'EOPNOTSUPP', 'ENOSYS', 'EMLINK'])

function dropUnfinished(layout: Layout, tape: string): void {
  const current = fs.statSync(layout.of(tape).tape).ino
  for (const file of namesIn(layout.archived)) {
    const full = path.join(layout.archived, file)
    if (tapeOfArchive(file) === tape && fs.statSync(full).ino === current) removeArchive(full)
  }
}

/** Deletes archives, and notes that this was meant: ids that are missing otherwise are a loss. */
export function purgeArchives(layout: Layout, tape: string): Archive[] {
  const found = archivesOf(layout, tape)
  const last = found.at(-1)
  if (last === undefined) return []
  replaceFile(layout.purged(tape), `${JSON.stringify({ upTo: last.lastId })}\n`)
  for (const archive of found) removeArchive(archive.path)
  syncFolder(layout.archived)
  return found
}

/** Entries that are missing before the first file of a tape, and were not purged. */
export function gapBefore(layout: Layout, tape: string, file: string, firstId: number): Damage | undefined {
  const from = purgedUpTo(layout, tape) + 1
  if (firstId <= from) return undefined
  const lost = { from, to: firstId - 1 }
  return { kind: 'gap', file, offset: 0, length: 0, lost, message: `entries ${lost.from} to ${lost.to} are missing` }
}

function purgedUpTo(layout: Layout, tape: string): number {
  try {
    return Number(/"upTo":(\d+)/.exec(fs.readFileSync(layout.purged(tape), 'utf8'))?.[1] ?? 0)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return 0
    throw error
  }
}

function removeArchive(file: string): void {
  fs.rmSync(file)
  fs.rmSync(indexOf(file), { force: true })
}

function indexOf(archive: string): string {
  return archive.replace(/\.jsonl$/, '.idx')
}
