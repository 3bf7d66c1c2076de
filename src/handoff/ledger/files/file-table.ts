// The files of a phase: each effect is booked in the order in which it took place, so that what is left is what the phase
// amounts to. Created and then edited is created; created and then deleted is scratch; undone is undone.

import type { Effect, Swap } from './effect.ts'
import type { FileFact } from '../facts.ts'
import { baseName, isAbsolute, joinPath } from './paths.ts'

type Net = 'none' | 'created' | 'edited' | 'renamed' | 'deleted' | 'undone' | 'scratch'

interface Change {
  net: Net
  from: string | undefined
  added: number
  removed: number
  /** Every change so far told its lines. */
  counted: boolean
  /** Of the whole file, where its content was written in this phase. */
  lines: number | undefined
}

interface Row extends Change {
  path: string
  existed: boolean | undefined
  reads: number
  edits: number
  firstId: number
  lastId: number
  order: number
  uncertain: boolean
  folder: boolean
  /** Commits seen when it last changed, and what it was right before: what an undo goes back to. */
  epoch: number
  before: Change | undefined
  /** The edits that no other has taken back; undefined once the file was changed in a way that cannot be compared. */
  swaps: Swap[] | undefined
}

export interface Booking {
  readonly id: number
  /** What the tool said about a written file. */
  readonly told?: 'created' | 'updated'
  /** The call was never answered. */
  readonly uncertain?: boolean
}

export class FileTable {
  readonly #rows = new Map<string, Row>()
  readonly #folders = new Set<string>()
  readonly #made = new Set<string>()
  #epoch = 0
  #order = 0

  /** Paths are relative to the session's folder, or absolute. */
  book(effect: Effect, booking: Booking): void {
    switch (effect.action) {
      case 'read':
        this.#read(effect.path, booking)
        return
      case 'mkdir':
        if (!this.#folders.has(effect.path)) this.#made.add(effect.path)
        this.#addFolder(effect.path)
        return
      case 'touch':
        if (!this.#rows.has(effect.path)) this.#write(effect.path, 0, { ...booking, told: 'created' })
        return
      case 'create':
        this.#write(effect.path, effect.lines, { ...booking, told: 'created' })
        return
      case 'write':
        this.#write(effect.path, effect.lines, booking)
        return
      case 'append':
        this.#edit(effect.path, effect.lines, effect.lines === undefined ? undefined : 0, booking)
        return
      case 'edit':
        this.#edit(effect.path, effect.added, effect.removed, booking, effect.swap)
        return
      case 'delete':
        this.#remove(effect.path, booking)
        return
      case 'delete-all':
        this.#removeAll(effect.path, effect.glob === true, booking)
        return
      case 'rename':
        this.#rename(effect.path, effect.to, booking)
        return
      case 'copy':
        this.#write(this.#target(effect.path, effect.to), this.#rows.get(effect.path)?.lines, booking)
        return
      case 'undo':
        this.#undo(this.#rows.get(effect.path), booking)
        return
      case 'undo-all':
        for (const row of this.#rows.values()) {
          // New files are not tracked yet: going back to the last commit leaves them.
          const inside = effect.path === '' ? !isAbsolute(row.path) : row.path.startsWith(`${effect.path}/`)
          if (inside && row.net !== 'created') this.#undo(row, booking)
        }
        return
      case 'commit':
        this.#epoch += 1
    }
  }

  facts(isScratch: (path: string) => boolean): FileFact[] {
    return [...this.#rows.values()].sort((a, b) => a.order - b.order).map((row) => toFact(row, isScratch(row.path)))
  }

  #read(path: string, { id }: Booking): void {
    const row = this.#row(path, id)
    row.reads += 1
    row.lastId = id
    if (row.net === 'none') row.existed ??= true
  }

  #write(path: string, lines: number | undefined, booking: Booking): void {
    const row = this.#change(path, booking)
    const { net } = row
    if (booking.told === 'updated' && net === 'none') row.existed = true
    else if (booking.told === 'created' && net === 'none') row.existed = false
    if (net === 'created' || net === 'scratch' || (net === 'none' && row.existed !== true)) row.net = 'created'
    else if (net !== 'renamed') row.net = 'edited'
    row.lines = lines
    row.counted = false
    row.swaps = undefined
  }

  #edit(path: string, added: number | undefined, removed: number | undefined, booking: Booking, swap?: Swap): void {
    const isFirst = !this.#rows.has(path) || this.#rows.get(path)!.edits === 0
    const row = this.#change(path, booking)
    row.swaps = swap === undefined ? undefined : swapped(isFirst ? [] : row.swaps, swap)
    if (row.swaps?.length === 0 && (row.net === 'edited' || row.net === 'undone')) {
      // Each edit was taken back by another.
      Object.assign(row, { net: 'undone', added: 0, removed: 0, counted: true, lines: undefined })
      return
    }
    if (row.net === 'none' || row.net === 'undone' || row.net === 'deleted') row.net = 'edited'
    else if (row.net === 'scratch') row.net = 'created'
    if (added === undefined || removed === undefined) {
      row.counted = false
      row.lines = undefined
      return
    }
    row.added += added
    row.removed += removed
    if (row.lines !== undefined) row.lines = Math.max(0, row.lines + added - removed)
  }

