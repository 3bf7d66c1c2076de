// One agent on its way through a plan: watches the tape of its session, does the harm when its moment comes, and takes
// down how long it took until the work went on, and which facts were lost by then.

import { createHash } from 'node:crypto'
import fs from 'node:fs'
import path from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { openStore, type Store } from '../../src/store/index.ts'
import { allProcesses, folderOf } from '../../src/system/processes.ts'
import type { Door, Started } from '../support/door.ts'
import { between, type Harm, type Planned } from './plan.ts'

export interface Incident {
  readonly agent: string
  readonly cycle: number
  readonly step: string
  readonly harm: Harm
  /** Until the work went on. */
  seconds: number
  /** Found missing or wrong in the next document. */
  lost: string[]
}

export interface Cycled {
  readonly n: number
  readonly outcome: string
  readonly totalMs: number
  readonly ownMs: number
  readonly by: string
}

interface CourseOptions {
  readonly agent: string
  readonly door: Door
  readonly run: readonly string[]
  readonly plan: readonly Planned[]
  /** Words of the person that each document must hold. */
  readonly words?: () => readonly string[]
  /** Resolves when its model has the outcome of a command, and will not answer for a while. */
  readonly thinking?: () => Promise<void>
  /** The harms that only this agent knows how to do. */
  readonly own?: Partial<Record<Harm, () => Promise<void>>>
  readonly say: (line: string) => void
}

export class Course {
  readonly incidents: Incident[] = []
  readonly cycles: Cycled[] = []
  /** One after the other. */
  readonly supervisors: Started[] = []
  readonly #options: CourseOptions
  readonly #stop = new AbortController()
  readonly #lost = new Set<string>()
  #supervisor: Started
  #pane: { pid: number } | undefined

  constructor(options: CourseOptions) {
    this.#options = options
    this.#supervisor = this.#start(...options.run)
  }

