// The tape of another agent's session, brought up to date.

import type { Store } from '../../store/index.ts'
import type { AgentName, SessionFile } from '../../agents/index.ts'
import { PhaseFacts } from '../../handoff/index.ts'
import { importSession, resolveSession } from '../../transcripts/index.ts'
import { configuredModels } from '../../config/index.ts'
import { meterOf } from '../../transcripts/index.ts'
import { listSessions, statsOfTape } from '../../transcripts/index.ts'
import type { Io } from '../base/io.ts'

export async function sessionTape(store: Store, ref: string, io: Io, agent?: AgentName) {
  return tapeOfSession(store, resolveSession(ref, { env: io.env, cwd: io.cwd(), agent }), io)
}

/** Also returns what the session knows about itself: where it worked, how full its context is, and the facts of its work. */
export async function tapeOfSession(store: Store, file: SessionFile, io: Io) {
  const { env } = io
  const session = listSessions({ env, agent: file.agent, subagents: true }).find(
    (each) => each.path === file.path && each.id === file.id,
  )
  const phase = new PhaseFacts(session?.cwd)
  const { tape: name } = await importSession(store, file, { env, onEntry: (entry) => phase.add(entry) })
  // A transcript from another machine is not in the list. Its tape knows what it said of itself.
  const stats = session === undefined ? await statsOfTape(store, name) : undefined
  const { cwd } = session ?? stats ?? {}
  const { percent } = session?.meter ?? (stats && meterOf(file.agent, stats, await configuredModels(io.cwd()))) ?? {}
  const about = {
    phase,
    ...(cwd === undefined ? {} : { cwd, project: cwd }),
    ...(percent === undefined ? {} : { contextUsage: Math.round(percent) }),
  }
  return { name, session, about }
}
