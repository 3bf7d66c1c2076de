// Writes a handoff document about a tape or a session: to be read, to open the next session, or to continue on another tape.

import path from 'node:path'
import * as z from 'zod'
import { preparePending, realProject } from '../../connect/index.ts'
import { loadModel } from '../../config/index.ts'
import { BatonError, CancelledError, NotFoundError, StorageError } from '../../errors.ts'
import {
  documentsFolder,
  handoffSession,
  ownFolder,
  projectDocument,
  saveDocument,
  type WriteOptions,
  writeDocument,
} from '../../handoff/index.ts'
import { Tape } from '../../tape/index.ts'
import { newestSession, sessionFile } from '../../transcripts/index.ts'
import { agentName, namedSession, tapeOfSession } from '../agents/session-tape.ts'
import { type Call, operation } from '../operation.ts'
import { tapeName } from '../tape/shapes.ts'
import { demandTape, type Workspace } from '../workspace.ts'

export const saved = z.object({
  tape: z.string(),
  id: z.int().describe('The entry that records it: show it with document.show.'),
  date: z.string(),
  profile: z.string(),
  writer: z.string(),
  goal: z.string().optional(),
  bytes: z.int(),
})

const wanted = z.object({
  tape: tapeName
    .optional()
    .describe("The tape to write about; else the newest agent session in the workspace's project."),
  session: z.string().min(1).max(4000).optional().describe('An agent session to write about: its id or its beginning.'),
  agent: agentName.optional().describe('The agent of the session.'),
  from: z.string().min(1).max(500).optional().describe('From that anchor on; else the last one.'),
  profile: z.enum(['session', 'cycle']).optional(),
  goal: z.string().max(2_000).optional().describe('What the next session is for; steers what is kept.'),
  budget: z.int().min(200).max(100_000).optional().describe('How long it may be, in tokens (2,000).'),
  writer: z.enum(['ledger', 'model']).optional().describe('ledger, the default, needs no key and no network.'),
  model: z.string().min(1).max(200).optional().describe('The model that writes the narrative.'),
})

export const documentWrite = operation('document.write', 'write', 'POST /documents', {
  summary:
    'Write the handoff document that the next agent or person starts from: files, commands, failures, decisions and the words of the user, taken from the record.',
  input: wanted.extend({
    next: z.boolean().optional().describe('Open the next session of a connected agent in this project with it.'),
    content: z.boolean().optional().describe('Return it as data, too.'),
  }),
  output: z.object({
    document: saved,
    markdown: z.string(),
    file: z.string().optional().describe('Where the next session reads it.'),
    problems: z.array(z.string()).describe('What the model got wrong; the record has overruled it.'),
    spent: z.looseObject({}).optional().describe('What the model took.'),
    content: z.looseObject({}).optional(),
  }),
  async run(workspace, { next, content, ...input }, call) {
    const { name, about } = await sourceOf(workspace, input, call)
    call.progress(`writing about ${name}`)
    const written = await writeDocument(new Tape(workspace.store, name), {
      ...(await optionsOf(workspace, input, call)),
      ...about,
    })
    const markdown = (await call.edit?.(written.markdown)) ?? written.markdown
    const own = call.edit === undefined ? written.document : undefined
    const document = await saveDocument(workspace.store, name, markdown, written.note, own)
    const file = next === true ? openNext(workspace, about.cwd ?? workspace.project, document, markdown) : undefined
    return {
      document,
      markdown,
      file,
      problems: written.problems.map(({ message }) => message),
      spent: written.spent && { ...written.spent },
      content: content === true && own !== undefined ? { ...own } : undefined,
    }
  },
})

