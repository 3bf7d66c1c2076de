// Starts an agent, attaches to one that runs, reopens one after a crash, or replaces it by another agent. The intention is on
// the tape before anything is started.

import path from 'node:path'
import { BatonError } from '../../errors.ts'
import type { Store } from '../../store/index.ts'
import type { Cycle, Resuming, Stored, Trigger } from '../cycle/cycle-state.ts'
import { keepDocument } from '../documents/document-store.ts'
import { documentsFolder, freePath, ownFolder, writeDocumentFile } from '../documents/document-file.ts'
import type { Observation } from '../observe/observation.ts'
import type { AgentPlace } from '../drivers/driver.ts'
import { longestPrompt } from '../drivers/tmux-start.ts'
import type { Journal, Launching, Past, Whereabouts } from './records/journal.ts'
import { resumeText, taskText } from '../../handoff/index.ts'
import { pending, typing } from '../cycle/prompt-delivery.ts'
import type { AgentHandle, OpenAgent, Start } from '../run.ts'
import type { SessionState } from './session-state.ts'
import type { TranscriptTape } from '../documents/transcript-tape.ts'

export interface AgentLifecycleOptions {
  readonly store: Store
  readonly session: SessionState
  /** The entry with which the work began. */
  readonly since: number
  readonly openAgent: OpenAgent
  readonly journal: Journal
  readonly tape: TranscriptTape
  readonly signal: AbortSignal
}

/** An agent that was opened, and the state of its cycle. */
export interface OpenedAgent {
  readonly handle: AgentHandle
  readonly cycle: Cycle
}

/** Bytes of one argument: Linux takes less than 128 KiB. */
const longestArgument = 100_000

export class AgentLifecycle {
  readonly #options: AgentLifecycleOptions
  #kept: string | undefined
  /** The sessions that the agent has been in so far. */
  readonly #sessions = new Set<string>()

  constructor(options: AgentLifecycleOptions) {
    this.#options = options
  }

  /** Attaches to the agent where it was last, or starts it. */
  async open({
    whereabouts,
    launching,
    cycle,
  }: Pick<Past, 'whereabouts' | 'launching' | 'cycle'>): Promise<OpenedAgent> {
    const { run } = this.#options.session
    if (whereabouts?.session !== undefined) this.#sessions.add(whereabouts.session)
    const launched = launching === undefined ? undefined : await this.#launched(launching)
    if (launched !== undefined) return { handle: launched, cycle }
    if (whereabouts !== undefined) return { handle: await this.#attach(whereabouts), cycle }
    if (run.session !== undefined) return { handle: await this.reopen(run.session), cycle }
    return this.begin(run.prompt)
  }

  async reopen(session: string): Promise<AgentHandle> {
    return this.#open({ how: 'resume', session, beforeStart: this.#beforeStart })
  }

  /**
   * Starts anew with the first prompt. One that is too long to be started with is typed when the agent is ready for it;
   * where nothing can be typed, the agent reads it from a file.
   */
  async begin(prompt: string | undefined, agent?: string): Promise<OpenedAgent> {
    const { run } = this.#options.session
    const first = run.driver === 'headless' ? this.#shortened(prompt) : prompt
    if (first === undefined || run.driver === 'headless' || Buffer.byteLength(first) <= longestPrompt)
      return { handle: await this.launchWith(first, agent), cycle: { at: 'watching' } }
    const cycle: Cycle = { at: 'watching', say: pending(first, Date.now()) }
    await this.intend(cycle)
    return { handle: await this.launchWith(undefined, agent), cycle }
  }

  #shortened(prompt: string | undefined): string | undefined {
    if (prompt === undefined || Buffer.byteLength(prompt) <= longestArgument) return prompt
    const { run, settings } = this.#options.session
    const file = path.join(ownFolder(documentsFolder(run.cwd, run.name, settings().handoffs)), 'task.md')
    writeDocumentFile(file, prompt)
    return taskText(file)
  }

