// Takes hold of puppets: what tmux is to real agents, files are to them.

import { spawn } from 'node:child_process'
import fs from 'node:fs'
import type { Adapter, Look } from '../../../src/supervisor/adapter.ts'
import { type Driver, type Ending, type Place, RefusedError, type Sent } from '../../../src/supervisor/driver.ts'
import { type Eyes, type Observation, openEyes } from '../../../src/supervisor/eyes.ts'
import type { OpenHands } from '../../../src/supervisor/run.ts'
import { type Order, stringsOf } from './strings.ts'

export interface PuppetOptions {
  /** Of the puppet: its strings, and its transcripts. */
  readonly home: string
  /** The puppet as Node can run it. */
  readonly program: string
  /** Compacts by itself from there on. */
  readonly compactsAt?: number
}

export function puppetHands({ home, program, compactsAt }: PuppetOptions): OpenHands {
  const env = { PI_CODING_AGENT_DIR: home }
  const adapter: Adapter = {
    name: 'puppet',
    label: 'Puppet',
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
    const models = { providers: { puppet: { models: [{ id: 'puppet', contextWindow: windowOf(home) }] } } }
    fs.writeFileSync(`${home}/models.json`, JSON.stringify(models))
    const session = start.how === 'launch' ? undefined : start.session
    const pid = start.how === 'attach' ? start.place.pid! : await launch(program, home, run.cwd, session)
    const driver = new PuppetDriver(home, pid)
    if (start.how === 'launch' && start.prompt !== undefined) driver.prompt(start.prompt)
    const eyes = openEyes({ adapter, driver, cwd: run.cwd, since, ...(session === undefined ? {} : { session }) })
    return { adapter, driver, eyes: withLimit(eyes, home) }
  }
}

/** pi's transcripts tell of no limits: a file beside them does. */
function withLimit(eyes: Eyes, home: string): Eyes {
  const limited = (look: Observation): Observation => {
    const { limit } = stringsOf(home)
    const until = fs.existsSync(limit) ? fs.readFileSync(limit, 'utf8') : ''
    return Date.parse(until) > Date.now() ? { ...look, state: { state: 'limited', until } } : look
  }
  return {
    look: async () => limited(await eyes.look()),
    watch: async function* (signal) {
      for await (const look of eyes.watch(signal)) yield limited(look)
    },
    close: () => eyes.close(),
  }
}

function windowOf(home: string): number {
  return (JSON.parse(fs.readFileSync(stringsOf(home).script, 'utf8')) as { window?: number }).window ?? 100_000
}

async function launch(program: string, home: string, cwd: string, session: string | undefined): Promise<number> {
  const { screen, exit, pid } = stringsOf(home)
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

class PuppetDriver implements Driver {
  readonly place: Place
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
    const { exit } = stringsOf(this.#home)
    return fs.existsSync(exit) ? { code: Number(fs.readFileSync(exit, 'utf8')) } : { signal: 'SIGKILL' }
  }

  async look(): Promise<Look> {
    return JSON.parse(fs.readFileSync(stringsOf(this.#home).screen, 'utf8')) as Look
  }

  async screen(): Promise<string> {
    return ''
  }

  ready(): Promise<Look> {
    return this.look()
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
    fs.appendFileSync(stringsOf(this.#home).inbox, `${JSON.stringify(order)}\n`)
  }

  async #refuse(): Promise<void> {
    if (!(await this.alive())) throw new RefusedError('gone', 'The puppet is gone')
    const look = await this.look()
    if (look.is === 'dialog') throw new RefusedError('dialog', 'A dialog is open')
    if (look.is === 'prompt' && look.draft !== '') throw new RefusedError('draft', 'Somebody is typing')
  }
}