  #remove(path: string, booking: Booking): void {
    const row = this.#change(path, booking)
    if (row.net === 'renamed' && row.from !== undefined) {
      // The file of the former name is gone; the new name never existed before.
      const former = this.#change(row.from, booking)
      former.net = 'deleted'
      row.net = 'scratch'
      row.from = undefined
    } else row.net = row.net === 'created' || row.net === 'scratch' ? 'scratch' : 'deleted'
    row.counted = false
    row.lines = undefined
  }

  #removeAll(path: string, glob: boolean, booking: Booking): void {
    if (glob) {
      const pattern = globPattern(path)
      for (const row of this.#rows.values()) if (pattern.test(row.path) && !isGone(row)) this.#remove(row.path, booking)
      return
    }
    const known = this.#rows.get(path)
    if (known && !known.folder && !this.#folders.has(path)) {
      this.#remove(path, booking)
      return
    }
    for (const row of this.#below(path)) this.#remove(row.path, booking)
    if (this.#made.delete(path)) return
    const row = this.#change(path, booking)
    row.folder = true
    row.net = 'deleted'
  }

  #rename(from: string, to: string, booking: Booking): void {
    const target = this.#target(from, to)
    if (target === from) return
    const inside = this.#below(from)
    for (const row of inside) this.#move(row, target + row.path.slice(from.length), booking)
    const folder = inside.length > 0 || this.#made.has(from)
    if (folder) {
      this.#addFolder(target)
      if (this.#made.delete(from)) {
        this.#made.add(target)
        return
      }
    }
    const row = this.#change(from, booking)
    row.folder = folder
    this.#move(row, target, booking)
  }

  /** What is left below a folder. */
  #below(folder: string): Row[] {
    if (folder !== '' && !this.#folders.has(folder)) return []
    const start = `${folder}/`
    const found: Row[] = []
    for (const row of this.#rows.values()) if (row.path.startsWith(start) && !isGone(row)) found.push(row)
    return found
  }

  #move(row: Row, to: string, booking: Booking): void {
    const from = row.path
    this.#keep(row)
    const replaced = this.#rows.get(to)
    this.#rows.delete(from)
    this.#rows.delete(to)
    row.path = to
    row.edits += 1
    row.lastId = booking.id
    row.reads += replaced?.reads ?? 0
    if (row.net !== 'created') {
      const original = row.from ?? from
      row.from = original === to ? undefined : original
      if (row.from !== undefined) row.net = 'renamed'
      else row.net = row.added + row.removed > 0 || !row.counted ? 'edited' : 'undone'
    } else if (replaced && replaced.net !== 'created' && replaced.net !== 'scratch') {
      // Written aside, then moved over the old file: an edit of that file.
      row.net = 'edited'
      row.counted = false
      row.order = replaced.order
      row.firstId = replaced.firstId
    }
    this.#rows.set(to, row)
    this.#addFolder(to.slice(0, Math.max(0, to.lastIndexOf('/'))))
  }

  #undo(row: Row | undefined, { id }: Booking): void {
    if (!row || row.epoch !== this.#epoch || !row.before) return
    const { before } = row
    Object.assign(row, before)
    if (before.net === 'none') row.net = 'undone'
    row.before = undefined
    row.lastId = id
  }

  /** The row of a file that is about to change. */
  #change(path: string, booking: Booking): Row {
    const row = this.#row(path, booking.id)
    this.#keep(row)
    row.uncertain = booking.uncertain === true && (row.edits === 0 || row.uncertain)
    row.edits += 1
    row.lastId = booking.id
    return row
  }

  #keep(row: Row): void {
    if (row.before && row.epoch === this.#epoch) return
    const { net, from, added, removed, counted, lines } = row
    row.before = { net, from, added, removed, counted, lines }
    row.epoch = this.#epoch
  }

  #row(path: string, id: number): Row {
    const found = this.#rows.get(path)
    if (found) return found
    const row: Row = {
      path,
      existed: undefined,
      net: 'none',
      from: undefined,
      added: 0,
      removed: 0,
      counted: true,
      lines: undefined,
      reads: 0,
      edits: 0,
      firstId: id,
      lastId: id,
      order: (this.#order += 1),
      uncertain: false,
      folder: false,
      epoch: -1,
      before: undefined,
      swaps: [],
    }
    this.#rows.set(path, row)
    this.#addFolder(path.slice(0, Math.max(0, path.lastIndexOf('/'))))
    return row
  }

  #addFolder(path: string): void {
    for (let folder = path; folder !== '' && !this.#folders.has(folder);) {
      this.#folders.add(folder)
      folder = folder.slice(0, Math.max(0, folder.lastIndexOf('/')))
    }
  }

  /** `mv a.ts src`: into the folder, when it is one as far as the tape knows. */
  #target(from: string, to: string): string {
    if (to === '' || to === '.') return baseName(from)
    if (this.#folders.has(to)) return joinPath(to, baseName(from))
    const bare = !baseName(to).includes('.') && baseName(from).includes('.', 1) && !this.#rows.has(to)
    return bare ? joinPath(to, baseName(from)) : to
  }
}

