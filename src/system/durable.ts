// Files that outlive a power cut, and that nobody ever sees half-written: the content is complete in a file beside the target
// before it takes the target's name.

import fs from 'node:fs'
import path from 'node:path'
import { randomBytes } from 'node:crypto'

/** Makes new and renamed files in the folder durable. */
export function syncFolder(folder: string): void {
  const fd = fs.openSync(folder, 'r')
  try {
    fs.fsyncSync(fd)
  } finally {
    fs.closeSync(fd)
  }
}

/** Writes all of the bytes, however many calls that takes. */
export function writeAll(fd: number, bytes: Uint8Array): void {
  for (let at = 0; at < bytes.length;) at += fs.writeSync(fd, bytes, at)
}

interface ReplaceOptions {
  /** False for what can be made again: then a power cut may bring back what was there before. */
  readonly durable?: boolean
}

/** The file has the new content, whole, or is as it was; durable when this returns. Its folder must exist. */
export function replaceFile(file: string, content: string | Uint8Array, { durable = true }: ReplaceOptions = {}): void {
  withTemporary(file, content, durable, (temporary) => fs.renameSync(temporary, file))
  if (durable) syncFolder(path.dirname(file))
}

/** As `replaceFile`, but leaves a file that is there as it is, and returns false. */
export function createFile(file: string, content: string | Uint8Array): boolean {
  try {
    withTemporary(file, content, true, (temporary) => fs.linkSync(temporary, file))
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error
    return false
  }
  syncFolder(path.dirname(file))
  return true
}

function withTemporary(
  file: string,
  content: string | Uint8Array,
  durable: boolean,
  use: (temporary: string) => void,
): void {
  const temporary = path.join(path.dirname(file), `.${path.basename(file)}.${randomBytes(6).toString('hex')}.tmp`)
  const fd = fs.openSync(temporary, 'wx', 0o600)
  try {
    writeAll(fd, typeof content === 'string' ? Buffer.from(content) : content)
    if (durable) fs.fsyncSync(fd)
    use(temporary)
  } finally {
    fs.closeSync(fd)
    fs.rmSync(temporary, { force: true })
  }
}

/**
 * Makes a folder with those above it, where it does not exist. Node's own `recursive` option loops for ever where the system reports that
 * there is no such folder although the one above it exists, as in /proc.
 */
export function makeFolder(folder: string, mode = 0o700): void {
  try {
    make(folder, mode)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT' || path.dirname(folder) === folder) throw error
    makeFolder(path.dirname(folder), mode)
    make(folder, mode)
  }
}

function make(folder: string, mode: number): void {
  try {
    fs.mkdirSync(folder, { mode })
  } catch (error) {
    if (fs.statSync(folder, { throwIfNoEntry: false })?.isDirectory() !== true) throw error
  }
}
