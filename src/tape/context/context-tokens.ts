// Roughly how many tokens the context of a tape takes, for `info`. It is counted entry by entry, once for everybody who has
// the same store open, so that a tape that grows is only read on from where it was read before.

import type { AnchorRef, Entry, Store, TapeInfo } from '../../store/index.ts'
import { isBlob } from '../content/blob.ts'
import { contextKinds, type Item, itemsOf, outputText, type Piece, pieceText } from '../content/content.ts'
import { isMedia, partsOf } from '../content/media.ts'
import { sessionStart, stateText } from './context.ts'
import { mediaTokens } from './fit.ts'
import { estimateTextTokens } from '../token-estimate.ts'

/** What a message and a call cost beyond their text. */
const messageFrame = 5
const callFrame = 10
/** A phase beyond this is larger than any model's context: its newest part is counted and stands for the whole. */
const mostCounted = 8 * 1024 * 1024
const sampleBytes = 1024 * 1024
/** The tapes of a store whose counts are kept. */
const mostTapes = 500

interface Counted {
  readonly first: number
  readonly anchor: number
  readonly wholeText: number
  readonly upTo: number
  readonly tokens: number
  /** What the tokens stand for, when they are those of a sample. */
  readonly sample?: { readonly bytes: number; readonly ofBytes: number }
}

const counters = new WeakMap<Store, Map<string, ContextTokens>>()

/** The counter of a tape: the same for all that have the store open. */
export function contextTokensOf(store: Store, tape: string): ContextTokens {
  const ofStore = counters.get(store) ?? new Map<string, ContextTokens>()
  counters.set(store, ofStore)
  const counter = ofStore.get(tape) ?? new ContextTokens(store)
  ofStore.delete(tape)
  ofStore.set(tape, counter)
  if (ofStore.size > mostTapes) ofStore.delete(ofStore.keys().next().value!)
  return counter
}

class ContextTokens {
  readonly #store: Store
  #last: Counted | undefined
  // One after the other: whoever asks at the same time finds what the first has counted.
  #turn: Promise<unknown> = Promise.resolve()

  constructor(store: Store) {
    this.#store = store
  }

  /** `wholeText` as in a query for a context. */
  read(info: TapeInfo | undefined, anchor: AnchorRef | undefined, wholeText: number): Promise<number> {
    const counted = this.#turn.then(() => (info === undefined ? 0 : this.#count(info, anchor, wholeText)))
    this.#turn = counted.catch(() => {})
    return counted
  }

  async #count(info: TapeInfo, anchor: AnchorRef | undefined, wholeText: number): Promise<number> {
    const first = anchor === undefined ? info.firstId : Math.min(anchor.from ?? anchor.id + 1, info.lastId + 1)
    const about = { first, anchor: anchor?.id ?? 0, wholeText, upTo: info.lastId }
    const last = this.#last !== undefined && isOfSame(this.#last, about) ? this.#last : undefined
    if (info.phase.bytes > mostCounted) {
      // Until the phase is a quarter larger, it is as dense as it was.
      const isRecent = last?.sample !== undefined && info.phase.bytes < 1.25 * last.sample.ofBytes
      const { tokens, sample } = isRecent
        ? { tokens: last.tokens, sample: last.sample }
        : await this.#sample(info, about)
      this.#last = { ...about, tokens, sample }
      return Math.ceil((tokens / Math.max(1, sample.bytes)) * info.phase.bytes)
    }
    const known = last?.sample === undefined ? last : undefined
    let tokens = known?.tokens ?? openingTokens(info.tape, anchor)
    const range = { after: known?.upTo ?? first - 1, before: info.lastId + 1, kinds: contextKinds, onDamage: () => {} }
    for await (const entry of this.#store.read(info.tape, range)) {
      if (entry.id !== anchor?.id) tokens += tokensOf(entry, info.tape, wholeText)
    }
    this.#last = { ...about, tokens }
    return Math.ceil(tokens)
  }

  async #sample(info: TapeInfo, { first, wholeText }: Pick<Counted, 'first' | 'wholeText'>) {
    let tokens = 0
    let bytes = 0
    const range = { after: first - 1, before: info.lastId + 1, reverse: true, onDamage: () => {} }
    for await (const entry of this.#store.read(info.tape, range)) {
      bytes += Buffer.byteLength(JSON.stringify(entry))
      if ((contextKinds as readonly string[]).includes(entry.kind)) tokens += tokensOf(entry, info.tape, wholeText)
      if (bytes > sampleBytes) break
    }
    return { tokens, sample: { bytes, ofBytes: info.phase.bytes } }
  }
}

function isOfSame(last: Counted, now: Omit<Counted, 'tokens' | 'sample'>): boolean {
  return (
    last.first === now.first && last.anchor === now.anchor && last.wholeText === now.wholeText && last.upTo <= now.upTo
  )
}

function openingTokens(tape: string, anchor: AnchorRef | undefined): number {
  if (anchor === undefined || anchor.name === sessionStart) return 0
  return messageFrame + estimateTextTokens(stateText(anchor, tape))
}

function tokensOf(entry: Entry, tape: string, wholeText: number): number {
  if (entry.kind === 'anchor') {
    const { name, state = {} } = entry.payload
    return entry.meta.context === false ? 0 : openingTokens(tape, { id: entry.id, name, state, date: entry.date })
  }
  let tokens = 0
  for (const item of itemsOf(entry)) tokens += itemTokens(item)
  const content = entry.kind === 'message' && entry.meta.context !== false ? entry.payload.content : undefined
  if (!Array.isArray(content)) return tokens
  for (const part of content) {
    if (!isBlob(part)) continue
    if (part.of !== undefined) tokens += mediaTokens
    // The preview, which is counted already, shows how dense the text is.
    else if (part.bytes <= wholeText) {
      tokens += estimateTextTokens(part.preview) * (part.bytes / Buffer.byteLength(part.preview) - 1)
    }
  }
  return tokens
}

function itemTokens(item: Item): number {
  let tokens = 0
  if (item.type === 'system') return 0
  if (item.type === 'calls') {
    for (const { name, arguments: input } of item.calls)
      tokens += callFrame + estimateTextTokens(name) + estimateTextTokens(JSON.stringify(input))
    return tokens
  }
  if (item.type === 'results') {
    for (const { output } of item.results) {
      const media = partsOf(output)?.filter((part) => isMedia(part) || (isBlob(part) && part.of !== undefined)) ?? []
      tokens += callFrame + estimateTextTokens(outputText(output)) + media.length * mediaTokens
    }
    return tokens
  }
  for (const piece of item.pieces) tokens += pieceTokens(piece)
  return tokens === 0 ? 0 : messageFrame + tokens
}

function pieceTokens(piece: Piece): number {
  return piece.type === 'media' ? mediaTokens : estimateTextTokens(pieceText(piece))
}
