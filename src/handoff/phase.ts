// The phase that a document is about, and its facts, gathered while its entries are written: whoever imports a session and hands
// it over at once need not read the whole tape back.

import type { Entry } from '../store/index.ts'
import type { Ledger } from './ledger/facts.ts'
import { LedgerBuilder } from './ledger/ledger.ts'

/**
 * Whether a phase begins at an anchor: at the start of a session, or at a handoff that put a document on the tape. A compaction, a plain
 * anchor or the model's own handoff shortens what it sees, not what the user asked for and what it did.
 */
export function opensPhase({ name, state }: { readonly name: string; readonly state?: unknown }): boolean {
  return name === 'session/start' || holdsDocument(state)
}

function holdsDocument(state: unknown): boolean {
  return typeof state === 'object' && state !== null && 'document' in state && typeof state.document === 'string'
}

/** Sees every entry of a tape, from the first on. */
export class PhaseFacts {
  #cwd: string | undefined
  #builder: LedgerBuilder | undefined
  /** Entries of before it was known where the session works. */
  #early: Entry[] | undefined = []
  #lastId = 0
  #isWhole = true

  /** `cwd`: where the session works; its first entries tell if it is not given. */
  constructor(cwd: string | undefined) {
    this.#cwd = cwd
  }

  add(entry: Entry): void {
    if (entry.id !== ++this.#lastId) this.#isWhole = false
    if (!this.#isWhole) return
    this.#cwd ??= folderIn(entry)
    if (this.#cwd === undefined) {
      this.#early?.push(entry)
      if (this.#lastId > mostEarly) this.#isWhole = false
      return
    }
    for (const early of this.#early ?? []) this.#read(early)
    this.#early = undefined
    this.#read(entry)
  }

  /** The facts of the phase for a session that works in `cwd`; undefined if not all of its entries were seen. */
  facts(cwd: string | undefined): Ledger | undefined {
    return this.#isWhole && cwd !== undefined && cwd === this.#cwd ? this.#builder?.finish() : undefined
  }

  #read(entry: Entry): void {
    if (entry.kind === 'anchor' && opensPhase(entry.payload)) {
      this.#builder = undefined
      // What it keeps of the phase before has gone by.
      if (entry.payload.from !== undefined && entry.payload.from < entry.id) this.#isWhole = false
    }
    this.#builder ??= new LedgerBuilder({ cwd: this.#cwd! })
    this.#builder.add(entry)
  }
}

const mostEarly = 500

/** The folder, if the entry is the event that names it. */
function folderIn({ kind, payload }: Entry): string | undefined {
  if (kind !== 'event') return undefined
  const { name, data } = payload as { name?: unknown; data?: { cwd?: unknown } }
  return name === 'session' && typeof data?.cwd === 'string' ? data.cwd : undefined
}
