// `baton` and `baton ls`: this machine's sessions.

import fs from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { type AgentName, agents, anotherAgent } from '../../agents/index.ts'
import type { Session } from '../../transcripts/index.ts'
import { listSessions, type ListOptions } from '../../transcripts/index.ts'
import { configuredModels, type Models, registryFolder } from '../../config/index.ts'
import type { SessionRow } from '../../supervisor/index.ts'
import { chosenWorkspace } from '../base/chosen-workspace.ts'
import { type InputStream, type Io, untilStopped } from '../base/io.ts'
import { type Globals, Output } from '../base/output.ts'
import { ProgressLine } from '../base/progress.ts'
import { sessionRows, shortIds } from './table.ts'

interface LsOptions extends Globals {
  agent?: AgentName
  here?: boolean
  project?: string
  since?: string
  limit?: number
  subagents?: boolean
  watch?: boolean
}

/** How many rows `baton` alone shows. */
const newest = 15

/** Shows a newcomer the newest sessions and what can be done with them, or where Baton looked for some. */
export async function home(globals: Globals): Promise<void> {
  const out = new Output(globals)
  const { held, over } = await supervised(globals)
  const all = list({ io: globals.io }, await configuredModels(globals.io.cwd()), sayUnreadable(out))
  const sessions = all.map((session) => asEnded(session, over))
  await printSupervised(held, out)
  if (out.json) return print(sessions, out)
  if (sessions.length === 0) return held.length === 0 ? welcome(out) : undefined
  print(sessions.slice(0, newest), out)
  const more = sessions.length - newest
  out.note('')
  if (more > 0) out.note(out.style('dim', `${more} more: baton ls`))
  const [first] = sessions
  const id = shortIds(sessions.map((session) => session.id)).get(first!.id)!
  out.note(out.style('dim', `What happened:           baton log ${id}`))
  out.note(out.style('dim', `Hand it over:            baton handoff ${id}`))
  out.note(out.style('dim', `Continue in another:     baton continue ${id} --in ${anotherAgent(first!.agent)}`))
}

export async function ls(options: LsOptions): Promise<void> {
  if (options.watch === true) return watch(options)
  const out = new Output(options)
  const { held, over } = await supervised(options)
  const all = list(options, await configuredModels(options.io.cwd()), sayUnreadable(out))
  const sessions = all.map((session) => asEnded(session, over))
  await printSupervised(held, out)
  const shown = sessions.slice(0, options.limit)
  print(shown, out)
  if (shown.length < sessions.length)
    out.note(`${shown.length} of ${sessions.length} shown; leave out --limit to see all`)
  if (sessions.length > 0 || held.length > 0 || out.json) return
  const narrowed =
    [options.agent, options.project, options.since].some((each) => each !== undefined) || options.here === true
  if (narrowed)
    out.note(
      `No sessions ${options.agent === undefined ? '' : `of ${options.agent} `}${options.here === true ? 'in this folder' : 'found'}. See "baton ls".`,
    )
  else welcome(out)
}

function sayUnreadable(out: Output): (place: string) => void {
  return (place) => out.warn(`baton: ${place} cannot be read, so the sessions in it are missing here`)
}

function list(options: LsOptions, models: Models, onUnreadable: (place: string) => void = () => undefined): Session[] {
  const { io } = options
  const progress = new ProgressLine(options, { afterMs: 300 })
  const query: ListOptions = {
    env: io.env,
    agent: options.agent,
    below: options.here === true ? io.cwd() : undefined,
    subagents: options.subagents === true,
    models,
    onUnreadable,
    onProgress: (done, of) => progress.show(`Reading sessions: ${done} of ${of}`),
  }
  try {
    return listSessions(query).filter(
      ({ cwd = '', updated }) =>
        (options.project === undefined || cwd.includes(options.project)) &&
        (options.since === undefined || Date.parse(updated) >= Date.parse(options.since)),
    )
  } finally {
    progress.clear()
  }
}

function print(sessions: readonly Session[], out: Output): void {
  if (out.json) for (const session of sessions) out.data(session)
  else if (sessions.length > 0)
    out.line(sessionRows(sessions, out, { columns: width(out.io), now: Date.now() }).join('\n'))
}

interface Supervised {
  readonly held: SessionRow[]
  /** Those that have ended, or whose agent is gone. */
  readonly over: SessionRow[]
}

/** The supervised sessions of this machine. Stores are opened only if there may be some. */
async function supervised(globals: Globals): Promise<Supervised> {
  const folder = chosenWorkspace(globals).address.replace(/^file:(\/\/)?/, '')
  const tapes = path.join(folder, 'tape')
  const isFolder = !/^[a-z][a-z+]*:\/\//.test(folder)
  const hasSome = fs.existsSync(tapes) && fs.readdirSync(tapes).some((name) => name.startsWith('session%2F'))
  if (isFolder && !hasSome && !fs.existsSync(registryFolder(globals.io.env))) return { held: [], over: [] }
  const { supervisedEverywhere } = await import('../supervise/supervised.ts')
  const rows = (await supervisedEverywhere(globals)).map(({ row }) => row)
  return {
    held: rows.filter(({ state }) => state !== 'ended'),
    over: rows.filter(({ state }) => state === 'ended' || state === 'dead'),
  }
}

