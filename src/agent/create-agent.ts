// An agent on a tape. It does one thing at a time, a turn or a handoff; what is typed meanwhile waits on the tape.

import { randomUUID } from 'node:crypto'
import type { LanguageModel } from 'ai'
import type { ChosenModel } from '../config/model.ts'
import { windowOf } from '../config/models.ts'
import { InvalidError } from '../errors.ts'
import { openSession, resumeHandoff, type SessionHandoff } from '../handoff/index.ts'
import type { Draft } from '../store/index.ts'
import { Tape } from '../tape/index.ts'
import type { Agent, AgentHandoffOptions, AgentOptions, TurnResult } from './agent.ts'
import { AutoHandoff } from './auto-handoff.ts'
import type { AgentEvent } from './event.ts'
import { Gauge } from './gauge.ts'
import { thisProcess } from './holder.ts'
import { handleInput } from './loop.ts'
import { moveToNewSession, refused } from './new-session.ts'
import { systemPrompt } from './prompt.ts'
import { Queue } from './queue.ts'
import { recover, type Recovered } from './recovery.ts'
import type { Session } from './session.ts'
import { takeTurn } from './take-turn.ts'
import type { ChildRequest, ChildResult } from './tool.ts'
import { Toolbox } from './toolbox.ts'
import { openTurn } from './turn.ts'

/** Children of children, and no further. */
const deepest = 2

/** Opens the session where its work goes on, and closes a turn that a crash has cut. */
export async function createAgent(options: AgentOptions): Promise<Agent> {
  return open(options, 0)
}

async function open(options: AgentOptions, depth: number): Promise<Agent> {
  const agent = new OwnAgent(options, await sessionTape(options), depth)
  await agent.start()
  return agent
}

async function sessionTape({ store, tape }: AgentOptions): Promise<Tape> {
  if (typeof tape === 'string') return openSession(tape, { store })
  const active = await resumeHandoff(tape.store, tape.name)
  return active === tape.name ? tape : new Tape(tape.store, active)
}

class OwnAgent implements Agent {
  readonly #session: Session
  readonly #listeners = new Set<(event: AgentEvent) => void>()
  #model: { chosen: ChosenModel; window: number | undefined } | undefined
  #recovered: Recovered | undefined
  #running: { readonly stop: AbortController; readonly ended: Promise<unknown> } | undefined
  #generating = false
  #closing = false

  constructor(options: AgentOptions, tape: Tape, depth: number) {
    const { cwd = process.cwd(), now = () => new Date() } = options
    this.#session = {
      tape,
      model: undefined,
      window: options.window,
      system: '',
      gauge: new Gauge(0),
      toolbox: new Toolbox(options.tools ?? []),
      queue: new Queue(),
      auto: new AutoHandoff(options.handoff),
      holder: thisProcess(randomUUID()),
      cwd,
      options,
      emit: (event) => this.#emit(event),
      spawn: depth < deepest ? (child, signal) => this.#spawn(child, signal, depth + 1) : undefined,
      learnWindow: (tokens) => {
        this.#session.window = tokens
        if (this.#model !== undefined) this.#model.window = tokens
      },
      now,
    }
    if (options.model !== undefined) this.setModel(options.model, options.window)
    this.#takeModel()
  }

  get tape(): Tape {
    return this.#session.tape
  }

  get busy(): boolean {
    return this.#running !== undefined
  }

  get isGenerating(): boolean {
    return this.#generating
  }

  get modelName(): string | undefined {
    return this.#model?.chosen.name
  }

  get window(): number | undefined {
    return this.busy ? this.#session.window : this.#model?.window
  }

  get recovered(): Recovered | undefined {
    return this.#recovered
  }

  async start(): Promise<void> {
    await this.#recover()
    // What waits for a turn that runs elsewhere is heard there.
    if ((await openTurn(this.tape)) === undefined) await this.#session.queue.restore(this.tape)
  }

