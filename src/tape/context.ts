// The context: what a model is given. The anchor's state opens it, then come the entries from the anchor's `from` on, as
// messages that every provider accepts. Its cost depends on the context, never on the length of the tape.

import type { ModelMessage } from 'ai'
import { NotFoundError } from '../errors.ts'
import type { AnchorRef, Damage, Entry, Store } from '../store/index.ts'
import { isBlob, restoreParts } from './blob.ts'
import { fitInto, type Omitted } from './fit.ts'
import { nearest } from './nearest.ts'
import { type Message, pair } from './pairing.ts'
import type { MessagePayload } from './payload.ts'
import { contextKinds, type Item, itemsOf, pieceText } from './pieces.ts'
import { toAiSdk } from './render/ai-sdk.ts'
import { type AnthropicMessage, toAnthropic } from './render/anthropic.ts'
import { type OpenAiMessage, toOpenAi } from './render/openai.ts'
import { toText } from './render/text.ts'
import { tokenCounter } from './tokens.ts'

export interface ContextQuery {
  /** Start at the newest anchor of that name rather than at the last one. */
  anchor?: string
  /** Ignore anchors: everything on the tape since its last reset. */
  full?: boolean
  /** Leave out the oldest turns so that the rest takes at most so many tokens. */
  maxTokens?: number
  /** Text of messages up to so many bytes is given whole, rather than as the preview of its blob. */
  wholeText?: number
}

export interface Formats {
  openai: OpenAiMessage[]
  anthropic: AnthropicMessage[]
  'ai-sdk': ModelMessage[]
  text: string
}

export type Format = keyof Formats

export interface Context<Messages> {
  /** The newest system entry of the tape, if there is one. */
  readonly system: string | undefined
  readonly messages: Messages
  /** The anchor it starts from. */
  readonly anchor: AnchorRef | undefined
  /** What `maxTokens` left out. */
  readonly omitted: Omitted | undefined
  /** Entries that could not be read. */
  readonly damage: readonly Damage[]
}

const renderers = { openai: toOpenAi, anthropic: toAnthropic, 'ai-sdk': toAiSdk, text: toText } as const

export async function buildContext<F extends Format>(
  store: Store,
  tape: string,
  query: ContextQuery,
  format: F,
): Promise<Context<Formats[F]>> {
  const anchor = query.full === true ? undefined : await anchorFor(store, tape, query.anchor)
  const damage: Damage[] = []
  const { entries, skipped } = await readEntries(store, tape, anchor, query.maxTokens, (found) => damage.push(found))
  const restored = await Promise.all(entries.map((entry) => withBlobs(store, entry, query.wholeText ?? 0)))
  const { messages, system } = assemble(restored, anchor, tape)
  const fitted =
    query.maxTokens === undefined ? undefined : fitInto(messages, query.maxTokens, await tokenCounter(), tape, skipped)
  const render = renderers[format] as (messages: readonly Message[]) => Formats[F]
  return {
    system: system ?? (await lastSystem(store, tape)),
    messages: render(fitted?.messages ?? messages),
    anchor,
    omitted: fitted?.omitted,
    damage,
  }
}

async function anchorFor(store: Store, tape: string, name: string | undefined): Promise<AnchorRef | undefined> {
  if (name === undefined) return (await store.anchors(tape, { limit: 1 }))[0]
  return findAnchor(store, tape, name)
}

/** The newest anchor of that name, or NotFound with the names that come close. */
export async function findAnchor(
  store: Store,
  tape: string,
  name: string,
  bounds: { after?: number; archived?: boolean } = {},
): Promise<AnchorRef> {
  const [anchor] = await store.anchors(tape, { name, limit: 1, ...bounds })
  if (anchor !== undefined) return anchor
  const known = await store.anchors(tape, { limit: 500 })
  throw new NotFoundError(`There is no anchor "${name}" on ${tape}`, {
    nearest: nearest(
      name,
      known.map((each) => each.name),
    ),
  })
}

