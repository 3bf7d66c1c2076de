// Damage as an error, for those who cannot go on behind it.

import { DamagedError } from '../../errors.ts'
import { shellWord } from '../shell-word.ts'
import type { Damage } from '../store.ts'

export function damagedError(damage: Damage, tape?: string): DamagedError {
  const name = tape === undefined ? 'NAME' : shellWord(tape)
  return new DamagedError(`${damage.file} is damaged at byte ${damage.offset}: ${damage.message}`, {
    file: damage.file,
    offset: damage.offset,
    hint: `Nothing was changed. See "baton tape verify ${name}", then "baton tape repair ${name}".`,
  })
}
