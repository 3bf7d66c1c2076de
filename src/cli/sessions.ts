// `baton` and `baton ls`: this machine's sessions.

import os from 'node:os'
import path from 'node:path'
import type { AgentName, Models, Session } from '../transcripts/index.ts'
import { agents } from '../transcripts/agents.ts'
import { listSessions, type ListOptions } from '../transcripts/sessions.ts'
import { configuredModels } from '../config/configured-models.ts'
import { type Globals, Output } from './output.ts'
import { sessionRows, shortIds } from './session-table.ts'

interface LsOptions extends Globals {
  agent?: AgentName
  here?: boolean
  subagents?: boolean
  watch?: boolean
}

/** How many rows `baton` alone shows. */
const newest = 15

/** What a newcomer sees first: the newest sessions and what can be done with them, or where Baton looked. */
export async function home(globals: Globals): Promise<void> {
  const out = new Output(globals)
  const sessions = list({}, await configuredModels())
  if (out.json) return print(sessions, out)
  if (sessions.length === 0) return welcome(out)
  print(sessions.slice(0, newest), out)
  const more = sessions.length - newest
  out.note('')
  if (more > 0) out.note(out.style('dim', `${more} more: baton ls`))
  const [first] = sessions
  const id = shortIds(sessions.map((session) => session.id)).get(first!.id)!
  out.note(out.style('dim', `What happened:           baton log ${id}`))
  out.note(out.style('dim', `Hand it over:            baton handoff ${id}`))
  out.note(
    out.style(
      'dim',
      `Go on in another agent:  baton continue ${id} --in ${first!.agent === 'codex' ? 'claude' : 'codex'}`,
    ),
  )
}

export async function ls(options: LsOptions): Promise<void> {
  if (options.watch === true) return watch(options)
  const out = new Output(options)
  const sessions = list(options, await configuredModels())
  print(sessions, out)
  if (sessions.length > 0 || out.json) return
  const narrowed = options.agent !== undefined || options.here === true
  if (narrowed)
    out.note(
      `No sessions ${options.agent === undefined ? '' : `of ${options.agent} `}${options.here === true ? 'in this folder' : 'found'}. See "baton ls".`,
    )
  else welcome(out)
}

function list(options: LsOptions, models: Models): Session[] {
  const progress = process.stderr.isTTY && options.quiet !== true && options.json !== true ? showProgress() : undefined
  const query: ListOptions = {
    agent: options.agent,
    below: options.here === true ? process.cwd() : undefined,
    subagents: options.subagents === true,
    models,
    ...(progress === undefined ? {} : { onProgress: progress.update }),
  }
  try {
    return listSessions(query)
  } finally {
    progress?.end()
  }
}

function print(sessions: readonly Session[], out: Output): void {
  if (out.json) for (const session of sessions) out.data(session)
  else if (sessions.length > 0) out.line(sessionRows(sessions, out, { columns: width(), now: Date.now() }).join('\n'))
}

/** A pipe has no width: then nothing is cut that a line of a file would hold. */
function width(): number {
  return process.stdout.columns ?? (Number(process.env.COLUMNS) || 160)
}

function welcome(out: Output): void {
  out.line('No agent sessions on this machine yet.')
  out.line('Baton looks where these agents keep theirs, and never writes there:')
  out.line()
  for (const agent of agents) {
    out.line(`  ${agent.label.padEnd(12)} ${agent.folders(process.env).map(tilde).join(', ')}`)
  }
  out.line()
  out.line('Work with one of them in a project, then run "baton" again: it shows each')
  out.line('session, how full its context is, and how to hand it over.')
  out.line()
  out.line(out.style('dim', 'A transcript from elsewhere: baton import FILE'))
  out.line(out.style('dim', 'All commands: baton --help'))
}

function tilde(file: string): string {
  const home = process.env.HOME || os.homedir()
  return file.startsWith(home + path.sep) ? `~${file.slice(home.length)}` : file
}

/** Shown only when reading takes long enough to be noticed. */
function showProgress(): { update: (done: number, of: number) => void; end: () => void } {
  const start = performance.now()
  let shown = false
  return {
    update(done, of) {
      if (performance.now() - start < 300) return
      shown = true
      process.stderr.write(`\rReading sessions: ${done} of ${of}\x1b[K`)
    },
    end: () => void (shown && process.stderr.write('\r\x1b[K')),
  }
}

const refreshMs = 1_000

/** On a terminal the list is drawn over; elsewhere each change is printed. */
async function watch(options: LsOptions): Promise<void> {
  const out = new Output(options)
  const screen = process.stdout.isTTY && !out.json
  const models = await configuredModels()
  let before = ''
  const draw = () => {
    const sessions = list({ ...options, quiet: true }, models)
    const now = Date.now()
    const text = out.json
      ? sessions.map((session) => JSON.stringify(session)).join('\n')
      : sessionRows(sessions, out, { columns: width(), now })
          .slice(0, screen ? process.stdout.rows - 2 : undefined)
          .join('\n')
    if (text === before) return
    if (screen)
      process.stdout.write(`\x1b[H${text.replaceAll('\n', '\x1b[K\n')}\x1b[K\n\x1b[J${out.style('dim', 'q to quit')}`)
    else if (out.json) printChanged(before, text)
    else process.stdout.write(`${before === '' ? '' : '\n'}${text}\n`)
    before = text
  }
  if (screen) process.stdout.write('\x1b[?1049h\x1b[?25l')
  draw()
  const timer = setInterval(draw, refreshMs)
  process.stdout.on('resize', draw)
  await untilStopped(screen)
  clearInterval(timer)
  if (screen) process.stdout.write('\x1b[?25h\x1b[?1049l')
  process.exitCode = 130
}

function printChanged(before: string, now: string): void {
  const known = new Set(before.split('\n'))
  for (const line of now.split('\n')) if (!known.has(line)) process.stdout.write(`${line}\n`)
}

/** Until Ctrl-C, or `q` on a terminal. */
function untilStopped(keys: boolean): Promise<void> {
  return new Promise((resolve) => {
    process.once('SIGINT', () => resolve()).once('SIGTERM', () => resolve())
    if (!keys || !process.stdin.isTTY) return
    process.stdin.setRawMode(true)
    process.stdin.on('data', (data: Buffer) => {
      if (data.includes(0x71) || data.includes(3)) {
        process.stdin.setRawMode(false).pause()
        resolve()
      }
    })
  })
}
