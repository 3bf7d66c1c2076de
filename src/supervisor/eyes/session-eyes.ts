// Looks at one session, and again whenever there may be something new: a file grew, a file came, a process ended.

import path from 'node:path'
import { StorageError } from '../../errors.ts'
import { agentNamed } from '../../transcripts/agents.ts'
import { stateOf } from '../../transcripts/state.ts'
import type { Meter } from '../../transcripts/index.ts'
import type { Ending } from '../driver.ts'
import type { HeadlessPlace } from '../drivers/headless.ts'
import { isThere, startOf } from '../../system/processes.ts'
import type { Eyes, EyesOptions, Observation } from '../eyes.ts'
import { watchFolder } from './bell.ts'
import { claudeFile, type ClaudeStatus, claudeStatus, sizeOf, statusFolder } from './claude-status.ts'
import { Finder, realOf } from './finder.ts'
import { onPulse } from './pulse.ts'
import { signOf } from './sign.ts'
import { Glances, settling } from './glances.ts'
import { View } from './view.ts'

type Turn = Pick<Observation, 'turn' | 'turnSince'>

/** A database is written many times a second: reading it takes a tenth of the time, within these pauses. */
const pauses = { shortest: 20, longest: 250 }

export class SessionEyes implements Eyes {
  readonly #options: EyesOptions
  readonly #env: NodeJS.ProcessEnv
  readonly #finder: Finder
  readonly #cwd: string
  readonly #watches = new Map<string, () => void>()
  readonly #glances: Glances
  readonly #stopPulse: () => void
  #view: View | undefined
  #status: ClaudeStatus | undefined
  #statusPids: number[] = []
  /** When it last said that it went to work. */
  #busySince = 0
  /** Of the last turn without a screen, and when it was seen first. */
  #ending: Ending | undefined
  #endedAt = 0
  #toldTurn: Observation['turn'] = 'none'
  #session: string | undefined
  /** A file came, or one that is not ours grew. */
  #stirred = true
  #dirty = true
  #alive = true
  #refreshing: Promise<void> | undefined
  /** Not to be read again before then. */
  #pausesUntil = 0
  #version = 0
  #beats = 0
  #wake = new Set<() => void>()
  #closed = false

  constructor(options: EyesOptions) {
    const { adapter, driver, cwd, env = process.env } = options
    const { pid } = driver.place
    // One that was taken over while it ran may write what it began with.
    const since = Math.min(options.since, (pid === undefined ? undefined : startOf(pid)) ?? options.since)
    this.#options = { ...options, since }
    this.#env = { ...env, ...adapter.env }
    this.#cwd = realOf(cwd)
    this.#session = options.session
    const { before } = options
    this.#finder = new Finder({ adapter, env: this.#env, cwd: this.#cwd, driver, since, ...(before && { before }) })
    this.#glances = new Glances(driver)
    this.#stopPulse = onPulse(() => this.#onPulse())
    this.#arm()
  }

  async look(): Promise<Observation> {
    this.#dirty = true
    await this.#refresh()
    return this.#observation()
  }

