// The agent's life: started, taken hold of, reopened after a crash, replaced by another. What is begun is on the tape before
// it is done.

import type { Store } from '../store/index.ts'
import type { Resuming, Stored, Trigger } from './cycle-state.ts'
import { keepDocument } from './document-store.ts'
import { documentsFolder, freePath } from './document-file.ts'
import type { Observation } from './eyes.ts'
import type { Journal, Whereabouts } from './journal.ts'
import { resumeText } from './prompts.ts'
import { typing } from './pursuit.ts'
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
  async open(whereabouts: Whereabouts | undefined): Promise<Hands> {
    const { run } = this.#options
    if (whereabouts !== undefined) {
      const { place, session } = whereabouts
      return this.#open({ how: 'attach', place, ...(session === undefined ? {} : { session }) })
    }
    if (run.session !== undefined) return this.#open({ how: 'resume', session: run.session })
    return this.#open({ how: 'launch', ...(run.prompt === undefined ? {} : { prompt: run.prompt }) })
  }

  async reopen(session: string): Promise<Hands> {
    return this.#open({ how: 'resume', session })
  }

  /** Starts afresh with a document; the first prompt of the new context is to read it. */
  async launchWith(prompt: string | undefined, agent = this.#agent): Promise<Hands> {
    this.#agent = agent
    return this.#open({ how: 'launch', ...(prompt === undefined ? {} : { prompt }) })
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
