// Observes one session, again whenever there may be something new: a file grew, a file appeared, a process ended.

import path from 'node:path'
import { type Agent, agentNamed, type AgentStatus, limitEnd, sessionId } from '../../agents/index.ts'
import { StorageError } from '../../errors.ts'
import { everySecond, isRunning, isThere, startOf, watchFolder } from '../../system/index.ts'
import { type Meter, stateOf } from '../../transcripts/index.ts'
import { Moment } from '../cycle/clock.ts'
import type { AgentPlace, Ending } from '../drivers/driver.ts'
import type { HeadlessPlace } from '../drivers/headless.ts'
import type { Observation, Observer, ObserverOptions } from './observation.ts'
import { ScreenPolling, settling } from './screen-polling.ts'
import { realOf, TranscriptFinder } from './transcript-finder.ts'
import { TranscriptView } from './transcript-view.ts'

type Turn = Pick<Observation, 'turn' | 'turnSince'>

/** A database is written many times a second: reading it takes a tenth of the time, within these pauses. */
const pauses = { shortest: 20, longest: 250 }

export class SessionObserver implements Observer {
  readonly #options: ObserverOptions
  /** The agent whose form the transcripts have. */
  readonly #agent: Agent
  /** When the process was started; undefined: unknown. */
  readonly #started: Moment | undefined
  readonly #since: Moment
  readonly #env: NodeJS.ProcessEnv
  readonly #finder: TranscriptFinder
  readonly #cwd: string
  readonly #watches = new Map<string, () => void>()
  readonly #screenPolling: ScreenPolling
  readonly #stopPulse: () => void
  #view: TranscriptView | undefined
  #status: AgentStatus | undefined
  #statusPids: number[] = []
  /** When the agent's status file last turned to busy. */
  #busySince = 0
  /** How the last headless turn ended, and when that was noticed. */
  #ending: Ending | undefined
  /** The agent has said itself which session it is in. */
  #namesItself = false
  #endedAt = 0
  #toldTurn: Observation['turn'] = 'none'
  #session: string | undefined
  /** A file appeared, or one that is not this session's grew. */
  #hasNewFiles = true
  #dirty = true
  #alive = true
  #refreshing: Promise<void> | undefined
  /** Not to be read again before then. */
  #pausesUntil = 0
  #version = 0
  #beats = 0
  #wake = new Set<() => void>()
  #closed = false

  constructor(options: ObserverOptions) {
    const { adapter, driver, cwd, env = process.env, before, former } = options
    const started = options.since ?? startedAt(driver.place)
    const since = new Moment(started ?? Date.now())
    this.#started = started === undefined ? undefined : since
    this.#options = options
    this.#agent = agentNamed(adapter.transcript)
    this.#since = since
    this.#env = { ...env, ...adapter.env }
    this.#cwd = realOf(cwd)
    this.#session = options.session
    this.#finder = new TranscriptFinder({ adapter, env: this.#env, cwd: this.#cwd, driver, since, before, former })
    this.#screenPolling = new ScreenPolling(driver)
    this.#stopPulse = everySecond(() => this.#onPulse())
    this.#watchFolders()
  }

