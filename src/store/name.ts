// The name of a tape as it stands in a file name or a table, and the tape that a workspace keeps its own history on.

import { randomBytes } from 'node:crypto'
import { InvalidError, LimitError } from '../errors.ts'
import { limits } from './store.ts'

/** The tape that says which tape came from which. It is one of Baton's own, and no engine lists it. */
export const lineageTape = 'lineage'

export function encodeName(tape: string): string {
  if (typeof tape !== 'string' || tape === '') throw new InvalidError('A tape needs a name')
  let encoded: string
  try {
    encoded = encodeURIComponent(tape)
  } catch {
    throw new InvalidError('The name of the tape is not valid text', { hint: 'It holds half of a character pair.' })
  }
  if (encoded.length > limits.nameBytes) {
    throw new LimitError(
      `The name of the tape is too long: ${encoded.length} bytes when encoded, at most ${limits.nameBytes}`,
      { hint: `It begins with "${tape.slice(0, 40)}".` },
    )
  }
  return encoded
}

/** Only what `encodeName` makes is ours; other files may lie in the folder. */
export function decodeName(encoded: string): string | undefined {
  try {
    const name = decodeURIComponent(encoded)
    return name !== '' && encodeURIComponent(name) === encoded ? name : undefined
  } catch {
    return undefined // not an encoded name
  }
}

export function newWorkspaceId(): string {
  return `w${randomBytes(6).toString('hex')}`
}
