// Makes drafts fit a line of the tape: what is too large for one becomes a blob, wherever in the draft it stands.

import type { Draft, Store } from '../store/index.ts'
import { isHeavy, keepText, spill } from '../tape/blob.ts'

/** No line with less in it can hold anything that has to leave. */
export const lightBytes = 24 * 1024
/** From here on text leaves calls and events too, which the tape itself keeps whole. */
const longText = 64 * 1024
const heavyLine = 256 * 1024

export async function slim(store: Store, draft: Draft): Promise<Draft> {
  const light = isHeavy(draft) ? await spill(store, draft) : draft
  if (JSON.stringify(light.payload).length < heavyLine) return light
  return { ...light, payload: await shorten(store, light.payload) }
}

async function shorten(store: Store, value: unknown): Promise<unknown> {
  if (typeof value === 'string') return value.length > longText ? keepText(store, value, 'text/plain') : value
  if (Array.isArray(value)) {
    const items = await Promise.all(value.map((each) => shorten(store, each)))
    // Many small things are as large as one large thing.
    const text = JSON.stringify(items)
    return text.length > heavyLine ? keepText(store, text, 'application/json') : items
  }
  if (typeof value !== 'object' || value === null) return value
  const entries = await Promise.all(
    Object.entries(value).map(async ([name, each]) => [name, await shorten(store, each)] as const),
  )
  return Object.fromEntries(entries)
}
