import os from 'node:os'
import { InvalidError } from '../../errors.ts'

/** The name of the user who runs the command. */
export function userName(): string {
  try {
    return os.userInfo().username
  } catch {
    throw new InvalidError('Your user has no name on this system', { hint: 'Give yours with --by.' })
  }
}
