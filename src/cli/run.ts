// `baton run` and `baton resume`: one agent under supervision, in the foreground or in the background.

import fs from 'node:fs'
import path from 'node:path'
import { text } from 'node:stream/consumers'
import { loadConfig } from '../config/config.ts'
import { ConflictError, InvalidError, NotFoundError } from '../errors.ts'
import type { Store } from '../store/index.ts'
import { shellWord } from '../store/shell-word.ts'
import { adapterNamed, type Bounds, capability, checkName, type Run, supervisorSection } from '../supervisor/index.ts'
import { listSessions, type SessionFile } from '../transcripts/index.ts'
import { detach } from './detach.ts'
import { superviseHere } from './foreground.ts'
import type { Globals, Output } from './output.ts'
import { pickSession } from './pick-session.ts'
import { allSupervised, freeName } from './supervised.ts'
import { withStore } from './workspace.ts'

export interface RunOptions extends Globals {
  name?: string
  cwd?: string
  driver?: Run['driver']
  task?: string
  until?: string
  maxUsd?: number
  maxHours?: number
  maxCycles?: number
  detach?: boolean
}

export async function run(options: RunOptions, agent: string, args: readonly string[]): Promise<void> {
  // The task is named from where the command was typed.
  const prompt = options.task === undefined ? undefined : await taskText(options.task)
  if (options.cwd !== undefined) enter(options.cwd)
  const driver = options.driver ?? defaultDriver()
  const { agents } = loadConfig().section('supervisor', supervisorSection)
  // A mistake is told before anything is kept.
  capability(adapterNamed(agent, { agents }), driver === 'tmux' ? 'launch' : 'turn')
  await withStore(options, async (store, out) => {
    const name = await nameFor(store, options.name, `${agent}-${path.basename(process.cwd())}`)
    const run: Run = {
      name,
      agent,
      cwd: process.cwd(),
      driver,
      args,
      ...(prompt === undefined ? {} : { prompt }),
      bounds: boundsOf(options),
    }
    await begin(store, out, run, options)
  })
}

export async function resume(options: RunOptions, ref: string): Promise<void> {
  await withStore(options, async (store, out) => {
    const known = (await allSupervised(store)).find(({ name }) => name === ref)
    if (known !== undefined) {
      if (known.state !== 'ended' && known.supervisor !== undefined) throw held(known.name, known.supervisor.pid)
      const bounds = boundsOf(options)
      const given = Object.keys(bounds).length === 0 ? {} : { bounds }
      await (options.detach === true
        ? detach(store, out, known.name, given, options)
        : superviseHere(store, out, { globals: options, name: known.name, ...given }))
      return
    }
    const file = await pickSession(ref)
    const cwd = folderOf(file)
    const name = await nameFor(store, options.name, `${file.agent}-${path.basename(cwd)}`)
    const driver = options.driver ?? defaultDriver()
    const run = { name, agent: file.agent, cwd, driver, args: [], session: file.id, bounds: boundsOf(options) }
    await begin(store, out, run, options)
  })
}

async function begin(store: Store, out: Output, run: Run, options: RunOptions): Promise<void> {
  if (options.detach === true) return detach(store, out, run.name, { run }, options)
  out.note(`${run.name}: ${run.agent} ${whereOf(run, options.cwd)}. Ctrl-C lets go of it and leaves it running.`)
  await superviseHere(store, out, { globals: options, name: run.name, run })
}

function whereOf({ name, driver }: Run, folder: string | undefined): string {
  if (driver === 'headless') return 'without a screen'
  if (process.env.TMUX) return `in the window "${name}" of this tmux`
  return `on a screen of its own (${folder === undefined ? '' : `in ${folder}: `}baton attach ${shellWord(name)})`
}

/** Where the session worked: agents reopen one only there. */
function folderOf(file: SessionFile): string {
  const found = listSessions({ agent: file.agent, subagents: true }).find(
    ({ id, path }) => id === file.id && path === file.path,
  )
  return found?.cwd !== undefined && fs.existsSync(found.cwd) ? found.cwd : process.cwd()
}

function boundsOf({ until, maxUsd, maxHours, maxCycles }: RunOptions): Bounds {
  return {
    ...(until === undefined ? {} : { until }),
    ...(maxUsd === undefined ? {} : { maxUsd }),
    ...(maxHours === undefined ? {} : { maxHours }),
    ...(maxCycles === undefined ? {} : { maxCycles }),
  }
}

/** The project counts, not where the command was typed: its workspace and its configuration. */
function enter(folder: string): void {
  try {
    process.chdir(folder)
  } catch {
    throw new NotFoundError(`There is no folder ${path.resolve(folder)}`)
  }
}

async function taskText(file: string): Promise<string> {
  const task = file === '-' ? await text(process.stdin) : readTask(file)
  if (task.trim() === '') throw new InvalidError(`The task in ${file === '-' ? 'standard input' : file} is empty`)
  return task.trimEnd()
}

function readTask(file: string): string {
  try {
    return fs.readFileSync(file, 'utf8')
  } catch (error) {
    throw new NotFoundError(`The task cannot be read: ${(error as Error).message}`)
  }
}

/** The name that was asked for, unless it is in use; else the usual one, with a number if there was one before. */
async function nameFor(store: Store, wanted: string | undefined, usual: string): Promise<string> {
  if (wanted !== undefined) checkName(wanted)
  const rows = await allSupervised(store)
  const taken = rows.find(({ name, state }) => name === wanted && state !== 'ended')
  if (taken?.supervisor !== undefined) throw held(taken.name, taken.supervisor.pid)
  if (taken !== undefined) {
    throw new ConflictError(`There is a session ${taken.name} that has not ended`, {
      actual: 0,
      hint: `Go on with it: baton resume ${shellWord(taken.name)}. End it: baton stop ${shellWord(taken.name)}.`,
    })
  }
  const names = rows.map(({ name }) => name)
  return wanted ?? freeName(usual, names)
}

function held(name: string, pid: number): ConflictError {
  return new ConflictError(`${name} is supervised already, by process ${pid}`, {
    actual: pid,
    hint: `See its screen: baton attach ${shellWord(name)}. Give another run its own --name.`,
  })
}

export function defaultDriver(): Run['driver'] {
  const folders = (process.env.PATH ?? '').split(path.delimiter)
  return folders.some((folder) => fs.existsSync(path.join(folder, 'tmux'))) ? 'tmux' : 'headless'
}
