// The tape of another agent's session, brought up to date.

import type { Store } from '../store/index.ts'
import { importSession, resolveSession, type SessionFile } from '../transcripts/index.ts'
import { configuredModels } from '../config/configured-models.ts'
import { meterOf } from '../transcripts/meter.ts'
import { listSessions, tallyOf } from '../transcripts/sessions.ts'

export async function sessionTape(store: Store, ref: string) {
  return tapeOfSession(store, resolveSession(ref))
}

/** With what the session says of itself: where it worked, and how full its context is. */
export async function tapeOfSession(store: Store, file: SessionFile) {
  const { tape: name } = await importSession(store, file)
  const session = listSessions({ agent: file.agent, subagents: true }).find(
    (each) => each.path === file.path && each.id === file.id,
  )
  // A transcript from elsewhere is on no list.
  const tally = session === undefined ? tallyOf(file) : undefined
  const { cwd } = session ?? tally ?? {}
  const { percent } = session?.meter ?? (tally && meterOf(file.agent, tally, await configuredModels())) ?? {}
  const about = {
    ...(cwd === undefined ? {} : { cwd, project: cwd }),
    ...(percent === undefined ? {} : { contextUsage: Math.round(percent) }),
  }
  return { name, session, about }
}
