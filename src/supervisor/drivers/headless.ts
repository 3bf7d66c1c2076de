// An agent without a screen: a process for each turn, one after the other, each going on with the session of the last.

import { randomUUID } from 'node:crypto'
import fs from 'node:fs'
import path from 'node:path'
import { CancelledError } from '../../errors.ts'
import { type Adapter, capability, type LaunchOptions, type Look } from '../adapter.ts'
import { type Driver, type Ending, type Place, RefusedError, type Sent } from '../driver.ts'
import { watchFolder } from '../eyes/bell.ts'
import { transcriptOf } from '../eyes/nests.ts'
import { withLock } from './pane-lock.ts'
import { pause } from './processes.ts'
import { lastTurn, Turn } from './turn.ts'

export type HeadlessPlace = Extract<Place, { driver: 'headless' }>

export interface HeadlessOptions {
  readonly adapter: Adapter
  readonly cwd: string
  readonly env: NodeJS.ProcessEnv
  /** Where the output of its turns is kept; another process finds the running one there. */
  readonly folder: string
  /** What the person put behind `--`. */
  readonly args?: readonly string[]
  /** The session to go on with. */
  readonly session?: string
  /** Milliseconds after which a turn is ended: some agents wait for a network without end. */
  readonly timeout?: number
}

/** What outlives the supervisor beside the output: which session is gone on with. `fresh`: it has no turn yet. */
interface Memory {
  readonly session?: string
  readonly fresh?: boolean
}

const twoHours = 7_200_000

export class HeadlessDriver implements Driver {
  readonly #options: HeadlessOptions
  readonly #sent: Sent[] = []
  readonly #unwatch: (() => void) | undefined
  #memory: Memory
  #turn: Turn | undefined
  #queue: Promise<void> = Promise.resolve()
  #deadline: NodeJS.Timeout | undefined
  #stopped = false
  #settled = true

