// The tape of another agent's session, brought up to date.

import * as z from 'zod'
import type { AgentName, SessionFile } from '../../agents/index.ts'
import { configuredModels } from '../../config/index.ts'
import { InvalidError } from '../../errors.ts'
import { PhaseFacts } from '../../handoff/index.ts'
import type { Store } from '../../store/index.ts'
import { importSession, isListed, listSessions, meterOf, resolveSession, statsOfTape } from '../../transcripts/index.ts'
import type { Caller } from '../operation.ts'

export const agentName = z
  .string()
  .min(1)
  .max(100)
  .regex(/^[\w-]+$/, 'it can have letters, digits, - and _')

/** Where sessions are looked up: a workspace, or a part of one. */
interface Place {
  readonly store: Store
  readonly env: NodeJS.ProcessEnv
  readonly cwd: string
}

/** The session of that id or its beginning. Only who works on this machine names a transcript by its path. */
export function namedSession(
  { env, cwd }: Omit<Place, 'store'>,
  ref: string,
  agent: AgentName | undefined,
  { local }: Caller,
): SessionFile {
  if (local !== true && !/^[\w:.-]{4,100}$/.test(ref)) {
    throw new InvalidError(`"${ref}" is not the id of a session`, { path: 'session', hint: 'session.list shows them.' })
  }
  return resolveSession(ref, { env, cwd, agent })
}

/** Also returns what the session knows about itself: where it worked, how full its context is, and the facts of its work. */
export async function tapeOfSession({ store, env, cwd: here }: Place, file: SessionFile) {
  const listed = isListed(file, env) ? listSessions({ env, agent: file.agent, subagents: true }) : []
  const session = listed.find((each) => each.path === file.path && each.id === file.id)
  const phase = new PhaseFacts(session?.cwd)
  const { tape: name } = await importSession(store, file, { env, onEntry: (entry) => phase.add(entry) })
  // A transcript from another machine is not in the list. Its tape knows what it said of itself.
  const stats = session === undefined ? await statsOfTape(store, name) : undefined
  const { cwd } = session ?? stats ?? {}
  const { percent } = session?.meter ?? (stats && meterOf(file.agent, stats, await configuredModels(here))) ?? {}
  const about = {
    phase,
    ...(cwd === undefined ? {} : { cwd, project: cwd }),
    ...(percent === undefined ? {} : { contextUsage: Math.round(percent) }),
  }
  return { name, session, about }
}
