// `baton watch`: a service for the whole machine. It takes up sessions that a crash or a reboot left without a supervisor, in
// every workspace, and agents that somebody starts in a tmux pane, until it is ended.

import {
  findWorkspace,
  isNamed,
  loadConfig,
  registeredWorkspaces,
  registerWorkspace,
  registryFolder,
} from '../../config/index.ts'
import { ConflictError } from '../../errors.ts'
import { openStore } from '../../store/index.ts'
import { AbandonedScan, holdWatch, paneOf, type RunningAgent, watchMachine } from '../../supervisor/index.ts'
import { chosenWorkspace } from '../base/chosen-workspace.ts'
import { inFolder } from '../base/io.ts'
import { type Globals, Output } from '../base/output.ts'
import { EventPrinter } from './event-lines.ts'
import { deliverLeftAlerts, runningHere, supervisorSetup } from './setup.ts'
import { supervisedEverywhere } from './supervised.ts'

interface WatchOptions extends Globals {
  dryRun?: boolean
}

/** Resolves when the person ends the command: the agents live on. */
export async function watch(options: WatchOptions): Promise<void> {
  const { io } = options
  const out = new Output(options)
  // A mistake in the configuration of this folder is reported before any session is taken up.
  loadConfig(io.cwd())
  if (options.dryRun === true) return printFound(options, out)
  const machine = new WatchOfMachine(options)
  if (!machine.take()) {
    throw new ConflictError('You already run a watcher on this machine', {
      actual: 0,
      hint: 'One is enough: it sees every workspace. Find it with: pgrep -af "baton.* watch".',
    })
  }
  const stop = new AbortController()
  const end = () => stop.abort()
  // A closed terminal ends no service.
  const hangUp = () => undefined
  io.signals.on('SIGINT', end)
  io.signals.on('SIGTERM', end)
  io.signals.on('SIGHUP', hangUp)
  if (!out.json) out.note('Watching every workspace of this machine. Ctrl-C ends it and leaves the agents running.')
  try {
    await watchWorkspaces(options, out, {
      signal: stop.signal,
      workspaces: () => machine.workspaces(),
      running: () => machine.running(),
    })
    if (!out.json) out.note('Detached. The agents are still running.')
    io.exit.code = 130
  } finally {
    io.signals.off('SIGINT', end)
    io.signals.off('SIGTERM', end)
    io.signals.off('SIGHUP', hangUp)
    machine.leave()
  }
}

/** The right to watch the whole machine, which one process of a user has, and what there is to watch. */
export class WatchOfMachine {
  readonly #options: Globals
  #held: { close(): void } | undefined

  constructor(options: Globals) {
    this.#options = options
  }

  /** True if this process has it. */
  take(): boolean {
    this.#held ??= holdWatch(registryFolder(this.#options.io.env))
    return this.#held !== undefined
  }

  workspaces(): string[] {
    return workspacesOf(this.#options)
  }

  /** Agents that somebody has started in tmux panes. */
  running(): Promise<RunningAgent[]> {
    const { io } = this.#options
    return runningHere(io.env, io.cwd())
  }

  leave(): void {
    this.#held?.close()
    this.#held = undefined
  }
}

interface Watched {
  readonly signal: AbortSignal
  readonly workspaces: () => string[]
  /** Agents that somebody has started, to be taken up too. */
  readonly running: () => Promise<RunningAgent[]>
}

/** Supervises what is left without a supervisor, until the signal: the agents live on. */
export async function watchWorkspaces(options: Globals, out: Output, watched: Watched): Promise<void> {
  const { io } = options
  const printer = new EventPrinter(out, { named: true })
  const told = new Map<string, string>()
  await watchMachine({
    ...watched,
    openStore,
    setup: (project, address, store) =>
      supervisorSetup({ ...options, store: address, io: inFolder(io, project) }, project, out, store),
    deliver: (store, signal) => deliverLeftAlerts(store, options, out, signal),
    workspaceOf: (cwd) => {
      const { address } = findWorkspace({ cwd, env: io.env })
      registerWorkspace(io.env, address)
      return address
    },
    onEvent: (event) => printer.print(event),
    onTaken: (name, why, { agent, cwd }) => {
      if (!out.json) out.note(`${name}: ${agent} in ${cwd}, ${why === 'left' ? 'resumed' : 'found running'}`)
    },
    onProblem: (what, error) => {
      const text = error instanceof Error ? error.message : String(error)
      // A store that is out of reach is tried again every few seconds: that it still is need not be said each time.
      if (told.get(what) !== text) out.warn(`baton: ${what}: ${text}`)
      told.set(what, text)
    },
  })
}

function workspacesOf(options: Globals): string[] {
  const chosen = chosenWorkspace(options)
  const { address, by } = chosen
  if (isNamed(chosen)) return [address]
  return [...new Set([...(by === 'folder' ? [address] : []), ...registeredWorkspaces(options.io.env)])]
}

/** Tells what would be taken up. */
async function printFound(options: WatchOptions, out: Output): Promise<void> {
  let count = 0
  const scan = new AbandonedScan()
  for (const address of workspacesOf(options)) {
    const store = await openStore(address)
    for (const { name, run } of await scan.in(store, address)) {
      count++
      const text = `${name}: ${run.agent} in ${run.cwd}, left without a supervisor`
      out.record({ type: 'left', name, agent: run.agent, cwd: run.cwd }, text)
    }
    await store.close()
  }
  const open = (await supervisedEverywhere(options)).filter(({ row }) => row.state !== 'ended')
  const known = new Set(open.flatMap(({ row }) => paneOf(row.place) ?? []))
  const found = (await runningHere(options.io.env, options.io.cwd())).filter(({ place }) => !known.has(paneOf(place)!))
  for (const agent of found) printRunning(agent, out)
  if (count + found.length > 0 || out.json) return
  out.line('Nothing to supervise: no session lacks a supervisor, and no agent runs in a tmux pane.')
  out.note('Without --dry-run, "baton watch" waits for what comes.')
}

function printRunning({ adapter, place, cwd }: RunningAgent, out: Output): void {
  out.record({ type: 'running', agent: adapter.name, cwd, place }, `${adapter.label} in pane ${place.pane}, ${cwd}`)
}
