// A handoff on the same tape, with a document: the context starts anew, and the document is the first thing in it.

import type { Draft, Entry } from '../store/index.ts'
import type { Tape } from '../tape/index.ts'
import { wrapDocument } from './safety/wrap.ts'
import { saveDocument, type SavedDocument } from './saved.ts'
import { type WriteOptions, writeDocument } from './writer.ts'

export interface WriteHandoffOptions extends WriteOptions {
  /** Of the anchor. */
  name?: string
  runId?: string
  /** What comes right behind the document, in the same batch: a prompt that is asked again. */
  behind?: readonly Draft[]
}

export async function writeHandoff(
  tape: Tape,
  options: WriteHandoffOptions = {},
): Promise<{ anchor: Entry; document: SavedDocument; markdown: string }> {
  const { name = 'handoff', goal, runId, behind = [] } = options
  const { markdown, note } = await writeDocument(tape, options)
  const document = await saveDocument(tape.store, tape.name, markdown, note)
  const state = { document: `${tape.name}#${document.id}`, ...(goal === undefined ? {} : { goal }) }
  const meta = runId === undefined ? {} : { run_id: runId }
  const message = { role: 'user', content: wrapDocument(markdown), customType: 'handoff', display: true }
  const [anchor] = await tape.append([
    { kind: 'anchor', payload: { name, state }, meta },
    { kind: 'event', payload: { name: 'handoff', data: { name, state } }, meta },
    { kind: 'message', payload: message, meta },
    ...behind,
  ])
  return { anchor: anchor!, document, markdown }
}