  #start(...args: string[]): Started {
    const started = this.#options.door.start(...args)
    this.supervisors.push(started)
    return started
  }

  /** Resolves when the last supervisor has ended, with why. */
  async go(): Promise<string> {
    const { door } = this.#options
    while (!fs.existsSync(path.join(door.project, '.baton/tape/manifest.json'))) await sleep(50)
    const store = await openStore(path.join(door.project, '.baton'))
    const reading = this.#read(store)
    let code: number | null = null
    for (;;) {
      const current = this.#supervisor
      code = await current.ended
      // Somebody killed it, and another has taken over.
      if (current === this.#supervisor && !this.#isReplaced) break
      while (current === this.#supervisor) await sleep(20)
    }
    this.#stop.abort()
    await reading.catch(() => undefined)
    await store.close()
    const last = this.#supervisor.events.at(-1)
    const why = last?.type === 'ended' ? (last.ended as { why: string }).why : `ended with ${code}`
    if (why !== 'finished') this.#options.say(`${this.#options.agent}: ${why}: ${this.#supervisor.err()}`)
    return why
  }

  #isReplaced = false

  async #read(store: Store): Promise<void> {
    let open = [...this.#options.plan]
    let last = 0
    for await (const { payload } of store.watch('session/job', 0, this.#stop.signal)) {
      const { name, data } = payload as { name: string; data: Record<string, unknown> }
      if (name === 'whereabouts') this.#pane = data.place as { pid: number }
      if (name === 'cycled') {
        last = this.#over(data)
        const due = open.find(({ cycle, step }) => between.includes(step) && cycle === last + 1)
        open = open.filter((each) => each !== due)
        if (due !== undefined) void this.#harm(due)
      }
      const state = data?.cycle as { n?: number; at?: string } | undefined
      if (name !== 'cycle' || state?.n === undefined) continue
      const due = open.find(({ cycle, step }) => step === state.at && cycle === state.n)
      open = open.filter((each) => each !== due)
      if (due !== undefined) void this.#harm(due)
    }
  }

  #over(data: Record<string, unknown>): number {
    const { n, outcome, totalMs, ownMs, document } = data as unknown as Cycled & { document?: { by: string } }
    this.cycles.push({ n, outcome, totalMs, ownMs, by: document?.by ?? 'none' })
    const missing = this.#missing().filter((fact) => !this.#lost.has(fact))
    for (const fact of missing) this.#lost.add(fact)
    this.incidents.at(-1)?.lost.push(...missing)
    const { agent, say } = this.#options
    say(
      `${agent}: cycle ${n} ${outcome}, ${(totalMs / 1000).toFixed(1)} s, own ${(ownMs / 1000).toFixed(2)} s${missing.length > 0 ? `, lost ${missing.join(', ')}` : ''}`,
    )
    return n
  }

  async #harm({ cycle, step, harm }: Planned): Promise<void> {
    if (step === 'working') await sleep(250)
    if (step === 'thinking') {
      await this.#options.thinking?.()
      await this.#written()
    }
    if (step === 'anywhere') await sleep(Math.random() * 4_000)
    if (step === 'running') while (!this.#isStamping()) await sleep(10)
    const { agent, say, own } = this.#options
    const incident: Incident = { agent, cycle, step, harm, seconds: 0, lost: [] }
    this.incidents.push(incident)
    say(`${agent}: cycle ${cycle}, ${step}: ${harm}`)
    const start = performance.now()
    await (own?.[harm] ?? (() => this.#usual(harm)))()
    const before = this.#progress()
    while (!this.#stop.signal.aborted && this.#progress() === before) await sleep(50)
    incident.seconds = (performance.now() - start) / 1000
  }

  async #usual(harm: Harm): Promise<void> {
    const { door } = this.#options
    if (harm === 'agent killed' && this.#pane !== undefined) process.kill(this.#pane.pid, 'SIGKILL')
    if (harm === 'tmux server killed' || harm === 'supervisor and tmux killed') door.killTmux()
    if (harm === 'supervisor killed' || harm === 'supervisor and tmux killed') await this.replaceSupervisor()
    if (harm === 'person types') {
      door.tmux('send-keys', '-l', 'wait, I want to')
      await sleep(5_000)
      door.tmux('send-keys', 'C-u')
    }
  }

  get supervisor(): Started {
    return this.#supervisor
  }

  async replaceSupervisor(meanwhile = () => Promise.resolve()): Promise<void> {
    const killed = this.#supervisor
    this.#isReplaced = true
    killed.child.kill('SIGKILL')
    await killed.ended
    await meanwhile()
    this.#supervisor = this.#start('resume', 'job')
    this.#isReplaced = false
  }

  #isStamping(): boolean {
    const { project } = this.#options.door
    return allProcesses().some(({ pid, args }) => args.includes('scripts/stamp.mjs') && folderOf(pid) === project)
  }

  /** Grows with each module that is stamped: the work itself, whoever does it. */
  #progress(): number {
    const folder = path.join(this.#options.door.project, 'stamps')
    return fs.existsSync(folder) ? fs.readdirSync(folder).length : 0
  }

  /** Agents ask their model before they have written down what a command printed: an agent killed then has told it to nobody. */
  async #written(): Promise<void> {
    const { agent, door, say } = this.#options
    const folder = path.join(door.project, 'stamps')
    // opencode keeps its transcripts in a database.
    if (agent === 'opencode' || !fs.existsSync(folder)) return
    const when = (name: string) => fs.statSync(path.join(folder, name)).mtimeMs
    const newest = fs.readdirSync(folder).reduce((a, b) => (when(a) > when(b) ? a : b))
    const deadline = performance.now() + 2_000
    while (!this.#wasWritten(newest) && performance.now() < deadline) await sleep(20)
    if (!this.#wasWritten(newest)) say(`${agent}: stamp ${newest} is in no transcript yet`)
  }

  /** A command that was running when its agent was killed printed for nobody. */
  #wasWritten(name: string): boolean {
    const { door } = this.#options
    const wanted = fs.readFileSync(path.join(door.project, 'stamps', name), 'utf8')
    const files = fs
      .readdirSync(door.folder, { recursive: true, encoding: 'utf8' })
      .filter((file) => file.endsWith('.jsonl') && !file.includes('.baton'))
    return files.some((file) =>
      [...fs.readFileSync(path.join(door.folder, file), 'utf8').matchAll(/`stamp [\w-]+` is `(\d+)`/g)].some(
        ([, stamp]) => sha256(stamp!) === wanted,
      ),
    )
  }

  /** Facts that the newest document lacks: values of the person, and stamps that were given out. */
  #missing(): string[] {
    const { door } = this.#options
    const folder = path.join(door.project, '.baton/handoffs/job')
    if (!fs.existsSync(folder)) return [`the folder ${folder}`]
    const newest = fs
      .readdirSync(folder)
      .filter((name) => name.endsWith('.md'))
      .map((name) => path.join(folder, name))
      .sort((a, b) => fs.statSync(b).mtimeMs - fs.statSync(a).mtimeMs)[0]
    if (newest === undefined) return []
    const told = new Map(
      [...fs.readFileSync(newest, 'utf8').matchAll(/`([\w -]+)` is `([^`\n]*)`/g)].map(([, name, value]) => [
        name!,
        value!,
      ]),
    )
    const values = [...fs.readFileSync(door.task, 'utf8').matchAll(/`([\w -]+)` is `([^`\n]*)`/g)]
      .filter(([, name, value]) => told.get(name!) !== value)
      .map(([, name]) => name!)
    const stamps = path.join(door.project, 'stamps')
    // A stamp of the last moments is in the transcript, and not yet in a document.
    const when = fs.statSync(newest).mtimeMs
    const given = fs.existsSync(stamps)
      ? fs.readdirSync(stamps).filter((name) => fs.statSync(path.join(stamps, name)).mtimeMs < when)
      : []
    const wrong = given.filter(
      (name) => sha256(told.get(`stamp ${name}`) ?? '') !== fs.readFileSync(path.join(stamps, name), 'utf8'),
    )
    const text = fs.readFileSync(newest, 'utf8').replaceAll(/\s+/g, ' ')
    const unsaid = (this.#options.words?.() ?? []).filter((words) => !text.includes(words))
    return [
      ...values,
      ...unsaid,
      ...wrong.map((name) => `stamp ${name}${this.#wasWritten(name) ? '' : ' (in no transcript)'}`),
    ]
  }
}

function sha256(text: string): string {
  return createHash('sha256').update(text).digest('hex')
}
