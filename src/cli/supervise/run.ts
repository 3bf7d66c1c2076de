// `baton run` and `baton resume`: one agent under supervision, in the foreground or in the background.

import fs from 'node:fs'
import path from 'node:path'
import { text } from 'node:stream/consumers'
import { loadConfig } from '../../config/index.ts'
import { CancelledError, ConflictError, InvalidError, NotFoundError } from '../../errors.ts'
import type { Store } from '../../store/index.ts'
import { shellWord } from '../../system/index.ts'
import { type Bounds, checkName, freeName, needProgram, type Run, supervisorSection } from '../../supervisor/index.ts'
import { adapterNamed, capability, type SessionFile } from '../../agents/index.ts'
import { listSessions } from '../../transcripts/index.ts'
import { detach } from './background.ts'
import { unpause } from './control.ts'
import { superviseHere } from './foreground.ts'
import { demandTrustedProject } from '../base/chosen-workspace.ts'
import { inFolder, type Io } from '../base/io.ts'
import type { Globals, Output } from '../base/output.ts'
import { pickSession } from '../sessions/pick.ts'
import { allSupervised, type Located, supervisedEverywhere, withSupervised } from './supervised.ts'
import { type Door, withWorkspace } from '../base/workspace.ts'

export interface RunOptions extends Globals {
  name?: string
  cwd?: string
  driver?: Run['driver']
  task?: string
  beside?: boolean
  until?: string
  maxUsd?: number
  maxHours?: number
  maxCycles?: number
  maxTurns?: number
  detach?: boolean
}

export async function run(given: RunOptions, agent: string, args: readonly string[]): Promise<void> {
  // The path of the task is relative to the folder that the command was typed in, not to --cwd.
  const prompt = given.task === undefined ? undefined : await taskText(given.task, given.io)
  const options = given.cwd === undefined ? given : { ...given, io: inFolder(given.io, projectAt(given.cwd, given.io)) }
  const { env } = options.io
  const cwd = options.io.cwd()
  demandTrustedProject('No agent was started', options)
  const driver = options.driver ?? defaultDriver(env)
  const { agents } = loadConfig(cwd).section('supervisor', supervisorSection)
  // A wrong agent or driver is reported before anything is stored.
  const adapter = adapterNamed(agent, { agents, env })
  const command = driver === 'tmux' ? capability(adapter, 'launch')({}) : capability(adapter, 'turn')('', undefined)
  needProgram(adapter, command, env)
  await withWorkspace(options, async (door, out) => {
    const { store } = await door.workspace('operate')
    const name = await nameFor(door, options.name, `${agent}-${path.basename(cwd)}`)
    if (options.beside !== true) await mayStartBeside(options, cwd)
    const run: Run = {
      name,
      agent,
      cwd,
      driver,
      args,
      ...(prompt === undefined ? {} : { prompt }),
      bounds: boundsOf(options),
    }
    await begin(store, out, run, options)
  })
}

export async function resume(options: RunOptions, ref: string): Promise<void> {
  demandTrustedProject('No session was opened', options)
  const isKnown = (await supervisedEverywhere(options)).some(({ row }) => row.name === ref)
  if (isKnown)
    return withSupervised(options, ref, async ({ workspace }, out, located) =>
      resumeKnown((await workspace('operate')).store, out, located, options),
    )
  const file = await pickSession(options.io, ref)
  await withWorkspace(options, async (door, out) => {
    const { store } = await door.workspace('operate')
    const cwd = folderOf(file, options.io)
    const name = await nameFor(door, options.name, `${file.agent}-${path.basename(cwd)}`)
    const driver = options.driver ?? defaultDriver(options.io.env)
    const run = { name, agent: file.agent, cwd, driver, args: [], session: file.id, bounds: boundsOf(options) }
    await begin(store, out, run, options)
  })
}

async function resumeKnown(store: Store, out: Output, { row, globals }: Located, options: RunOptions): Promise<void> {
  const { name, project, state, supervisor } = row
  if (state === 'paused' && supervisor !== undefined) return unpause(globals, name)
  if (state !== 'ended' && supervisor !== undefined) throw held(name, supervisor.pid)
  const bounds = boundsOf(options)
  const given = Object.keys(bounds).length === 0 ? {} : { bounds }
  await (options.detach === true
    ? detach(store, out, name, { ...given, project }, globals)
    : superviseHere(store, out, { globals, name, project, ...given }))
}

