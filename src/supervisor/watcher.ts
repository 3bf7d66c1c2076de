// Watches a whole machine: takes up every session whose supervisor is gone, in every workspace, and every agent that somebody
// starts in a tmux pane, for as long as it runs. Each session is supervised by the settings of its own project.

import path from 'node:path'
import { setMaxListeners } from 'node:events'
import type { Store } from '../store/index.ts'
import { pause } from '../system/index.ts'
import { Slots } from './cycle/slots.ts'
import { tryHold } from './drivers/pane-lock.ts'
import type { RunningAgent } from './drivers/running-agents.ts'
import type { Run } from './run.ts'
import { Journal } from './session/records/journal.ts'
import { holderOf } from './session/records/lease.ts'
import { isElsewhere, leaseKey, sessionNames, sessionRows } from './session/records/session-row.ts'
import { sessionTape } from './run.ts'
import { supervise, type SuperviseOptions, type SupervisorEvent } from './supervise.ts'

/** What a session is supervised with, by its project. */
interface WatchedSetup extends Pick<SuperviseOptions, 'openAgent' | 'settings' | 'onSettings' | 'timings' | 'notify'> {
  close(): Promise<unknown>
}

export interface WatcherOptions {
  /** What opens the store of each workspace; asked again and again, because more may come. */
  readonly workspaces: () => readonly string[]
  readonly openStore: (address: string) => Promise<Store>
  readonly setup: (project: string, address: string, store: Store) => WatchedSetup
  /** Sends the alerts that an earlier process could not. */
  readonly deliver: (store: Store, signal: AbortSignal) => Promise<void>
  /** Agents in tmux panes. */
  readonly running: () => Promise<readonly RunningAgent[]>
  /** The workspace of an agent that somebody started in that folder. */
  readonly workspaceOf: (cwd: string) => string
  /** Lets go of all sessions; the agents live on. */
  readonly signal: AbortSignal
  readonly onEvent: (event: SupervisorEvent) => void
  /** A session is taken up: its name, and why. */
  readonly onTaken: (name: string, why: 'left' | 'found', about: Pick<Run, 'agent' | 'cwd'>) => void
  readonly onProblem: (what: string, error: unknown) => void
  /** Between two looks. */
  readonly everyMs?: number
}

export interface Abandoned {
  readonly address: string
  readonly name: string
  readonly run: Run
}

/** How long a session that could not be supervised is left alone. */
const patienceMs = 60_000
/** How often alerts that nobody could deliver are looked for. */
const deliveryMs = 60_000

/** Held by the one watcher of a user on this machine; undefined if there is one already. */
export function holdWatch(registry: string): { close(): void } | undefined {
  return tryHold(`watch ${registry}`)
}

/** Resolves when the signal is given and every session has been let go. */
export async function watchMachine(options: WatcherOptions): Promise<void> {
  const { signal, everyMs = 5_000 } = options
  setMaxListeners(0, signal)
  const watcher = new Watcher(options)
  try {
    while (!signal.aborted) {
      await watcher.look()
      await pause(everyMs, signal)
    }
  } finally {
    await watcher.close()
  }
}

class Watcher {
  readonly #options: WatcherOptions
  readonly #stores = new Map<string, Store>()
  readonly #slots = new Map<string, Slots>()
  readonly #mine = new Map<string, Promise<unknown>>()
  readonly #scan = new AbandonedScan()
  /** Workspaces whose alerts are being sent, and when they were looked for last. */
  readonly #delivering = new Map<string, { readonly at: number; readonly work: Promise<void> }>()
  /** Sessions that could not be supervised, and until when they are left alone. */
  readonly #failed = new Map<string, number>()

  constructor(options: WatcherOptions) {
    this.#options = options
  }

