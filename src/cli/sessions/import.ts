// `baton import` and `baton follow`: a session onto a tape, once or for as long as it runs.

import type { AgentName, LineDamage, SessionFile } from '../../agents/index.ts'
import { sessionFollow, sessionImport, tapeRead } from '../../operations/index.ts'
import { untilStopped } from '../base/io.ts'
import { count, entryCount, type Globals, type Output, size } from '../base/output.ts'
import { ProgressLine } from '../base/progress.ts'
import { type Door, withWorkspace } from '../base/workspace.ts'
import { entryLine } from '../tape/entry-line.ts'
import { pickSession, refTo } from './pick.ts'

/** Only a transcript of this size takes long enough to show progress. */
const largeBytes = 5_000_000

interface ImportOptions extends Globals {
  tape?: string
  agent?: AgentName
}

export async function importOne(options: ImportOptions, ref?: string): Promise<void> {
  const file = await pickSession(options.io, ref, options.agent)
  await withWorkspace(options, async ({ run }, out) => {
    const line = new ProgressLine(options, { everyMs: 100 })
    const progress = (text: string) => {
      if (file.bytes >= largeBytes) line.show(`Importing: ${size(Number.parseInt(text))} of ${size(file.bytes)}`)
    }
    const { agent, tape: onto } = options
    const imported = await run(sessionImport, { session: refTo(file, ref), agent, tape: onto }, { progress })
    line.clear()
    for (const damage of imported.damaged) warnOf(out, damage)
    if (out.json) return out.data(imported)
    const { tape, entries, created, replaced, subagents } = imported
    if (replaced) out.warn(`baton: ${file.path} was replaced; it was read again from its beginning`)
    const news = created
      ? entryCount(entries)
      : entries === 0
        ? 'nothing new'
        : `${count(entries)} new ${entries === 1 ? 'entry' : 'entries'}`
    out.line(`${tape}: ${news}`)
    const more = subagents.reduce((sum, each) => sum + each.entries, 0)
    if (more > 0) out.line(`${entryCount(more)} of ${subagents.length} subagents, on tapes of their own`)
    out.note(out.style('dim', `See "baton tape context ${tape}", or "baton show ${tape}#1".`))
  })
}

function warnOf(out: Output, { file, line, offset, bytes, message }: LineDamage): void {
  out.warn(`baton: damaged: ${file}, line ${line}, byte ${offset} (${bytes} bytes): ${message}; it was skipped`)
}

/** Keeps the tape up to date until it is interrupted, and prints the new entries. */
export async function followOne(options: ImportOptions, ref?: string): Promise<void> {
  const file = await pickSession(options.io, ref, options.agent)
  const { agent, tape } = options
  await withWorkspace(options, async (door, out) => {
    let shown: number | undefined
    await untilStopped(options.io, async (signal) => {
      const wanted = { session: refTo(file, ref), agent, tape }
      for await (const news of door.follow(sessionFollow, wanted, signal)) {
        if (news.type === 'moved') {
          printMove(news.to, out)
          continue
        }
        for (const damage of news.damaged) warnOf(out, damage)
        if (out.json) out.data(news)
        else if (shown === undefined) out.line(`${news.tape}: ${count(news.entries)} new entries; following`)
        else if (options.quiet !== true) await showNew(door, news.tape, shown, out)
        shown = (await door.run(tapeRead, { tape: news.tape, limit: 1, reverse: true })).lastId
      }
    })
  })
}

function printMove(to: SessionFile, out: Output): void {
  const record = { type: 'moved', agent: to.agent, session: to.id, path: to.path }
  out.record(record, `The session was cleared and continues as ${to.id}`)
}

async function showNew({ run }: Door, tape: string, after: number, out: Output): Promise<void> {
  const kinds = ['message', 'tool_call', 'tool_result', 'anchor', 'error']
  for (let from: number | undefined = after; from !== undefined;) {
    const page: Awaited<ReturnType<typeof tapeRead.run>> = await run(tapeRead, {
      tape,
      after: from,
      kinds,
      limit: 1000,
    })
    for (const entry of page.entries) out.line(entryLine(entry, out))
    from = page.next
  }
}