/** A transcript that was cut off in the middle of a turn looks like work; whoever supervised its agent knows that it is gone. */
function asEnded(session: Session, over: readonly SessionRow[]): Session {
  const isOver = over.some((row) => row.session === session.id && row.last_check >= session.updated)
  return isOver && session.state.state === 'working' ? { ...session, state: { state: 'ended' } } : session
}

async function printSupervised(rows: readonly SessionRow[], out: Output): Promise<void> {
  if (rows.length === 0) return
  if (out.json) return rows.forEach((row) => out.data({ supervised: row }))
  const { supervisedRows } = await import('../supervise/supervised.ts')
  out.line(supervisedRows(rows, out, Date.now()).join('\n'))
  out.line()
}

/** A pipe has no width, so its lines are cut later than those on a terminal. */
function width({ stdout, env }: Io): number {
  return stdout.columns ?? (Number(env.COLUMNS) || 160)
}

function welcome(out: Output): void {
  const { env } = out.io
  const home = env.HOME || os.homedir()
  const tilde = (file: string) => (file.startsWith(home + path.sep) ? `~${file.slice(home.length)}` : file)
  out.line('No agent sessions on this machine yet.')
  out.line('Baton looks where these agents keep theirs, and never writes there:')
  out.line()
  for (const agent of agents) {
    out.line(`  ${agent.label.padEnd(12)} ${agent.folders(env).map(tilde).join(', ')}`)
  }
  out.line()
  out.line('Work with one of them in a project, then run "baton" again: it shows each')
  out.line('session, how full its context is, and how to hand it over.')
  out.line()
  out.line(out.style('dim', 'A transcript from elsewhere: baton import FILE'))
  out.line(out.style('dim', 'All commands: baton --help'))
}

const refreshMs = 1_000

/** On a terminal the list is drawn over; elsewhere each change is printed. */
async function watch(options: LsOptions): Promise<void> {
  const out = new Output(options)
  const { io } = options
  const { stdout } = io
  const screen = stdout.isTTY === true && !out.json
  const models = await configuredModels(options.io.cwd())
  const { supervisedRows } = await import('../supervise/supervised.ts')
  const { setTimeout: sleep } = await import('node:timers/promises')
  let before = ''
  const draw = async () => {
    const { held, over } = await supervised(options)
    const sessions = list({ ...options, quiet: true }, models).map((session) => asEnded(session, over))
    const now = Date.now()
    const above = held.length === 0 ? [] : [...supervisedRows(held, out, now), '']
    const rows = sessionRows(sessions, out, { columns: width(out.io), now })
    const text = out.json
      ? [...held.map((row) => ({ supervised: row })), ...sessions].map((each) => JSON.stringify(each)).join('\n')
      : [...above, ...rows].slice(0, screen ? (stdout.rows ?? 24) - 2 : undefined).join('\n')
    if (text === before) return
    if (screen) stdout.write(`\x1b[H${text.replaceAll('\n', '\x1b[K\n')}\x1b[K\n\x1b[J${out.style('dim', 'q to quit')}`)
    else if (out.json) printChanged(before, text, out)
    else stdout.write(`${before === '' ? '' : '\n'}${text}\n`)
    before = text
  }
  if (screen) stdout.write('\x1b[?1049h\x1b[?25l')
  const redraw = () => void draw()
  stdout.on('resize', redraw)
  await untilStopped(io, async (interrupted) => {
    const stop = AbortSignal.any([interrupted, ...(screen ? [quitKey(io.stdin)] : [])])
    while (!stop.aborted) {
      await draw()
      await sleep(refreshMs, undefined, { signal: stop }).catch(() => undefined)
    }
  })
  stdout.off('resize', redraw)
  if (screen) stdout.write('\x1b[?25h\x1b[?1049l')
}

function printChanged(before: string, now: string, out: Output): void {
  const known = new Set(before.split('\n'))
  for (const line of now.split('\n')) if (!known.has(line)) out.line(line)
}

/** Aborted by `q`, or by Ctrl-C, which is a key like any other while keys are read one by one. */
function quitKey(stdin: InputStream): AbortSignal {
  const quit = new AbortController()
  if (stdin.isTTY !== true) return quit.signal
  stdin.setRawMode?.(true)
  stdin.on('data', (data: Buffer) => {
    if (!data.includes(0x71) && !data.includes(3)) return
    stdin.setRawMode?.(false).pause()
    quit.abort()
  })
  return quit.signal
}
