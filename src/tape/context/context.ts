// The context: what a model is given. The anchor's state opens it, then come the entries from the anchor's `from` on, as
// messages that every provider accepts. Its cost depends on the context, never on the length of the tape.

import type { ModelMessage } from 'ai'
import type { OptionNames } from '../../options.ts'
import type { AnchorRef, Damage, Entry, Store } from '../../store/index.ts'
import { isBlob, restoreOutput, restoreParts } from '../content/blob.ts'
import { fitInto, type Gap, type Omitted } from './fit.ts'
import { tokenCounter } from '../tokens.ts'
import { wordsBefore } from './user-words.ts'
import { findAnchor } from '../reference.ts'
import { type ContextMessage, pair } from './pairing.ts'
import { contextKinds, type Item, itemsOf, outputMedia, outputText, type Piece, pieceText } from '../content/content.ts'
import { type AnthropicMessage, type OpenAiMessage, toAiSdk, toAnthropic, toOpenAi, toText } from './render.ts'

/** Which part of a tape makes the context, and how many tokens it may take. */
export interface ContextQuery {
  /** Start at the newest anchor of that name rather than at the last one. */
  anchor?: string
  /** Ignore anchors: everything on the tape since its last reset. */
  full?: boolean
  /** Leave out the oldest turns so that the rest takes at most so many tokens. */
  maxTokens?: number
  /** Text of messages up to so many bytes is given whole, rather than as the preview of its blob. */
  wholeText?: number
  /**
   * Where the phase does not begin with a handoff document: what the user said before it too, and whole the prompt that was being
   * answered when the phase began.
   */
  userWords?: boolean
  /** `false`: images are named, not given, for a model that takes none. */
  images?: boolean
}

/** As `ContextQuery`, with the format. */
export const contextOptions = {
  anchor: true,
  full: true,
  maxTokens: true,
  wholeText: true,
  userWords: true,
  images: true,
  format: true,
} as const satisfies OptionNames<ContextQuery & { format?: Format }>

export interface Formats {
  openai: OpenAiMessage[]
  anthropic: AnthropicMessage[]
  'ai-sdk': ModelMessage[]
  text: string
}

export type Format = keyof Formats

/** What a model is given, in the requested format. */
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
  const onDamage = (found: Damage) => void damage.push(found)
  const slice = await readEntries(store, tape, anchor, query.maxTokens, onDamage)
  const words =
    query.userWords === true && anchor !== undefined && !slice.entries.some(isDocument)
      ? await wordsBefore(store, tape, anchor, onDamage)
      : undefined
  const entries = [...(words?.prompts ?? []), ...slice.entries]
  const restored = await Promise.all(entries.map((entry) => withBlobs(store, entry, query.wholeText ?? 0)))
  const { messages: all, system } = assemble(restored, anchor, tape, words?.item)
  const messages = query.images === false ? all.map(withoutImages) : all
  const fitted =
    query.maxTokens === undefined
      ? undefined
      : fitInto(messages, query.maxTokens, await tokenCounter(), tape, slice.unread)
  const render = renderers[format] as (messages: readonly ContextMessage[]) => Formats[F]
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

/** The entries of the context. With a bound on tokens, no more of the past is read than could fit. */
async function readEntries(
  store: Store,
  tape: string,
  anchor: AnchorRef | undefined,
  maxTokens: number | undefined,
  onDamage: (damage: Damage) => void,
): Promise<{ entries: Entry[]; unread: Gap[] }> {
  const after = anchor === undefined ? 0 : (anchor.from ?? anchor.id + 1) - 1
  const range = { after, kinds: contextKinds, onDamage }
  const entries: Entry[] = []
  if (maxTokens === undefined) {
    for await (const entry of store.read(tape, range)) entries.push(entry)
    return { entries, unread: [] }
  }
  // No tokenizer packs more into a token than this, but for runs of white space.
  let characters = Math.max(64_000, maxTokens * 16)
  let cutAt: number | undefined
  for await (const entry of store.read(tape, { ...range, reverse: true })) {
    if (cutAt === undefined) {
      entries.push(entry)
      characters -= JSON.stringify(entry.payload).length
      // Results come behind their call: a cut before anything else separates none from it.
      if (characters < 0 && entry.kind !== 'tool_result') cutAt = entry.id
    }
    if (cutAt === undefined || !isPrompt(entry)) continue
    // The prompt that is being answered stays, however much was done since.
    if (entry.id !== cutAt) entries.push(entry)
    break
  }
  entries.reverse()
  const oldest = entries[0]
  if (cutAt === undefined || oldest === undefined) return { entries, unread: [] }
  const head = await documentAt(store, tape, after)
  const isApart = head !== undefined && head.id < oldest.id
  const gaps = [
    { from: (isApart ? head.id : after) + 1, to: oldest.id - 1 },
    { from: oldest.id + 1, to: cutAt - 1 },
  ]
  return { entries: isApart ? [head, ...entries] : entries, unread: gaps.filter(({ from, to }) => from <= to) }
}