  async submit(text: string): Promise<TurnResult> {
    return handleInput(this.#session, text, this.busy, (prompt) => this.say(prompt))
  }

  async say(text: string): Promise<TurnResult> {
    return this.#turns([{ kind: 'message', payload: { role: 'user', content: text } }], text)
  }

  async resume(): Promise<TurnResult> {
    const content = '[Baton: the last turn was cut short. Go on with it.]'
    return this.#turns([{ kind: 'message', payload: { role: 'user', content, customType: 'notice', display: true } }])
  }

  async steer(text: string): Promise<void> {
    await this.#session.queue.add(this.tape, text)
    this.#emit({ type: 'queued', message: text })
  }

  abort(): void {
    this.#running?.stop.abort()
  }

  subscribe(listener: (event: AgentEvent) => void): () => void {
    this.#listeners.add(listener)
    return () => this.#listeners.delete(listener)
  }

  setModel(model: ChosenModel | LanguageModel, window?: number): void {
    const chosen = typeof model === 'object' && 'model' in model ? model : { name: nameOf(model), model }
    this.#model = { chosen, window: window ?? windowOf(chosen.name, {}, 0) }
  }

  async close(): Promise<void> {
    this.#closing = true
    this.abort()
    await this.#running?.ended
  }

  async handoff(goal?: string, options: AgentHandoffOptions = {}): Promise<SessionHandoff> {
    if (this.busy) return refused(this.tape)
    const { result, carried } = await this.#occupy((signal) => {
      this.#takeModel()
      return moveToNewSession(this.#session, goal, options, signal)
    })
    // What was typed meanwhile waits for an answer, there or here.
    if (!this.#closing && carried + this.#session.queue.length > 0) void this.#turns([])
    return result
  }

  /** One turn after the other, until nothing waits; during a turn, `text` waits for it. */
  async #turns(messages: readonly Draft[], text?: string): Promise<TurnResult> {
    if (this.busy) {
      if (text !== undefined) await this.steer(text)
      return { kind: 'queued' }
    }
    return this.#occupy(async (first) => {
      const session = this.#session
      const setting = { session, recover: () => this.#recover(), onLost: () => this.abort() }
      this.#takeModel()
      let result = await takeTurn({ ...setting, signal: first }, messages)
      for (;;) {
        await session.queue.settled()
        if (session.queue.length === 0 || this.#closing || result.status === 'failed') break
        // The person cancelled the answer, not what they typed after it.
        const stop = new AbortController()
        this.#running = { stop, ended: this.#running!.ended }
        this.#takeModel()
        result = await takeTurn({ ...setting, signal: stop.signal }, [])
      }
      return { kind: 'turn', ...result }
    })
  }

  async #occupy<T>(work: (signal: AbortSignal) => Promise<T>): Promise<T> {
    const stop = new AbortController()
    const { promise, resolve } = settled()
    this.#running = { stop, ended: promise }
    try {
      return await work(stop.signal)
    } finally {
      this.#running = undefined
      this.#generating = false
      resolve()
    }
  }

  async #recover(): Promise<void> {
    const { tape, queue, holder, now } = this.#session
    const recovered = await recover(tape, holder, now())
    if (recovered === undefined) return
    this.#recovered = recovered
    // What the dead process still had to say waits for this one.
    await queue.restore(tape)
    this.#emit({ type: 'recovered', ...recovered })
  }

  /** The model that was set last takes effect. */
  #takeModel(): void {
    const session = this.#session
    const { toolbox, cwd, options } = session
    session.model = this.#model?.chosen
    session.window = this.#model?.window
    const system = systemPrompt(options.system, cwd, toolbox, session.window)
    if (system === session.system) return
    session.system = system
    const described = toolbox.tools.map(({ name, description }) => name.length + description.length + 200)
    session.gauge = new Gauge(described.reduce((sum, bytes) => sum + bytes, Buffer.byteLength(system)))
  }

  async #spawn(child: ChildRequest, signal: AbortSignal, depth: number): Promise<ChildResult> {
    const { tape, prompt, onText } = child
    const { onEvent: _own, ...options } = this.#session.options
    const model = this.#session.model
    const agent = await open({ ...options, tape, ...(model === undefined ? {} : { model }) }, depth)
    const stop = () => agent.abort()
    signal.addEventListener('abort', stop)
    if (onText !== undefined) agent.subscribe((event) => event.type === 'text' && onText(event.delta))
    try {
      signal.throwIfAborted()
      const result = await agent.say(prompt)
      if (result.kind !== 'turn') throw new InvalidError('The child is busy')
      const { status, text, error } = result
      return { status, text, ...(error === undefined ? {} : { error }) }
    } finally {
      signal.removeEventListener('abort', stop)
      await agent.close()
    }
  }

  #emit(event: AgentEvent): void {
    if (event.type === 'handoff') this.#generating = event.phase === 'start' || event.phase === 'progress'
    for (const listener of [this.#session.options.onEvent, ...this.#listeners]) {
      try {
        listener?.(event)
      } catch (error) {
        // A screen that fails must not fail the turn, nor hide that it failed.
        queueMicrotask(() => {
          throw error
        })
      }
    }
  }
}

function nameOf(model: LanguageModel): string {
  return typeof model === 'string' ? model : `${model.provider.replace(/\..*$/, '')}/${model.modelId}`
}

function settled(): { promise: Promise<void>; resolve: () => void } {
  let resolve = () => {}
  const promise = new Promise<void>((done) => {
    resolve = done
  })
  return { promise, resolve }
}