export const tapeContinue = operation('tape.continue', 'write', 'POST /continue', {
  summary: 'Close a tape and continue in a new one, which starts with a handoff document.',
  input: wanted.extend({ into: tapeName.optional().describe('The name of the new tape.') }),
  output: z.object({
    status: z.literal('done'),
    message: z.string(),
    tape: z.string(),
    document: saved,
    markdown: z.string(),
  }),
  async run(workspace, { into, ...input }, call) {
    const { name, about } = await sourceOf(workspace, input, call)
    const result = await handoffSession(new Tape(workspace.store, name), {
      ...(await optionsOf(workspace, input, call)),
      ...about,
      ...(into === undefined ? {} : { into }),
      ...(call.edit === undefined ? {} : { edit: call.edit }),
    })
    if (result.status === 'done') return result
    if (result.status === 'cancelled') throw new CancelledError(result.message)
    if (result.status === 'empty') throw new NotFoundError(result.message)
    if (BatonError.is(result.error)) throw result.error
    throw new StorageError(result.message, { cause: result.error })
  },
})

async function optionsOf(
  { env }: Workspace,
  { from, profile, goal, budget, writer, model }: z.output<typeof wanted>,
  { signal, progress }: Call,
): Promise<WriteOptions> {
  const chosen = writer === 'model' ? await loadModel({ model, env }) : undefined
  return {
    signal,
    onProgress: ({ step, part, parts, tokens }) =>
      progress(
        `${step}${part === undefined ? '' : ` part ${part} of ${parts}`}${tokens > 0 ? `, ${tokens} tokens` : ''}`,
      ),
    ...(chosen === undefined ? {} : { model: chosen.model, modelName: chosen.name }),
    ...(from === undefined ? {} : { from }),
    ...(profile === undefined ? {} : { profile }),
    ...(goal === undefined ? {} : { goal }),
    ...(budget === undefined ? {} : { budget }),
  }
}

/** The tape to write about, and what is known of the work on it. A session of another agent is imported onto its tape first. */
interface Source {
  readonly name: string
  readonly about: Pick<WriteOptions, 'cwd' | 'project' | 'contextUsage' | 'phase'>
}

async function sourceOf(
  workspace: Workspace,
  { tape, session, agent }: Pick<z.output<typeof wanted>, 'tape' | 'session' | 'agent'>,
  { caller }: Call,
): Promise<Source> {
  const { store, project, env, named } = workspace
  if (tape !== undefined) {
    await demandTape(store, tape)
    // A workspace that was named may belong to another project than the current folder.
    return { name: tape, about: named ? {} : { cwd: caller.local === true ? workspace.cwd : project } }
  }
  if (session !== undefined) return tapeOfSession(workspace, namedSession(workspace, session, agent, caller))
  const newest = newestSession(project, { env })
  if (newest !== undefined) return tapeOfSession(workspace, sessionFile(newest))
  throw new NotFoundError(`No agent has worked in ${project} yet`, { hint: 'Name a tape; tape.list shows them.' })
}

/** Keeps the document for the next session of a connected agent in the project. */
function openNext(
  workspace: Workspace,
  cwd: string,
  { tape, id, date }: { tape: string; id: number; date: string },
  markdown: string,
): string {
  const { document } = placeDocument(workspace, cwd, tape, new Date(date), markdown)
  preparePending(workspace.env, { project: realProject(cwd), document, tape, entry: id, date })
  return document
}

/**
 * Writes the document where the next agent reads it without asking: in the project, hidden from git. Where that cannot be
 * written to, the document goes into the workspace, and the prompt has to repeat it.
 */
export function placeDocument(
  { folder, warn }: Pick<Workspace, 'folder' | 'warn'>,
  cwd: string,
  tape: string,
  when: Date,
  markdown: string,
): { document: string; readable: boolean } {
  try {
    const own = ownFolder(documentsFolder(cwd, tape, undefined))
    return { document: projectDocument(own, when, markdown), readable: true }
  } catch (error) {
    warn(`baton: cannot write to ${cwd}: ${error instanceof Error ? error.message : String(error)}`)
    return { document: projectDocument(path.join(folder, 'handoffs'), when, markdown), readable: false }
  }
}
