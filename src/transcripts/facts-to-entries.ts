// Turns facts into entries. It predicts the ids that the tape will assign, so that a compaction can say from which entry on
// the context was kept. What can only be found by looking back at the tape is left to the import.

import { type Draft, type Entry, entryFrom, limits, type Store } from '../store/index.ts'
import { usageKey, isHeavy, keepText, spill } from '../tape/index.ts'
import {
  type About,
  agentNamed,
  type Compacted,
  type Fact,
  given,
  type Rewound,
  type Said,
  type SessionFile,
  type TurnMoved,
  type Used,
} from '../agents/index.ts'
import { TranscriptReader } from './transcript-reader.ts'

/** The anchor of a context that does not begin with a summary; a model is not shown it. */
export const openingAnchor = 'session/start'

/** What applies to later lines until another line changes it. Plain JSON. */
export interface Carried {
  /** The newest date, which is given to lines without one. */
  readonly date?: string
  readonly cwd?: string
  readonly branch?: string
  /** How the last turn ended; undefined while it runs. */
  readonly ended?: TurnStatus
}

type TurnStatus = 'done' | 'aborted' | 'failed'

export class EntryBuilder {
  #next: number
  /** The ids of the first entries of the lines in the current context. */
  readonly #places = new Map<string, number>()
  /** Changed in place: nearly every line has a new date. */
  readonly #carried: { -readonly [Field in keyof Carried]: Carried[Field] }

  /** `next`: the id that the next entry will get. */
  constructor(next: number, carried: Carried = {}) {
    this.#next = next
    this.#carried = { ...carried }
  }

