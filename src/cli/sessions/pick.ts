// The session that a command is about: the one named, or one picked from a list on a terminal.

import path from 'node:path'
import { CancelledError, InvalidError, NotFoundError } from '../../errors.ts'
import type { AgentName, SessionFile } from '../../agents/index.ts'
import { resolveSession, sessionFile } from '../../transcripts/index.ts'
import { listSessions } from '../../transcripts/index.ts'
import type { Io } from '../base/io.ts'
import { age, brief, width } from '../base/output.ts'
import { gauge } from './table.ts'

/** How many sessions the list offers; an older one has to be named. */
const offered = 30

export async function pickSession(io: Io, ref: string | undefined, agent?: AgentName): Promise<SessionFile> {
  const { env, stdin, stdout } = io
  if (ref !== undefined) return resolveSession(ref, { agent, env, cwd: io.cwd() })
  if (stdin.isTTY !== true || stdout.isTTY !== true) {
    throw new InvalidError('Which session?', { hint: 'Name one by its id; "baton ls" shows them.' })
  }
  const all = listSessions({ agent, env })
  const sessions = all.slice(0, offered)
  if (sessions.length === 0) throw new NotFoundError('There are no sessions to choose from', { hint: 'See "baton".' })
  const { autocomplete, isCancel } = await import('@clack/prompts')
  const picked = await autocomplete({
    input: stdin,
    output: stdout,
    message:
      all.length > offered
        ? `Which session? (the newest ${offered} of ${all.length}; name an older one by its id)`
        : 'Which session?',
    options: sessions.map((session) => ({
      value: session,
      label: `${padded(path.basename(session.cwd ?? ''), 14)}  ${age(session.updated).padStart(7)}  ${session.agent.padEnd(8)}  ${brief(session.title ?? session.id, 40)}`,
      hint: `${session.cwd ?? ''}  ${gauge(session.meter)}`,
    })),
  })
  if (isCancel(picked)) throw new CancelledError('No session was chosen')
  return sessionFile(picked)
}

/** In so many columns, also where characters take two. */
function padded(text: string, columns: number): string {
  const cut = brief(text, columns)
  return cut + ' '.repeat(columns - width(cut))
}

/** How an operation is given a session: as it was named, or by the whole id of what was picked. */
export function refTo({ agent, id }: SessionFile, ref: string | undefined): string {
  return ref ?? `${agent}:${id}`
}
