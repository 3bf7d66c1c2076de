// What a test of the supervisor needs: a project, a workspace, a home, and a scripted agent, and what a test wants to see of them.

import { spawn } from 'node:child_process'
import { once } from 'node:events'
import fs from 'node:fs'
import path from 'node:path'
import { expect, onTestFinished } from 'vitest'
import {
  type Bounds,
  type SessionSettings,
  type SupervisorSettings,
  supervisorSection,
  type Timings,
  timingsSchema,
} from '../../../src/supervisor/settings.ts'
import type { Cycled } from '../../../src/supervisor/session/records/journal.ts'
import { type Notify, type Run, sessionTape } from '../../../src/supervisor/run.ts'
import { supervise, type SuperviseOptions, type SupervisorEvent } from '../../../src/supervisor/supervise.ts'
import type { Entry, Store } from '../../../src/store/index.ts'
import { program } from '../../support/program.ts'
import { addressOf, temporaryFolder, temporaryStore } from '../../support/workspace.ts'
import { openScriptedAgent } from './open-scripted-agent.ts'
import type { SupervisorJob } from './supervisor-process.ts'
import { type Heard, type Script, protocolFiles } from './protocol.ts'

/** Bundles that Node can run. */
interface Programs {
  readonly agent: string
  readonly supervisor: string
}

async function bundlePrograms(): Promise<Programs> {
  const [agent, supervisor] = await Promise.all([
    program(new URL('./scripted-agent.ts', import.meta.url)),
    program(new URL('./supervisor-process.ts', import.meta.url)),
  ])
  return { agent, supervisor }
}

/** Impatient, so that tests are quick: every wait is bounded by events, not by these. */
const quick: Partial<SessionSettings> = {
  graceSeconds: 0.3,
  submitSeconds: 3,
  clearSeconds: 0.5,
  documentSeconds: 20,
  verifySeconds: 20,
  turnSeconds: 20,
  backgroundSeconds: 0.5,
  cooldownSeconds: 0,
  staggerSeconds: 0,
  restartSeconds: 0.05,
}

function isTiming(name: string): boolean {
  return name in timingsSchema.shape
}

/** A check, as it stands on the tape. */
interface Health {
  readonly check_type: string
  readonly status: string
  readonly details: { readonly what: string }
  readonly action_taken: string
}

interface TranscriptMessage {
  readonly role: string
  readonly content: readonly { readonly text?: string }[]
  readonly usage?: { readonly input: number; readonly cost: { readonly total: number } }
}

export class Harness {
  readonly root: string
  readonly home: string
  readonly cwd: string
  readonly store: Store
  readonly programs: Programs
  readonly events: SupervisorEvent[] = []
  readonly told: Parameters<Notify['notify']>[0][] = []
  settings: SupervisorSettings
  readonly timings: Timings
  readonly #listeners = new Set<() => void>()
  #close: (() => Promise<unknown>) | undefined

  private constructor(root: string, store: Store, programs: Programs, settings: Partial<SessionSettings>) {
    this.root = root
    this.home = path.join(root, 'home')
    this.cwd = path.join(root, 'shop')
    this.store = store
    this.programs = programs
    const all = Object.entries({ ...quick, ...settings })
    this.settings = supervisorSection.parse(Object.fromEntries(all.filter(([name]) => !isTiming(name))))
    this.timings = timingsSchema.parse(Object.fromEntries(all.filter(([name]) => isTiming(name))))
    fs.mkdirSync(this.home)
    fs.mkdirSync(this.cwd)
    this.script({})
  }

  static async open(settings: Partial<SessionSettings> = {}): Promise<Harness> {
    const root = fs.realpathSync(temporaryFolder())
    const harness = new Harness(root, await temporaryStore(path.join(root, '.baton')), await bundlePrograms(), settings)
    onTestFinished(() => harness.killAgent())
    return harness
  }

  script(script: Partial<Script>): void {
    const { script: file } = protocolFiles(this.home)
    const before = fs.existsSync(file) ? (JSON.parse(fs.readFileSync(file, 'utf8')) as Partial<Script>) : {}
    fs.writeFileSync(`${file}.next`, JSON.stringify({ ...before, ...script }))
    fs.renameSync(`${file}.next`, file)
  }

  get run(): Run {
    return {
      name: 'shop',
      agent: 'scripted',
      cwd: this.cwd,
      driver: 'tmux',
      args: [],
      prompt: 'Build the shop; never use jQuery.',
    }
  }

  get openAgent() {
    return openScriptedAgent({ home: this.home, program: this.programs.agent })
  }

  /** Supervises in this process; `until` decides when it is enough. */
  supervise(more: Partial<SuperviseOptions> = {}) {
    return this.#supervise({ run: this.run, ...more })
  }

  /** Goes on with the session as it stands on its tape. */
  resume(bounds?: Bounds) {
    return this.#supervise(bounds === undefined ? {} : { bounds })
  }

  #supervise(more: Partial<SuperviseOptions>) {
    const letGo = new AbortController()
    const ended = supervise({
      store: this.store,
      name: 'shop',
      openAgent: this.openAgent,
      settings: () => this.settings,
      timings: this.timings,
      notify: { notify: async (told) => void this.told.push(told) },
      signal: letGo.signal,
      onEvent: (event) => {
        this.events.push(event)
        for (const listener of this.#listeners) listener()
      },
      ...more,
    })
    ended.catch(() => undefined)
    const close = async () => {
      letGo.abort()
      return ended
    }
    this.#close = close
    onTestFinished(async () => void (await close().catch(() => undefined)))
    return { ended, close }
  }

