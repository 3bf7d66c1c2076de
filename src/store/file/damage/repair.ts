// Verifies and repairs a whole tape: its archives, its current segment, and that each continues where the one before it ends.
// A repair writes a damaged segment anew. Sound lines keep their ids and their bytes; each lost entry is replaced by an entry that
// says so, so that ids have no gaps; the bytes that are cut out are kept in side files.

import fs from 'node:fs'
import path from 'node:path'
import { NotFoundError } from '../../../errors.ts'
import type { Damage, RepairReport, VerifyReport } from '../../store.ts'
import { archivesOf, gapBefore, gapBehind } from '../write/archives.ts'
import { syncFolder, writeAll } from '../../../system/index.ts'
import type { Layout } from '../layout.ts'
import { chunksOf, Segment } from '../read/segment.ts'
import { lostDraft, prepare, type Prepared } from '../../draft.ts'
import { layOut, type Line, origin, type Position, restOf } from '../line.ts'
import { Scan } from '../read/scan.ts'

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
  return files.map(({ path: file, index: indexFile, gap }, i) => {
    const examined = examine(file)
    const { entries, end } = examined
    // Where the first line itself is damaged, that is said already.
    const first =
      i > 0 || examined.damage.some(({ offset }) => offset === 0)
        ? 0
        : (archives[0]?.firstId ?? firstIdOf(file, indexFile))
    const missing = gapBefore(layout, tape, file, first)
    const damage = missing === undefined ? examined.damage : [missing, ...examined.damage]
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
  const first = repairOnce(layout, tape, now, adopt)
  if (first.damage.length === 0) return first
  // Only when a damaged first line is replaced does it show that entries before it are missing, too.
  const second = repairOnce(layout, tape, now, adopt)
  return { ...first, damage: [...first.damage, ...second.damage], cut: [...first.cut, ...second.cut] }
}

function repairOnce(layout: Layout, tape: string, now: () => Date, adopt: (next: string) => void): RepairReport {
  const { tape: current, next } = layout.of(tape)
  const all: Damage[] = []
  const cut: string[] = []
  let kept = 0
  for (const { file, index, entries, damage } of examineAll(layout, tape)) {
    kept += entries
    if (damage.length === 0) continue
    all.push(...damage)
    for (const { from, to } of cuts(damage, fs.statSync(file).size)) {
      cut.push(quarantine(layout, tape, file, from, to, now()))
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

interface Examination {
  readonly entries: number
  readonly end: Position
  /** What was never acknowledged comes last. */
  readonly damage: readonly Damage[]
}

function examine(file: string, visit: (line: Line) => void = () => {}): Examination {
  const fd = fs.openSync(file, 'r')
  try {
    let entries = 0
    const scan = new Scan(file, origin, (line) => {
      entries++
      visit(line)
    })
    for (const chunk of chunksOf(fd, 0, fs.fstatSync(fd).size)) scan.push(chunk)
    const tail = scan.finish()
    return { entries, end: scan.at, damage: tail === undefined ? scan.damage : [...scan.damage, tail] }
  } finally {
    fs.closeSync(fd)
  }
}

/** The stretches of a damaged file that a repair leaves out. The lines of a batch that was cut short stay. */
function cuts(damage: readonly Damage[], size: number): { from: number; to: number }[] {
  return damage
    .filter(({ kind, offset, length }) => length > 0 && (kind !== 'batch' || offset + length >= size))
    .map(({ offset, length }) => ({ from: offset, to: offset + length }))
}

/** Writes the sound lines of `file` to `target`, durably. */
function rewrite(file: string, target: string, damage: readonly Damage[], now: () => Date): void {
  const fd = fs.openSync(target, 'w', 0o600)
  try {
    const lost = damage.flatMap((one) => (one.lost === undefined ? [] : [one.lost]))
    const out = new Rewriter((bytes) => writeAll(fd, bytes), lost[0]?.from, now)
    examine(file, (line) => out.add(line))
    out.finish(Math.max(0, ...lost.map((one) => one.to)))
    fs.fsyncSync(fd)
  } finally {
    fs.closeSync(fd)
  }
}

/** Seals lines anew as they come, fills gaps, and keeps batch marks only where the batch is whole. */
class Rewriter {
  readonly #write: (bytes: Buffer) => void
  readonly #now: () => Date
  readonly #firstLost: number | undefined
  #at: Position | undefined
  #batch: Line[] = []

  constructor(write: (bytes: Buffer) => void, firstLost: number | undefined, now: () => Date) {
    this.#write = write
    this.#firstLost = firstLost
    this.#now = now
  }

  add(line: Line): void {
    const [index, size] = line.batch ?? [0, 1]
    const previous = this.#batch.at(-1)
    if (index !== this.#batch.length || (previous !== undefined && line.id !== previous.id + 1)) this.#flush()
    this.#fillUpTo(line.id - 1 - this.#batch.length)
    this.#batch.push(line)
    if (index !== this.#batch.length - 1) this.#flush()
    else if (this.#batch.length === size) this.#out(this.#batch.splice(0).map(asPrepared))
  }

  /** Writes what is held, and a note for each lost entry up to that id. */
  finish(lastLost: number): void {
    this.#flush()
    this.#fillUpTo(lastLost)
  }

  #flush(): void {
    for (const line of this.#batch.splice(0)) this.#out([asPrepared(line)])
  }

  #fillUpTo(id: number): void {
    this.#at ??= { ...origin, id: Math.min(id, (this.#firstLost ?? id + 1) - 1) }
    while (this.#at.id < id) this.#out([this.#tombstone(this.#at.id + 1)])
  }

  #out(batch: readonly Pick<Prepared, 'rest' | 'bytes'>[]): void {
    const { bytes, end } = layOut(batch, this.#at!)
    this.#write(bytes)
    this.#at = end
  }

  #tombstone(id: number): Prepared {
    return prepare([lostDraft(id, 'what was left of it is in a side file')], this.#now)[0]!
  }
}

/** As it stands, not parsed and printed again: a repair has no opinion on what is sound. */
function asPrepared(line: Line): Pick<Prepared, 'rest' | 'bytes'> {
  const rest = restOf(line)
  return { rest, bytes: Buffer.byteLength(rest) }
}

/** Keeps the bytes of a file from one offset to another; returns where. */
export function quarantine(layout: Layout, tape: string, file: string, from: number, to: number, when: Date): string {
  const bytes = Buffer.alloc(to - from)
  const source = fs.openSync(file, 'r')
  try {
    for (let at = 0; at < bytes.length;) {
      const length = fs.readSync(source, bytes, at, bytes.length - at, from + at)
      if (length === 0) break
      at += length
    }
  } finally {
    fs.closeSync(source)
  }
  for (let n = 0; ; n++) {
    const target = layout.cut(tape, when, from, n)
    try {
      writeNew(target, bytes)
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'EEXIST') continue
      fs.rmSync(target, { force: true })
      throw error
    }
    syncFolder(path.dirname(target))
    return target
  }
}

function writeNew(file: string, bytes: Buffer): void {
  const fd = fs.openSync(file, 'wx', 0o600)
  try {
    writeAll(fd, bytes)
    fs.fsyncSync(fd)
  } finally {
    fs.closeSync(fd)
  }
}