  constructor(options: HeadlessOptions) {
    const { folder, session } = options
    capability(options.adapter, 'turn')
    this.#options = options
    fs.mkdirSync(folder, { recursive: true, mode: 0o700 })
    this.#memory = session === undefined ? read(folder) : { session }
    const number = lastTurn(folder)
    if (number > 0) {
      this.#turn = new Turn(folder, number)
      this.#settled = false
      this.#learn()
      if (this.#turn.running) this.#setDeadline()
    }
    this.#unwatch = watchFolder(folder, () => this.#learn())
  }

  get place(): HeadlessPlace {
    this.#learn()
    const { session } = this.#memory
    const turn = this.#turn
    const pid = turn?.running === true ? turn.pid : undefined
    const started = pid === undefined ? undefined : turn?.started
    return {
      driver: 'headless',
      folder: this.#options.folder,
      ...(turn === undefined ? {} : { turn: turn.number }),
      ...(pid === undefined ? {} : { pid }),
      ...(started === undefined ? {} : { started }),
      ...(session === undefined ? {} : { session }),
    }
  }

  get sent(): readonly Sent[] {
    return this.#sent
  }

  alive(): Promise<boolean> {
    return Promise.resolve(!this.#stopped)
  }

  ended(): Promise<Ending | undefined> {
    const turn = this.#turn
    if (turn === undefined || turn.running) return Promise.resolve(undefined)
    const { output } = turn
    const error = this.#options.adapter.outcome?.(output).error
    return Promise.resolve({ code: output.code ?? -1, ...(error === undefined ? {} : { error }) })
  }

  look(): Promise<Look> {
    return Promise.resolve(
      this.#turn?.running === true ? { is: 'busy', draft: '', deaf: true } : { is: 'prompt', draft: '' },
    )
  }

  screen(): Promise<string> {
    return Promise.resolve('')
  }

  ready(): Promise<Look> {
    return this.look()
  }

  /** Waits for the turns before it, starts this one, and resolves when it runs. */
  submit(text: string, signal: AbortSignal): Promise<void> {
    const mine = this.#queue.then(() => this.#run(text, signal))
    // The next one waits for this one to start, and then for its end.
    this.#queue = mine.catch(() => undefined)
    return mine
  }

  clear(): Promise<void> {
    this.#remember({ fresh: true })
    return Promise.resolve()
  }

  async interrupt(): Promise<void> {
    await this.#turn?.stop()
    this.#learn()
  }

  async stop(): Promise<void> {
    this.#stopped = true
    await this.interrupt()
    await this.close()
  }

  close(): Promise<void> {
    clearTimeout(this.#deadline)
    this.#unwatch?.()
    return Promise.resolve()
  }

  async #run(text: string, signal: AbortSignal): Promise<void> {
    while (this.#turn?.running === true) {
      if (signal.aborted) throw new CancelledError('Cancelled before the turn was started')
      await pause(50)
    }
    this.#learn()
    if (signal.aborted) throw new CancelledError('Cancelled before the turn was started')
    const { adapter, cwd, folder, args } = this.#options
    if (this.#stopped) throw new RefusedError('gone', `${adapter.label} was stopped`)
    await withLock(`headless ${folder}`, async () => {
      const number = lastTurn(folder)
      if (new Turn(folder, number).running) throw new RefusedError('deaf', `${adapter.label} is in another turn`)
      const { session, fresh = session === undefined } = this.#memory
      // Named beforehand, where the agent takes a name, so that its transcript is known from its first line.
      const name = fresh ? randomUUID() : undefined
      const options: LaunchOptions = { ...(args === undefined ? {} : { args }), ...(fresh ? { session: name! } : {}) }
      const command = capability(adapter, 'turn')(text, fresh ? undefined : session, options)
      if (fresh) this.#remember(takesName(command.args, name!) ? { session: name!, fresh } : { fresh })
      const turn = new Turn(folder, number + 1)
      this.#sent.push({ text, at: Date.now() })
      if (this.#sent.length > 20) this.#sent.shift()
      await turn.start(command, cwd, withoutUndefined({ ...this.#options.env, ...command.env }))
      this.#turn = turn
      this.#settled = false
      this.#setDeadline()
    })
  }

  /** Takes from the output what it says about the session. */
  #learn(): void {
    const turn = this.#turn
    if (turn === undefined || this.#settled) return
    const { running } = turn
    const { session: known, fresh } = this.#memory
    if (running && known !== undefined && fresh !== true) return
    const told = this.#options.adapter.outcome?.(turn.output).session
    if (told !== undefined && (told !== known || fresh === true)) this.#remember({ session: told })
    if (running) return
    // One that was killed did not say it.
    else if (told === undefined && fresh === true && known !== undefined && this.#hasTranscript(known))
      this.#remember({ session: known })
    this.#settled = true
    clearTimeout(this.#deadline)
  }

  #hasTranscript(session: string): boolean {
    const { adapter, env, cwd } = this.#options
    return transcriptOf(adapter, { ...env, ...adapter.env }, cwd, session) !== undefined
  }

  #setDeadline(): void {
    clearTimeout(this.#deadline)
    const turn = this.#turn
    this.#deadline = setTimeout(() => void turn?.stop(), this.#options.timeout ?? twoHours).unref()
  }

  #remember(memory: Memory): void {
    this.#memory = memory
    const file = path.join(this.#options.folder, 'session.json')
    fs.writeFileSync(`${file}.part`, JSON.stringify(memory))
    fs.renameSync(`${file}.part`, file)
  }
}

function takesName(args: readonly string[], name: string): boolean {
  return args.includes(name)
}

function read(folder: string): Memory {
  try {
    const { session, fresh } = JSON.parse(fs.readFileSync(path.join(folder, 'session.json'), 'utf8')) as Memory
    return {
      ...(typeof session === 'string' ? { session } : {}),
      ...(fresh === true ? { fresh } : {}),
    }
  } catch {
    return {} // the first time
  }
}

function withoutUndefined(env: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
  return Object.fromEntries(Object.entries(env).filter(([, value]) => value !== undefined))
}