  async observe(): Promise<Observation> {
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
    // A refresh that is under way would open watches that nobody closes.
    await this.#refreshing?.catch(() => undefined)
    for (const stop of this.#watches.values()) stop()
    this.#watches.clear()
    this.#view?.close()
    this.#finder.close()
    this.#wakeReaders()
  }

  /** Watches every folder that is there by now; whether there is a new one. */
  #watchFolders(): boolean {
    let found = false
    const folders = [...this.#finder.folders(Date.now()), ...(this.#agent.status?.folders(this.#env) ?? [])]
    if (this.#view !== undefined) {
      folders.push(path.dirname(this.#view.file.path))
      if (this.#view.subagentsFolder !== undefined) folders.push(this.#view.subagentsFolder)
    }
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
    // The output of a headless turn shows its end.
    if (place.driver === 'headless' && folder === place.folder) return this.#markDirty()
    if (folder === this.#view?.subagentsFolder) return this.#markDirty()
    const file = this.#view?.file.path
    const own = file !== undefined && folder === path.dirname(file) && name?.startsWith(path.basename(file)) === true
    if (own) {
      // A database holds many sessions in one file.
      if (this.#agent.sharesFile === true) this.#hasNewFiles = true
      return this.#markDirty()
    }
    const pid = name === undefined ? undefined : this.#agent.status?.pidIn(name)
    if (pid !== undefined) {
      // The status file of this agent, or of one that just started.
      if (came || this.#statusPids.includes(pid)) this.#markDirty()
      return
    }
    if (name !== undefined && !came) {
      if (this.#status !== undefined && !name.startsWith(`${this.#status.session}.`)) return
      if (this.#finder.isAnothers(path.join(folder, name))) return
    }
    this.#hasNewFiles = true
    // During a turn the agent does not change its session, so other files do not matter.
    if (came || file === undefined || this.#isResting()) this.#markDirty()
  }

  #onPulse(): void {
    const { pid } = this.#options.driver.place
    // A file that appeared before its folder was watched caused no event.
    if (this.#view === undefined && this.#watchFolders()) {
      this.#hasNewFiles = true
      this.#markDirty()
    }
    if (this.#isUnheard()) {
      this.#hasNewFiles = true
      this.#markDirty()
    }
    const { turn } = this.#turn()
    if (turn !== this.#toldTurn || this.#screenPolling.isDue(this.#quietMs(), turn, this.#status !== undefined))
      this.#markDirty()
    else if (pid !== undefined && this.#alive !== isThere(pid)) this.#markDirty()
    // Some file systems report no changes.
    else if (++this.#beats % 3 === 0 && this.#view?.hasNews() === true) this.#markDirty()
  }

  /** Whether a prompt that was sent lately is missing: it may be in a transcript that was not recognised at first. */
  #isUnheard(): boolean {
    const { at = 0 } = this.#options.driver.sent.at(-1) ?? {}
    return Date.now() - at < 30_000 && !(Date.parse(this.#view?.prompts.at(-1)?.at ?? '') >= at)
  }

  #markDirty(): void {
    this.#dirty = true
    this.#wakeReaders()
  }

  #wakeReaders(): void {
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
    this.#refreshing = this.#refreshNow().finally(() => {
      this.#refreshing = undefined
    })
    await this.#refreshing
  }

  async #refreshNow(): Promise<void> {
    const { driver } = this.#options
    const early = this.#pausesUntil - performance.now()
    if (early > 0) await new Promise((resolve) => setTimeout(resolve, early))
    if (this.#closed) return
    const began = performance.now()
    this.#dirty = false
    this.#watchFolders()
    const alive = await driver.alive()
    try {
      await this.#locate()
      this.#view?.grow(Date.now())
    } catch (error) {
      // The transcript is just being created, or was written to while it was read.
      if (!(error instanceof StorageError)) throw error
      this.#hasNewFiles = true
      setTimeout(() => this.#markDirty(), pauses.longest)
    }
    const now = performance.now()
    if (this.#agent.sharesFile === true)
      this.#pausesUntil = now + Math.min(pauses.longest, Math.max(pauses.shortest, 9 * (now - began)))
    if (driver.place.driver === 'headless') {
      const ending = await driver.ended()
      if (ending !== undefined && this.#ending === undefined) this.#endedAt = Date.now()
      this.#ending = ending
    }
    const { failed = false, changed } = this.#view ?? {}
    const [unclear, quiet, { turn }] = [this.#isUnclear(), this.#quietMs(), this.#turn()]
    await this.#screenPolling.poll({ quiet, turn, asks: this.#openQuestion(), failed, unclear, changed })
    // The screen is drawn after the transcript is written.
    if (unclear && quiet < 1_000 && !this.#screenPolling.isAtRest) setTimeout(() => this.#markDirty(), settling)
    this.#alive = alive
    this.#version++
    // Other readers may have waited during this refresh.
    this.#wakeReaders()
  }

  async #locate(): Promise<void> {
    if (this.#locateByStatus()) return
    const { place } = this.#options.driver
    if (place.driver === 'headless') {
      this.#session = place.session
      // A clear ends the previous session at once.
      if (this.#view !== undefined && !this.#view.isOf(place.session)) this.#switch(undefined, place.session)
      // No turn since the clear has named its session, so any transcript is the cleared one.
      if (place.session === undefined) return
    }
    if (this.#view !== undefined && !this.#hasNewFiles && this.#session === this.#view.file.id) return
    const resting = this.#isResting()
    if (this.#view !== undefined && !resting) return
    this.#hasNewFiles = false
    const found = await this.#finder.find(this.#view, this.#wanted(), resting)
    if (found === undefined) return
    // The agent may have left the session that it was opened for already: look again for a newer one.
    if (this.#view === undefined) [this.#hasNewFiles, this.#dirty] = [true, true]
    this.#switch(found)
  }

  /** The session that the observer was opened for, until it is found; afterwards the agent may change to another. */
  #wanted(): string | undefined {
    if (this.#options.driver.place.driver === 'headless') return this.#session
    return this.#view === undefined ? this.#session : undefined
  }

  /** Whether the agent itself says which session it is in. */
  #locateByStatus(): boolean {
    const files = this.#agent.status
    if (files === undefined) return false
    let status = files.read(this.#env, this.#statusPids, this.#started?.at)
    if (status === undefined) {
      this.#statusPids = this.#finder.pids()
      status = files.read(this.#env, this.#statusPids, this.#started?.at)
    }
    // A headless agent is gone after its turn, and its status file with it.
    if (status === undefined && this.#options.driver.place.driver === 'headless') return false
    this.#status = status
    // A file that is just being written says nothing for a moment, which is no reason to guess.
    if (status === undefined) return this.#namesItself
    this.#namesItself = true
    if (status.is === 'busy') this.#busySince = status.at ?? 0
    this.#session = status.session
    if (this.#view?.file.id === status.session) return true
    const file = files.transcript(this.#env, this.#cwd, status.session)
    // A new session has no file before its first prompt, but the previous one is over.
    this.#switch(file === undefined ? undefined : new TranscriptView(file, this.#cwd))
    return true
  }

  #switch(view: TranscriptView | undefined, session = view?.file.id): void {
    this.#view?.close()
    this.#view = view
    if (session !== undefined) this.#session = session
    this.#watchFolders()
  }

  #isResting(): boolean {
    const { turn } = this.#turn()
    return turn === 'none' || turn === 'idle'
  }

  /** Milliseconds since anything was written. */
  #quietMs(): number {
    return Date.now() - Math.max(this.#view?.changed ?? 0, this.#since.at)
  }

  /** The question that the agent's own status file names. */
  #openQuestion(): string | undefined {
    return this.#status?.is === 'waiting' ? (this.#status.waitingFor ?? 'a question') : undefined
  }

  #turn(): Turn {
    const told = this.#view?.session.stats.turn
    if (this.#options.driver.place.driver === 'headless') return this.#turnOfProcess(told)
    if (told === undefined) return { turn: 'none', turnSince: undefined }
    const own = { turn: told.to, turnSince: told.date }
    const { is: status, at: statusSince = 0 } = this.#status ?? {}
    const quiet = this.#quietMs() > 1_000
    if (told.to === 'idle') {
      // The status file turns busy before the lines of a turn are written, and idle shortly before the last of them.
      const asked = Date.parse(this.#view!.prompts.at(-1)?.at ?? '')
      const unwritten = this.#busySince > Date.parse(told.date ?? '') && !(this.#busySince - asked < 1_500)
      const busy = unwritten && (status === 'busy' || Date.now() - statusSince < 1_000)
      const works = busy || (this.#view!.failed && this.#screenPolling.shows('busy'))
      return works || (this.#isUnclear() && !this.#screenPolling.isAtRest) ? { ...own, turn: 'working' } : own
    }
    // The process that was in this turn is gone, and no line will ever end the turn: it is over.
    if (isBefore(told.date, this.#started?.at)) return { ...own, turn: 'idle' }
    // A turn that was stopped before its first word leaves no line.
    if (status === 'idle' && quiet) return { turn: 'idle', turnSince: new Date(statusSince).toISOString() }
    const over = this.#options.adapter.showsWork === true ? this.#screenPolling.restsSince() : undefined
    return status === undefined && quiet && over !== undefined
      ? { turn: 'idle', turnSince: new Date(over).toISOString() }
      : own
  }

  /** Whether the transcript's end of a turn is unreliable, so that the screen has to confirm it. */
  #isUnclear(): boolean {
    const { adapter, driver } = this.#options
    const onScreen = adapter.endOnScreen === true && driver.place.driver === 'tmux'
    return onScreen && this.#view?.session.stats.turn?.to === 'idle'
  }

  /** The turn of a headless agent, which is a process. */
  #turnOfProcess(told: { to: 'asked' | 'working' | 'idle'; date?: string } | undefined): Turn {
    const { pid, turn } = this.#options.driver.place as HeadlessPlace
    const since = told?.date
    if (pid !== undefined || this.#isUnasked())
      return { turn: told?.to === 'asked' ? 'asked' : 'working', turnSince: since }
    // The turn has ended, but its last lines may still be written.
    const lingers = told !== undefined && told.to !== 'idle' && this.#ending?.code === undefined
    if (lingers && Date.now() - this.#endedAt < 1_000) return { turn: 'working', turnSince: since }
    // A turn that failed before it wrote anything is over too.
    const isUnwritten = told === undefined && this.#ending?.error === undefined
    return { turn: turn === undefined || isUnwritten ? 'none' : 'idle', turnSince: since }
  }

  /** The limit of which the transcript holds nothing: it is on the screen, or has ended a headless turn. */
  #untoldLimit(): Observation['limit'] {
    const shown = this.#screenPolling.limit()
    if (shown !== undefined) return { ...limitIn(shown.words, shown.date), asks: true }
    const { error = '', isLimit = false } = this.#ending ?? {}
    return isLimit ? limitIn(error, new Date(this.#endedAt).toISOString()) : undefined
  }

  /** Whether a headless turn has ended since the last refresh, so that its ending is not known yet. */
  #isUnasked(): boolean {
    const { place } = this.#options.driver
    return (
      place.driver === 'headless' && place.turn !== undefined && place.pid === undefined && this.#ending === undefined
    )
  }

  #observation(): Observation {
    const view = this.#view
    const now = Date.now()
    // No further event would announce the ending.
    if (this.#isUnasked()) setImmediate(() => this.#markDirty())
    const turn = this.#turn()
    this.#toldTurn = turn.turn
    const { stats } = view?.session ?? {}
    const live = !this.#alive ? 'gone' : turn.turn === 'asked' || turn.turn === 'working' ? 'busy' : 'idle'
    const dialog = this.#screenPolling.dialog(this.#openQuestion())
    const { models = {} } = this.#options
    return {
      at: now,
      file: view?.file,
      session: view === undefined ? this.#session : sessionId(view.file, stats?.session),
      ...turn,
      turns: stats?.turns ?? 0,
      state: stateOf(stats ?? {}, view?.changed ?? now, now, live),
      limit: stats?.limit ?? this.#untoldLimit(),
      meter: view?.meter(models) ?? noMeter,
      model: stats?.model,
      compactions: stats?.compactions ?? 0,
      fresh: this.#view?.fresh,
      prompt: view?.prompts.at(-1),
      // Computed on demand, because it is rarely needed.
      get read() {
        return view?.read ?? []
      },
      get background() {
        return view?.background ?? []
      },
      get doing() {
        return view?.doing ?? []
      },
      compacts: stats?.compacts === true,
      work: view?.work ?? noWork,
      dialog: dialog === undefined ? undefined : { question: dialog },
      error: view?.failed === true ? view.error : this.#ending?.error,
      changed: view?.changed,
      alive: this.#alive,
      started: this.#started?.at,
    }
  }
}

function limitIn(words: string, date: string): { readonly until?: string; readonly date: string } {
  const until = limitEnd(words, date)
  return { date, ...(until === undefined ? {} : { until }) }
}

/** When the process of an agent that ran already was started. A turn without a screen is a process, but not the agent. */
function startedAt({ driver, pid, started }: AgentPlace): number | undefined {
  if (driver === 'headless' || pid === undefined || !isRunning(pid, started)) return undefined
  return startOf(pid)
}

function isBefore(date: string | undefined, time: number | undefined): boolean {
  return date !== undefined && time !== undefined && Date.parse(date) < time
}

const noWork: ReadonlySet<string> = new Set()
const noMeter: Meter = { quotas: [] }

/** Equal for two observations that differ in nothing but their time. */
function signOf({ file, session, turn, changed, alive, dialog, limit, turns, error, meter }: Observation): string {
  return JSON.stringify([file?.path, session, turn, turns, changed, alive, dialog, limit, error, meter.cost?.usd])
}
