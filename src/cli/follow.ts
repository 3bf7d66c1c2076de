// `baton follow`: keeps the tape of a session up to date, and shows what comes.

import { follow, type SessionFile } from '../transcripts/index.ts'
import { entryLine } from './entry-line.ts'
import { type ImportOptions, warnOf } from './import.ts'
import { count, type Output } from './output.ts'
import { pickSession } from './pick-session.ts'
import { withStore } from './workspace.ts'
import type { Store } from '../store/index.ts'

export async function followOne(ref: string | undefined, options: ImportOptions): Promise<void> {
  const file = await pickSession(ref, options.agent)
  await withStore(options, async (store, out) => {
    const stop = new AbortController()
    const interrupt = () => stop.abort()
    process.once('SIGINT', interrupt).once('SIGTERM', interrupt)
    let shown: number | undefined
    for await (const news of follow(store, file, { tape: options.tape, signal: stop.signal })) {
      if (news.type === 'moved') {
        tellMove(news.to, out)
        continue
      }
      for (const damage of news.damaged) warnOf(out, damage)
      if (out.json) out.data(news)
      else if (shown === undefined) out.line(`${news.tape}: ${count(news.entries)} new entries; following`)
      else if (options.quiet !== true) await showNew(store, news.tape, shown, out)
      shown = (await store.info(news.tape))?.lastId ?? 0
    }
    process.exitCode = 130
  })
}

function tellMove(to: SessionFile, out: Output): void {
  if (out.json) out.data({ type: 'moved', agent: to.agent, session: to.id, path: to.path })
  else out.line(`The session was cleared and goes on as ${to.id}`)
}

async function showNew(store: Store, tape: string, after: number, out: Output): Promise<void> {
  const kinds = ['message', 'tool_call', 'tool_result', 'anchor', 'error']
  for await (const entry of store.read(tape, { after, kinds })) out.line(entryLine(entry, out))
}
