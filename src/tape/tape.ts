// A tape as its user holds it. Every method is a sentence about the tape; the file of that noun does the work.

import { BatonError, InvalidError } from '../errors.ts'
import {
  type AnchorQuery,
  type AnchorRef,
  type AppendOptions,
  type ArchiveRef,
  type Draft,
  type Entry,
  openStore,
  type Part,
  type Range,
  type Store,
  toJson,
} from '../store/index.ts'
import { findWorkspace } from '../config/index.ts'
import { checkOptions } from '../options.ts'
import {
  afterAnchor,
  betweenAnchors,
  fromLastAnchor,
  type Hit,
  type KindsQuery,
  latestAnchor,
  search,
  searchOptions,
  type SearchQuery,
} from './query.ts'
import { isHeavy, readBlob, spill } from './content/blob.ts'
import {
  buildContext,
  type Context,
  contextOptions,
  type ContextQuery,
  type Format,
  type Formats,
  sessionStart,
} from './context/context.ts'
import {
  complete,
  type CompleteOptions,
  completeFork,
  fork,
  type ForkOptions,
  merge,
  type MergeOptions,
} from './lineage/fork.ts'
import { ancestors, descendants, type Edge, familyOf, readEdges } from './lineage/lineage.ts'
import { withBase64 } from './content/media.ts'
import { appendAs, asOwner, checkOpen, ownerDraft, ownerOf } from './lineage/owner.ts'
import { checkPayload } from './content/payload.ts'
import { type Step, stepDrafts, usageKey } from './content/step.ts'
import { contextTokensOf } from './context/context-tokens.ts'
import { formatUri } from './reference.ts'

/** A message as programs record it. Fields that Baton does not know are kept. */
export interface RecordedMessage {
  role: string
  content: string | Part[]
  customType?: string
  display?: boolean
  [field: string]: unknown
}

/** The state of the new anchor, and what stays in the context before it. */
export interface HandoffOptions {
  /** What the next reader starts from: any JSON value. */
  state?: unknown
  runId?: string
  /** The first entry that stays in the context, for a tail that is kept or a tool call that is still open. */
  from?: number
}

/** How long a tape is, and how many tokens its context takes. */
export interface Info {
  readonly tape: string
  readonly entries: number
  readonly anchors: number
  readonly lastAnchor: string | undefined
  readonly lastId: number
  readonly entriesSinceAnchor: number
  /** About: within 15 % of what a tokenizer counts, without one. */
  readonly contextTokens: number
  readonly bytes: number
  readonly lastUsage: Record<string, unknown> | undefined
  readonly date: string | undefined
}

/** One tape: what is recorded on it, its anchors, and the contexts built from it. */
export class Tape {
  readonly name: string
  readonly store: Store
  readonly #close: () => Promise<void>
  /** The agent that holds it, where it said who it is. */
  readonly as: string | undefined

  /**
   * `close` is what ends the tape: nothing where the store belongs to somebody else. `as` is the agent that holds it:
   * once the tape is another agent's, it can read it, but no longer write.
   */
  constructor(store: Store, name: string, close: () => Promise<void> = async () => {}, as?: string) {
    this.store = store
    this.name = name
    this.#close = close
    this.as = as
  }

  /** Opens a session: puts `session/start` on a tape without an anchor, exactly once, whoever else opens it now. */
  async start(): Promise<void> {
    checkOpen(this.name)
    await completeFork(this.store, this.name)
    const info = await this.store.info(this.name)
    if (info !== undefined && info.anchors > 0) return
    const from = info === undefined ? {} : { from: info.firstId }
    try {
      await this.store.append(this.name, [startAnchor({ owner: 'human' }, from)], {
        expect: { key: sessionStart, id: 0 },
      })
    } catch (error) {
      if (!BatonError.is(error) || error.code !== 'conflict') throw error
    }
  }

  /** Appends a message. */
  async record(message: RecordedMessage, meta?: Draft['meta']): Promise<Entry> {
    const [entry] = await this.append([{ kind: 'message', payload: message, ...(meta === undefined ? {} : { meta }) }])
    return entry!
  }

  /** Appends a step of the AI SDK: text, calls, results and usage, in one batch. */
  async recordStep(step: Step, meta?: Draft['meta']): Promise<void> {
    await this.append(stepDrafts(step, meta))
  }

