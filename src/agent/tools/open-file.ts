// The file that a call is about: where its path leads, and how that very place is opened. Where the path led when permission was asked
// is remembered with the input of the call, and only that place is opened: a link that is swapped meanwhile changes nothing.
// The real path holds no link when it is judged; that it holds none when it is opened is read back from the open file. On Linux
// the system reports the path of an open file; elsewhere its number is compared with the file now at the path, which leaves
// a moment in which a link could be put in and taken out again.

import fs from 'node:fs'
import path from 'node:path'
import { type FileHandle, lstat, open, readlink, stat } from 'node:fs/promises'
import { InvalidError } from '../../errors.ts'
import { absolutePath, isPathInside, realTarget } from '../permissions/path.ts'
import type { Access, ToolContext } from './tool.ts'

export interface FileTarget {
  /** Absolute, links not followed. */
  readonly given: string
  /** Absolute, links followed. */
  readonly real: string
  /** For people and models: relative if it is in the workspace. */
  readonly shown: string
}

const asked = new WeakMap<object, FileTarget>()

export function targetOf(input: { path: string }, { cwd }: Pick<ToolContext, 'cwd'>): FileTarget {
  const known = asked.get(input)
  if (known !== undefined) return known
  const given = absolutePath(cwd, input.path)
  const target = {
    given,
    real: realTarget(given),
    shown: isPathInside(cwd, given) ? path.relative(cwd, given) || '.' : given,
  }
  asked.set(input, target)
  return target
}

export function accessTo(kind: 'read' | 'write') {
  return (input: { path: string }, context: Pick<ToolContext, 'cwd'>): Access => {
    const { given, real } = targetOf(input, context)
    return { kind, paths: given === real ? [real] : [real, given] }
  }
}

const tellsWhere = process.platform === 'linux' && fs.existsSync('/proc/self/fd')
const { O_NOFOLLOW, O_NONBLOCK, O_RDONLY, O_DIRECTORY } = fs.constants

/** Opens a file for reading, without waiting if it is a pipe. */
export async function openReal(real: string): Promise<FileHandle> {
  return opened(real, O_RDONLY | O_NONBLOCK)
}

export async function openFolder(real: string): Promise<FileHandle> {
  return opened(real, O_RDONLY | O_DIRECTORY)
}

async function opened(real: string, flags: number): Promise<FileHandle> {
  const handle = await open(real, flags | O_NOFOLLOW).catch(async (error: unknown) => {
    const isLink = await lstat(real).then(
      (stats) => stats.isSymbolicLink(),
      () => false,
    )
    throw isLink ? moved(real) : error
  })
  try {
    if (await isAt(handle, real)) return handle
    throw moved(real)
  } catch (error) {
    await handle.close()
    throw error
  }
}

async function isAt(handle: FileHandle, real: string): Promise<boolean> {
  if (tellsWhere) return (await readlink(`/proc/self/fd/${handle.fd}`)) === real
  const [mine, there] = [await handle.stat(), await stat(real)]
  return realTarget(real) === real && mine.ino === there.ino && mine.dev === there.dev
}

function moved(real: string): InvalidError {
  return new InvalidError(`${real} was moved or replaced by a link while it was being opened`, { hint: 'Look again.' })
}

/** On Linux, a path that stays in the open folder even if the folder is renamed or replaced; elsewhere, the plain path. */
export function pathInFolder(folder: FileHandle, real: string, name: string): string {
  return tellsWhere ? `/proc/self/fd/${folder.fd}/${name}` : `${real}/${name}`
}

/** Why this cannot be read or written as a file; undefined if it can. */
export function notAFile(stats: fs.Stats): string | undefined {
  if (stats.isFile()) return undefined
  if (stats.isDirectory()) return 'is a folder: use fs.list'
  return `is a ${stats.isFIFO() ? 'pipe' : stats.isSocket() ? 'socket' : 'device'}, not a file`
}

/** The sentence for an error of the file system. */
export function fileError(shown: string, error: unknown): Error {
  const { code, message } = error as NodeJS.ErrnoException
  const sentence = typeof code === 'string' ? sentences[code] : undefined
  if (sentence === undefined) return error instanceof Error ? error : new Error(message)
  return new InvalidError(`${shown} ${sentence}`, { cause: error })
}

const sentences: Record<string, string> = {
  ENOENT: 'is not there',
  EACCES: 'cannot be reached: permission denied',
  EPERM: 'cannot be changed: permission denied',
  EISDIR: 'is a folder',
  ENOTDIR: 'lies below something that is not a folder',
  EEXIST: 'lies below something that is not a folder',
  EROFS: 'is on a file system that is read-only',
  ENOSPC: 'was not written: the disk is full. What was there before is still there',
  EDQUOT: 'was not written: the quota is used up. What was there before is still there',
  ENAMETOOLONG: 'has a name that is too long',
  EFBIG: 'was not written: it would be larger than is allowed',
  ENXIO: 'is a pipe, a socket or a device, not a file',
}

/** The first bytes of binary formats. */
const signatures: readonly (readonly [hex: string, type: string])[] = [
  ['89504e470d0a1a0a', 'image/png'],
  ['ffd8ff', 'image/jpeg'],
  ['47494638', 'image/gif'],
  ['25504446', 'application/pdf'],
  ['504b0304', 'application/zip'],
  ['1f8b', 'application/gzip'],
  ['28b52ffd', 'application/zstd'],
  ['425a68', 'application/x-bzip2'],
  ['fd377a585a00', 'application/x-xz'],
  ['7f454c46', 'application/x-executable'],
  ['cffaedfe', 'application/x-mach-binary'],
  ['0061736d', 'application/wasm'],
  ['53514c69746520666f726d6174', 'application/vnd.sqlite3'],
]

export function mediaType(bytes: Buffer): string {
  if (bytes.toString('latin1', 0, 4) === 'RIFF' && bytes.toString('latin1', 8, 12) === 'WEBP') return 'image/webp'
  const head = bytes.toString('hex', 0, 16)
  const known = signatures.find(([hex]) => head.startsWith(hex))
  if (known !== undefined) return known[1]
  return isText(bytes) ? 'text/plain' : 'application/octet-stream'
}

/** Whether bytes, which may begin or end within a letter, are text: no null byte, and hardly anything that is no UTF-8. */
export function isText(bytes: Buffer): boolean {
  if (bytes.includes(0)) return false
  const text = bytes.toString('utf8')
  let broken = 0
  for (let at = text.indexOf('\ufffd'); at >= 0; at = text.indexOf('\ufffd', at + 1)) broken += 1
  return broken <= 2 ? broken * 2 <= text.length : broken * 20 < text.length
}
