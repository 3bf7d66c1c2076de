// `baton import` and `baton follow`: a session onto a tape, once or for as long as it goes on.

import type { AgentName, LineDamage, SessionFile } from '../../agents/index.ts'
import type { Store } from '../../store/index.ts'
import { follow, importSession } from '../../transcripts/index.ts'
import { untilStopped } from '../base/io.ts'
import { count, type Globals, type Output, size } from '../base/output.ts'
import { ProgressLine } from '../base/progress.ts'
import { withStore } from '../base/workspace.ts'
import { entryLine } from '../tape/entry-line.ts'
import { pickSession } from './pick.ts'

/** Only a transcript of this size takes long enough to show progress. */
const largeBytes = 5_000_000

interface ImportOptions extends Globals {
  tape?: string
  agent?: AgentName
}

export async function importOne(options: ImportOptions, ref?: string): Promise<void> {
  const file = await pickSession(options.io, ref, options.agent)
  await withStore(options, async (store, out) => {
    const progress = new ProgressLine(options, { everyMs: 100 })
    const show = (bytes: number) => progress.show(`Importing: ${size(bytes)} of ${size(file.bytes)}`)
    const imported = await importSession(store, file, {
      env: options.io.env,
      tape: options.tape,
      onProgress: file.bytes < largeBytes ? undefined : show,
    })
    progress.clear()
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

function warnOf(out: Output, { file, line, offset, bytes, message }: LineDamage): void {
  out.warn(`baton: damaged: ${file}, line ${line}, byte ${offset} (${bytes} bytes): ${message}; it was skipped`)
}

/** Keeps the tape up to date until it is interrupted, and prints the new entries. */
export async function followOne(options: ImportOptions, ref?: string): Promise<void> {
  const file = await pickSession(options.io, ref, options.agent)
  await withStore(options, async (store, out) => {
    let shown: number | undefined
    await untilStopped(options.io, async (signal) => {
      for await (const news of follow(store, file, { env: options.io.env, tape: options.tape, signal })) {
        if (news.type === 'moved') {
          printMove(news.to, out)
          continue
        }
        for (const damage of news.damaged) warnOf(out, damage)
        if (out.json) out.data(news)
        else if (shown === undefined) out.line(`${news.tape}: ${count(news.entries)} new entries; following`)
        else if (options.quiet !== true) await showNew(store, news.tape, shown, out)
        shown = (await store.info(news.tape))?.lastId ?? 0
      }
    })
  })
}

function printMove(to: SessionFile, out: Output): void {
  const record = { type: 'moved', agent: to.agent, session: to.id, path: to.path }
  out.record(record, `The session was cleared and goes on as ${to.id}`)
}

async function showNew(store: Store, tape: string, after: number, out: Output): Promise<void> {
  const kinds = ['message', 'tool_call', 'tool_result', 'anchor', 'error']
  for await (const entry of store.read(tape, { after, kinds })) out.line(entryLine(entry, out))
}
