// How agents are taken hold of on this machine: the adapter by its name, a tmux pane or a process per turn, and eyes on
// what it writes.

import { randomUUID } from 'node:crypto'
import os from 'node:os'
import path from 'node:path'
import { InvalidError } from '../errors.ts'
import { configuredModels } from '../transcripts/index.ts'
import { type Adapter, capability, type LaunchOptions } from './adapter.ts'
import { adapterNamed } from './adapters/index.ts'
import { spelledOut } from './document-file.ts'
import type { Driver } from './driver.ts'
import { HeadlessDriver } from './drivers/headless.ts'
import { pause } from '../system/processes.ts'
import { TmuxDriver } from './drivers/tmux.ts'
import { startInTmux, takePane } from './drivers/tmux-start.ts'
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
    return place.pid === undefined ? takePane(adapter, place) : new TmuxDriver(adapter, place)
  }
  const where = { adapter, cwd, env, name, ...(socket === undefined ? {} : { socket }) }
  if (start.how === 'resume')
    return startInTmux({ ...where, command: capability(adapter, 'resume')(start.session, { args }) })
  const { prompt: first = '' } = start
  const typed = Buffer.byteLength(first) > longest
  const prompt = first === '' || typed ? {} : { prompt: first }
  const options: LaunchOptions = { args, ...prompt, ...(id === undefined ? {} : { session: id }) }
  const driver = await startInTmux({ ...where, ...prompt, command: capability(adapter, 'launch')(options) })
  if (typed) await typeFirst(driver, first)
  return driver
}

/** tmux takes no command of more than 16 KiB, environment included. */
const longest = 4_096
const patience = 120_000

/** Types the first prompt once the agent is ready for it; a question before that is the person's to answer. */
async function typeFirst(driver: Driver, prompt: string): Promise<void> {
  const signal = AbortSignal.timeout(patience)
  while ((await driver.ready(signal)).is === 'dialog') await pause(500)
  await driver.submit(prompt, signal)
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
  const driver = new HeadlessDriver({ adapter, cwd, env, folder, args, ...session })
  if (start.how !== 'launch') return driver
  await driver.clear()
  if (start.prompt !== undefined) await driver.submit(start.prompt, new AbortController().signal)
  return driver
}

function turnsOf(env: NodeJS.ProcessEnv): string {
  return path.join(env.XDG_STATE_HOME || path.join(env.HOME || os.homedir(), '.local', 'state'), 'baton', 'turns')
}
