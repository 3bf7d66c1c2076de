// `baton show`: what a reference points at.

import { pipeline } from 'node:stream/promises'
import { entriesAt, resolve } from '../tape/index.ts'
import { entryLine } from './entry-line.ts'
import { type FactKind, factKinds, showFacts } from './facts.ts'
import type { Globals } from './output.ts'
import { withStore } from './workspace.ts'

interface ShowOptions extends Globals, Partial<Record<FactKind, boolean>> {
  offset?: number
  length?: number
}

export async function show(ref: string, options: ShowOptions): Promise<void> {
  await withStore(options, async (store, out) => {
    if (ref.startsWith('blob:')) {
      const start = options.offset ?? 0
      const end = options.length === undefined ? {} : { end: start + options.length }
      await pipeline(await store.getBlob(ref.slice('blob:'.length), { start, ...end }), process.stdout, { end: false })
      return
    }
    const resolved = await resolve(store, ref)
    const kind = factKinds.find((each) => options[each] === true)
    if (kind !== undefined) return showFacts(entriesAt(store, resolved), kind, out)
    for await (const entry of entriesAt(store, resolved)) {
      if (out.json) out.data(entry)
      else if (resolved.place.type === 'range') out.line(entryLine(entry, out))
      else {
        out.line(out.style('bold', `${resolved.tape}#${entry.id}`) + out.style('dim', `  ${entry.kind}  ${entry.date}`))
        out.line(JSON.stringify(entry.payload, null, 2))
        if (Object.keys(entry.meta).length > 0) out.line(out.style('dim', `meta ${JSON.stringify(entry.meta)}`))
      }
    }
  })
}
