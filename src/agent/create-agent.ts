// An agent on a tape. It does one thing at a time, a turn or a handoff; what is typed meanwhile waits on the tape.

import { randomUUID } from 'node:crypto'
import type { LanguageModel } from 'ai'
import type { ChosenModel } from '../config/model.ts'
import { windowOf } from '../config/models.ts'
import { BatonError, CancelledError, InvalidError } from '../errors.ts'
import { handoffSession, openSession, resumeHandoff, type SessionHandoff } from '../handoff/index.ts'
import type { Draft } from '../store/index.ts'
import { Tape } from '../tape/index.ts'
import type { Agent, AgentHandoffOptions, AgentOptions, TurnResult } from './agent.ts'
import { AutoHandoff } from './auto-handoff.ts'
import { failureText } from './commands.ts'
import type { AgentEvent } from './event.ts'
import { Gauge } from './gauge.ts'
import { thisProcess } from './holder.ts'
import { handleInput, runTurn } from './loop.ts'
import { systemPrompt } from './prompt.ts'
import { Queue } from './queue.ts'
import { recover, type Recovered } from './recovery.ts'
import type { Session } from './session.ts'
import { errorDraft } from './steps.ts'
import type { ChildRequest, ChildResult } from './tool.ts'
import { Toolbox } from './toolbox.ts'
import { isHeld, openTurn, type Outcome, Turn } from './turn.ts'

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
    await this.#session.queue.restore(this.tape)
  }

  async submit(text: string): Promise<TurnResult> {
    return handleInput(this.#session, text, this.busy, (prompt) => this.say(prompt))
  }

  async say(text: string): Promise<TurnResult> {
    return this.#turn([{ kind: 'message', payload: { role: 'user', content: text } }], text)
  }

  async resume(): Promise<TurnResult> {
    const content = '[Baton: the last turn was cut short. Go on with it.]'
    return this.#turn([{ kind: 'message', payload: { role: 'user', content, customType: 'notice', display: true } }])
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
    const result = await this.#occupy((signal) => this.#handoff(goal, options, signal))
    if (!this.#closing && (this.#session.queue.length > 0 || this.#carried > 0)) void this.#turn([])
    return result
  }

  /** How many waiting messages the last handoff took to the new tape, where they wait for an answer. */
  #carried = 0

  async #handoff(goal: string | undefined, options: AgentHandoffOptions, signal: AbortSignal): Promise<SessionHandoff> {
    const session = this.#session
    const { queue, cwd } = session
    const old = session.tape
    if (await this.#isTakenElsewhere()) return refused(old)
    this.#takeModel()
    const { model, window } = session
    const trigger = 'command'
    const either = options.signal === undefined ? signal : AbortSignal.any([signal, options.signal])
    let carried = 0
    this.#emit({ type: 'handoff', phase: 'start', trigger })
    const result = await handoffSession(old, {
      ...(goal === undefined || goal.trim() === '' ? {} : { goal }),
      ...(model === undefined ? {} : { model: model.model, modelName: model.name }),
      ...(window === undefined ? {} : { window }),
      ...(options.into === undefined ? {} : { into: options.into }),
      ...(options.edit === undefined ? {} : { edit: (markdown) => unlessAborted(either, options.edit!(markdown)) }),
      // Read when the new tape is made: what is typed until then goes along.
      get queued() {
        carried = queue.length
        return queue.messages()
      },
      cwd,
      signal: either,
      onProgress: (progress) => {
        this.#emit({ type: 'handoff', phase: 'progress', trigger, progress })
        options.onProgress?.(progress)
      },
    })
    const { message } = result
    if (result.status !== 'done') {
      this.#emit({ type: 'handoff', phase: 'failed', trigger, message })
      return result
    }
    session.tape = new Tape(session.tape.store, result.tape)
    await queue.settled()
    await queue.moved(session.tape, carried)
    this.#carried = carried
    const [anchor] = await old.anchors({ limit: 1 })
    this.#emit({ type: 'handoff', phase: 'done', trigger, anchor: anchor?.name ?? '', message, tape: result.tape })
    return result
  }

  /** One turn after the other, until nothing waits. */
  async #turn(messages: readonly Draft[], text?: string): Promise<TurnResult> {
    if (this.busy) {
      if (text !== undefined) await this.steer(text)
      return { kind: 'queued' }
    }
    return this.#occupy(async (first) => {
      this.#carried = 0
      let result = await this.#oneTurn(messages, first)
      for (;;) {
        await this.#session.queue.settled()
        if (this.#session.queue.length === 0 || this.#closing || result.status === 'failed') break
        // The person cancelled the answer, not what they typed after it.
        const stop = new AbortController()
        this.#running = { stop, ended: this.#running!.ended }
        result = await this.#oneTurn([], stop.signal)
      }
      return { kind: 'turn', ...result }
    })
  }

  async #oneTurn(messages: readonly Draft[], signal: AbortSignal): Promise<Outcome & { runId: string }> {
    const session = this.#session
    const { tape, queue, holder, emit } = session
    const runId = `run_${randomUUID()}`
    let turn: Turn
    const said: Draft[] = []
    try {
      this.#takeModel()
      if (session.model === undefined) throw noModel()
      await this.#recover()
      const waiting = queue.drafts(runId)
      said.push(...waiting, ...messages.map((draft) => ({ ...draft, meta: { ...draft.meta, run_id: runId } })))
      turn = await Turn.begin(tape, holder, runId, said, () => this.abort())
      queue.delivered(waiting.length)
    } catch (error) {
      return { runId, status: 'failed', text: '', error: failureText(error) }
    }
    emit({ type: 'turn-start', runId })
    let outcome: Outcome
    try {
      outcome = await runTurn({ session, turn, model: session.model, signal, said, madeRoom: false })
      if (outcome.status === 'done') await session.auto.afterTurn(session, runId, signal)
    } catch (error) {
      const message = failureText(error)
      outcome = { status: signal.aborted ? 'aborted' : 'failed', text: '', error: message }
      if (!signal.aborted) await tape.append([errorDraft('agent', { message }, runId)]).catch(() => {}) // it may be the tape that broke
    }
    try {
      await turn.end(outcome.status)
    } catch (error) {
      emit({ type: 'warning', message: `The end of the turn is not on the tape: ${failureText(error)}` })
    }
    const { status, error } = outcome
    emit({ type: 'turn-end', runId, status, ...(error === undefined ? {} : { error }) })
    return { runId, ...outcome }
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

  async #isTakenElsewhere(): Promise<boolean> {
    const { tape, holder, now } = this.#session
    const open = await openTurn(tape)
    return open !== undefined && isHeld(tape, open, holder, now())
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

async function refused(tape: Tape): Promise<SessionHandoff> {
  return handoffSession(tape, { isStreaming: () => true })
}

function nameOf(model: LanguageModel): string {
  return typeof model === 'string' ? model : `${model.provider.replace(/\..*$/, '')}/${model.modelId}`
}

function noModel(): BatonError {
  return new InvalidError('No model is set', {
    hint: 'Name one with --model provider/name or BATON_MODEL; commands such as ,help work without.',
  })
}

function settled(): { promise: Promise<void>; resolve: () => void } {
  let resolve = () => {}
  const promise = new Promise<void>((done) => {
    resolve = done
  })
  return { promise, resolve }
}

async function unlessAborted<T>(signal: AbortSignal, work: Promise<T>): Promise<T> {
  return new Promise<T>((resolve, reject) => {
    const stop = () => reject(new CancelledError('Handoff cancelled'))
    if (signal.aborted) return stop()
    signal.addEventListener('abort', stop, { once: true })
    work.then(resolve, reject).finally(() => signal.removeEventListener('abort', stop))
  })
}
