// Carries out the effects of the cycle and returns their outcome as an event. A driver that refuses has typed nothing; after
// any other failure the keys may have arrived all the same, and only the transcript can show it.

import fs from 'node:fs'
import { BatonError } from '../../errors.ts'
import type { Store } from '../../store/index.ts'
import type { Author, Effect, CycleEvent, AgentAction, Trigger } from './cycle-state.ts'
import { documentsFolder, freePath, promptFor } from '../documents/document-file.ts'
import { interruptEvent } from '../../handoff/index.ts'
import { keepDocument, restoreFile } from '../documents/document-store.ts'
import type { Observation } from '../observe/observation.ts'
import type { Journal } from '../session/records/journal.ts'
import type { AgentHandle } from '../run.ts'
import type { SessionState } from '../session/session-state.ts'
import { snapshotWork } from '../documents/snapshot.ts'
import type { TranscriptTape } from '../documents/transcript-tape.ts'

export interface EffectOptions {
  readonly store: Store
  readonly session: SessionState
  /** The entry with which the work began. */
  readonly since: number
  readonly tape: TranscriptTape
  readonly signal: AbortSignal
  readonly journal: Journal
}

export type Action = Exclude<Effect, { do: 'health' }>

export class EffectRunner {
  readonly #options: EffectOptions
  /** The document as the agent wrote it, before facts were added to it. */
  #written: { path: string; text: string } | undefined

  constructor(options: EffectOptions) {
    this.#options = options
  }

  /** Never rejects: a failure is returned as an event. */
  async run(action: Action, handle: AgentHandle, observation: Observation): Promise<CycleEvent> {
    const { signal } = this.#options
    switch (action.do) {
      case 'resume':
        try {
          await this.#restoreDocument()
        } catch (error) {
          return { type: 'refused', what: 'resume', reason: messageOf(error) }
        }
        return this.#type(action, handle)
      case 'ask':
      case 'say':
        return this.#type(action, handle)
      case 'clear':
        return touch('clear', () => handle.driver.clear(signal))
      case 'interrupt':
        return touch('interrupt', async () => {
          await this.#announceInterrupt(observation)
          await handle.driver.interrupt(signal, action.about)
        })
      case 'snapshot':
        return this.#snapshot()
      case 'store':
        return this.#store(action.by, action.path, action.trigger, observation)
    }
  }

  #type({ do: what, text }: Extract<Action, { text: string }>, { adapter, driver }: AgentHandle): Promise<CycleEvent> {
    return touch(what, () => driver.submit(promptFor(adapter, text), this.#options.signal))
  }

  /** Has an agent keep trying that asks at a limit whether to. Where that is refused, its screen no longer asks. */
  async keepTrying({ driver }: AgentHandle): Promise<void> {
    try {
      await driver.keepTrying?.(this.#options.signal)
    } catch (error) {
      if (!BatonError.is(error) || !['refused', 'cancelled'].includes(error.code)) throw error
    }
  }

  /** Somebody may have removed the file since it was written. */
  async #restoreDocument(): Promise<void> {
    const { store, session } = this.#options
    const document = 'document' in session.cycle ? session.cycle.document : undefined
    if (document !== undefined) await restoreFile(store, session.run.name, document)
  }

  /** Puts it on the tape of the session, whose agent will say that the user has rejected what it was doing. */
  async #announceInterrupt({ file }: Observation): Promise<void> {
    if (file === undefined) return
    try {
      const { store, tape } = this.#options
      const payload = { name: interruptEvent, data: { by: 'baton' } }
      await store.append(await tape.update(file), [{ kind: 'event', payload, meta: { context: false } }])
    } catch (error) {
      // An interrupt that nobody could write down is still needed.
      if (!BatonError.is(error)) throw error
    }
  }

  /** A clear touches no file, so a snapshot that fails, or that cannot be recorded, does not hold it up. */
  async #snapshot(): Promise<CycleEvent> {
    const { signal, journal } = this.#options
    const { run } = this.#options.session
    try {
      await journal.write('snapshot', await snapshotWork(run.cwd, run.name, { signal }))
    } catch (error) {
      if (!BatonError.is(error)) throw error
    }
    return { type: 'snapshot' }
  }

  async #store(by: Author, path: string, trigger: Trigger, observation: Observation): Promise<CycleEvent> {
    const { store, since, tape, signal, journal } = this.#options
    const { run, settings } = this.#options.session
    const { budget, handoffs } = settings()
    const now = new Date()
    try {
      const text = by === 'ledger' ? undefined : await this.#text(path, observation)
      const name = observation.file === undefined ? undefined : await tape.update(observation.file)
      const kept = await keepDocument({
        store,
        name: run.name,
        since,
        cwd: run.cwd,
        tape: name,
        by,
        text,
        // The path that the agent was asked to write to stays free for it.
        path: by === 'ledger' ? freePath(documentsFolder(run.cwd, run.name, handoffs), now, path) : path,
        trigger,
        turns: observation.turns,
        budget,
        now,
        signal,
      })
      if (kept.problems.length > 0) await journal.write('overruled', { problems: kept.problems.slice(0, 20) })
      return { type: 'stored', document: kept.document }
    } catch (error) {
      return { type: 'refused', what: 'store', reason: messageOf(error) }
    }
  }

  /** The document as the agent wrote it: in the file, or in its reply. */
  async #text(path: string, observation: Observation): Promise<string | undefined> {
    if (this.#written?.path === path) return this.#written.text
    const text = fs.existsSync(path)
      ? fs.readFileSync(path, 'utf8')
      : observation.file === undefined
        ? undefined
        : await this.#options.tape.reply(observation.file)
    if (text !== undefined) this.#written = { path, text }
    return text
  }
}

async function touch(what: AgentAction, act: () => Promise<void>): Promise<CycleEvent> {
  try {
    await act()
    return { type: 'done', what }
  } catch (error) {
    if (BatonError.is(error) && ['refused', 'unsupported', 'cancelled'].includes(error.code)) {
      return { type: 'refused', what, reason: error.message }
    }
    return { type: 'done', what }
  }
}

export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error)
}
