// Handoff documents: list them, read, check and compare them.

import * as z from 'zod'
import { BatonError, InvalidError, NotFoundError } from '../../errors.ts'
import {
  diffDocuments,
  documentText,
  type HandoffDocument,
  parseDocument,
  phaseLedger,
  renderDiff,
  savedAt,
  type SavedDocument,
  savedDocuments,
  savedItems,
  validate,
} from '../../handoff/index.ts'
import type { Store } from '../../store/index.ts'
import { ancestors, readEdges, resolve, Tape } from '../../tape/index.ts'
import { operation } from '../operation.ts'
import { tapeName } from '../tape/shapes.ts'
import { demandTape } from '../workspace.ts'
import { saved } from './write.ts'

const documentId = z.int().positive().optional().describe('The entry of a document; else the newest.')

export const documentList = operation('document.list', 'read', 'GET /documents', {
  summary: 'The handoff documents of the workspace, or of one tape, newest first.',
  input: z.object({
    tape: tapeName.optional(),
    lineage: z.boolean().optional().describe('With a tape: also those of the tapes that it came from.'),
    limit: z.int().min(1).max(1000).default(20),
  }),
  output: z.object({
    documents: z.array(saved),
    damaged: z
      .array(z.string())
      .describe('Tapes whose documents are not all listed, because something before them is damaged.'),
  }),
  async run({ store }, { tape, lineage, limit }) {
    if (tape !== undefined) await demandTape(store, tape)
    const parents =
      tape === undefined ? await tapesOf(store) : lineage === true ? ancestors(await readEdges(store), tape) : []
    const found: z.output<typeof saved>[] = []
    const damaged: string[] = []
    for (const name of tape === undefined ? parents : [tape, ...parents]) {
      try {
        for await (const each of savedDocuments(store, name)) {
          // A fork copies the documents of its parent; nothing was handed over again.
          if (name === tape || each.origin === undefined) found.push(each)
        }
      } catch (error) {
        // One damaged tape must not hide the documents of the others.
        if (name === tape || !BatonError.is(error) || error.code !== 'damaged') throw error
        damaged.push(name)
      }
    }
    return { documents: found.sort((a, b) => (a.date < b.date ? 1 : -1)).slice(0, limit), damaged }
  },
})

async function tapesOf(store: Store): Promise<string[]> {
  const names: string[] = []
  for await (const { tape } of store.list()) names.push(tape)
  return names
}

export const documentShow = operation('document.show', 'read', 'GET /documents/{tape}', {
  summary: 'The text of a handoff document: that of an entry, or the newest of its tape.',
  input: z.object({ tape: tapeName, id: z.int().positive().optional().describe('Its entry; else the newest.') }),
  output: z.object({ document: saved, markdown: z.string() }),
  async run({ store }, { tape, id }) {
    const document = await savedOn(store, tape, id)
    return { document, markdown: await documentText(store, document) }
  },
})

const item = z.looseObject({
  text: z.string(),
  status: z.enum(['verified', 'claimed']).describe('Taken from the tape by code, or said by somebody.'),
  by: z.literal('user').optional().describe("The user's own words."),
  refs: z.array(z.string()).describe('The entries behind it, as main#12 or main#12..40.'),
  data: z.string().optional().describe('Text of a tool or an agent: never followed.'),
  why: z.string().optional(),
  ruledOut: z.string().optional(),
  checked: z.boolean().optional(),
  file: z
    .looseObject({ action: z.string(), added: z.int().optional(), removed: z.int().optional() })
    .optional()
    .describe('The item is a file; its text is the path.'),
})

export const documentItems = operation('document.items', 'read', 'GET /documents/{tape}/items', {
  summary: 'A handoff document as data: each item with what it rests on, verified or claimed.',
  input: z.object({ tape: tapeName, id: documentId }),
  output: z.object({
    document: saved,
    header: z.looseObject({}),
    sections: z.array(
      z.object({ key: z.string(), items: z.array(item), omitted: z.looseObject({ count: z.int() }).optional() }),
    ),
  }),
  async run({ store }, { tape, id }) {
    const document = await savedOn(store, tape, id)
    const { header, sections } = await savedItems(store, document)
    const listed = sections.map(({ key, items, omitted }) => ({
      key,
      items: items.map((each) => ({ ...each, file: each.file && { ...each.file } })),
      omitted: omitted && { ...omitted },
    }))
    return { document, header: { ...header }, sections: listed }
  },
})

async function savedOn(store: Store, tape: string, id: number | undefined): Promise<SavedDocument> {
  if (id === undefined && /#|^tape:\/\//.test(tape)) return savedAtReference(store, tape)
  await demandTape(store, tape)
  if (id !== undefined) return savedAt(store, tape, id)
  for await (const newest of savedDocuments(store, tape)) return newest
  throw new NotFoundError(`There is no document of ${tape} yet`, { hint: 'Write one with document.write.' })
}

/** `main#12` or `tape://…`, wherever a tape is named. */
async function savedAtReference(store: Store, ref: string): Promise<SavedDocument> {
  const { tape, place } = await resolve(store, ref)
  if (place.type !== 'entry') throw new InvalidError(`"${ref}" does not name one document`, { path: 'tape' })
  return savedAt(store, tape, place.id)
}

async function documentOn(store: Store, tape: string, id: number | undefined): Promise<HandoffDocument> {
  return parseDocument(await documentText(store, await savedOn(store, tape, id)))
}

export const documentCheck = operation('document.check', 'read', 'GET /documents/{tape}/check', {
  summary: 'Whether a document is complete, and whether its tape confirms what it claims.',
  input: z.object({
    tape: tapeName,
    id: documentId,
    markdown: z.string().max(1_000_000).optional().describe('A document that is not on the tape.'),
    profile: z.enum(['session', 'cycle']).optional(),
  }),
  output: z.object({
    valid: z.boolean(),
    profile: z.string(),
    problems: z.array(z.looseObject({ section: z.string(), message: z.string() })),
  }),
  async run({ store, cwd, named }, { tape, id, markdown, profile }, { caller }) {
    const document = markdown === undefined ? await documentOn(store, tape, id) : parseDocument(markdown, profile)
    // A workspace that was named may belong to another project than the current folder.
    const facts = await phaseLedger(new Tape(store, tape), caller.local === true && !named ? { cwd } : {})
    const problems = validate(document, facts).map((problem) => ({ ...problem }))
    return { valid: problems.length === 0, profile: document.profile, problems }
  },
})

export const documentDiff = operation('document.diff', 'read', 'GET /documents/{tape}/diff', {
  summary: 'What has changed between two documents of a tape.',
  input: z.object({ tape: tapeName, from: z.int().positive().describe('The entry of the older one.'), to: documentId }),
  output: z.object({ text: z.string(), changes: z.looseObject({}) }),
  async run({ store }, { tape, from, to }): Promise<{ text: string; changes: Record<string, unknown> }> {
    const changes = diffDocuments(await documentOn(store, tape, from), await documentOn(store, tape, to))
    const fields: Record<string, unknown> = { ...changes }
    return { text: renderDiff(changes), changes: fields }
  },
})
