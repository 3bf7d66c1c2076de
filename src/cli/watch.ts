import { UnsupportedError } from '../errors.ts'
import type { Globals } from './output.ts'

export async function watch(_globals: Globals, _sessions: readonly string[]): Promise<void> {
  throw new UnsupportedError('not yet')
}