  /** Appends entries, all or none. Large content goes to blobs first. */
  async append(drafts: readonly Draft[], options?: AppendOptions): Promise<Entry[]> {
    checkOpen(this.name)
    checkOptions('tape.append', options, { expect: true, durable: true })
    drafts.forEach((draft, i) => checkPayload(draft, drafts.length === 1 ? '' : `entry ${i + 1}: `))
    const keyed = drafts.map((draft) => withBase64(withKey(draft)))
    // The store takes its own copy at once; where blobs come first, the copy is taken here.
    if (!drafts.some(isHeavy) && this.as === undefined) return this.store.append(this.name, keyed, options)
    const own = keyed.map((draft, i) => JSON.parse(toJson(draft, `entry ${i + 1}`)) as Draft)
    const light = await Promise.all(own.map((draft) => spill(this.store, draft)))
    if (this.as === undefined) return this.store.append(this.name, light, options)
    return appendAs(this.store, this.name, this.as, light, options)
  }

  /** Who may write here as long as agents say who they are; undefined while anyone may. */
  async owner(): Promise<string | undefined> {
    return ownerOf(this.store, this.name)
  }

  /** Appends an anchor and its event, atomically: from here on the context starts anew. */
  async handoff(name: string, options: HandoffOptions = {}): Promise<[anchor: Entry, event: Entry]> {
    checkOptions('tape.handoff', options, { state: true, runId: true, from: true })
    const { state = {}, runId, from } = options
    if (from !== undefined) await this.#checkFrom(from)
    const meta = runId === undefined ? {} : { run_id: runId }
    const [anchor, event] = await this.append([
      { kind: 'anchor', payload: { name, state, ...(from === undefined ? {} : { from }) }, meta },
      { kind: 'event', payload: { name: 'handoff', data: { name, state } }, meta },
    ])
    return [anchor!, event!]
  }

