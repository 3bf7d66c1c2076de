// Sessions of the agents people already use: found, listed, imported and followed, and never written to.

import type { Store } from '../store/index.ts'
import type { SessionFile } from './agent.ts'
import { agentNamed } from './agents.ts'
import { type Imported, importFile, type ImportOptions } from './import.ts'
import { resolveSession, type ResolveOptions, sessionFile } from './resolve.ts'
import { listSessions } from './sessions.ts'

export { type Agent, type AgentName, agentNames, type SessionFile } from './agent.ts'
export { agents } from './agents.ts'
export { type Fact, type LineDamage, type Quota } from './fact.ts'
export { follow, type Followed } from './follow.ts'
export { GrowingSession } from './growing.ts'
export { type Imported, type ImportOptions } from './import.ts'
export { type Cost, type Meter } from './meter.ts'
export { type Model, type Models } from '../config/models.ts'
export { newestSession, resolveSession, type ResolveOptions } from './resolve.ts'
export { listSessions, type ListOptions, type Session } from './sessions.ts'
export { configuredModels } from '../config/configured-models.ts'
export { sessionEntries } from './entries.ts'
export { type State } from './state.ts'

export interface ImportedSession extends Imported {
  /** Those of its subagents, each on a tape of its own. */
  readonly subagents: readonly Imported[]
}

/** Brings a session onto a tape, or what is new of it. */
export async function importSession(
  store: Store,
  session: string | SessionFile,
  options: ImportOptions & ResolveOptions = {},
): Promise<ImportedSession> {
  const file = typeof session === 'string' ? resolveSession(session, options) : session
  const imported = await importFile(store, file, options)
  const subagents: Imported[] = []
  for (const each of subagentsOf(file, options)) {
    const tape = `${imported.tape}/${each.id}`
    subagents.push(await importFile(store, each, { tape, parent: imported.tape }))
  }
  return { ...imported, subagents }
}

function subagentsOf(file: SessionFile, { env = process.env }: ResolveOptions): SessionFile[] {
  const agent = agentNamed(file.agent)
  if (!agent.folders(env).some((folder) => file.path.startsWith(folder))) return []
  return listSessions({ env, agent: file.agent, subagents: true })
    .filter((session) => session.parent === file.id)
    .map(sessionFile)
}
