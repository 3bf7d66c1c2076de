// How many tokens the context of a tape takes, about: what `info` tells. It is counted entry by entry, so that a tape that grows is
// only read on from where it was read before.

import type { AnchorRef, Entry, Store, TapeInfo } from '../store/index.ts'
import { isBlob } from './blob.ts'
import { contextKinds, type Item, itemsOf, outputText, type Piece, pieceText } from './content.ts'
import { isMedia, partsOf } from './media.ts'
import { sessionStart, stateText } from './context.ts'
import { mediaTokens } from './fit.ts'
import { estimateTextTokens } from './token-estimate.ts'

/** What a message and a call cost beyond their text. */
const messageFrame = 5
const callFrame = 10
/** Of a phase that is larger, the newest part is counted and stands for the whole. */
const sampleBytes = 4 * 1024 * 1024

interface Counted {
  readonly anchor: number
  readonly wholeText: number
  readonly upTo: number
  readonly tokens: number
}

export class ContextTokens {
  #last: Counted | undefined

  /** `wholeText` as in a query for a context. */
  async read(
    store: Store,
    info: TapeInfo | undefined,
    anchor: AnchorRef | undefined,
    wholeText: number,
  ): Promise<number> {
    if (info === undefined) return 0
    const first = anchor === undefined ? info.firstId : Math.min(anchor.from ?? anchor.id + 1, info.lastId + 1)
    if (info.phase.bytes > 2 * sampleBytes) return sampled(store, info, first, wholeText)
    const same = this.#last?.anchor === (anchor?.id ?? 0) && this.#last.wholeText === wholeText
    const last = same && this.#last!.upTo <= info.lastId ? this.#last! : undefined
    let tokens = last?.tokens ?? openingTokens(info.tape, anchor)
    const range = { after: last?.upTo ?? first - 1, before: info.lastId + 1, kinds: contextKinds, onDamage: () => {} }
    for await (const entry of store.read(info.tape, range)) {
      if (entry.id !== anchor?.id) tokens += tokensOf(entry, info.tape, wholeText)
    }
    this.#last = { anchor: anchor?.id ?? 0, wholeText, upTo: info.lastId, tokens }
    return Math.ceil(tokens)
  }
}

async function sampled(store: Store, info: TapeInfo, first: number, wholeText: number): Promise<number> {
  let tokens = 0
  let bytes = 0
  const range = { after: first - 1, before: info.lastId + 1, reverse: true, onDamage: () => {} }
  for await (const entry of store.read(info.tape, range)) {
    bytes += Buffer.byteLength(JSON.stringify(entry))
    if ((contextKinds as readonly string[]).includes(entry.kind)) tokens += tokensOf(entry, info.tape, wholeText)
    if (bytes > sampleBytes) break
  }
  return Math.ceil((tokens / Math.max(1, bytes)) * info.phase.bytes)
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
    // The preview, which is counted already, tells how dense the text is.
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
