// A handoff on the same tape, with a document: the context starts anew, and the document is the first thing in it.

import type { Entry } from '../store/index.ts'
import type { Tape } from '../tape/index.ts'
import { wrapDocument } from './safety/wrap.ts'
import { saveDocument, type SavedDocument } from './saved.ts'
import { type WriteOptions, writeDocument } from './writer.ts'

export interface WriteHandoffOptions extends WriteOptions {
  /** Of the anchor. */
  name?: string
}

export async function writeHandoff(
  tape: Tape,
  options: WriteHandoffOptions = {},
): Promise<{ anchor: Entry; document: SavedDocument; markdown: string }> {
  const { name = 'handoff', goal } = options
  const { markdown, note } = await writeDocument(tape, options)
  const document = await saveDocument(tape.store, tape.name, markdown, note)
  const state = { document: `${tape.name}#${document.id}`, ...(goal === undefined ? {} : { goal }) }
  const [anchor] = await tape.append([
    { kind: 'anchor', payload: { name, state } },
    { kind: 'event', payload: { name: 'handoff', data: { name, state } } },
    {
      kind: 'message',
      payload: { role: 'user', content: wrapDocument(markdown), customType: 'handoff', display: true },
    },
  ])
  return { anchor: anchor!, document, markdown }
}
