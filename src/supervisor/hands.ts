// How agents are taken hold of on this machine: the adapter by its name, a tmux pane or a process per turn, and eyes on
// what it writes.

import { randomUUID } from 'node:crypto'
import os from 'node:os'
import path from 'node:path'
import { InvalidError, NotFoundError } from '../errors.ts'
import { configuredModels } from '../transcripts/index.ts'
import { type Adapter, capability, type LaunchOptions } from './adapter.ts'
import { adapterNamed } from './adapters/index.ts'
import { spelledOut } from './document-file.ts'
import type { Driver, Place } from './driver.ts'
import { HeadlessDriver } from './drivers/headless.ts'
import { TmuxDriver } from './drivers/tmux.ts'
import { hasBegun } from './drivers/turn.ts'
import { launchedIn, startInTmux, takePane } from './drivers/tmux-start.ts'
import { presentIn } from './eyes/finder.ts'
import { openEyes } from './eyes.ts'
import type { OpenHands, Run, Start } from './run.ts'
import type { SupervisorSettings } from './settings.ts'

export interface HandsOptions {
  readonly settings: () => SupervisorSettings
  /** What agents are run with. */
  readonly env?: NodeJS.ProcessEnv
  /** Of a tmux server; default: the one that the person is in, else `baton`. */
  readonly socket?: string
  /** Where the output of turns without a screen is kept: a folder for each run. */
  readonly turns?: string
}

export function openHands({ settings, env = process.env, socket, turns = turnsOf(env) }: HandsOptions): OpenHands {
  return async (run, wanted) => {
    const adapter = adapterNamed(run.agent, { env, agents: settings().agents })
    const start = adapter.inline === true ? inFull(wanted) : wanted
    const since = Date.now()
    // An agent that can be told the id of its session is never looked for.
    const id = start.how === 'launch' && run.driver === 'tmux' && takesId(adapter) ? randomUUID() : undefined
    const before = start.how === 'launch' ? presentIn(adapter, env, run.cwd, since) : undefined
    const driver =
      run.driver === 'headless'
        ? await withoutScreen(adapter, run, start, env, path.join(turns, encodeURIComponent(run.name)))
        : await withScreen(adapter, run, start, env, { id, socket })
    const session = run.driver === 'headless' ? undefined : start.how === 'launch' ? id : start.session
    const eyes = openEyes({
      adapter,
      driver,
      cwd: run.cwd,
      env,
      since,
      models: await configuredModels(run.cwd),
      ...(session === undefined ? {} : { session }),
      ...(before === undefined ? {} : { before }),
    })
    return { adapter, driver, eyes }
  }
}

function inFull(start: Start): Start {
  return start.how === 'launch' && start.prompt !== undefined ? { ...start, prompt: spelledOut(start.prompt) } : start
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
  { id, socket }: { id: string | undefined; socket: string | undefined },
): Promise<Driver> {
  if (start.how === 'attach') {
    const { place } = start
    if (place.driver !== 'tmux') throw new InvalidError(`${name} has a screen, and was kept with a place without one`)
    if (place.mark !== undefined) return launchedIn(adapter, place)
    return place.pid === undefined ? takePane(adapter, place) : new TmuxDriver(adapter, place)
  }
  const mean = (place: Place) => start.mean(place, id)
  const where = { adapter, cwd, env, name, mean, ...(socket === undefined ? {} : { socket }) }
  if (start.how === 'resume')
    return startInTmux({ ...where, command: capability(adapter, 'resume')(start.session, { args }) })
  const prompt = start.prompt === undefined ? {} : { prompt: start.prompt }
  const options: LaunchOptions = { args, ...prompt, ...(id === undefined ? {} : { session: id }) }
  return startInTmux({ ...where, ...prompt, command: capability(adapter, 'launch')(options) })
}

async function withoutScreen(
  adapter: Adapter,
  { args, cwd }: Run,
  start: Start,
  env: NodeJS.ProcessEnv,
  usual: string,
): Promise<Driver> {
  const folder = start.how === 'attach' && start.place.driver === 'headless' ? start.place.folder : usual
  const session = start.how === 'resume' ? { session: start.session } : {}
  if (start.how === 'attach' && start.place.driver === 'headless') {
    const { meant, turn = 0 } = start.place
    if (meant === true && !(await hasBegun(folder, turn)))
      throw new NotFoundError(`Turn ${turn} of ${adapter.label} was not started`)
  }
  const driver = new HeadlessDriver({ adapter, cwd, env, folder, args, ...session })
  if (start.how !== 'launch') return driver
  try {
    await driver.clear()
    if (start.prompt === undefined) return driver
    await start.mean({ driver: 'headless', folder, turn: driver.nextTurn, meant: true }, undefined)
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
