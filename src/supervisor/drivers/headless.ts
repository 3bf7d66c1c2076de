// Drives an agent without a screen: one process for each turn, each continuing the session of the last.

import { randomUUID } from 'node:crypto'
import fs from 'node:fs'
import path from 'node:path'
import * as z from 'zod'
import {
  type Adapter,
  capability,
  type LaunchOptions,
  projectSession,
  type ScreenState,
  type TurnOutcome,
} from '../../agents/index.ts'
import { CancelledError } from '../../errors.ts'
import { agentMark, pause, replaceFile, watchFolder } from '../../system/index.ts'
import { type AgentPlace, type Driver, type Ending, RefusedError, type Sent } from './driver.ts'
import { withLock } from './pane-lock.ts'
import { lastTurn, Turn } from './turn.ts'

export type HeadlessPlace = Extract<AgentPlace, { driver: 'headless' }>

export interface HeadlessOptions {
  readonly adapter: Adapter
  readonly cwd: string
  readonly env: NodeJS.ProcessEnv
  /** Where the output of its turns is kept; another process finds the running one there. */
  readonly folder: string
  /** What the person put behind `--`. */
  readonly args?: readonly string[]
  /** The folder of its handoff documents. */
  readonly documents?: string
  /** The session to go on with. */
  readonly session?: string
  /** Milliseconds after which a turn is ended: some agents wait for a network without end. */
  readonly timeout?: number
}

/** What outlives the supervisor beside the output: which session is gone on with. */
const memory = z.object({
  session: z.string().exactOptional(),
  /** It has no turn yet. */
  fresh: z.boolean().exactOptional(),
  /** Turns up to this one belong to sessions before it. */
  after: z.number().exactOptional(),
})
type Memory = Readonly<z.output<typeof memory>>

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
  #known: { readonly stamp: string; readonly outcome: TurnOutcome } | undefined
  #settled = true

  constructor(options: HeadlessOptions) {
    const { folder, session } = options
    capability(options.adapter, 'turn')
    this.#options = options
    fs.mkdirSync(folder, { recursive: true, mode: 0o700 })
    const number = lastTurn(folder)
    this.#memory = session === undefined ? read(folder) : { session, after: number }
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
    const pid = this.#isBusy() ? turn?.pid : undefined
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
    if (turn === undefined || this.#isBusy()) return Promise.resolve(undefined)
    const { code } = turn
    const { error, isLimit = false } = this.#outcome(turn)
    return Promise.resolve({
      ...(code === undefined ? {} : { code }),
      ...(error === undefined ? {} : { error }),
      ...(isLimit ? { isLimit } : {}),
    })
  }

  screenState(): Promise<ScreenState> {
    return Promise.resolve(this.#isBusy() ? { is: 'busy', draft: '', deaf: true } : { is: 'prompt', draft: '' })
  }

  screenText(): Promise<string> {
    return Promise.resolve('')
  }

  ready(): Promise<ScreenState> {
    return this.screenState()
  }

  get nextTurn(): number {
    return lastTurn(this.#options.folder) + 1
  }

  /** Waits for the turns before it, starts this one, and resolves when it runs. */
  submit(text: string, signal: AbortSignal): Promise<void> {
    const mine = this.#queue.then(() => this.#run(text, signal))
    // The next one waits for this one to start, and then for its end.
    this.#queue = mine.catch(() => undefined)
    return mine
  }

  clear(): Promise<void> {
    this.#remember({ fresh: true, after: lastTurn(this.#options.folder) })
    this.#sent.length = 0
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
    while (this.#isBusy()) {
      if (signal.aborted) throw new CancelledError('Cancelled before the turn was started')
      await pause(50)
    }
    // Some linger for seconds behind their last word, with nothing left to write; two at a time would write one transcript.
    await this.#turn?.end()
    this.#learn()
    if (signal.aborted) throw new CancelledError('Cancelled before the turn was started')
    const { adapter, cwd, folder, args, documents } = this.#options
    if (this.#stopped) throw new RefusedError('gone', `${adapter.label} was stopped`)
    await withLock(`headless ${folder}`, async () => {
      const number = lastTurn(folder)
      if (new Turn(folder, number).running) throw new RefusedError('deaf', `${adapter.label} is in another turn`)
      const { session, fresh = session === undefined } = this.#memory
      // Named beforehand, where the agent takes a name, so that its transcript is known from its first line.
      const name = fresh ? randomUUID() : undefined
      const options: LaunchOptions = {
        ...(args === undefined ? {} : { args }),
        ...(documents === undefined ? {} : { documents }),
        ...(fresh ? { session: name! } : {}),
      }
      const command = capability(adapter, 'turn')(text, fresh ? undefined : session, options)
      if (fresh)
        this.#remember({
          ...(command.args.some((arg) => arg.includes(name!)) ? { session: name! } : {}),
          fresh,
          after: number,
        })
      const turn = new Turn(folder, number + 1)
      this.#sent.push({ text, at: Date.now() })
      if (this.#sent.length > 20) this.#sent.shift()
      await turn.start(command, cwd, withoutUndefined({ ...this.#options.env, ...command.env, [agentMark]: '1' }))
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
    const { session: known, fresh, after = 0 } = this.#memory
    if (turn.number <= after || (running && known !== undefined && fresh !== true)) return
    const told = this.#outcome(turn).session
    if (told !== undefined && (told !== known || fresh === true)) this.#remember({ session: told, after })
    if (running) return
    // One that was killed did not say it.
    else if (told === undefined && fresh === true && known !== undefined && this.#hasTranscript(known))
      this.#remember({ session: known, after })
    this.#settled = true
    clearTimeout(this.#deadline)
  }

  /** Whether a turn is under way: it has an end of its own before that of its process. */
  #isBusy(): boolean {
    const turn = this.#turn
    return turn?.running === true && this.#outcome(turn).over !== true
  }

  /** Read anew only where the output has grown. */
  #outcome(turn: Turn): TurnOutcome {
    const { stamp } = turn
    if (stamp !== this.#known?.stamp) {
      const outcome = this.#options.adapter.outcome?.(turn.output) ?? { session: undefined, error: undefined }
      this.#known = { stamp, outcome }
    }
    return this.#known.outcome
  }

  #hasTranscript(session: string): boolean {
    const { adapter, env, cwd } = this.#options
    return projectSession(adapter.transcript, { ...env, ...adapter.env }, cwd, session) !== undefined
  }

  #setDeadline(): void {
    clearTimeout(this.#deadline)
    const turn = this.#turn
    this.#deadline = setTimeout(() => void turn?.stop(), this.#options.timeout ?? twoHours).unref()
  }

  #remember(memory: Memory): void {
    this.#memory = memory
    const file = path.join(this.#options.folder, 'session.json')
    replaceFile(file, JSON.stringify(memory))
  }
}

function read(folder: string): Memory {
  try {
    return memory.parse(JSON.parse(fs.readFileSync(path.join(folder, 'session.json'), 'utf8')))
  } catch {
    return {} // the first time
  }
}

function withoutUndefined(env: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
  return Object.fromEntries(Object.entries(env).filter(([, value]) => value !== undefined))
}