  async look(): Promise<void> {
    const { workspaces, running, onProblem } = this.#options
    for (const address of workspaces()) {
      try {
        const store = await this.#store(address)
        for (const each of await this.#scan.in(store, address)) this.#take(each, 'left')
        this.#deliver(address, store)
      } catch (error) {
        onProblem(address, error)
      }
    }
    try {
      const agents = await running()
      if (agents.length > 0) await this.#adopt(agents)
    } catch (error) {
      onProblem('tmux', error)
    }
  }

  async close(): Promise<void> {
    await Promise.allSettled(this.#mine.values())
    for (const { work } of this.#delivering.values()) await work
    for (const store of this.#stores.values()) await store.close()
  }

  /** One delivery at a time; what others leave behind meanwhile is looked for a minute later. */
  #deliver(address: string, store: Store): void {
    const now = Date.now()
    if (now - (this.#delivering.get(address)?.at ?? -Infinity) < deliveryMs) return
    const { deliver, signal, onProblem } = this.#options
    const work = deliver(store, signal).catch((error: unknown) => onProblem('alerts', error))
    this.#delivering.set(address, { at: Infinity, work })
    void work.then(() => this.#delivering.set(address, { at: Date.now(), work }))
  }

  async #store(address: string): Promise<Store> {
    const open = this.#stores.get(address)
    if (open !== undefined) return open
    const store = await this.#options.openStore(address)
    this.#stores.set(address, store)
    this.#slots.set(address, new Slots(store))
    return store
  }

  async #adopt(agents: readonly RunningAgent[]): Promise<void> {
    const known = new Set<string>()
    const taken = new Set<string>()
    for (const store of this.#stores.values()) {
      for await (const { name, state, place } of sessionRows(store)) {
        taken.add(name)
        if (state !== 'ended') known.add(paneOf(place) ?? '')
      }
    }
    for (const { adapter, cwd, place } of agents) {
      if (known.has(paneOf(place)!)) continue
      const address = this.#options.workspaceOf(cwd)
      await this.#store(address)
      const name = freeName(`${adapter.name}-${path.basename(cwd)}`, taken)
      taken.add(name)
      this.#take({ address, name, run: { name, agent: adapter.name, cwd, driver: 'tmux', args: [] } }, 'found', place)
    }
  }

  #take({ address, name, run }: Abandoned, why: 'left' | 'found', place?: RunningAgent['place']): void {
    const key = `${address} ${name}`
    if (this.#mine.has(key) || (this.#failed.get(key) ?? 0) > Date.now()) return
    const { setup, signal, onEvent, onTaken, onProblem } = this.#options
    const work = async () => {
      let own: WatchedSetup | undefined
      try {
        own = setup(run.cwd, address, this.#stores.get(address)!)
        onTaken(name, why, run)
        const found = place === undefined ? {} : { run, place }
        const slots = this.#slots.get(address)!
        await supervise({ ...own, ...found, store: this.#stores.get(address)!, slots, name, signal, onEvent })
      } catch (error) {
        this.#failed.set(key, Date.now() + patienceMs)
        onProblem(name, error)
      } finally {
        await own?.close()
        this.#mine.delete(key)
      }
    }
    this.#mine.set(key, work())
  }
}

/** Finds sessions without a supervisor. One that has ended is read again only when something was written to its tape. */
export class AbandonedScan {
  readonly #over = new Map<string, number>()

  async in(store: Store, address: string): Promise<Abandoned[]> {
    const found: Abandoned[] = []
    for await (const name of sessionNames(store)) {
      const tape = sessionTape(name)
      const key = `${address} ${name}`
      const lastId = (await store.info(tape))?.lastId ?? 0
      if (this.#over.get(key) === lastId) continue
      const { run, ended, stopped } = await new Journal(store, name).load()
      if (run === undefined || ended !== undefined || stopped) this.#over.set(key, lastId)
      else if (await isOfAnotherMachine(store, tape)) continue
      else if ((await holderOf(store, tape, leaseKey)) === undefined) found.push({ address, name, run })
    }
    return found
  }
}

async function isOfAnotherMachine(store: Store, tape: string): Promise<boolean> {
  const row = (await store.latest(tape, 'row'))?.payload as { data?: { host?: string } } | undefined
  return isElsewhere(row?.data?.host)
}

export function paneOf(place: unknown): string | undefined {
  const { socket, pane } = (place ?? {}) as { socket?: string; pane?: string }
  return pane === undefined ? undefined : `${socket} ${pane}`
}

/** The first of `name`, `name-2`, `name-3`… that is not taken. */
export function freeName(usual: string, taken: ReadonlySet<string>): string {
  const plain = usual.replaceAll(/[^\w.-]+/g, '-')
  for (let n = 1; ; n++) {
    const name = n === 1 ? plain : `${plain}-${n}`
    if (!taken.has(name)) return name
  }
}
