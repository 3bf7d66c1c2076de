// Opens agents on this machine: the adapter by its name, a driver for a tmux pane or for headless turns, and an observer.

import { randomUUID } from 'node:crypto'
import os from 'node:os'
import path from 'node:path'
import fs from 'node:fs'
import { type Adapter, adapterNamed, capability, type Command, type LaunchOptions } from '../../agents/index.ts'
import { configuredModels } from '../../config/index.ts'
import { InvalidError, NotFoundError } from '../../errors.ts'
import { documentsFolder, promptFor } from '../documents/document-file.ts'
import { openObserver } from '../observe/observation.ts'
import { presentIn } from '../observe/transcript-finder.ts'
import type { OpenAgent, Run, Start } from '../run.ts'
import type { SupervisorSettings } from '../settings.ts'
import type { AgentPlace, Driver } from './driver.ts'
import { HeadlessDriver } from './headless.ts'
import { launchedIn, longestPrompt, startInTmux, takePane } from './tmux-start.ts'
import { TmuxDriver } from './tmux.ts'
import { hasBegun } from './turn.ts'

export interface AgentOpenerOptions {
  readonly settings: () => SupervisorSettings
  /** What agents are run with. */
  readonly env?: NodeJS.ProcessEnv
  /** Of a tmux server; default: the one that the person is in, else `baton`. */
  readonly socket?: string
  /** Where the output of turns without a screen is kept: a folder for each run. */
  readonly turns?: string
}

export function agentOpener({
  settings,
  env = process.env,
  socket,
  turns = turnsOf(env),
}: AgentOpenerOptions): OpenAgent {
  return async (run, wanted) => {
    const adapter = adapterNamed(run.agent, { env, agents: settings().agents })
    if (wanted.how !== 'attach') needProgram(adapter, commandOf(adapter, run), env)
    const start = inFull(adapter, run.driver, wanted)
    const since = Date.now()
    // An agent that can be told the id of its session is never looked for.
    const id = start.how === 'launch' && run.driver === 'tmux' && takesId(adapter) ? randomUUID() : undefined
    const documents = documentsFolder(run.cwd, run.name, settings().handoffs)
    const before = start.how === 'launch' ? presentIn(adapter, env, run.cwd, since) : undefined
    const driver =
      run.driver === 'headless'
        ? await withoutScreen(adapter, run, start, env, {
            usual: path.join(turns, encodeURIComponent(run.name)),
            documents,
          })
        : await withScreen(adapter, run, start, env, { id, socket, documents })
    const session = run.driver === 'headless' ? undefined : start.how === 'launch' ? id : start.session
    const observer = openObserver({
      adapter,
      driver,
      cwd: run.cwd,
      env,
      // Of one that ran already, the system knows.
      ...(start.how === 'attach' ? {} : { since }),
      models: await configuredModels(run.cwd),
      ...(session === undefined ? {} : { session }),
      ...(before === undefined ? {} : { before }),
      ...('former' in start ? { former: start.former } : {}),
    })
    return { adapter, driver, observer }
  }
}

/** A command as it will be run: only its program matters here. */
function commandOf(adapter: Adapter, { driver }: Run): Command {
  return driver === 'tmux' ? capability(adapter, 'launch')({}) : capability(adapter, 'turn')('', undefined)
}

/** With the document in the prompt, where the agent needs that; a prompt that is too long then is left to be typed. */
function inFull(adapter: Adapter, driver: Run['driver'], start: Start): Start {
  if (start.how !== 'launch' || start.prompt === undefined) return start
  const { prompt: short, ...rest } = start
  const prompt = promptFor(adapter, short)
  return driver === 'tmux' && Buffer.byteLength(prompt) > longestPrompt ? rest : { ...start, prompt }
}

function takesId(adapter: Adapter): boolean {
  const id = randomUUID()
  return adapter.launch?.({ session: id }).args.some((arg) => arg.includes(id)) === true
}

async function withScreen(
  adapter: Adapter,
  { args, cwd, name }: Run,
  start: Start,
  env: NodeJS.ProcessEnv,
  { id, socket, documents }: { id: string | undefined; socket: string | undefined; documents: string },
): Promise<Driver> {
  if (start.how === 'attach') {
    const { place } = start
    if (place.driver !== 'tmux') throw new InvalidError(`${name} has a screen, and was kept with a place without one`)
    if (place.mark !== undefined) return launchedIn(adapter, place)
    return place.pid === undefined ? takePane(adapter, place) : new TmuxDriver(adapter, place)
  }
  const beforeStart = (place: AgentPlace) => start.beforeStart(place, start.how === 'resume' ? start.session : id)
  const where = { adapter, cwd, env, name, beforeStart, ...(socket === undefined ? {} : { socket }) }
  if (start.how === 'resume')
    return startInTmux({ ...where, command: capability(adapter, 'resume')(start.session, { args, documents }) })
  const prompt = start.prompt === undefined ? {} : { prompt: start.prompt }
  const options: LaunchOptions = { args, documents, ...prompt, ...(id === undefined ? {} : { session: id }) }
  return startInTmux({ ...where, ...prompt, command: capability(adapter, 'launch')(options) })
}

async function withoutScreen(
  adapter: Adapter,
  { args, cwd }: Run,
  start: Start,
  env: NodeJS.ProcessEnv,
  { usual, documents }: { usual: string; documents: string },
): Promise<Driver> {
  const folder = start.how === 'attach' && start.place.driver === 'headless' ? start.place.folder : usual
  const session = start.how === 'resume' ? { session: start.session } : {}
  if (start.how === 'attach' && start.place.driver === 'headless') {
    const { meant, turn = 0 } = start.place
    if (meant === true && !(await hasBegun(folder, turn)))
      throw new NotFoundError(`Turn ${turn} of ${adapter.label} was not started`)
  }
  const driver = new HeadlessDriver({ adapter, cwd, env, folder, args, documents, ...session })
  if (start.how !== 'launch') return driver
  try {
    await driver.clear()
    if (start.prompt === undefined) return driver
    await start.beforeStart({ driver: 'headless', folder, turn: driver.nextTurn, meant: true }, undefined)
    await driver.submit(start.prompt, new AbortController().signal)
    return driver
  } catch (error) {
    await driver.close()
    throw error
  }
}

function turnsOf(env: NodeJS.ProcessEnv): string {
  return path.join(env.XDG_STATE_HOME || path.join(env.HOME || os.homedir(), '.local', 'state'), 'baton', 'turns')
}

/** Throws a `NotFoundError` for an agent whose program is not there. */
export function needProgram(adapter: Adapter, { program, env: own }: Command, env: NodeJS.ProcessEnv): void {
  if (isProgram(program, { ...env, ...own })) return
  const where = program.includes('/')
    ? `There is no program ${program}`
    : `There is no program "${program}" on the PATH`
  throw new NotFoundError(`${where}: ${adapter.label} cannot be started`, {
    hint: `Install it, or say where it is: supervisor.agents.${adapter.name}.command in baton.config.json.`,
  })
}

export function isProgram(program: string, env: NodeJS.ProcessEnv): boolean {
  if (program.includes('/')) return isExecutable(program)
  return (env.PATH ?? '').split(path.delimiter).some((folder) => isExecutable(path.join(folder || '.', program)))
}

function isExecutable(file: string): boolean {
  try {
    fs.accessSync(file, fs.constants.X_OK)
    return fs.statSync(file).isFile()
  } catch {
    return false
  }
}
