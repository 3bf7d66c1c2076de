// Reads the folders and settings of agents. A search never leaves its folder: the target of a link counts only if it is inside too.

import fs from 'node:fs'
import path from 'node:path'
import { fields, type Fields, isFields, json } from './fields.ts'

export interface FoundFile {
  /** With every link resolved. */
  readonly path: string
  readonly name: string
  readonly bytes: number
  readonly changed: number
}

/** Files below a folder, at most `depth` folders down, whose name fits. Folders that cannot be read are named and skipped. */
export function filesBelow(
  folder: string,
  depth: number,
  fits: (name: string) => boolean,
  onUnreadable: (folder: string) => void = () => undefined,
): FoundFile[] {
  const root = orUnreadable(folder, (at) => fs.realpathSync(at), onUnreadable)
  if (root === undefined) return []
  const found: FoundFile[] = []
  walk(root, depth)
  return found

  function walk(at: string, left: number): void {
    const list = () => fs.readdirSync(at, { withFileTypes: true })
    for (const entry of orUnreadable(at, list, onUnreadable) ?? []) {
      let place: string | undefined = at + path.sep + entry.name
      let isFolder = entry.isDirectory()
      let isFile = entry.isFile()
      if (entry.isSymbolicLink()) {
        place = inside(root!, place)
        const target = place === undefined ? undefined : fs.statSync(place, { throwIfNoEntry: false })
        // Linked folders are not entered: a link upwards would never end, and the files are found in their own place.
        isFolder = false
        isFile = target?.isFile() === true
      }
      if (place === undefined) continue
      if (isFolder && left > 0) walk(place, left - 1)
      if (!isFile || !fits(entry.name)) continue
      const stat = fs.statSync(place, { throwIfNoEntry: false })
      if (stat !== undefined) found.push({ path: place, name: entry.name, bytes: stat.size, changed: stat.mtimeMs })
    }
  }
}

/** Undefined where the folder is gone, which is nothing to speak of, or cannot be read. */
function orUnreadable<T>(
  folder: string,
  read: (folder: string) => T,
  onUnreadable: (folder: string) => void,
): T | undefined {
  try {
    return read(folder)
  } catch (error) {
    const { code = '' } = error as NodeJS.ErrnoException
    if (code !== 'ENOENT' && code !== 'ENOTDIR') onUnreadable(folder)
    return undefined
  }
}

/** Where a path leads, if that lies inside the folder. */
function inside(root: string, place: string): string | undefined {
  const real = realPath(place)
  return real !== undefined && real.startsWith(root + path.sep) ? real : undefined
}

export function realPath(place: string): string | undefined {
  try {
    return fs.realpathSync(place)
  } catch {
    return undefined // a link to nowhere, or nothing at all
  }
}

/** The value in a file of JSON; undefined where there is none that can be read. */
export function readJson(file: string): unknown {
  try {
    return JSON.parse(fs.readFileSync(file, 'utf8')) as unknown
  } catch {
    return undefined
  }
}

/** Whether a file is one JSON document rather than lines of JSON, by its beginning; what it is called does not matter. */
export function isDocument(file: string): boolean {
  const head = firstBytes(file, headBytes).toString('utf8').trimStart()
  const end = head.indexOf('\n')
  const line = end < 0 ? head : head.slice(0, end)
  // A document over many lines opens with a bracket alone; one in a single line holds all its messages.
  if (/^[{[]\s*$/.test(line)) return true
  if (end < 0 && head.length >= headBytes) return /^[{[]/.test(line)
  const value = json(line)
  return Array.isArray(value) || (isFields(value) && (Array.isArray(value.messages) || Array.isArray(value.history)))
}

const headBytes = 64 << 10

/** The first bytes of a file; none where it cannot be read. */
export function firstBytes(file: string, most: number): Buffer {
  let fd: number
  try {
    fd = fs.openSync(file, 'r')
  } catch {
    return Buffer.alloc(0)
  }
  try {
    const bytes = Buffer.alloc(most)
    return bytes.subarray(0, fs.readSync(fd, bytes, 0, most, 0))
  } finally {
    fs.closeSync(fd)
  }
}

/** An object within a file of JSON, such as an agent's settings; empty where there is none. */
export function fieldsIn(file: string, ...path: readonly string[]): Fields {
  return path.reduce<Fields>((value, name) => fields(value[name]), fields(readJson(file)))
}