  async *watch(signal: AbortSignal): AsyncGenerator<Observation> {
    let seen = -1
    let told = ''
    while (!signal.aborted && !this.#closed) {
      if (this.#dirty) await this.#refresh()
      if (this.#version !== seen) {
        seen = this.#version
        const observation = this.#observation()
        const sign = signOf(observation)
        if (sign !== told) {
          told = sign
          yield observation
          continue
        }
      }
      await this.#next(signal, seen)
    }
  }

  async close(): Promise<void> {
    this.#closed = true
    this.#stopPulse()
    // What it would open after this nobody would close.
    await this.#refreshing?.catch(() => undefined)
    for (const stop of this.#watches.values()) stop()
    this.#watches.clear()
    this.#view?.close()
    this.#finder.close()
    this.#ring()
  }

  /** Watches every folder that is there by now; whether there is a new one. */
  #arm(): boolean {
    let found = false
    const { transcript } = this.#options.adapter
    const folders = this.#finder.nests(Date.now())
    if (transcript === 'claude') {
      for (const projects of agentNamed('claude').folders(this.#env)) {
        folders.push(path.dirname(projects), statusFolder(projects))
      }
    }
    if (this.#view !== undefined) folders.push(path.dirname(this.#view.file.path))
    const { place } = this.#options.driver
    if (place.driver === 'headless') folders.push(place.folder)
    for (const folder of folders) {
      if (this.#watches.has(folder)) continue
      const stop = watchFolder(folder, (name, came) => this.#onChange(folder, name, came))
      if (stop === undefined) continue
      this.#watches.set(folder, stop)
      found = true
    }
    return found
  }

  #onChange(folder: string, name: string | undefined, came: boolean): void {
    const { place } = this.#options.driver
    // What a turn without a screen prints tells its end.
    if (place.driver === 'headless' && folder === place.folder) return this.#soil()
    const file = this.#view?.file.path
    const own = file !== undefined && folder === path.dirname(file) && name?.startsWith(path.basename(file)) === true
    if (own) {
      // All sessions of opencode are in one file.
      if (this.#view?.file.agent === 'opencode') this.#stirred = true
      return this.#soil()
    }
    if (name !== undefined && /^\d+\.json$/.test(name)) {
      // The word of one Claude Code: of this one, or of one that just started.
      if (came || this.#statusPids.includes(Number.parseInt(name, 10))) this.#soil()
      return
    }
    if (name !== undefined && !came) {
      const known = this.#status === undefined ? undefined : `${this.#status.sessionId}.jsonl`
      if (known !== undefined && name !== known) return
      if (this.#finder.isAnothers(path.join(folder, name))) return
    }
    this.#stirred = true
    // While it is in a turn, what others write is of no interest.
    if (came || file === undefined || this.#isResting()) this.#soil()
  }

  #onPulse(): void {
    const { pid } = this.#options.driver.place
    // What came before its folder was watched rang no bell.
    if (this.#view === undefined && this.#arm()) {
      this.#stirred = true
      this.#soil()
    }
    if (this.#isUnheard()) {
      this.#stirred = true
      this.#soil()
    }
    const { turn } = this.#turn()
    if (turn !== this.#toldTurn || this.#glances.isDue(this.#quiet(), turn, this.#status !== undefined)) this.#soil()
    else if (pid !== undefined && this.#alive !== isThere(pid)) this.#soil()
    // The file system does not tell everything everywhere.
    else if (++this.#beats % 3 === 0 && this.#view?.session.hasNews() === true) this.#soil()
  }

  /** What was sent lately is not here: it may be in a transcript that could not be told for its own at first. */
  #isUnheard(): boolean {
    const { at = 0 } = this.#options.driver.sent.at(-1) ?? {}
    return Date.now() - at < 30_000 && !(Date.parse(this.#view?.prompts.at(-1)?.at ?? '') >= at)
  }

  #soil(): void {
    this.#dirty = true
    this.#ring()
  }

  #ring(): void {
    for (const wake of this.#wake) wake()
  }

  /** Resolves when there may be something new since that version. */
  #next(signal: AbortSignal, seen: number): Promise<void> {
    return new Promise((resolve) => {
      const done = () => {
        this.#wake.delete(done)
        signal.removeEventListener('abort', done)
        resolve()
      }
      this.#wake.add(done)
      signal.addEventListener('abort', done)
      if (this.#dirty || this.#version !== seen || this.#closed || signal.aborted) done()
    })
  }

  /** One at a time; whoever comes meanwhile waits for one that begins after it. */
  async #refresh(): Promise<void> {
    while (this.#refreshing !== undefined) await this.#refreshing
    if (!this.#dirty || this.#closed) return
    this.#refreshing = this.#see().finally(() => {
      this.#refreshing = undefined
    })
    await this.#refreshing
  }

  async #see(): Promise<void> {
    const { adapter, driver } = this.#options
    const early = this.#pausesUntil - performance.now()
    if (early > 0) await new Promise((resolve) => setTimeout(resolve, early))
    if (this.#closed) return
    const began = performance.now()
    this.#dirty = false
    this.#arm()
    const alive = await driver.alive()
    try {
      await this.#locate()
      this.#view?.grow(Date.now())
    } catch (error) {
      // A transcript that is just being made, or written while it was read.
      if (!(error instanceof StorageError)) throw error
      this.#stirred = true
      setTimeout(() => this.#soil(), pauses.longest)
    }
    const now = performance.now()
    if (adapter.transcript === 'opencode')
      this.#pausesUntil = now + Math.min(pauses.longest, Math.max(pauses.shortest, 9 * (now - began)))
    if (driver.place.driver === 'headless') {
      const ending = await driver.ended()
      if (ending !== undefined && this.#ending === undefined) this.#endedAt = Date.now()
      this.#ending = ending
    }
    const { failed = false, changed } = this.#view ?? {}
    const [unclear, quiet, { turn }] = [this.#isUnclear(), this.#quiet(), this.#turn()]
    await this.#glances.look({ quiet, turn, asks: this.#asks(), failed, unclear, changed })
    // The screen is drawn behind the transcript.
    if (unclear && quiet < 1_000 && !this.#glances.rests) setTimeout(() => this.#soil(), settling)
    this.#alive = alive
    this.#version++
    // Others may look on, and have slept through this.
    this.#ring()
  }

  async #locate(): Promise<void> {
    const { adapter, driver } = this.#options
    if (adapter.transcript === 'claude' && this.#locateClaude()) return
    const { place } = driver
    if (place.driver === 'headless') {
      this.#session = place.session
      // What was before is over as soon as it was cleared.
      if (this.#view !== undefined && !this.#view.isOf(place.session)) this.#switch(undefined, place.session)
      // Cleared, and no turn has said since what it is called: what lies there is what was cleared.
      if (place.session === undefined) return
    }
    if (this.#view !== undefined && !this.#stirred && this.#session === this.#view.file.id) return
    const resting = this.#isResting()
    if (this.#view !== undefined && !resting) return
    this.#stirred = false
    const found = await this.#finder.find(this.#view, this.#wanted(), resting)
    if (found === undefined) return
    // What it was opened for may have been left for another before anyone looked: that is looked for next.
    if (this.#view === undefined) [this.#stirred, this.#dirty] = [true, true]
    this.#switch(found)
  }

  /** The id that it was opened for, until it has been there: afterwards the agent may have gone on to another. */
  #wanted(): string | undefined {
    if (this.#options.driver.place.driver === 'headless') return this.#session
    return this.#view === undefined ? this.#session : undefined
  }

  /** Whether Claude Code itself says which session it is in. */
  #locateClaude(): boolean {
    const [projects = ''] = agentNamed('claude').folders(this.#env)
    let status = claudeStatus(projects, this.#statusPids)
    if (status === undefined) {
      this.#statusPids = this.#finder.pids()
      status = claudeStatus(projects, this.#statusPids)
    }
    // One that runs without a screen is gone with its turn.
    if (status === undefined && this.#options.driver.place.driver === 'headless') return false
    this.#status = status
    if (status === undefined) return false
    if (status.status === 'busy') this.#busySince = status.statusUpdatedAt ?? 0
    this.#session = status.sessionId
    if (this.#view?.file.id === status.sessionId) return true
    const nest = this.#finder.nests(Date.now())[1] ?? projects
    const file = claudeFile(projects, nest, status.sessionId)
    // A session without a word in it has no file yet: what was before is over nonetheless.
    if (file === undefined) this.#switch(undefined)
    else this.#switch(new View({ agent: 'claude', path: file, id: status.sessionId, ...sizeOf(file) }, this.#cwd))
    return true
  }

  #switch(view: View | undefined, session = view?.file.id): void {
    this.#view?.close()
    this.#view = view
    if (session !== undefined) this.#session = session
    this.#arm()
  }

  #isResting(): boolean {
    const { turn } = this.#turn()
    return turn === 'none' || turn === 'idle'
  }

  /** Milliseconds since anything was written. */
  #quiet(): number {
    return Date.now() - Math.max(this.#view?.changed ?? 0, this.#options.since)
  }

  /** What asks the person, as far as the agent itself says it. */
  #asks(): string | undefined {
    return this.#status?.status === 'waiting' ? (this.#status.waitingFor ?? 'a question') : undefined
  }

  #turn(): Turn {
    const told = this.#view?.session.tally.turn
    if (this.#options.driver.place.driver === 'headless') return this.#turnOfProcess(told)
    if (told === undefined) return { turn: 'none', turnSince: undefined }
    const own = { turn: told.to, turnSince: told.date }
    const { status, statusUpdatedAt = 0 } = this.#status ?? {}
    const quiet = this.#quiet() > 1_000
    if (told.to === 'idle') {
      // It says that it works before the lines of a turn are written, and that it rests shortly before the last of them.
      const asked = Date.parse(this.#view!.prompts.at(-1)?.at ?? '')
      const unwritten = this.#busySince > Date.parse(told.date ?? '') && !(this.#busySince - asked < 1_500)
      const busy = unwritten && (status === 'busy' || Date.now() - statusUpdatedAt < 1_000)
      const works = busy || (this.#view!.failed && this.#glances.sees('busy'))
      return works || (this.#isUnclear() && !this.#glances.rests) ? { ...own, turn: 'working' } : own
    }
    // A turn that was stopped before its first word leaves no line.
    if (status === 'idle' && quiet) return { turn: 'idle', turnSince: new Date(statusUpdatedAt).toISOString() }
    const over = this.#options.adapter.showsWork === true ? this.#glances.restsSince() : undefined
    return status === undefined && quiet && over !== undefined
      ? { turn: 'idle', turnSince: new Date(over).toISOString() }
      : own
  }

  /** Whether it says that the turn is over and does not know. */
  #isUnclear(): boolean {
    const { adapter, driver } = this.#options
    const onScreen = adapter.endOnScreen === true && driver.place.driver === 'tmux'
    return onScreen && this.#view?.session.tally.turn?.to === 'idle'
  }

  /** Without a screen, a turn is a process. */
  #turnOfProcess(told: { to: 'asked' | 'working' | 'idle'; date?: string } | undefined): Turn {
    const { pid, turn } = this.#options.driver.place as HeadlessPlace
    const since = told?.date
    if (pid !== undefined || this.#isUnasked())
      return { turn: told?.to === 'asked' ? 'asked' : 'working', turnSince: since }
    // It has said its last word, and may still be writing it down.
    const lingers = told !== undefined && told.to !== 'idle' && this.#ending?.code === undefined
    if (lingers && Date.now() - this.#endedAt < 1_000) return { turn: 'working', turnSince: since }
    return { turn: turn === undefined || told === undefined ? 'none' : 'idle', turnSince: since }
  }

  /** A turn without a screen that has ended since it was looked at, and has not been asked how. */
  #isUnasked(): boolean {
    const { place } = this.#options.driver
    return (
      place.driver === 'headless' && place.turn !== undefined && place.pid === undefined && this.#ending === undefined
    )
  }

  #observation(): Observation {
    const view = this.#view
    const now = Date.now()
    // Nothing more would tell.
    if (this.#isUnasked()) setImmediate(() => this.#soil())
    const turn = this.#turn()
    this.#toldTurn = turn.turn
    const { tally } = view?.session ?? {}
    const live = !this.#alive ? 'gone' : turn.turn === 'asked' || turn.turn === 'working' ? 'busy' : 'idle'
    const dialog = this.#glances.dialog(this.#asks())
    const { models = {} } = this.#options
    return {
      at: now,
      file: view?.file,
      session: view?.file.agent === 'gemini' ? (tally?.session ?? view.file.id) : (view?.file.id ?? this.#session),
      ...turn,
      turns: tally?.turns ?? 0,
      state: stateOf(tally ?? {}, view?.changed ?? now, now, live),
      meter: view?.session.meter(models) ?? noMeter,
      compactions: tally?.compactions ?? 0,
      fresh: this.#view?.fresh,
      prompt: view?.prompts.at(-1),
      // Asked for rarely, and reckoned when it is.
      get read() {
        return view?.read ?? []
      },
      get background() {
        return view?.background ?? []
      },
      get doing() {
        return [...(view?.calls.values() ?? [])]
      },
      dialog: dialog === undefined ? undefined : { question: dialog },
      error: view?.failed === true ? view.error : this.#ending?.error,
      changed: view?.changed,
      alive: this.#alive,
    }
  }
}

const noMeter: Meter = { quotas: [] }