function isPrompt(entry: Entry): boolean {
  return entry.kind === 'message' && entry.payload.role === 'user' && entry.payload.customType === undefined
}

function isDocument(entry: Entry): boolean {
  return entry.kind === 'message' && entry.payload.customType === 'handoff'
}

/** The handoff document that opens a phase, if one does. */
async function documentAt(store: Store, tape: string, after: number): Promise<Entry | undefined> {
  for await (const entry of store.read(tape, { after, kinds: ['message'], limit: 1 })) {
    return isDocument(entry) ? entry : undefined
  }
  return undefined
}

/** Reads the images and files of an entry, and text up to so many bytes. */
async function withBlobs(store: Store, entry: Entry, wholeText: number): Promise<Entry> {
  if (entry.kind === 'tool_result') {
    const results = await Promise.all(
      entry.payload.results.map(async (result) => ({ ...result, output: await restoreOutput(store, result.output) })),
    )
    return { ...entry, payload: { ...entry.payload, results } }
  }
  if (entry.kind !== 'message') return entry
  const { content } = entry.payload
  if (!Array.isArray(content) || !content.some(isBlob)) return entry
  return { ...entry, payload: { ...entry.payload, content: await restoreParts(store, content, wholeText) } }
}

function withoutImages(message: ContextMessage): ContextMessage {
  const pieces = message.pieces.map((piece): Piece =>
    piece.type === 'media' ? { type: 'text', text: pieceText(piece) } : piece,
  )
  if (message.role === 'user') return { ...message, pieces }
  const steps = message.steps.map(({ call, result }) =>
    outputMedia(result.output).length === 0
      ? { call, result }
      : { call, result: { ...result, output: outputText(result.output) } },
  )
  return { ...message, pieces, steps }
}

/** The messages of a slice, pure. The opening anchor is not among the entries it is rendered from. */
function assemble(
  entries: readonly Entry[],
  anchor: AnchorRef | undefined,
  tape: string,
  words: Item | undefined,
): { messages: ContextMessage[]; system: string | undefined } {
  const items: Item[] = anchor === undefined || anchor.name === sessionStart ? [] : [stateItem(anchor, tape)]
  if (words !== undefined) items.push(words)
  for (const entry of entries) {
    if (entry.kind !== 'anchor') items.push(...itemsOf(entry))
    else if (entry.id !== anchor?.id && entry.meta.context !== false) {
      const { name, state = {} } = entry.payload
      if (name !== sessionStart) items.push(stateItem({ name, state, id: entry.id, date: entry.date }, tape))
    }
  }
  const messages = pair(items)
  const first = messages[0]
  if (first?.role === 'assistant') {
    const note = { type: 'text', text: '[The conversation continues from here.]' } as const
    messages.unshift({ role: 'user', pieces: [note], first: first.first, last: first.first })
  }
  const system = items.findLast((item) => item.type === 'system')
  return { messages, system: system?.type === 'system' ? system.pieces.map(pieceText).join('\n') : undefined }
}

/** Opens a tape's first phase; says nothing that a model needs. */
export const sessionStart = 'session/start'

function stateItem(anchor: AnchorRef, tape: string): Item {
  return { type: 'user', id: anchor.id, pieces: [{ type: 'text', text: stateText(anchor, tape) }], keep: 'state' }
}

/** The state is data in a fence that it cannot close: no `<` survives in it. */
export function stateText(anchor: AnchorRef, tape: string): string {
  const state = JSON.stringify(anchor.state, null, 1).replaceAll('<', '\\u003c')
  const label = JSON.stringify(anchor.name).replaceAll('<', '\\u003c')
  const source = JSON.stringify(`${tape}#${anchor.id}`).replaceAll('<', '\\u003c')
  return `<handoff anchor=${label} entry=${source}>\n${state}\n</handoff>\nThis is the state that was handed over at this point. Continue from it.`
}

async function lastSystem(store: Store, tape: string): Promise<string | undefined> {
  const entry = await store.latest(tape, 'system')
  return entry?.kind === 'system' ? String(entry.payload.content) : undefined
}
