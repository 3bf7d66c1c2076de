// The tape of another agent's session, brought up to date.

import type { Store } from '../store/index.ts'
import { importSession, resolveSession, type SessionFile } from '../transcripts/index.ts'
import { listSessions } from '../transcripts/sessions.ts'

export async function sessionTape(store: Store, ref: string) {
  return tapeOfSession(store, resolveSession(ref))
}

/** With what the session says of itself: where it worked, and how full its context is. */
export async function tapeOfSession(store: Store, file: SessionFile) {
  const { tape: name } = await importSession(store, file)
  const session = listSessions({ agent: file.agent, subagents: true }).find(
    (each) => each.path === file.path && each.id === file.id,
  )
  const { cwd } = session ?? {}
  const { percent } = session?.meter ?? {}
  const about = {
    ...(cwd === undefined ? {} : { cwd, project: cwd }),
    ...(percent === undefined ? {} : { contextUsage: Math.round(percent) }),
  }
  return { name, session, about }
}
