// How a command ends when it fails: a sentence, what to do, and an exit code that scripts can rely on.

import { BatonError, type ErrorCode, StorageError } from '../../errors.ts'
import { asRefusal } from '../../system/index.ts'
import type { Globals } from './output.ts'

const exitCodes: Record<ErrorCode, number> = {
  invalid: 2,
  limit: 2,
  conflict: 3,
  not_found: 4,
  cancelled: 130,
  refused: 1,
  locked: 1,
  damaged: 1,
  unknown_outcome: 1,
  storage: 1,
  unsupported: 1,
}

/** Prints the failure and returns the exit code. */
export function report(thrown: unknown, globals: Globals): number {
  const error = isFolderGone(thrown) ? folderGone : asRefusal(thrown)
  if (!BatonError.is(error)) {
    const text = error instanceof Error ? (error.stack ?? error.message) : String(error)
    globals.io.stderr.write(`baton: unexpected failure, please report it\n${text}\n`)
    return 1
  }
  const { code, message, hint } = error
  // The other fields of the error, such as the versions of a conflict or the gates that failed.
  const { name: _name, cause: _cause, ...details } = error
  const line = globals.json === true ? JSON.stringify({ error: { ...details, code, message, hint } }) : inWords(error)
  globals.io.stderr.write(`${line}\n`)
  return exitCodes[code]
}

function inWords({ message, hint }: BatonError): string {
  return `baton: ${message}${hint === undefined ? '' : `\n  ${hint}`}`
}

/** What a program that keeps running says about a failure: where it is nobody's mistake but Baton's, with the place in the code. */
export function problemText(thrown: unknown): string {
  const error = asRefusal(thrown)
  if (BatonError.is(error)) return inWords(error)
  return `baton: ${error instanceof Error ? (error.stack ?? error.message) : String(error)}`
}

const folderGone = new StorageError('The current folder no longer exists', { hint: 'Change to another one.' })

/** Recognises what `process.cwd()` throws when the folder was deleted. */
function isFolderGone(error: unknown): boolean {
  return error instanceof Error && 'syscall' in error && error.syscall === 'uv_cwd'
}