  /** Starts a new session with a short prompt. */
  async launchWith(prompt: string | undefined, agent = this.#options.session.agent): Promise<AgentHandle> {
    this.#options.session.agent = agent
    const former = [...this.#sessions]
    return this.#open({
      how: 'launch',
      ...(prompt === undefined ? {} : { prompt }),
      beforeStart: this.#beforeStart,
      former,
    })
  }

  /** Attaches to an agent that an earlier supervisor was about to start when it died; undefined where it was not started. */
  async #launched(launching: Launching): Promise<AgentHandle | undefined> {
    const before = this.#options.session.agent
    // An agent that was being reopened continues an old session, whose id was written down.
    const isAnew = launching.session === undefined || !this.#sessions.has(launching.session)
    this.#options.session.agent = launching.agent
    try {
      return await this.#attach(launching, isAnew ? [...this.#sessions] : undefined)
    } catch (error) {
      if (!BatonError.is(error) || error.code !== 'not_found') throw error
      this.#options.session.agent = before
      return undefined
    }
  }

  #attach(
    { place, session }: Pick<Whereabouts, 'place' | 'session'>,
    former?: readonly string[],
  ): Promise<AgentHandle> {
    return this.#open({
      how: 'attach',
      place,
      ...(session === undefined ? {} : { session }),
      ...(former === undefined ? {} : { former }),
    })
  }

  readonly #beforeStart = async (place: AgentPlace, session: string | undefined): Promise<void> => {
    const launching: Launching = {
      place,
      agent: this.#options.session.agent,
      ...(session === undefined ? {} : { session }),
    }
    await this.#options.journal.write('launching', launching)
  }

  async #open(start: Start): Promise<AgentHandle> {
    const { openAgent, journal, session } = this.#options
    const opened = await openAgent({ ...session.run, agent: session.agent, args: this.#args }, start)
    await this.keepPlace(opened, start.how === 'launch' ? undefined : start.session, journal)
    return opened
  }

  /** What the person put behind `--` is for the agent that they named; another one gets its own. */
  get #args(): readonly string[] {
    const { run, agent, settings } = this.#options.session
    if (agent === run.agent) return run.args
    const { quota } = settings()
    return quota !== 'wait' && quota.continueIn === agent ? quota.args : []
  }

  /** Writes down where the agent is whenever that changes, so that another supervisor finds it. */
  async keepPlace(
    { driver }: AgentHandle,
    session: string | undefined,
    journal = this.#options.journal,
  ): Promise<void> {
    const whereabouts: Whereabouts = {
      place: driver.place,
      agent: this.#options.session.agent,
      ...(session === undefined ? {} : { session }),
    }
    if (session !== undefined) this.#sessions.add(session)
    const text = JSON.stringify(whereabouts)
    if (text === this.#kept) return
    await journal.write('whereabouts', whereabouts)
    this.#kept = text
  }

  /** Writes down what is to become of the cycle, before the agent is started for it. */
  async intend(cycle: Cycle): Promise<void> {
    await this.#options.journal.writeIntent(cycle, ['launch'])
  }

  /** Stores a document from the ledger about the lost context. */
  async documentOf(observation: Observation | undefined, trigger: Trigger): Promise<Stored> {
    const { store, since, tape, signal } = this.#options
    const { run, settings } = this.#options.session
    const { handoffs, budget } = settings()
    const now = new Date()
    const { document } = await keepDocument({
      store,
      name: run.name,
      since,
      cwd: run.cwd,
      tape: observation?.file === undefined ? undefined : await tape.update(observation.file),
      by: 'ledger',
      text: undefined,
      path: freePath(documentsFolder(run.cwd, run.name, handoffs), now),
      trigger,
      turns: observation?.turns ?? 0,
      budget,
      now,
      signal,
    })
    return document
  }
}

/** The cycle of an agent that is started with the prompt to read a document. */
export function resumingWith(
  document: Stored,
  n: number,
  from: string | undefined,
  trigger: Trigger,
  now: number,
): Resuming {
  return {
    at: 'resuming',
    n,
    trigger,
    ...(from === undefined ? {} : { from }),
    since: now,
    document,
    clears: 1,
    tries: 1,
    prompt: typing(resumeText(document.path), now),
  }
}