  /** A supervisor in a process of its own, which is gone before the folder of the test is. */
  spawnSupervisor(job: Partial<SupervisorJob> = {}) {
    const whole: SupervisorJob = {
      workspace: addressOf(path.join(this.root, '.baton')),
      home: this.home,
      program: this.programs.agent,
      run: this.run,
      settings: this.settings,
      timings: this.timings,
      ...job,
    }
    const child = spawn(process.execPath, [this.programs.supervisor, JSON.stringify(whole)], {
      stdio: ['ignore', 'ignore', 'inherit'],
    })
    const ended = once(child, 'exit') as Promise<[number | null, NodeJS.Signals | null]>
    onTestFinished(async () => {
      child.kill('SIGKILL')
      await ended
    })
    return { child, ended }
  }

  /** Ends the last supervisor; the agent lives on. */
  async letGo(): Promise<void> {
    await this.#close?.()
  }

  /** Resolves when the condition holds; looked at on every event, and now and then. */
  async until<T>(condition: () => T | Promise<T>, what: string, patience = 45_000): Promise<T & {}> {
    const deadline = Date.now() + patience
    for (;;) {
      const found = await condition()
      if (found !== undefined && found !== null && found !== false) return found
      if (Date.now() > deadline) throw new Error(`${what} did not happen: ${JSON.stringify(await this.log(), null, 1)}`)
      await new Promise<void>((resolve) => {
        const done = () => {
          clearTimeout(timer)
          this.#listeners.delete(done)
          resolve()
        }
        const timer = setTimeout(done, 50)
        this.#listeners.add(done)
      })
    }
  }

  /** Lets some time pass in which something that must not happen would have happened. */
  async aged(): Promise<void> {
    const begun = Date.now()
    await this.until(() => Date.now() - begun > 2_500, 'time')
  }

  /** Resolves when a person was sent a notification with that in its title. */
  async notified(title: string): Promise<void> {
    await this.until(() => this.told.some((sent) => sent.title.includes(title)), `a notification of "${title}"`)
  }

  async cycled(n = 1): Promise<Cycled> {
    return this.until(async () => (await this.cycles()).find((each) => each.n >= n), `cycle ${n}`)
  }

  async cycles(): Promise<Cycled[]> {
    return (await this.entries('cycled')).map((entry) => dataOf(entry) as Cycled)
  }

  async entries(name: string): Promise<Entry[]> {
    const found: Entry[] = []
    for await (const entry of this.store.read(sessionTape('shop'))) {
      if ((entry.payload as { name?: unknown }).name === name) found.push(entry)
    }
    return found
  }

  /** What the tape says, in short. */
  async log(): Promise<string[]> {
    const lines: string[] = []
    for await (const { payload } of this.store.read(sessionTape('shop'))) {
      lines.push(JSON.stringify(payload).slice(0, 300))
    }
    return [...lines, ...this.heard().map((each) => JSON.stringify(each).slice(0, 150))]
  }

  heard(): Heard[] {
    const { heard } = protocolFiles(this.home)
    if (!fs.existsSync(heard)) return []
    return fs
      .readFileSync(heard, 'utf8')
      .split('\n')
      .filter((line) => line !== '')
      .map((line) => JSON.parse(line) as Heard)
  }

  /** What the agent itself has written down, in that context or in all of them. */
  transcript(session = ''): TranscriptMessage[] {
    const folder = path.join(this.home, 'sessions')
    return fs
      .readdirSync(folder, { recursive: true, encoding: 'utf8' })
      .filter((name) => name.endsWith(`${session}.jsonl`))
      .flatMap((name) => fs.readFileSync(path.join(folder, name), 'utf8').trim().split('\n'))
      .flatMap((line) => (JSON.parse(line) as { message?: TranscriptMessage }).message ?? [])
  }

  prompts(beginning: string): string[] {
    return this.heard().flatMap((each) => ('prompt' in each && each.prompt.startsWith(beginning) ? [each.prompt] : []))
  }

  clears(): number {
    return this.heard().filter((each) => 'cleared' in each).length
  }

  /** Has it work until its context is so full. */
  fill(percent: number): void {
    this.say(`Go on with the shop, to ${percent}% of your context.`)
  }

  say(text: string): void {
    fs.appendFileSync(protocolFiles(this.home).inbox, `${JSON.stringify({ do: 'prompt', text })}\n`)
  }

  get pid(): number | undefined {
    const { pid } = protocolFiles(this.home)
    return fs.existsSync(pid) ? Number(fs.readFileSync(pid, 'utf8')) : undefined
  }

  killAgent(): void {
    try {
      if (this.pid !== undefined) process.kill(this.pid, 'SIGKILL')
    } catch {
      // It is gone.
    }
  }

  async health(type: string): Promise<Health[]> {
    const all = (await this.entries('health')).map((entry) => dataOf(entry) as Health)
    return all.filter(({ check_type }) => check_type === type)
  }
}

export function dataOf(entry: Entry): unknown {
  return (entry.payload as { data: unknown }).data
}

/** Nothing was cleared before a document was durable, and no prompt was typed twice. */
export async function expectOrder(harness: Harness): Promise<void> {
  const seen = new Set<string>()
  for (const each of harness.heard()) {
    if (!('prompt' in each) || !/^(Create|Read) handoff/.test(each.prompt)) continue
    expect(seen, each.prompt).not.toContain(each.prompt)
    seen.add(each.prompt)
  }
  const clears = harness.clears()
  const documents = await harness.entries('handoff_document')
  if (clears > 0) expect(documents.length).toBeGreaterThan(0)
}