  /** As it is now. */
  get carried(): Carried {
    return { ...this.#carried }
  }

  get next(): number {
    return this.#next
  }

  /** Whether the fact refers to a line that this builder no longer remembers. */
  needsTape(fact: Fact): fact is Rewound | Compacted {
    if (fact.type === 'rewound') return true
    return fact.type === 'compacted' && fact.keptFrom !== undefined && !this.#places.has(fact.keptFrom)
  }

  /** Records where a line was found on the tape. */
  remember(source: string, place: number | undefined): void {
    if (place !== undefined) this.#places.set(source, place)
  }

  /** The entries of a fact, in order; none for facts that only the figures of the session need. */
  drafts(fact: Fact): readonly Draft[] {
    if (fact.type === 'said') return [this.#said(fact)]
    if (fact.type === 'quotas' || fact.type === 'limited' || fact.type === 'compacting') return none
    const drafts =
      fact.type === 'about'
        ? this.#about(fact)
        : fact.type === 'turn'
          ? this.#turn(fact)
          : draftsOf(fact, (source) => this.#places.get(source))
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
    const carried = this.#carried
    if (draft.date !== undefined) carried.date = draft.date
    else if (carried.date !== undefined) draft.date = carried.date
    return draft
  }

  /** Only the first entry of a line has its source. */
  #said({ draft, source }: Said): Draft {
    const id = this.#next++
    this.#dated(draft)
    if (source === undefined || this.#places.has(source)) return draft
    this.#places.set(source, id)
    draft.source = source
    return draft
  }

  /** An event that says in which folder and branch the work is done, whenever that changes. */
  #about({ cwd = this.#carried.cwd, branch = this.#carried.branch }: About): Draft[] {
    if (cwd === this.#carried.cwd && branch === this.#carried.branch) return []
    const place = given({ cwd, branch })
    Object.assign(this.#carried, place)
    return [event('session', place, undefined)]
  }

  /** The end of a turn, once, in the words that Baton's own agent has for it. Entries that follow it continue the turn. */
  #turn({ to, because, date }: TurnMoved): Draft[] {
    if (to !== 'idle') {
      if (this.#carried.ended !== undefined) this.#carried.ended = undefined
      return []
    }
    const status = because ?? 'done'
    if (this.#carried.ended === status || (status === 'done' && this.#carried.ended !== undefined)) return []
    this.#carried.ended = status
    return [event('turn_ended', { status }, date)]
  }

  /** Counts entries that were made elsewhere, and records where the lines that they came from are now. */
  learn(drafts: readonly Draft[]): void {
    for (const draft of drafts) {
      const { source } = draft
      if (typeof source === 'string') this.#places.set(source, this.#next)
      this.#next++
    }
  }

  /** A new context begins: nothing refers to lines before it any more. */
  forget(): void {
    this.#places.clear()
  }

  /** Nothing refers to lines before the kept context any more. */
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
    case 'queued':
      return [
        dated({ kind: 'message', payload: { role: 'user', content: fact.text }, meta: { queued: true } }, fact.date),
      ]
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

/** An anchor with the agent's own summary. What the agent kept is repeated after it, or `from` says where it begins. */
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

interface EntriesOptions {
  /** Only entries from that date on. */
  readonly since?: string | undefined
  /** Called with every fact, whatever its date. */
  readonly onFact?: (fact: Fact) => void
}

/** The entries of a session as an import would write them, without a tape. */
export function* sessionEntries(file: SessionFile, { since, onFact }: EntriesOptions = {}): Generator<Entry> {
  const reader = new TranscriptReader(agentNamed(file.agent), file)
  const builder = new EntryBuilder(1)
  let date = new Date(file.changed).toISOString()
  try {
    for (const { facts } of reader.steps()) {
      for (const fact of facts) {
        onFact?.(fact)
        const first = builder.next
        for (const [i, draft] of [...builder.drafts(fact)].entries()) {
          date = draft.date ?? date
          if (
            since === undefined ||
            Date.parse(date) >= Date.parse(since) ||
            draft.payload === undefined ||
            isPlace(draft.payload)
          )
            yield entryFrom(draft, first + i, date)
        }
      }
    }
  } finally {
    reader.close()
  }
}

/** The folder of the session is needed, however long ago it was set. */
function isPlace(payload: unknown): boolean {
  return (payload as { name?: unknown }).name === 'session'
}

/** Gathers entries up to the size that the store accepts at once, with room for a mark. */
export class ImportBatch {
  drafts: Draft[] = []
  #bytes = 0
  readonly #builder: EntryBuilder

  constructor(builder: EntryBuilder) {
    this.#builder = builder
  }

  /** `bytes`: the size of the line that the drafts come from; large drafts are measured themselves. */
  add(drafts: readonly Draft[], bytes = 0): void {
    for (const draft of drafts) {
      this.drafts.push(draft)
      this.#bytes += overhead + (bytes > 0 && bytes < lightBytes ? bytes : JSON.stringify(draft).length)
    }
  }

  get isFull(): boolean {
    return this.drafts.length >= fullEntries || this.#bytes >= fullBytes
  }

  /** A single line made more entries than the store accepts at once. */
  get isOver(): boolean {
    return this.drafts.length > limits.batchEntries - 2 || this.#bytes > limits.batchBytes - 64 * 1024
  }

  /** Takes as many of the first entries as fit. */
  part(): Draft[] {
    let bytes = 0
    let n = 0
    for (; n < this.drafts.length - 1 && n < fullEntries && bytes < fullBytes / 2; n++) {
      bytes += overhead + Buffer.byteLength(JSON.stringify(this.drafts[n]))
    }
    const part = this.drafts.splice(0, Math.max(1, n))
    this.#bytes = this.drafts.reduce((sum, draft) => sum + overhead + JSON.stringify(draft).length, 0)
    return part
  }

  /** Takes all entries, and the mark after them. */
  take(mark: Draft): Draft[] {
    const all = [...this.drafts, mark]
    this.#builder.learn([mark])
    this.drafts = []
    this.#bytes = 0
    return all
  }
}

const overhead = 260
const fullEntries = 900
const fullBytes = 512 * 1024

/** A shorter line cannot contain anything that has to become a blob. */
export const lightBytes = 24 * 1024
/** Longer text becomes a blob in calls and events too, which the tape itself would keep whole. */
const longText = 64 * 1024
const heavyLine = 256 * 1024

/** Moves what is too large for a line of the tape into blobs, wherever in the draft it is. */
export async function spillLarge(store: Store, draft: Draft): Promise<Draft> {
  const light = isHeavy(draft) ? await spill(store, draft) : draft
  if (JSON.stringify(light.payload).length < heavyLine) return light
  return { ...light, payload: await shorten(store, light.payload) }
}

async function shorten(store: Store, value: unknown): Promise<unknown> {
  if (typeof value === 'string') return value.length > longText ? keepText(store, value, 'text/plain') : value
  if (Array.isArray(value)) {
    const items = await Promise.all(value.map((each) => shorten(store, each)))
    // A list of many small items can be too large as well.
    const text = JSON.stringify(items)
    return text.length > heavyLine ? keepText(store, text, 'application/json') : items
  }
  if (typeof value !== 'object' || value === null) return value
  const entries = await Promise.all(
    Object.entries(value).map(async ([name, each]) => [name, await shorten(store, each)] as const),
  )
  return Object.fromEntries(entries)
}