/** The edits that are left: one that is the other way round takes its counterpart back. */
function swapped(swaps: Swap[] | undefined, swap: Swap): Swap[] | undefined {
  if (swaps === undefined) return undefined
  const undone = swaps.findLastIndex(({ before, after }) => before === swap.after && after === swap.before)
  if (undone < 0) swaps.push(swap)
  else swaps.splice(undone, 1)
  return swaps
}

function isGone(row: Row): boolean {
  return row.net === 'deleted' || row.net === 'scratch'
}

function toFact(row: Row, scratch: boolean): FileFact {
  const { path, net, from, reads, edits, firstId, lastId } = row
  const action = net === 'none' ? 'read' : net === 'undone' ? 'edited' : net === 'scratch' ? 'created' : net
  const changed = net !== 'none' && net !== 'undone' && net !== 'scratch'
  const counts =
    net === 'created'
      ? row.lines !== undefined && { added: row.lines, removed: 0 }
      : changed && net !== 'deleted' && row.counted && { added: row.added, removed: row.removed }
  return {
    path,
    action,
    ...(from !== undefined && changed && { from }),
    state: net === 'none' ? 'read' : net === 'undone' ? 'undone' : net === 'scratch' || scratch ? 'scratch' : 'changed',
    ...counts,
    reads,
    edits,
    firstId,
    lastId,
    source: 'tape',
    ...(row.uncertain && { uncertain: true }),
    ...(row.folder && { folder: true }),
  }
}

function globPattern(glob: string): RegExp {
  const source = glob
    .replaceAll(/[.+^$()|{}\\]/g, String.raw`\$&`)
    .replaceAll('**/', '\u0001')
    .replaceAll('**', '\u0001')
    .replaceAll('*', '[^/]*')
    .replaceAll('?', '[^/]')
    .replaceAll('\u0001', '.*')
  try {
    return new RegExp(`^${source}$`)
  } catch {
    return /^\b$/
  }
}

export function countFiles(files: readonly FileFact[]): { filesRead: number; filesChanged: number } {
  return {
    filesRead: files.filter(({ reads }) => reads > 0).length,
    filesChanged: files.filter(
      ({ state, folder, uncertain }) => state === 'changed' && folder !== true && uncertain !== true,
    ).length,
  }
}
