// Handoff documents: write one, list them, read, check and compare them.

import * as z from 'zod'
import { preparePending } from '../../connect/index.ts'
import { loadModel } from '../../config/index.ts'
import { NotFoundError } from '../../errors.ts'
import {
  diffDocuments,
  documentsFolder,
  documentText,
  type HandoffDocument,
  ownFolder,
  parseDocument,
  phaseLedger,
  projectDocument,
  renderDiff,
  savedAt,
  type SavedDocument,
  saveDocument,
  savedDocuments,
  savedItems,
  validate,
  writeDocument,
} from '../../handoff/index.ts'
import type { Store } from '../../store/index.ts'
import { Tape } from '../../tape/index.ts'
import { importSession, newestSession, sessionFile } from '../../transcripts/index.ts'
import { operation } from '../operation.ts'
import { tapeName } from '../tape/shapes.ts'
import { demandTape, type Workspace } from '../workspace.ts'

const saved = z.object({
  tape: z.string(),
  id: z.int().describe('The entry that records it: show it with document.show.'),
  date: z.string(),
  profile: z.string(),
  writer: z.string(),
  goal: z.string().optional(),
  bytes: z.int(),
})

const documentId = z.int().positive().optional().describe('The entry of a document; else the newest.')

export const documentWrite = operation({
  name: 'document.write',
  summary:
    'Write the handoff document that whoever takes over starts from: files, commands, failures, decisions and the words of the user, taken from the record.',
  scope: 'write',
  route: 'POST /documents',
  input: z.object({
    tape: tapeName
      .optional()
      .describe("The tape to write about; else the newest agent session in the workspace's project."),
    goal: z.string().max(2_000).optional().describe('What the next session is for; steers what is kept.'),
    budget: z.int().min(200).max(100_000).optional().describe('How long it may be, in tokens (2,000).'),
    writer: z.enum(['ledger', 'model']).optional().describe('ledger, the default, needs no key and no network.'),
    model: z.string().min(1).max(200).optional().describe('The model that writes the narrative.'),
    next: z.boolean().optional().describe('Open the next session of a connected agent in this project with it.'),
  }),
  output: z.object({ document: saved, markdown: z.string(), file: z.string().optional() }),
  async run(workspace, { tape, goal, budget, writer, model, next }, { signal, progress }) {
    const { store, project, env } = workspace
    const name = tape ?? (await newestTape(workspace))
    await demandTape(store, name)
    progress(`writing about ${name}`)
    const chosen = writer === 'model' ? await loadModel({ model, env }) : undefined
    const written = await writeDocument(new Tape(store, name), {
      cwd: project,
      project,
      signal,
      onProgress: ({ step, part, parts }) => progress(part === undefined ? step : `${step} ${part} of ${parts}`),
      ...(chosen === undefined ? {} : { model: chosen.model, modelName: chosen.name }),
      ...(goal === undefined ? {} : { goal }),
      ...(budget === undefined ? {} : { budget }),
    })
    const document = await saveDocument(store, name, written.markdown, written.note)
    if (next !== true) return { document, markdown: written.markdown }
    const folder = ownFolder(documentsFolder(project, name, undefined))
    const file = projectDocument(folder, new Date(document.date), written.markdown)
    preparePending(env, { project, document: file, tape: name, entry: document.id, date: document.date })
    return { document, markdown: written.markdown, file }
  },
})

/** The tape of the session that worked last in the project, brought up to date. */
async function newestTape({ store, project, env }: Workspace): Promise<string> {
  const session = newestSession(project, { env })
  if (session === undefined) {
    throw new NotFoundError(`No agent has worked in ${project} yet`, { hint: 'Name a tape; tape.list shows them.' })
  }
  return (await importSession(store, sessionFile(session), { env })).tape
}

export const documentList = operation({
  name: 'document.list',
  summary: 'The handoff documents of the workspace, or of one tape, newest first.',
  scope: 'read',
  route: 'GET /documents',
  input: z.object({ tape: tapeName.optional(), limit: z.int().min(1).max(1000).default(20) }),
  output: z.object({ documents: z.array(saved) }),
  async run({ store }, { tape, limit }) {
    if (tape !== undefined) await demandTape(store, tape)
    const found: z.output<typeof saved>[] = []
    for (const name of tape === undefined ? await tapesOf(store) : [tape]) {
      for await (const each of savedDocuments(store, name)) found.push(each)
    }
    return { documents: found.sort((a, b) => (a.date < b.date ? 1 : -1)).slice(0, limit) }
  },
})

async function tapesOf(store: Store): Promise<string[]> {
  const names: string[] = []
  for await (const { tape } of store.list()) names.push(tape)
  return names
}

export const documentShow = operation({
  name: 'document.show',
  summary: 'The text of a handoff document: that of an entry, or the newest of its tape.',
  scope: 'read',
  route: 'GET /documents/{tape}',
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

export const documentItems = operation({
  name: 'document.items',
  summary: 'A handoff document as data: each item with what it rests on, verified or claimed.',
  scope: 'read',
  route: 'GET /documents/{tape}/items',
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
  await demandTape(store, tape)
  if (id !== undefined) return savedAt(store, tape, id)
  for await (const newest of savedDocuments(store, tape)) return newest
  throw new NotFoundError(`There is no document of ${tape} yet`, { hint: 'Write one with document.write.' })
}

async function documentOn(store: Store, tape: string, id: number | undefined): Promise<HandoffDocument> {
  return parseDocument(await documentText(store, await savedOn(store, tape, id)))
}

export const documentCheck = operation({
  name: 'document.check',
  summary: 'Whether a document has what it must have, and whether its tape bears out what it claims.',
  scope: 'read',
  route: 'GET /documents/{tape}/check',
  input: z.object({ tape: tapeName, id: documentId }),
  output: z.object({ valid: z.boolean(), problems: z.array(z.object({ section: z.string(), message: z.string() })) }),
  async run({ store }, { tape, id }) {
    const facts = await phaseLedger(new Tape(store, tape))
    const found = validate(await documentOn(store, tape, id), facts)
    return { valid: found.length === 0, problems: found.map(({ section, message }) => ({ section, message })) }
  },
})

export const documentDiff = operation({
  name: 'document.diff',
  summary: 'What has changed between two documents of a tape.',
  scope: 'read',
  route: 'GET /documents/{tape}/diff',
  input: z.object({ tape: tapeName, from: z.int().positive().describe('The entry of the older one.'), to: documentId }),
  output: z.object({ text: z.string(), changes: z.looseObject({}) }),
  async run({ store }, { tape, from, to }): Promise<{ text: string; changes: Record<string, unknown> }> {
    const changes = diffDocuments(await documentOn(store, tape, from), await documentOn(store, tape, to))
    const fields: Record<string, unknown> = { ...changes }
    return { text: renderDiff(changes), changes: fields }
  },
})
