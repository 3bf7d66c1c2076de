// `baton` and `baton ls`: this machine's sessions.

import fs from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { findWorkspace } from '../config/workspace.ts'
import type { AgentName, Models, Session } from '../transcripts/index.ts'
import { agents } from '../transcripts/agents.ts'
import { listSessions, type ListOptions } from '../transcripts/sessions.ts'
import { configuredModels } from '../config/configured-models.ts'
import type { SessionRow } from '../supervisor/index.ts'
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
  const held = await supervised(globals)
  const sessions = list({}, await configuredModels())
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
  const held = await supervised(options)
  const sessions = list(options, await configuredModels())
  await printSupervised(held, out)
  print(sessions, out)
  if (sessions.length > 0 || held.length > 0 || out.json) return
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

/** Those of this workspace that have not ended. A folder that never had one is seen at a glance: lists start fast. */
async function supervised(globals: Globals): Promise<SessionRow[]> {
  const folder = findWorkspace(globals).address.replace(/^file:(\/\/)?/, '')
  const tapes = path.join(folder, 'tape')
  const isFolder = !/^[a-z][a-z+]*:\/\//.test(folder)
  if (isFolder && !(fs.existsSync(tapes) && fs.readdirSync(tapes).some((name) => name.startsWith('session%2F'))))
    return []
  const [{ withStore }, { allSupervised }] = await Promise.all([import('./workspace.ts'), import('./supervised.ts')])
  return (await withStore(globals, allSupervised)).filter(({ state }) => state !== 'ended')
}

async function printSupervised(rows: readonly SessionRow[], out: Output): Promise<void> {
  if (rows.length === 0) return
  if (out.json) return rows.forEach((row) => out.data({ supervised: row }))
  const { supervisedRows } = await import('./supervised-table.ts')
  out.line(supervisedRows(rows, out, Date.now()).join('\n'))
  out.line()
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
  const { supervisedRows } = await import('./supervised-table.ts')
  let before = ''
  const draw = async () => {
    const held = await supervised(options)
    const sessions = list({ ...options, quiet: true }, models)
    const now = Date.now()
    const above = held.length === 0 ? [] : [...supervisedRows(held, out, now), '']
    const rows = sessionRows(sessions, out, { columns: width(), now })
    const text = out.json
      ? [...held.map((row) => ({ supervised: row })), ...sessions].map((each) => JSON.stringify(each)).join('\n')
      : [...above, ...rows].slice(0, screen ? process.stdout.rows - 2 : undefined).join('\n')
    if (text === before) return
    if (screen)
      process.stdout.write(`\x1b[H${text.replaceAll('\n', '\x1b[K\n')}\x1b[K\n\x1b[J${out.style('dim', 'q to quit')}`)
    else if (out.json) printChanged(before, text)
    else process.stdout.write(`${before === '' ? '' : '\n'}${text}\n`)
    before = text
  }
  if (screen) process.stdout.write('\x1b[?1049h\x1b[?25l')
  process.stdout.on('resize', () => void draw())
  const stop = new AbortController()
  const stopped = untilStopped(screen).then(() => stop.abort())
  while (!stop.signal.aborted) {
    await draw()
    await sleep(refreshMs, undefined, { signal: stop.signal }).catch(() => undefined)
  }
  await stopped
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
