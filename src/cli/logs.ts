// `baton logs`: what was done with a supervised session, from its tape.

import { sessionTape } from '../supervisor/index.ts'
import type { Entry } from '../store/index.ts'
import { journalLine } from './journal-line.ts'
import type { Globals, Output } from './output.ts'
import { supervised } from './supervised.ts'
import { withStore } from './workspace.ts'

interface LogsOptions extends Globals {
  follow?: boolean
}

export async function logs(options: LogsOptions, ref: string): Promise<void> {
  await withStore(options, async (store, out) => {
    const { name } = await supervised(store, ref)
    const tape = sessionTape(name)
    let last = 0
    for await (const entry of store.read(tape)) {
      print(entry, out)
      last = entry.id
    }
    if (options.follow !== true) return
    const stop = new AbortController()
    const interrupt = () => stop.abort()
    process.once('SIGINT', interrupt).once('SIGTERM', interrupt)
    for await (const entry of store.watch(tape, last, stop.signal)) print(entry, out)
    process.exitCode = 130
  })
}

function print(entry: Entry, out: Output): void {
  if (out.json) return out.data(entry)
  const line = journalLine(entry)
  if (line !== undefined) out.line(line)
}
