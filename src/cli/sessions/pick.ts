// The session that a command is about: the one named, or one picked from a list on a terminal.

import path from 'node:path'
import { CancelledError, InvalidError, NotFoundError } from '../../errors.ts'
import { agentNamed, type AgentName, type SessionFile } from '../../agents/index.ts'
import { listSessions, newestSession, resolveSession, sessionFile } from '../../transcripts/index.ts'
import type { Io } from '../base/io.ts'
import { age, brief, type Globals, Output, width } from '../base/output.ts'
import { gauge } from './table.ts'

/** How many sessions the list offers; an older one has to be named. */
const offered = 30

export async function pickSession(io: Io, ref: string | undefined, agent?: AgentName): Promise<SessionFile> {
  const { env, stdin, stdout } = io
  if (ref !== undefined) return resolveSession(ref, { agent, env, cwd: io.cwd() })
  const all = listSessions({ agent, env })
  if (all.length === 0) {
    const which = agent === undefined ? 'agent sessions' : `sessions of ${agentNamed(agent).label}`
    throw new NotFoundError(`There are no ${which} on this machine yet`, {
      hint: 'Run "baton" to see where it looks, or give the path of a transcript.',
    })
  }
  if (!isTerminal(io)) throw new InvalidError('Which session?', { hint: 'Name one by its id; "baton ls" shows them.' })
  const sessions = all.slice(0, offered)
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

/** The session that was active last in this folder, or one that the person picks. */
export async function newestOrPicked({ agent, ...globals }: Globals & { agent?: AgentName }): Promise<string> {
  const { io } = globals
  const newest = newestSession(io.cwd(), { agent, env: io.env })
  if (newest === undefined) return refTo(await pickSession(io, undefined, agent), undefined)
  const title = newest.title === undefined ? '' : `, ${newest.title}`
  // Beside what the command prints, which may be piped into a shell.
  if (globals.quiet !== true) new Output(globals).warn(`Newest session here: ${newest.agent}:${newest.id}${title}`)
  return `${newest.agent}:${newest.id}`
}

export function isTerminal({ stdin, stdout }: Io): boolean {
  return stdin.isTTY === true && stdout.isTTY === true
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
