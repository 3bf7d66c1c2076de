// Does what the cycle wants done, and says what came of it. A driver that refuses has typed nothing; whatever else goes
// wrong may have arrived all the same, and only the transcript tells.

import fs from 'node:fs'
import { BatonError } from '../errors.ts'
import type { Store } from '../store/index.ts'
import type { Author, Effect, Seen, Touch, Trigger } from './cycle-state.ts'
import { documentsFolder, freePath, spelledOut } from './document-file.ts'
import { keepDocument } from './document-store.ts'
import type { Observation } from './eyes.ts'
import type { Journal } from './journal.ts'
import type { Hands, Run } from './run.ts'
import type { SupervisorSettings } from './settings.ts'
import { snapshotWork } from './snapshot.ts'
import type { TranscriptTape } from './transcript-tape.ts'

export interface DeedOptions {
  readonly store: Store
  readonly run: Run
  /** The entry with which the work began. */
  readonly since: number
  readonly tape: TranscriptTape
  readonly settings: () => SupervisorSettings
  readonly signal: AbortSignal
  readonly journal: Journal
}

export type Deed = Exclude<Effect, { do: 'health' }>

export class Deeds {
  readonly #options: DeedOptions
  /** What the agent wrote, before the facts were added to it. */
  #written: { path: string; text: string } | undefined

  constructor(options: DeedOptions) {
    this.#options = options
  }

  /** Never rejects: what happened is what is returned. */
  async do(deed: Deed, hands: Hands, look: Observation): Promise<Seen> {
    const { signal } = this.#options
    switch (deed.do) {
      case 'ask':
      case 'resume':
      case 'say':
        return touch(deed.do, () =>
          hands.driver.submit(hands.adapter.inline === true ? spelledOut(deed.text) : deed.text, signal),
        )
      case 'clear':
        return touch('clear', () => hands.driver.clear(signal))
      case 'interrupt':
        return touch('interrupt', () => hands.driver.interrupt(signal))
      case 'snapshot':
        return this.#snapshot()
      case 'store':
        return this.#store(deed.by, deed.path, deed.trigger, look)
    }
  }

  /** A clear touches no file: it need not wait until this can be had, or written down. */
  async #snapshot(): Promise<Seen> {
    const { run, signal, journal } = this.#options
    try {
      await journal.write('snapshot', await snapshotWork(run.cwd, run.name, { signal }))
    } catch (error) {
      if (!BatonError.is(error)) throw error
    }
    return { seen: 'snapshot' }
  }

  async #store(by: Author, path: string, trigger: Trigger, look: Observation): Promise<Seen> {
    const { store, run, since, tape, settings, signal, journal } = this.#options
    const { budget, handoffs } = settings()
    const now = new Date()
    try {
      const text = by === 'ledger' ? undefined : await this.#text(path, look)
      const name = look.file === undefined ? undefined : await tape.update(look.file)
      const kept = await keepDocument({
        store,
        name: run.name,
        since,
        cwd: run.cwd,
        tape: name,
        by,
        text,
        // What the agent may yet write stays free for it.
        path: by === 'ledger' ? freePath(documentsFolder(run.cwd, run.name, handoffs), now, path) : path,
        trigger,
        turns: look.turns,
        budget,
        now,
        signal,
      })
      if (kept.problems.length > 0) await journal.write('overruled', { problems: kept.problems.slice(0, 20) })
      return { seen: 'stored', document: kept.document }
    } catch (error) {
      return { seen: 'refused', what: 'store', reason: messageOf(error) }
    }
  }

  /** As the agent wrote it: in the file, or in its reply. */
  async #text(path: string, look: Observation): Promise<string | undefined> {
    if (this.#written?.path === path) return this.#written.text
    const text = fs.existsSync(path)
      ? fs.readFileSync(path, 'utf8')
      : look.file === undefined
        ? undefined
        : await this.#options.tape.reply(look.file)
    if (text !== undefined) this.#written = { path, text }
    return text
  }
}

async function touch(what: Touch, act: () => Promise<void>): Promise<Seen> {
  try {
    await act()
    return { seen: 'done', what }
  } catch (error) {
    if (BatonError.is(error) && ['refused', 'unsupported', 'cancelled'].includes(error.code)) {
      return { seen: 'refused', what, reason: error.message }
    }
    return { seen: 'done', what }
  }
}

export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error)
}
