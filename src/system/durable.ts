// Files that outlive a power cut, and that nobody ever sees half-written: the content is complete in a file beside the target
// before it takes the target's name. What the operating system refuses is put in words a reader can act on.

import fs from 'node:fs'
import path from 'node:path'
import { randomBytes } from 'node:crypto'
import { BatonError, StorageError } from '../errors.ts'

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

const elsewhere = 'Keep the workspace elsewhere with --workspace, and what Baton remembers for you with XDG_STATE_HOME.'

const hints: Record<string, string> = {
  ENOSPC: 'The disk is full. Nothing of this was kept; free some space and try again.',
  EDQUOT: 'Your quota is used up. Nothing of this was kept; free some space and try again.',
  EFBIG: 'The file may not grow further (see "ulimit -f"). Nothing of this was kept.',
  EROFS: `This is a read-only file system. ${elsewhere}`,
  EACCES: `You have no permission here; check who owns it. ${elsewhere}`,
  EPERM: `You have no permission here; check who owns it. ${elsewhere}`,
  ENOTDIR: 'A part of that path is a file; choose another folder with --workspace.',
  ENOENT: 'It is gone; somebody may have removed or moved the workspace.',
  EMFILE: 'Too many files are open (see "ulimit -n").',
  EIO: 'The disk reports an error; check it before you continue.',
}

export function asStorageError(error: unknown, where: string): unknown {
  if (BatonError.is(error) || !(error instanceof Error)) return error
  const { code, message } = error as NodeJS.ErrnoException
  if (code === undefined || !/^E[A-Z0-9]+$/.test(code)) return error
  const hint = hints[code]
  return new StorageError(
    `Cannot use ${where}: ${message}`,
    hint === undefined ? { cause: error } : { hint, cause: error },
  )
}

/** What the system refuses to anybody. A missing file may be a mistake of Baton's, and is reported as one. */
const refusals = ['ENOSPC', 'EDQUOT', 'EROFS', 'EACCES', 'EPERM', 'EMFILE', 'EIO']

/** As `asStorageError`, for what was written or opened without it. */
export function asRefusal(error: unknown): unknown {
  const { code = '', path } = (error instanceof Error ? error : {}) as NodeJS.ErrnoException
  return refusals.includes(code) ? asStorageError(error, path ?? 'the disk') : error
}
