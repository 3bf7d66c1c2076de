// `baton import`: a session onto a tape.

import type { AgentName, LineDamage } from '../transcripts/index.ts'
import { importSession } from '../transcripts/index.ts'
import { count, type Globals, type Output, size } from './output.ts'
import { pickSession } from './pick-session.ts'
import { withStore } from './workspace.ts'

export interface ImportOptions extends Globals {
  tape?: string
  agent?: AgentName
}

export async function importOne(ref: string | undefined, options: ImportOptions): Promise<void> {
  const file = await pickSession(ref, options.agent)
  await withStore(options, async (store, out) => {
    const progress = process.stderr.isTTY && options.quiet !== true ? showProgress(file.bytes) : undefined
    const imported = await importSession(store, file, { tape: options.tape, onProgress: progress?.update })
    progress?.end()
    for (const damage of imported.damaged) warnOf(out, damage)
    if (out.json) return out.data(imported)
    const { tape, entries, created, replaced, subagents } = imported
    if (replaced) out.warn(`baton: ${file.path} is not the file it was; it was read anew from its beginning`)
    const news = created ? `${count(entries)} entries` : entries === 0 ? 'nothing new' : `${count(entries)} new entries`
    out.line(`${tape}: ${news}`)
    const more = subagents.reduce((sum, each) => sum + each.entries, 0)
    if (more > 0) out.line(`${count(more)} entries of ${subagents.length} subagents, on tapes of their own`)
    out.note(out.style('dim', `See "baton tape context ${tape}", or "baton show ${tape}#1".`))
  })
}

export function warnOf(out: Output, { file, line, offset, bytes, message }: LineDamage): void {
  out.warn(`baton: damaged: ${file}, line ${line}, byte ${offset} (${bytes} bytes): ${message}; it was skipped`)
}

function showProgress(of: number): { update: (bytes: number) => void; end: () => void } {
  let shown = 0
  return {
    update(bytes) {
      const now = performance.now()
      if (now - shown < 100 || of < 5_000_000) return
      shown = now
      process.stderr.write(`\rImporting: ${size(bytes)} of ${size(of)}\x1b[K`)
    },
    end: () => void (shown > 0 && process.stderr.write('\r\x1b[K')),
  }
}
