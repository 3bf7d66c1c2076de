// Looks into an agent's folder without ever leaving it: what a link leads to counts only if it lies inside as well.

import fs from 'node:fs'
import path from 'node:path'

export interface Found {
  /** With every link resolved. */
  readonly path: string
  readonly name: string
  readonly bytes: number
  readonly changed: number
}

/** Files below a folder, at most `depth` folders down, whose name fits. What cannot be read is not there. */
export function filesBelow(folder: string, depth: number, fits: (name: string) => boolean): Found[] {
  const root = realPath(folder)
  if (root === undefined) return []
  const found: Found[] = []
  walk(root, depth)
  return found

  function walk(at: string, left: number): void {
    for (const entry of entriesOf(at)) {
      let place: string | undefined = at + path.sep + entry.name
      let isFolder = entry.isDirectory()
      let isFile = entry.isFile()
      if (entry.isSymbolicLink()) {
        place = inside(root!, place)
        const target = place === undefined ? undefined : fs.statSync(place, { throwIfNoEntry: false })
        // A link to a folder above would be walked for ever; its files are found in their own place.
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

function entriesOf(folder: string): fs.Dirent[] {
  try {
    return fs.readdirSync(folder, { withFileTypes: true })
  } catch {
    return [] // gone, or not ours to read: then it holds no session for us
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
