// Verify and repair of a whole tape: its archives and its current segment, and that one goes on where the other ends.

import fs from 'node:fs'
import path from 'node:path'
import { NotFoundError } from '../../errors.ts'
import type { Damage, RepairReport, VerifyReport } from '../store.ts'
import { archivesOf, gapBehind } from './archives.ts'
import { keepCut } from './cut.ts'
import { syncFolder } from './durable.ts'
import type { Layout } from './layout.ts'
import { cuts, examine, rewrite } from './repair.ts'
import { Segment } from './segment.ts'

interface Examined {
  readonly file: string
  readonly index: string
  readonly entries: number
  readonly bytes: number
  readonly damage: readonly Damage[]
}

function examineAll(layout: Layout, tape: string): Examined[] {
  const { tape: current, index } = layout.of(tape)
  const archives = archivesOf(layout, tape)
  const files: { path: string; index: string; gap?: Damage | undefined }[] = archives.map((archive, i) => {
    const next = archives[i + 1]?.firstId ?? firstIdOf(current, index)
    return { path: archive.path, index: archive.index, gap: gapBehind(archive, next) }
  })
  if (fs.existsSync(current)) files.push({ path: current, index })
  if (files.length === 0) throw new NotFoundError(`There is no tape ${tape}`)
  return files.map(({ path: file, index: indexFile, gap }) => {
    const { entries, end, damage } = examine(file)
    return { file, index: indexFile, entries, bytes: end.offset, damage: gap === undefined ? damage : [...damage, gap] }
  })
}

function firstIdOf(file: string, index: string): number {
  const segment = Segment.open(file, index)
  segment?.close()
  return segment?.firstId ?? 0
}

export function verifyTape(layout: Layout, tape: string): VerifyReport[] {
  const isClean = (examined: readonly Examined[]) => examined.every(({ damage }) => damage.length === 0)
  const first = examineAll(layout, tape)
  // Read without a lock: what looks torn may have been half-way in the writing.
  const examined = isClean(first) ? first : examineAll(layout, tape)
  return examined.map(({ file, index, entries, bytes, damage }) => {
    return { tape, file, entries, bytes, damage, index: indexState(file, index) }
  })
}

/** Called under the tape's lock. `adopt` puts a new file in the place of the current one. */
export function repairTape(layout: Layout, tape: string, now: () => Date, adopt: (next: string) => void): RepairReport {
  const { tape: current, next } = layout.of(tape)
  const all: Damage[] = []
  const cut: string[] = []
  let kept = 0
  for (const { file, index, entries, damage } of examineAll(layout, tape)) {
    kept += entries
    if (damage.length === 0) continue
    all.push(...damage)
    for (const { from, to } of cuts(damage, fs.statSync(file).size)) {
      cut.push(keepCut(layout, tape, file, from, to, now()))
    }
    const target = file === current ? next : `${file}.next`
    rewrite(file, target, damage, now)
    fs.rmSync(index, { force: true })
    if (file === current) adopt(target)
    else {
      fs.renameSync(target, file)
      syncFolder(path.dirname(file))
    }
  }
  return { tape, damage: all, cut, kept }
}

function indexState(file: string, index: string): VerifyReport['index'] {
  const segment = Segment.open(file, index)
  try {
    if (segment === undefined || segment.table.marks.length === 1) return 'ok'
    if (!fs.existsSync(index)) return 'missing'
    return segment.indexed > 1 ? 'ok' : 'stale'
  } finally {
    segment?.close()
  }
}
