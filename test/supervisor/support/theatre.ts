// A place for puppets: a project, a workspace, a home, and what a test wants to see of them.

import { build } from 'esbuild'
import fs from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { afterAll, expect, onTestFinished } from 'vitest'
import { type SupervisorSettings, supervisorSection } from '../../../src/supervisor/settings.ts'
import type { Cycled } from '../../../src/supervisor/journal.ts'
import { type Notify, type Run, sessionTape } from '../../../src/supervisor/run.ts'
import { supervise, type SuperviseOptions, type SupervisorEvent } from '../../../src/supervisor/supervise.ts'
import type { Entry, Store } from '../../../src/store/index.ts'
import { temporaryFolder, temporaryStore } from '../../support/workspace.ts'
import { puppetHands } from './puppet-hands.ts'
import { type Heard, type Script, stringsOf } from './strings.ts'

let programs: Promise<string> | undefined
afterAll(async () => {
  if (programs !== undefined) fs.rmSync(await programs, { recursive: true })
})

/** Puppet and keeper as Node can run them, made once per test file. */
function built(): Promise<string> {
  programs ??= (async () => {
    const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'baton-puppets-'))
    fs.symlinkSync(path.resolve(import.meta.dirname, '../../../node_modules'), path.join(folder, 'node_modules'))
    await build({
      entryPoints: ['puppet.ts', 'keeper.ts'].map((name) => path.join(import.meta.dirname, name)),
      outdir: folder,
      outExtension: { '.js': '.mjs' },
      bundle: true,
      platform: 'node',
      format: 'esm',
      packages: 'external',
    })
    return folder
  })()
  return programs
}

/** Impatient, so that tests are quick: every wait is bounded by events, not by these. */
const quick: Partial<SupervisorSettings> = {
  graceSeconds: 0.3,
  submitSeconds: 1,
  clearSeconds: 0.5,
  documentSeconds: 20,
  verifySeconds: 20,
  turnSeconds: 20,
  backgroundSeconds: 0.5,
  cooldownSeconds: 0,
  staggerSeconds: 0,
  restartSeconds: 0.05,
}

/** A check, as it stands on the tape. */
interface Health {
  readonly check_type: string
  readonly status: string
  readonly details: { readonly what: string }
  readonly action_taken: string
}

export class Theatre {
  readonly root: string
  readonly home: string
  readonly cwd: string
  readonly store: Store
  readonly programs: string
  readonly events: SupervisorEvent[] = []
  readonly told: Parameters<Notify['notify']>[0][] = []
  settings: SupervisorSettings
  readonly #listeners = new Set<() => void>()
  #close: (() => Promise<unknown>) | undefined

  private constructor(root: string, store: Store, programs: string, settings: Partial<SupervisorSettings>) {
    this.root = root
    this.home = path.join(root, 'home')
    this.cwd = path.join(root, 'shop')
    this.store = store
    this.programs = programs
    this.settings = supervisorSection.parse({ ...quick, ...settings })
    fs.mkdirSync(this.home)
    fs.mkdirSync(this.cwd)
    this.script({})
  }

  static async open(settings: Partial<SupervisorSettings> = {}): Promise<Theatre> {
    const root = fs.realpathSync(temporaryFolder())
    const theatre = new Theatre(root, await temporaryStore(path.join(root, '.baton')), await built(), settings)
    onTestFinished(() => theatre.killAgent())
    return theatre
  }

  script(script: Partial<Script>): void {
    const { script: file } = stringsOf(this.home)
    const before = fs.existsSync(file) ? (JSON.parse(fs.readFileSync(file, 'utf8')) as Partial<Script>) : {}
    fs.writeFileSync(`${file}.next`, JSON.stringify({ ...before, ...script }))
    fs.renameSync(`${file}.next`, file)
  }

  get run(): Run {
    return {
      name: 'shop',
      agent: 'puppet',
      cwd: this.cwd,
      driver: 'tmux',
      args: [],
      prompt: 'Build the shop; never use jQuery.',
    }
  }

  get hands() {
    return puppetHands({ home: this.home, program: path.join(this.programs, 'puppet.mjs') })
  }

  /** Supervises in this process; `until` decides when it is enough. */
  supervise(more: Partial<SuperviseOptions> = {}) {
    const letGo = new AbortController()
    const ended = supervise({
      store: this.store,
      name: 'shop',
      run: this.run,
      hands: this.hands,
      settings: () => this.settings,
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

  /** A transcript that is as young as the agent might be its own: so lately nobody starts a session only to lose it. */
  async aged(): Promise<void> {
    const begun = Date.now()
    await this.until(() => Date.now() - begun > 2_500, 'time')
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
    const { heard } = stringsOf(this.home)
    if (!fs.existsSync(heard)) return []
    return fs
      .readFileSync(heard, 'utf8')
      .split('\n')
      .filter((line) => line !== '')
      .map((line) => JSON.parse(line) as Heard)
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
    fs.appendFileSync(stringsOf(this.home).inbox, `${JSON.stringify({ do: 'prompt', text })}\n`)
  }

  get pid(): number | undefined {
    const { pid } = stringsOf(this.home)
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
export async function expectOrder(theatre: Theatre): Promise<void> {
  const seen = new Set<string>()
  for (const each of theatre.heard()) {
    if (!('prompt' in each) || !/^(Create|Read) handoff/.test(each.prompt)) continue
    expect(seen, each.prompt).not.toContain(each.prompt)
    seen.add(each.prompt)
  }
  const clears = theatre.clears()
  const documents = await theatre.entries('handoff_document')
  if (clears > 0) expect(documents.length).toBeGreaterThan(0)
}
