// Opens the scripted agent: what tmux is to real agents, files are to this one.

import { spawn } from 'node:child_process'
import fs from 'node:fs'
import type { Adapter, ScreenState } from '../../../src/agents/index.ts'
import {
  type AgentPlace,
  type Driver,
  type Ending,
  RefusedError,
  type Sent,
} from '../../../src/supervisor/drivers/driver.ts'
import { type Observation, type Observer, openObserver } from '../../../src/supervisor/observe/observation.ts'
import type { OpenAgent } from '../../../src/supervisor/run.ts'
import { type Order, protocolFiles } from './protocol.ts'

export interface ScriptedAgentOptions {
  /** Of the scripted agent: the files of its protocol, and its transcripts. */
  readonly home: string
  /** The scripted agent as Node can run it. */
  readonly program: string
  /** Compacts by itself from there on. */
  readonly compactsAt?: number
}

export function openScriptedAgent({ home, program, compactsAt }: ScriptedAgentOptions): OpenAgent {
  const env = { PI_CODING_AGENT_DIR: home }
  const adapter: Adapter = {
    name: 'scripted',
    label: 'Scripted agent',
    transcript: 'pi',
    env,
    compactsAt: () => compactsAt,
    launch: () => ({ program: 'node', args: [program] }),
    resume: () => ({ program: 'node', args: [program] }),
    clear: '/new',
    interrupt: ['Escape'],
  }
  return async (run, start) => {
    const since = Date.now()
    const models = { providers: { scripted: { models: [{ id: 'scripted', contextWindow: windowOf(home) }] } } }
    fs.writeFileSync(`${home}/models.json`, JSON.stringify(models))
    const session = start.how === 'launch' ? undefined : start.session
    const pid = start.how === 'attach' ? start.place.pid! : await launch(program, home, run.cwd, session)
    const driver = new ScriptedDriver(home, pid)
    if (start.how === 'launch' && start.prompt !== undefined) driver.prompt(start.prompt)
    const observer = openObserver({
      adapter,
      driver,
      cwd: run.cwd,
      ...(start.how === 'attach' ? {} : { since }),
      ...(session === undefined ? {} : { session }),
      ...('former' in start ? { former: start.former } : {}),
    })
    return { adapter, driver, observer: withLimit(observer, home) }
  }
}

/** pi's transcripts tell of no limits: a file beside them says how many milliseconds one holds from when it is first seen. */
function withLimit(observer: Observer, home: string): Observer {
  const { limit: file } = protocolFiles(home)
  let limit: { readonly until: string; readonly date: string } | undefined
  let isLifted = false
  const limited = (observation: Observation): Observation => {
    if (limit === undefined && fs.existsSync(file)) {
      const now = Date.now()
      const until = new Date(now + Number(fs.readFileSync(file, 'utf8'))).toISOString()
      limit = { until, date: new Date(now).toISOString() }
    }
    isLifted ||= observation.prompt?.text.startsWith('Baton waited') === true
    if (limit === undefined || isLifted) return observation
    const { until } = limit
    const told = { ...observation, limit }
    return Date.parse(until) > Date.now() ? { ...told, state: { state: 'limited', until } } : told
  }
  return {
    observe: async () => limited(await observer.observe()),
    watch: async function* (signal) {
      for await (const observation of observer.watch(signal)) yield limited(observation)
    },
    close: () => observer.close(),
  }
}

function windowOf(home: string): number {
  return (JSON.parse(fs.readFileSync(protocolFiles(home).script, 'utf8')) as { window?: number }).window ?? 100_000
}

async function launch(program: string, home: string, cwd: string, session: string | undefined): Promise<number> {
  const { screen, exit, pid } = protocolFiles(home)
  fs.rmSync(screen, { force: true })
  fs.rmSync(exit, { force: true })
  const args = [program, home, cwd, ...(session === undefined ? [] : [session])]
  const child = spawn(process.execPath, args, { cwd, detached: true, stdio: 'ignore' })
  child.unref()
  fs.writeFileSync(pid, String(child.pid))
  while (!fs.existsSync(screen) && child.exitCode === null && child.signalCode === null) {
    await new Promise((resolve) => setTimeout(resolve, 5))
  }
  return child.pid!
}

class ScriptedDriver implements Driver {
  readonly place: AgentPlace
  readonly sent: Sent[] = []
  readonly #home: string
  readonly #pid: number

  constructor(home: string, pid: number) {
    this.#home = home
    this.#pid = pid
    this.place = { driver: 'tmux', socket: home, pane: '%1', pid }
  }

  async alive(): Promise<boolean> {
    try {
      process.kill(this.#pid, 0)
      // A dead child of this very process stays until it is fetched.
      return !fs.readFileSync(`/proc/${this.#pid}/stat`, 'utf8').includes(') Z ')
    } catch {
      return false
    }
  }

  async ended(): Promise<Ending | undefined> {
    if (await this.alive()) return undefined
    const { exit } = protocolFiles(this.#home)
    return fs.existsSync(exit) ? { code: Number(fs.readFileSync(exit, 'utf8')) } : { signal: 'SIGKILL' }
  }

  async screenState(): Promise<ScreenState> {
    return JSON.parse(fs.readFileSync(protocolFiles(this.#home).screen, 'utf8')) as ScreenState
  }

  async screenText(): Promise<string> {
    return ''
  }

  ready(): Promise<ScreenState> {
    return this.screenState()
  }

  async submit(text: string): Promise<void> {
    await this.#refuse()
    this.prompt(text)
  }

  prompt(text: string): void {
    this.sent.push({ text, at: Date.now() })
    this.#order({ do: 'prompt', text })
  }

  async clear(): Promise<void> {
    await this.#refuse()
    this.#order({ do: 'clear' })
    // As a driver does that waits for the screen to show it.
    await new Promise((resolve) => setTimeout(resolve, 40))
  }

  async interrupt(): Promise<void> {
    this.#order({ do: 'interrupt' })
  }

  async stop(): Promise<void> {
    if (await this.alive()) process.kill(this.#pid, 'SIGKILL')
  }

  async close(): Promise<void> {}

  #order(order: Order): void {
    fs.appendFileSync(protocolFiles(this.#home).inbox, `${JSON.stringify(order)}\n`)
  }

  async #refuse(): Promise<void> {
    if (!(await this.alive())) throw new RefusedError('gone', 'The scripted agent is gone')
    const screen = await this.screenState()
    if (screen.is === 'dialog') throw new RefusedError('dialog', 'A dialog is open')
    if (screen.is === 'prompt' && screen.draft !== '') throw new RefusedError('draft', 'Somebody is typing')
  }
}
