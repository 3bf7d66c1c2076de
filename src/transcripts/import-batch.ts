// What an import appends at once: drafts that are small enough for a line of the tape, and not more than the store takes.

import { type Draft, limits, type Store } from '../store/index.ts'
import { isHeavy, keepText, spill } from '../tape/index.ts'
import type { EntryBuilder } from './facts-to-entries.ts'

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
