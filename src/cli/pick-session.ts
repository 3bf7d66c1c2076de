// The session that a command is about: the one named, or one picked from a list on a terminal.

import { CancelledError, InvalidError, NotFoundError } from '../errors.ts'
import type { AgentName, SessionFile } from '../transcripts/index.ts'
import { resolveSession, sessionFile } from '../transcripts/resolve.ts'
import { listSessions } from '../transcripts/sessions.ts'
import { age } from './output.ts'
import { gauge } from './session-table.ts'

/** How many are offered: those further back are named. */
const offered = 30

export async function pickSession(ref: string | undefined, agent?: AgentName): Promise<SessionFile> {
  if (ref !== undefined) return resolveSession(ref, { agent })
  if (!process.stdin.isTTY || !process.stdout.isTTY) {
    throw new InvalidError('Which session?', { hint: 'Name one by its id; "baton ls" shows them.' })
  }
  const sessions = listSessions({ agent }).slice(0, offered)
  if (sessions.length === 0) throw new NotFoundError('There are no sessions to choose from', { hint: 'See "baton".' })
  const { autocomplete, isCancel } = await import('@clack/prompts')
  const picked = await autocomplete({
    message: 'Which session?',
    options: sessions.map((session) => ({
      value: session,
      label: `${session.agent}  ${session.title ?? session.id}`,
      hint: `${session.cwd ?? ''}  ${gauge(session.meter)}  ${age(session.updated)}`,
    })),
  })
  if (isCancel(picked)) throw new CancelledError('No session was chosen')
  return sessionFile(picked)
}
