// The agent's life: started, taken hold of, reopened after a crash, replaced by another. What is begun is on the tape before
// it is done.

import path from 'node:path'
import { BatonError } from '../errors.ts'
import type { Store } from '../store/index.ts'
import type { Cycle, Resuming, Stored, Trigger } from './cycle-state.ts'
import { keepDocument } from './document-store.ts'
import { documentsFolder, freePath, ownFolder, replaceFile } from './document-file.ts'
import type { Observation } from './eyes.ts'
import type { Place } from './driver.ts'
import type { Journal, Launching, Past, Whereabouts } from './journal.ts'
import { resumeText, taskText } from './prompts.ts'
import { pending, typing } from './pursuit.ts'
import type { Hands, OpenHands, Run, Start } from './run.ts'
import type { SupervisorSettings } from './settings.ts'
import type { TranscriptTape } from './transcript-tape.ts'

export interface LifeOptions {
  readonly store: Store
  readonly run: Run
  /** The entry with which the work began. */
  readonly since: number
  readonly hands: OpenHands
  readonly journal: Journal
  readonly tape: TranscriptTape
  readonly settings: () => SupervisorSettings
  readonly signal: AbortSignal
}

/** An agent that was taken hold of, and how far its cycle is. */
export interface Opened {
  readonly hands: Hands
  readonly cycle: Cycle
}

/** tmux takes no command of more than 16 KiB, environment included. */
const longest = 4_096
/** Linux takes no argument of 128 KiB. */
const longestArgument = 100_000

export class Life {
  readonly #options: LifeOptions
  /** Another than the run's where a limit made one take over. */
  #agent: string
  #kept: string | undefined

  constructor(options: LifeOptions, agent: string) {
    this.#options = options
    this.#agent = agent
  }

  get agent(): string {
    return this.#agent
  }

  /** Takes hold of the agent where it was, or starts it. */
  async open({ whereabouts, launching, cycle }: Pick<Past, 'whereabouts' | 'launching' | 'cycle'>): Promise<Opened> {
    const { run } = this.#options
    const launched = launching === undefined ? undefined : await this.#launched(launching)
    if (launched !== undefined) return { hands: launched, cycle }
    if (whereabouts !== undefined) return { hands: await this.#attach(whereabouts), cycle }
    if (run.session !== undefined) return { hands: await this.reopen(run.session), cycle }
    return this.begin(run.prompt)
  }

  async reopen(session: string): Promise<Hands> {
    return this.#open({ how: 'resume', session, mean: this.#mean })
  }

  /**
   * Starts anew with the first prompt. One that is too long to be started with is typed when the agent is ready for it;
   * where nothing can be typed, the agent reads it from a file.
   */
  async begin(prompt: string | undefined, agent?: string): Promise<Opened> {
    const { run, journal } = this.#options
    const first = run.driver === 'headless' ? this.#shortened(prompt) : prompt
    if (first === undefined || run.driver === 'headless' || Buffer.byteLength(first) <= longest)
      return { hands: await this.launchWith(first, agent), cycle: { at: 'watching' } }
    const cycle: Cycle = { at: 'watching', say: pending(first, Date.now()) }
    await journal.mean(cycle, ['launch'])
    return { hands: await this.launchWith(undefined, agent), cycle }
  }

  #shortened(prompt: string | undefined): string | undefined {
    if (prompt === undefined || Buffer.byteLength(prompt) <= longestArgument) return prompt
    const { run, settings } = this.#options
    const file = path.join(ownFolder(documentsFolder(run.cwd, run.name, settings().handoffs)), 'task.md')
    replaceFile(file, prompt)
    return taskText(file)
  }

  /** Starts afresh, with a prompt that is short. */
  async launchWith(prompt: string | undefined, agent = this.#agent): Promise<Hands> {
    this.#agent = agent
    return this.#open({ how: 'launch', ...(prompt === undefined ? {} : { prompt }), mean: this.#mean })
  }

  /** A start that a supervisor before this one meant, and died: undefined where it did not take place. */
  async #launched(launching: Launching): Promise<Hands | undefined> {
    const before = this.#agent
    this.#agent = launching.agent
    try {
      return await this.#attach(launching)
    } catch (error) {
      if (!BatonError.is(error) || error.code !== 'not_found') throw error
      this.#agent = before
      return undefined
    }
  }

  #attach({ place, session }: Pick<Whereabouts, 'place' | 'session'>): Promise<Hands> {
    return this.#open({ how: 'attach', place, ...(session === undefined ? {} : { session }) })
  }

  readonly #mean = async (place: Place, session: string | undefined): Promise<void> => {
    const launching: Launching = { place, agent: this.#agent, ...(session === undefined ? {} : { session }) }
    await this.#options.journal.write('launching', launching)
  }

  async #open(start: Start): Promise<Hands> {
    const { run, hands, journal } = this.#options
    const opened = await hands({ ...run, agent: this.#agent }, start)
    await this.keepPlace(opened, start.how === 'launch' ? undefined : start.session, journal)
    return opened
  }

  /** Where the agent is now, whenever that changes: another supervisor finds it there. */
  async keepPlace({ driver }: Hands, session: string | undefined, journal = this.#options.journal): Promise<void> {
    const whereabouts: Whereabouts = {
      place: driver.place,
      agent: this.#agent,
      ...(session === undefined ? {} : { session }),
    }
    const text = JSON.stringify(whereabouts)
    if (text === this.#kept) return
    await journal.write('whereabouts', whereabouts)
    this.#kept = text
  }

  /** A document by the ledger, of all that the lost context did. */
  async documentOf(look: Observation | undefined, trigger: Trigger): Promise<Stored> {
    const { store, run, since, tape, settings, signal } = this.#options
    const { handoffs, budget } = settings()
    const now = new Date()
    const { document } = await keepDocument({
      store,
      name: run.name,
      since,
      cwd: run.cwd,
      tape: look?.file === undefined ? undefined : await tape.update(look.file),
      by: 'ledger',
      text: undefined,
      path: freePath(documentsFolder(run.cwd, run.name, handoffs), now),
      trigger,
      turns: look?.turns ?? 0,
      budget,
      now,
      signal,
    })
    return document
  }
}

/** The cycle of an agent that is started with a document, from where the prompt has been given to it. */
export function startedWith(
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
