// The error for callers that cannot go on behind damage: where it is, and the commands that show and repair it.

import path from 'node:path'
import { DamagedError } from '../../../errors.ts'
import { shellWord } from '../../../system/index.ts'
import type { Damage } from '../../store.ts'
import { lineageTape } from '../../name.ts'
import { tapeOf, tapeOfArchive } from '../layout.ts'

export function damagedError(damage: Damage, tape = tapeIn(damage.file)): DamagedError {
  const name = shellWord(tape ?? 'NAME')
  return new DamagedError(`${damage.file} is damaged at byte ${damage.offset}: ${damage.message}`, {
    file: damage.file,
    offset: damage.offset,
    hint: `Nothing was changed. See "baton tape verify ${name}", then "baton tape repair ${name}".`,
  })
}

/** The tape that a file is part of: its current one, its index, or an archive. */
function tapeIn(file: string): string | undefined {
  const name = path.basename(file).replace(/\.(jsonl|idx)$/, '')
  if (path.basename(path.dirname(file)) === 'archived') return tapeOfArchive(`${name}.jsonl`)
  return name === 'session_graph' ? lineageTape : tapeOf(`${name}.jsonl`)
}