/** Two agents on the same files get in each other's way: a person is asked, and a script is refused. */
async function mayStartBeside(options: RunOptions, cwd: string): Promise<void> {
  const open = (await supervisedEverywhere(options)).find(
    ({ row }) => row.project === cwd && row.state !== 'ended' && row.state !== 'dead',
  )
  if (open === undefined) return
  const { name, agent, supervisor } = open.row
  const by = supervisor === undefined ? 'nobody supervises it' : `supervised by process ${supervisor.pid}`
  const what = `${name} (${agent}, ${by}) works in this folder already`
  const { stdin, stdout } = options.io
  if (stdin.isTTY === true && stdout.isTTY === true && options.json !== true) {
    const { confirm } = await import('@clack/prompts')
    const answer = await confirm({ message: `${what}. Start another agent on the same files?`, initialValue: false })
    if (answer === true) return
    throw new CancelledError('Nothing was started')
  }
  throw new ConflictError(what, {
    actual: supervisor?.pid ?? 0,
    hint: `See it: baton attach ${shellWord(name)}. To start another one on the same files: --beside.`,
  })
}

async function begin(store: Store, out: Output, run: Run, options: RunOptions): Promise<void> {
  if (options.detach === true) return detach(store, out, run.name, { run }, options)
  out.note(`${run.name}: ${run.agent} ${whereOf(run, options)}. Ctrl-C detaches and leaves it running.`)
  await superviseHere(store, out, { globals: options, name: run.name, run })
}

function whereOf({ name, driver }: Run, { cwd: folder, io }: RunOptions): string {
  if (driver === 'headless') return 'without a screen'
  if (io.env.TMUX) return `in the window "${name}" of this tmux`
  return `on a screen of its own (${folder === undefined ? '' : `in ${folder}: `}baton attach ${shellWord(name)})`
}

/** Returns the folder that the session worked in: agents reopen a session only there. */
function folderOf(file: SessionFile, io: Io): string {
  const found = listSessions({ env: io.env, agent: file.agent, subagents: true }).find(
    ({ id, path }) => id === file.id && path === file.path,
  )
  return found?.cwd !== undefined && fs.existsSync(found.cwd) ? found.cwd : io.cwd()
}

function boundsOf({ until, maxUsd, maxHours, maxCycles, maxTurns }: RunOptions): Bounds {
  return {
    ...(until === undefined ? {} : { until }),
    ...(maxUsd === undefined ? {} : { maxUsd }),
    ...(maxHours === undefined ? {} : { maxHours }),
    ...(maxCycles === undefined ? {} : { maxCycles }),
    ...(maxTurns === undefined ? {} : { maxTurns }),
  }
}

/** With --cwd, the workspace and the configuration are those of that folder. */
function projectAt(folder: string, io: Io): string {
  const project = path.resolve(io.cwd(), folder)
  try {
    // Agents are distinguished by the folder they work in, which the kernel knows by its real path.
    return fs.realpathSync(project)
  } catch {
    throw new NotFoundError(`There is no folder ${project}`)
  }
}

async function taskText(file: string, io: Io): Promise<string> {
  const task = file === '-' ? await text(io.stdin) : readTask(path.resolve(io.cwd(), file))
  if (task.trim() === '') throw new InvalidError(`The task in ${file === '-' ? 'standard input' : file} is empty`)
  return task.trimEnd()
}

function readTask(file: string): string {
  try {
    return fs.readFileSync(file, 'utf8')
  } catch (error) {
    throw new NotFoundError(`The task cannot be read: ${(error as Error).message}`, {
      hint: '--task names a file; "--task -" reads the task from standard input.',
    })
  }
}

/** Returns the name that was asked for, unless it is in use; else the default name, numbered if it was used before. */
async function nameFor(door: Door, wanted: string | undefined, usual: string): Promise<string> {
  if (wanted !== undefined) checkName(wanted)
  const rows = await allSupervised(door)
  const taken = rows.find(({ name, state }) => name === wanted && state !== 'ended')
  if (taken?.supervisor !== undefined) throw held(taken.name, taken.supervisor.pid)
  if (taken !== undefined) {
    throw new ConflictError(`There is a session ${taken.name} that has not ended`, {
      actual: 0,
      hint: `Continue it: baton resume ${shellWord(taken.name)}. End it: baton stop ${shellWord(taken.name)}.`,
    })
  }
  return wanted ?? freeName(usual, new Set(rows.map(({ name }) => name)))
}

function held(name: string, pid: number): ConflictError {
  return new ConflictError(`${name} is supervised already, by process ${pid}`, {
    actual: pid,
    hint: `See its screen: baton attach ${shellWord(name)}. Give another run its own --name.`,
  })
}

export function defaultDriver(env: NodeJS.ProcessEnv): Run['driver'] {
  const folders = (env.PATH ?? '').split(path.delimiter)
  return folders.some((folder) => fs.existsSync(path.join(folder, 'tmux'))) ? 'tmux' : 'headless'
}
