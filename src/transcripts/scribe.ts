// Turns facts into entries. It counts the ids that the tape will give, so that a compaction can say from which entry on
// the context was kept. What it cannot know without looking at the tape it leaves to the import.

import type { Draft } from '../store/index.ts'
import { usageKey } from '../tape/step.ts'
import { given } from './fields.ts'
import type { About, Compacted, Fact, Rewound, Said, Used } from './fact.ts'

/** Where a context begins that no summary opens: it says nothing to a model. */
export const openingAnchor = 'session/start'

/** What holds until something else is said. Plain JSON. */
export interface Standing {
  /** The newest date: lines without one were written then. */
  readonly date?: string
  readonly cwd?: string
  readonly branch?: string
}

export class Scribe {
  #next: number
  /** Where the lines of the current context begin on the tape. */
  readonly #places = new Map<string, number>()
  #standing: Standing

  /** `next`: the id that the next entry will get. */
  constructor(next: number, standing: Standing = {}) {
    this.#next = next
    this.#standing = standing
  }

  get standing(): Standing {
    return this.#standing
  }

  get next(): number {
    return this.#next
  }

  /** Whether the fact speaks of a line that is further back than this scribe remembers. */
  needsTape(fact: Fact): fact is Rewound | Compacted {
    if (fact.type === 'rewound') return true
    return fact.type === 'compacted' && fact.keptFrom !== undefined && !this.#places.has(fact.keptFrom)
  }

  /** Where a line was found on the tape, if it was. */
  remember(source: string, place: number | undefined): void {
    if (place !== undefined) this.#places.set(source, place)
  }

  /** The entries of a fact, in order; none for what only a summary of the session needs. */
  drafts(fact: Fact): readonly Draft[] {
    if (fact.type === 'said') return [this.#said(fact)]
    if (fact.type === 'turn' || fact.type === 'quotas' || fact.type === 'limited') return none
    const drafts = fact.type === 'about' ? this.#about(fact) : draftsOf(fact, (source) => this.#places.get(source))
    if (fact.type === 'cleared' || fact.type === 'compacted') this.#forget(fact)
    if (fact.type === 'compacted' && fact.source !== undefined) {
      this.#places.set(fact.source, this.#next)
      drafts[0]!.source = fact.source
    }
    for (const draft of drafts) this.#dated(draft)
    this.#next += drafts.length
    return drafts
  }

  #dated(draft: Draft): Draft {
    const { date } = this.#standing
    if (draft.date === undefined) {
      if (date !== undefined) draft.date = date
    } else if (draft.date !== date) this.#standing = { ...this.#standing, date: draft.date }
    return draft
  }

  /** The first entry of a line says which it was. */
  #said({ draft, source }: Said): Draft {
    const id = this.#next++
    this.#dated(draft)
    if (source === undefined || this.#places.has(source)) return draft
    this.#places.set(source, id)
    draft.source = source
    return draft
  }

  /** Where the work is done, whenever that changes. */
  #about({ cwd = this.#standing.cwd, branch = this.#standing.branch }: About): Draft[] {
    if (cwd === this.#standing.cwd && branch === this.#standing.branch) return []
    const place = given({ cwd, branch })
    this.#standing = { ...this.#standing, ...place }
    return [event('session', place, undefined)]
  }

  /** Counts entries that somebody else made, and learns where the lines they came from now are. */
  learn(drafts: readonly Draft[]): void {
    for (const draft of drafts) {
      const { source } = draft
      if (typeof source === 'string') this.#places.set(source, this.#next)
      this.#next++
    }
  }

  /** A context that begins anew: nothing before it is asked for again. */
  forget(): void {
    this.#places.clear()
  }

  /** What lies before the context is not asked for again. */
  #forget(fact: Fact): void {
    const from = fact.type === 'compacted' && fact.keptFrom !== undefined ? this.#places.get(fact.keptFrom) : undefined
    if (from === undefined) return this.forget()
    for (const [source, id] of this.#places) if (id < from) this.#places.delete(source)
  }
}

const none: readonly Draft[] = []

function draftsOf(fact: Fact, placeOf: (source: string) => number | undefined): Draft[] {
  switch (fact.type) {
    case 'compacted':
      return compaction(fact, fact.keptFrom === undefined ? undefined : placeOf(fact.keptFrom))
    case 'cleared':
      return [event('clear', {}, fact.date), opening({ owner: 'human', reason: 'clear' }, fact.date)]
    case 'used':
      return fact.aside === true ? [] : [usage(fact)]
    case 'damaged':
      return [event('damaged', fact.damage, undefined)]
    default:
      return []
  }
}

export function opening(state: Record<string, unknown>, date: string | undefined): Draft {
  return dated({ kind: 'anchor', payload: { name: openingAnchor, state } }, date)
}

export function event(name: string, data: unknown, date: string | undefined): Draft {
  return dated({ kind: 'event', payload: { name, data }, meta: { context: false } }, date)
}

/** An anchor with the agent's own summary; what it kept follows anew, or is told by `from`. */
function compaction(fact: Compacted, from: number | undefined): Draft[] {
  const { summary, details, kept = [], date } = fact
  // A history that was replaced without a summary begins like a new session.
  const name = summary === '' ? openingAnchor : 'compaction'
  const state = summary === '' ? { owner: 'human', reason: 'replaced' } : { summary, ...details }
  const anchor = dated({ kind: 'anchor', payload: { name, state, ...(from === undefined ? {} : { from }) } }, date)
  const again = kept.map((draft) => ({ ...draft, meta: { ...draft.meta, kept: true } }))
  return [anchor, ...again.map((draft) => dated(draft, draft.date ?? date))]
}

function usage(used: Used): Draft {
  const { tokens, input, output, cacheRead, cacheWrite, model, cost, window } = used
  const data = {
    inputTokens: input + cacheRead + cacheWrite,
    outputTokens: output,
    cachedInputTokens: cacheRead,
    contextTokens: tokens,
    ...(window === undefined ? {} : { window }),
    ...(model === undefined ? {} : { model }),
    ...(cost === undefined ? {} : { cost }),
    ...(used.reply === undefined ? {} : { reply: used.reply }),
  }
  const draft: Draft = { kind: 'event', payload: { name: 'usage', data }, meta: { key: usageKey, context: false } }
  return dated(draft, used.date)
}

function dated(draft: Draft, date: string | undefined): Draft {
  return date === undefined ? draft : { ...draft, date }
}
