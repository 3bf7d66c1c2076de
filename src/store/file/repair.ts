// Reads a whole segment for damage, and writes it anew without. Sound lines keep their ids and content; what was lost
// leaves an entry in its place that says so, so that ids stay without gaps; what was cut lies in side files.

import fs from 'node:fs'
import path from 'node:path'
import { prepare, type Prepared } from '../draft.ts'
import type { Damage } from '../store.ts'
import { layOut } from './batch.ts'
import { syncFolder, writeAll } from './durable.ts'
import { type Line, parseLine } from './line.ts'
import { origin, type Position, Scan } from './scan.ts'
import { chunksOf } from './segment.ts'

export interface Examination {
  readonly entries: number
  readonly end: Position
  readonly damage: readonly Damage[]
  readonly tail: Damage | undefined
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
    return { entries, end: scan.at, damage: scan.damage, tail }
  } finally {
    fs.closeSync(fd)
  }
}

/** Writes the sound lines of `file` to `target`, durably. */
export function rewrite(file: string, target: string, now: () => Date): void {
  const fd = fs.openSync(target, 'w', 0o600)
  try {
    const out = new Rewriter((text) => writeAll(fd, Buffer.from(text)), now)
    examine(file, (line) => out.add(line))
    out.flush()
    fs.fsyncSync(fd)
  } finally {
    fs.closeSync(fd)
  }
}

/** Keeps the bytes that a repair leaves out, each stretch under a name with its offset. */
export function keepCut(file: string, damage: readonly Damage[], nameOf: (offset: number) => string): string[] {
  const fd = fs.openSync(file, 'r')
  const { size } = fs.fstatSync(fd)
  const cut: string[] = []
  try {
    for (const { offset, length, kind } of damage) {
      if (length === 0 || (kind === 'batch' && offset + length < size)) continue
      const bytes = Buffer.alloc(length)
      fs.readSync(fd, bytes, 0, length, offset)
      const target = nameOf(offset)
      const out = fs.openSync(target, 'wx', 0o600)
      try {
        writeAll(out, bytes)
        fs.fsyncSync(out)
      } finally {
        fs.closeSync(out)
      }
      cut.push(target)
    }
  } finally {
    fs.closeSync(fd)
  }
  for (const folder of new Set(cut.map((each) => path.dirname(each)))) syncFolder(folder)
  return cut
}

/** Seals lines anew as they come, fills gaps, and keeps batch marks only where the batch is whole. */
class Rewriter {
  readonly #write: (text: string) => void
  readonly #now: () => Date
  #at: Position | undefined
  #held: { prepared: Prepared; size: number }[] = []

  constructor(write: (text: string) => void, now: () => Date) {
    this.#write = write
    this.#now = now
  }

  add(line: Line): void {
    this.#at ??= { ...origin, id: line.id - 1 }
    for (let lost = this.#at.id + this.#held.length + 1; lost < line.id; lost++) {
      const size = this.#held[0]?.size ?? 1
      this.#take(this.#tombstone(lost), size, this.#held.length)
    }
    const { id: _id, ...draft } = parseLine(line)
    const [prepared] = prepare([draft], this.#now)
    this.#take(prepared!, line.batch?.[1] ?? 1, line.batch?.[0] ?? 0)
  }

  flush(): void {
    for (const { prepared } of this.#held.splice(0)) this.#out([prepared])
  }

  #take(prepared: Prepared, size: number, index: number): void {
    if (index !== this.#held.length || (this.#held[0]?.size ?? size) !== size) this.flush()
    if (size === 1 || index !== this.#held.length) return this.#out([prepared])
    this.#held.push({ prepared, size })
    if (this.#held.length === size) this.#out(this.#held.splice(0).map((each) => each.prepared))
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
