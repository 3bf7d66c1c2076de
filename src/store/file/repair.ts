// Reads a whole segment for damage, and writes it anew without. Sound lines keep their ids and their very bytes; what was
// lost leaves an entry in its place that says so, so that ids stay without gaps; what was cut lies in side files.

import fs from 'node:fs'
import { prepare, type Prepared } from '../draft.ts'
import type { Damage } from '../store.ts'
import { layOut } from './batch.ts'
import { writeAll } from './durable.ts'
import { type Line, restOf } from './line.ts'
import { origin, type Position, Scan } from './scan.ts'
import { chunksOf } from './segment.ts'

export interface Examination {
  readonly entries: number
  readonly end: Position
  /** What was never acknowledged comes last. */
  readonly damage: readonly Damage[]
}

export function examine(file: string, visit: (line: Line) => void = () => {}): Examination {
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
export function cuts(damage: readonly Damage[], size: number): { from: number; to: number }[] {
  return damage
    .filter(({ kind, offset, length }) => length > 0 && (kind !== 'batch' || offset + length >= size))
    .map(({ offset, length }) => ({ from: offset, to: offset + length }))
}

/** Writes the sound lines of `file` to `target`, durably. */
export function rewrite(file: string, target: string, damage: readonly Damage[], now: () => Date): void {
  const fd = fs.openSync(target, 'w', 0o600)
  try {
    const lost = damage.flatMap((one) => (one.lost === undefined ? [] : [one.lost]))
    const out = new Rewriter((text) => writeAll(fd, Buffer.from(text)), lost[0]?.from, now)
    examine(file, (line) => out.add(line))
    out.finish(Math.max(0, ...lost.map((one) => one.to)))
    fs.fsyncSync(fd)
  } finally {
    fs.closeSync(fd)
  }
}

/** Seals lines anew as they come, fills gaps, and keeps batch marks only where the batch is whole. */
class Rewriter {
  readonly #write: (text: string) => void
  readonly #now: () => Date
  readonly #firstLost: number | undefined
  #at: Position | undefined
  #batch: Line[] = []

  constructor(write: (text: string) => void, firstLost: number | undefined, now: () => Date) {
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

  #out(batch: readonly Prepared[]): void {
    const { text, end } = layOut(batch, this.#at!)
    this.#write(text)
    this.#at = end
  }

  #tombstone(id: number): Prepared {
    const message = `Entry ${id} was damaged and could not be read; what was left of it is in a side file`
    const payload = { kind: 'damaged', message }
    return prepare([{ kind: 'error', payload, meta: { context: false } }], this.#now)[0]!
  }
}

/** As it stands, not parsed and printed again: a repair has no opinion on what is sound. */
function asPrepared(line: Line): Prepared {
  const rest = restOf(line)
  return { rest, bytes: Buffer.byteLength(rest), anchor: undefined, key: undefined, idempotency: undefined }
}
