// Opens a file at the very place that was judged. The path holds no link when it is judged; that it holds none when it is opened
// is read back from the open file. On Linux the system tells where an open file lies; elsewhere its number is compared
// with what now stands at the path, which leaves a moment in which a link could be put in and taken out again.

import fs from 'node:fs'
import { type FileHandle, lstat, open, readlink, stat } from 'node:fs/promises'
import { InvalidError } from '../../errors.ts'
import { realTarget } from '../permission-path.ts'

const tellsWhere = process.platform === 'linux' && fs.existsSync('/proc/self/fd')
const { O_NOFOLLOW, O_NONBLOCK, O_RDONLY, O_DIRECTORY } = fs.constants

/** For reading. A pipe does not make it wait. */
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

/** A path below an open folder that stays in that folder whatever happens to its name; elsewhere than on Linux, its name. */
export function below(folder: FileHandle, real: string, name: string): string {
  return tellsWhere ? `/proc/self/fd/${folder.fd}/${name}` : `${real}/${name}`
}

/** What stands in the way of treating a file as one. */
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
