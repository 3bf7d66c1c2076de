// What the operating system refused, in words a reader can act on.

import { BatonError, StorageError } from '../errors.ts'

const hints: Record<string, string> = {
  ENOSPC: 'The disk is full. Nothing of this was kept; free some space and try again.',
  EDQUOT: 'Your quota is used up. Nothing of this was kept; free some space and try again.',
  EFBIG: 'The file may not grow further (see "ulimit -f"). Nothing of this was kept.',
  EROFS: 'This is a read-only file system. For a workspace elsewhere use --workspace.',
  EACCES: 'You have no permission here; check who owns it. For a workspace elsewhere use --workspace.',
  EPERM: 'You have no permission here; check who owns it. For a workspace elsewhere use --workspace.',
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
