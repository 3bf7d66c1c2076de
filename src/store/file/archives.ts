// Closed segments. The current file becomes an archive by a second name for it (a link), and only then does the next
// segment take over its first name: at every instant the tape has exactly one current file and loses none.

import fs from 'node:fs'
import path from 'node:path'
import type { ArchiveRef } from '../store.ts'
import { syncFolder } from './durable.ts'
import { type Layout, tapeOfArchive } from './layout.ts'
import { Segment } from './segment.ts'

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
    const stat = fs.statSync(full, { throwIfNoEntry: false })
    // The same file as the current one: an archive that was cut short before the next segment took over.
    if (stat === undefined || stat.ino === current) continue
    found.push(describe(layout, tape, full))
  }
  return found.sort((a, b) => a.firstId - b.firstId)
}

export function describe(layout: Layout, tape: string, file: string): Archive {
  const index = indexOf(file)
  const segment = Segment.open(file, index)!
  try {
    const { firstId, at } = segment
    const ref = path.relative(layout.root, file)
    return { ref, tape, firstId, lastId: at.id, bytes: at.offset, path: file, index }
  } finally {
    segment.close()
  }
}

/** Gives the current file of a tape its second name. */
export function linkArchive(layout: Layout, tape: string, when: Date): string {
  const { tape: current, index } = layout.of(tape)
  fs.mkdirSync(layout.archived, { recursive: true, mode: 0o700 })
  dropUnfinished(layout, tape)
  for (let n = 0; ; n++) {
    const target = layout.archive(tape, when, n)
    try {
      fs.linkSync(current, target)
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'EEXIST') continue
      throw error
    }
    // The index goes along by copy, not by move: until the next segment is in place, it is still the current one's.
    if (fs.existsSync(index)) fs.copyFileSync(index, indexOf(target))
    syncFolder(layout.archived)
    return target
  }
}

function dropUnfinished(layout: Layout, tape: string): void {
  const current = fs.statSync(layout.of(tape).tape).ino
  for (const file of namesIn(layout.archived)) {
    const full = path.join(layout.archived, file)
    if (tapeOfArchive(file) === tape && fs.statSync(full).ino === current) fs.unlinkSync(full)
  }
}

export function namesIn(folder: string): string[] {
  try {
    return fs.readdirSync(folder)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return []
    throw error
  }
}

function indexOf(archive: string): string {
  return archive.replace(/\.jsonl$/, '.idx')
}
