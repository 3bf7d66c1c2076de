// The session that a chat is in: its tape and the agent on it, and the ways to another tape.

import type { Agent } from '../../agent/index.ts'
import { freeFork } from '../../agent/index.ts'
import { chosenName, type ModelChoice } from '../../config/index.ts'
import { InvalidError } from '../../errors.ts'
import type { Progress, SessionHandoff } from '../../handoff/index.ts'
import type { Store } from '../../store/index.ts'
import { isReserved } from '../../tape/index.ts'
import { age, count } from '../base/output.ts'
import { demand } from '../base/workspace.ts'
import { leaveTape, namedTape, rememberModel, rememberTape, takeTape } from './chat-register.ts'
import type { SessionStatus } from './screen/status-lines.ts'
import { findModel, type AgentMaker } from './create-agent.ts'

export interface SessionOptions {
  readonly store: Store
  readonly folder: string
  readonly agentOn: AgentMaker
  readonly choice: ModelChoice
}

export class ChatSession {
  readonly #options: SessionOptions
  #agent: Agent
  /** The model that answers, as it was chosen last. */
  #choice: ModelChoice
  #loading: Promise<void> | undefined
  /** The tape that is held for this process. */
  #taken: string

  private constructor(options: SessionOptions, agent: Agent) {
    this.#options = options
    this.#agent = agent
    this.#choice = options.choice
    this.#taken = agent.tape.name
  }

  /** The tape must have been taken for this process already. */
  static async open(options: SessionOptions, tape: string): Promise<ChatSession> {
    const session = new ChatSession(options, await options.agentOn(tape))
    await rememberTape(options.store, options.folder, session.agent.tape.name)
    return session
  }

  /** Where it works. */
  get folder(): string {
    return this.#options.folder
  }

  get agent(): Agent {
    return this.#agent
  }

  /** Whether there is a model to answer; loads the one that was chosen. Fails where it cannot be had. */
  async hasModel(): Promise<boolean> {
    if (chosenName(this.#choice) === undefined) return false
    this.#loading ??= this.#load(this.#choice)
    try {
      await this.#loading
    } catch (error) {
      this.#loading = undefined // a key may be missing now and set later
      throw error
    }
    return true
  }

  async useModel(name: string): Promise<void> {
    const choice = { ...this.#options.choice, model: name }
    await this.#load(choice)
    this.#choice = choice
    this.#loading = Promise.resolve()
    await rememberModel(this.#options.store, this.#options.folder, choice)
  }

  async handoff(goal: string, onProgress: (progress: Progress) => void): Promise<SessionHandoff> {
    await this.hasModel()
    return this.#agent.handoff(goal === '' ? undefined : goal, { onProgress })
  }

  /** Moves to a copy of this session, as far as its context reaches. */
  async fork(name: string | undefined): Promise<void> {
    this.#demandRest()
    const { tape } = this.#agent
    const child = name ?? (await freeFork(tape))
    await tape.fork(child, { phase: true })
    await this.#reopen(child)
  }

  async moveTo(name: string): Promise<void> {
    this.#demandRest()
    const { store } = this.#options
    await demand(store, name)
    const active = await namedTape(store, name)
    if (active !== this.#agent.tape.name) await this.#reopen(active)
  }

  /** The tapes of the workspace, newest first, this one marked. */
  async tapes(): Promise<string> {
    const found: { tape: string; entries: number; date?: string | undefined }[] = []
    for await (const info of this.#options.store.list()) if (!isReserved(info.tape)) found.push(info)
    found.sort((a, b) => ((a.date ?? '') < (b.date ?? '') ? 1 : -1))
    const width = Math.min(40, Math.max(...found.map(({ tape }) => tape.length)))
    const here = this.#agent.tape.name
    return found
      .map(({ tape, entries, date }) =>
        `${tape === here ? '›' : ' '} ${tape.padEnd(width)}  ${count(entries)} entries  ${age(date)}`.trimEnd(),
      )
      .join('\n')
  }

  async status(): Promise<SessionStatus> {
    const { agent } = this
    const info = await agent.tape.info()
    const { modelName, window } = agent
    return {
      model: modelName,
      tape: agent.tape.name,
      anchor: info.lastAnchor,
      context: { tokens: await agent.contextTokens(), window, estimated: true },
    }
  }

  /** Notes where the session is now, after a handoff or a change of tape. */
  async settle(): Promise<void> {
    const { store, folder } = this.#options
    const { name } = this.#agent.tape
    if (name === this.#taken) return
    const before = this.#taken
    this.#taken = name
    await takeTape(store, name)
    await leaveTape(store, before)
    await rememberTape(store, folder, name)
  }

  async close(): Promise<void> {
    await this.#agent.close()
    await leaveTape(this.#options.store, this.#taken)
  }

  async #load(choice: ModelChoice): Promise<void> {
    const agent = this.#agent
    const { model, window } = await findModel(choice, this.#options.folder)
    agent.setModel(model, window)
  }

  async #reopen(tape: string): Promise<void> {
    const { store, agentOn } = this.#options
    await takeTape(store, tape)
    const next = await agentOn(tape)
    await this.#agent.close()
    this.#agent = next
    this.#loading = undefined
    await this.hasModel().catch(() => false) // said when it is needed
    await this.settle()
  }

  #demandRest(): void {
    if (!this.#agent.busy) return
    throw new InvalidError('A response is still being written', { hint: 'Wait for it, or cancel it with Escape.' })
  }
}