/** The entries of the context. With a bound on tokens, no more of the past is read than could fit. */
async function readEntries(
  store: Store,
  tape: string,
  anchor: AnchorRef | undefined,
  maxTokens: number | undefined,
  onDamage: (damage: Damage) => void,
): Promise<{ entries: Entry[]; skipped: { from: number; to: number } | undefined }> {
  const after = anchor === undefined ? 0 : (anchor.from ?? anchor.id + 1) - 1
  const entries: Entry[] = []
  if (maxTokens === undefined) {
    for await (const entry of store.read(tape, { after, kinds: contextKinds, onDamage })) entries.push(entry)
    return { entries, skipped: undefined }
  }
  // No tokenizer packs more into a token than this, but for runs of white space.
  let characters = Math.max(64_000, maxTokens * 16)
  for await (const entry of store.read(tape, { after, kinds: contextKinds, reverse: true, onDamage })) {
    entries.push(entry)
    characters -= JSON.stringify(entry.payload).length
    const startsTurn = entry.kind === 'message' && (entry.payload as MessagePayload).role === 'user'
    if (characters < 0 && startsTurn)
      return { entries: entries.reverse(), skipped: { from: after + 1, to: entry.id - 1 } }
  }
  return { entries: entries.reverse(), skipped: undefined }
}

async function withBlobs(store: Store, entry: Entry, wholeText: number): Promise<Entry> {
  const content = entry.kind === 'message' ? (entry.payload as MessagePayload).content : undefined
  if (!Array.isArray(content) || !content.some(isBlob)) return entry
  const restored = await restoreParts(store, content, wholeText)
  return { ...entry, payload: { ...(entry.payload as MessagePayload), content: restored } }
}

/** The messages of a slice, pure. The opening anchor is not among the entries it is rendered from. */
function assemble(
  entries: readonly Entry[],
  anchor: AnchorRef | undefined,
  tape: string,
): { messages: Message[]; system: string | undefined } {
  const items: Item[] = anchor === undefined || anchor.name === sessionStart ? [] : [stateItem(anchor, tape)]
  for (const entry of entries) {
    if (entry.kind !== 'anchor') items.push(...itemsOf(entry))
    else if (entry.id !== anchor?.id && entry.meta.context !== false) {
      const passed = entry.payload as { name: string; state?: unknown }
      if (passed.name !== sessionStart)
        items.push(stateItem({ ...passed, state: passed.state ?? {}, id: entry.id, date: entry.date }, tape))
    }
  }
  const messages = pair(items)
  const first = messages[0]
  if (first?.role === 'assistant') {
    const note = { type: 'text', text: '[The conversation goes on from here.]' } as const
    messages.unshift({ role: 'user', pieces: [note], first: first.first, last: first.first })
  }
  const system = items.findLast((item) => item.type === 'system')
  return { messages, system: system?.type === 'system' ? system.pieces.map(pieceText).join('\n') : undefined }
}

/** Opens a tape's first phase; says nothing that a model needs. */
export const sessionStart = 'session/start'

/** The state is data in a fence that it cannot close: no `<` survives in it. */
function stateItem(anchor: AnchorRef, tape: string): Item {
  const state = JSON.stringify(anchor.state, null, 1).replaceAll('<', '\\u003c')
  const label = JSON.stringify(anchor.name).replaceAll('<', '\\u003c')
  const source = JSON.stringify(`${tape}#${anchor.id}`).replaceAll('<', '\\u003c')
  const text = `<handoff anchor=${label} entry=${source}>\n${state}\n</handoff>\nThis is the state that was handed over at this point. Go on from it.`
  return { type: 'user', id: anchor.id, pieces: [{ type: 'text', text }] }
}

async function lastSystem(store: Store, tape: string): Promise<string | undefined> {
  const entry = await store.latest(tape, 'system')
  return entry?.kind === 'system' ? String((entry.payload as { content: unknown }).content) : undefined
}
