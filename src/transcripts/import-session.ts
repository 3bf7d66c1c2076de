// Imports a session and its subagents, each to a tape of its own.

import path from 'node:path'
import { documentPathIn } from '../handoff/index.ts'
import type { Store } from '../store/index.ts'
import { edgeTo, givenDocument, type MessagePayload, readEdges, recordEdge } from '../tape/index.ts'
import { type Agent, agentNamed, type SessionFile } from '../agents/index.ts'
import { type Imported, importFile, type ImportOptions } from './import.ts'
import { resolveSession, type ResolveOptions, sessionFile } from './resolve.ts'
import { isListed, listSessions } from './sessions.ts'

export interface ImportedSession extends Imported {
  /** The imports of its subagents. */
  readonly subagents: readonly Imported[]
}

/** Imports a session, or what is new of it since the last import. */
export async function importSession(
  store: Store,
  session: string | SessionFile,
  options: ImportOptions & ResolveOptions = {},
): Promise<ImportedSession> {
  const file = typeof session === 'string' ? resolveSession(session, options) : session
  const imported = await importFile(store, file, options)
  if (imported.entries > 0) await linkToOrigin(store, imported.tape)
  const subagents: Imported[] = []
  for (const each of subagentsOf(file, options)) {
    const tape = `${imported.tape}/${each.id}`
    subagents.push(await importFile(store, each, { tape, parent: imported.tape }))
  }
  return { ...imported, subagents }
}

function subagentsOf(file: SessionFile, { env = process.env }: ResolveOptions): SessionFile[] {
  const agent = agentNamed(file.agent)
  if (!isListed(file, env)) return besideOf(agent, file)
  return listSessions({ env, agent: file.agent, subagents: true })
    .filter((session) => session.parent === file.id)
    .map(sessionFile)
}

/** A session that was copied elsewhere may have its subagents with it, in a folder of its name. */
function besideOf(agent: Agent, file: SessionFile): SessionFile[] {
  if (agent.sharesFile === true) return []
  const stem = path.basename(file.path).replace(/\.[^.]*$/, '')
  return agent
    .find(path.join(path.dirname(file.path), stem))
    .filter(({ parent }) => parent === stem || parent === file.id)
}

/** How far the first prompt of a session is looked for. */
const mostLooked = 200

/**
 * Links a session that `baton continue` started to the tape it came from. Most agents choose the id of their session
 * themselves, but its first prompt names the document, and lineage knows to whom that was given.
 */
async function linkToOrigin(store: Store, tape: string): Promise<void> {
  const document = await documentGiven(store, tape)
  if (document === undefined || (await edgeTo(store, tape, 'continue')) !== undefined) return
  const edge =
    (await readEdges(store)).findLast((each) => each.how === 'continue' && each.document === document) ??
    (await givenDocument(store, document))
  if (edge === undefined || edge.parent === tape) return
  const { parent, anchor } = edge
  await recordEdge(store, {
    parent,
    child: tape,
    how: 'continue',
    document,
    ...(anchor === undefined ? {} : { anchor }),
  })
}

async function documentGiven(store: Store, tape: string): Promise<string | undefined> {
  for await (const entry of store.read(tape, { kinds: ['message'], limit: mostLooked })) {
    const { role, content } = entry.payload as MessagePayload
    if (role !== 'user' || entry.meta.isMeta === true) continue
    const words =
      typeof content === 'string'
        ? content
        : (content ?? []).map((part) => (typeof part.text === 'string' ? part.text : '')).join('\n')
    return documentPathIn(words.trim())
  }
  return undefined
}