  async #checkFrom(from: number): Promise<void> {
    const info = await this.store.info(this.name)
    if (info !== undefined && from >= info.firstId && from <= info.lastId) return
    throw new InvalidError(`There is no entry ${from} on ${this.name} to keep the context from`, { path: 'from' })
  }

  /** What a model is given: by default, the state of the last anchor and what follows it, as valid messages. */
  async context<F extends Format = 'openai'>(query: ContextQuery & { format?: F } = {}): Promise<Context<Formats[F]>> {
    checkOptions('tape.context', query, contextOptions)
    return buildContext(this.store, this.name, query, query.format ?? ('openai' as F))
  }

  /** The entries of the tape, oldest first unless the range says otherwise. */
  entries(range?: Range): AsyncIterable<Entry> {
    return this.store.read(this.name, range)
  }

  /** The entries after that id, and then each new one as it is written, until aborted. */
  watch(after: number, signal: AbortSignal): AsyncIterable<Entry> {
    return this.store.watch(this.name, after, signal)
  }

  /** The anchors of the tape, from an index. */
  async anchors(query?: AnchorQuery): Promise<AnchorRef[]> {
    return this.store.anchors(this.name, query)
  }

  /** The entries between the newest anchors of those names. */
  async betweenAnchors(start: string, end: string = latestAnchor, query: KindsQuery = {}): Promise<Entry[]> {
    return betweenAnchors(this.store, this.name, start, end, query)
  }

  /** The entries after the newest anchor of that name. */
  async afterAnchor(name: string, query: KindsQuery = {}): Promise<Entry[]> {
    return afterAnchor(this.store, this.name, name, query)
  }

  /** The entries after the last anchor. */
  async fromLastAnchor(query: KindsQuery = {}): Promise<Entry[]> {
    return fromLastAnchor(this.store, this.name, query)
  }

  /** The entries that contain the text, newest first. */
  async search(text: string, query?: SearchQuery): Promise<Entry[]> {
    return (await this.find(text, query)).map(({ entry }) => entry)
  }

  /** As `search`, and where in a blob the text stands. */
  async find(text: string, query?: SearchQuery): Promise<Hit[]> {
    checkOptions('tape.search', query, searchOptions)
    return search(this.store, this.name, text, query)
  }

  /** `wholeText`: how much of a large message its contexts give whole; as the agent on this tape did it unless given. */
  async info({ wholeText }: Pick<ContextQuery, 'wholeText'> = {}): Promise<Info> {
    const info = await this.store.info(this.name)
    const [anchor] = info?.lastAnchor === undefined ? [] : await this.anchors({ limit: 1 })
    const usage = await this.store.latest(this.name, usageKey)
    const lastUsage = usage?.kind === 'event' ? (usage.payload.data as Record<string, unknown>) : undefined
    const whole = wholeText ?? Number(lastUsage?.whole_text ?? 0)
    return {
      tape: this.name,
      entries: info?.entries ?? 0,
      anchors: info?.anchors ?? 0,
      lastAnchor: info?.lastAnchor?.name,
      lastId: info?.lastId ?? 0,
      entriesSinceAnchor: info === undefined ? 0 : info.lastId - (info.lastAnchor?.id ?? info.firstId - 1),
      contextTokens: await contextTokensOf(this.store, this.name).read(info, anchor, whole),
      bytes: info?.bytes ?? 0,
      lastUsage,
      date: info?.date,
    }
  }

  /** Sets a value that no anchor hides: the newest one under its key counts. */
  async set(key: string, value: unknown): Promise<Entry> {
    const [entry] = await this.append([
      { kind: 'event', payload: { name: 'set', data: { key, value } }, meta: { key: `set:${key}` } },
    ])
    return entry!
  }

  /** The payload of the newest entry with that key. */
  async get(key: string): Promise<unknown> {
    const entry = await this.store.latest(this.name, `set:${key}`)
    return entry?.kind === 'event' ? (entry.payload.data as { value?: unknown }).value : undefined
  }

  /** A new tape with a copy of this one's entries from an anchor on, and an intention. */
  async fork(child: string, options?: ForkOptions): Promise<Tape> {
    checkOpen(child)
    checkOptions('tape.fork', options, { from: true, phase: true, intention: true })
    await fork(this.store, this.name, child, options)
    return new Tape(this.store, child, undefined, this.as)
  }

  /** Appends what is new on a child; returns how many entries that was. */
  async merge(child: string, options?: MergeOptions): Promise<number> {
    checkOpen(this.name)
    checkOptions('tape.merge', options, { context: true })
    await this.demandOwner()
    return merge(this.store, this.name, child, options)
  }

  /** Reports to the parent that this fork is done, if its intention asks for that. True if it was reported now. */
  async complete(options?: CompleteOptions): Promise<boolean> {
    return complete(this.store, this.name, options)
  }

  /** Closes the tape's entries into an archive and starts afresh; ids continue. */
  async reset(): Promise<ArchiveRef> {
    checkOpen(this.name)
    await this.demandOwner()
    const owner = await this.owner()
    return this.store.archive(this.name, ({ ref }) => [
      startAnchor({ owner: 'human', archived: ref }),
      ...(owner === undefined ? [] : [ownerDraft({ agent: owner })]),
    ])
  }

  /** Throws where the tape has become another agent's. */
  async demandOwner(): Promise<void> {
    if (this.as !== undefined) await asOwner(this.store, this.name, this.as)
  }

  /** Deletes this tape's archives for good. */
  async purge(): Promise<ArchiveRef[]> {
    return this.store.purge(this.name)
  }

  /** Where the tape came from, and what came from it. */
  async lineage(): Promise<{ ancestors: string[]; descendants: string[]; edges: Edge[] }> {
    const edges = await readEdges(this.store)
    return {
      ancestors: ancestors(edges, this.name),
      descendants: descendants(edges, this.name),
      edges: familyOf(edges, this.name),
    }
  }

  /** Large content that was moved out of an entry. */
  async readBlob(sha256: string, range?: { start?: number; end?: number }): Promise<Buffer> {
    return readBlob(this.store, sha256, range)
  }

  /** A `tape://` reference to an entry or an anchor. */
  uri(place: { entry: number } | { anchor: string }): string {
    const { workspace } = this.store
    const target =
      'entry' in place
        ? ({ type: 'entry', id: place.entry } as const)
        : ({ type: 'anchor', name: place.anchor } as const)
    return formatUri({ workspace, tape: this.name, place: target })
  }

  /** Closes the store too, unless it was given. */
  async close(): Promise<void> {
    await this.#close()
  }
}

function startAnchor(state: Record<string, unknown>, more: { from?: number } = {}): Draft {
  return { kind: 'anchor', payload: { name: sessionStart, state, ...more }, meta: { key: sessionStart } }
}

/** The newest system entry can be found wherever it is. */
function withKey(draft: Draft): Draft {
  return draft.kind === 'system' && draft.meta?.key === undefined
    ? { ...draft, meta: { ...draft.meta, key: 'system' } }
    : draft
}

/** Which store a tape is in, and which agent opens it. */
export interface OpenOptions {
  /** A store that is open already; it stays open when the tape is closed. */
  store?: Store
  /** A store's address or a workspace folder; found from the current folder unless given. */
  address?: string
  /** The agent that opens it: it can write for as long as the tape has no owner, or is its own. */
  as?: string
}

/** Opens a session on that tape, making tape and workspace where there are none. */
export async function openTape(name: string, options: OpenOptions = {}): Promise<Tape> {
  checkOptions('openTape', options, { store: true, address: true, as: true })
  const store = options.store ?? (await openStore(options.address ?? findWorkspace().address))
  const own = options.store === undefined
  const tape = new Tape(store, name, own ? () => store.close() : async () => {}, options.as)
  try {
    await tape.start()
  } catch (error) {
    if (own) await store.close()
    throw error
  }
  return tape
}
