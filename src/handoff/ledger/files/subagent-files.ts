// Files that subagents changed, where each has a tape of its own: their work is work of the session that they were started by.

import type { FileFact, Ledger } from '../facts.ts'
import { countFiles } from './file-table.ts'
import { below, joinPath } from './paths.ts'

/** The ledger with the files that its subagents changed. What the session itself says of a file stands. */
export function withSubagentFiles(ledger: Ledger, subagents: readonly Ledger[]): Ledger {
  const files = new Map(ledger.files.map((file) => [file.path, file]))
  for (const { files: theirs, git } of subagents) {
    for (const file of theirs) {
      if (file.state !== 'changed' || file.folder === true) continue
      const name = (path: string) => below(ledger.git?.cwd, joinPath(git?.cwd ?? '', path))
      const path = name(file.path)
      const known = files.get(path)
      if (known !== undefined && known.state !== 'read') continue
      // Entries of another tape: their numbers mean nothing on this one.
      const { firstId: _first, lastId: _last, from, ...fact } = file
      files.set(path, {
        ...fact,
        path,
        ...(from !== undefined && { from: name(from) }),
        reads: known?.reads ?? 0,
      } satisfies FileFact)
    }
  }
  const all = [...files.values()]
  return all.length === ledger.files.length && all.every((file, index) => file === ledger.files[index])
    ? ledger
    : { ...ledger, files: all, counts: { ...ledger.counts, ...countFiles(all) } }
}
