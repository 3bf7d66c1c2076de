// Entries that a caller asks a tape for: by the anchors around them, or by the text in them.

import { BatonError, CancelledError, InvalidError, NotFoundError } from '../errors.ts'
import type { OptionNames } from '../options.ts'
import type { AnchorRef, Damage, Entry, Range, Store } from '../store/index.ts'
import { readBlob, wholeCharacter } from './content/blob.ts'
import { findAnchor } from './reference.ts'

export interface KindsQuery {
  kinds?: readonly string[]
}

/** Names the last anchor, whatever it is called. */
export const latestAnchor = 'latest'

/** Between two anchors, neither included. Of several with one name: the latest start, and the first end after it. */
export async function betweenAnchors(
  store: Store,
  tape: string,
  start: string,
  end: string,
  query: KindsQuery,
): Promise<Entry[]> {
  const from = await findAnchor(store, tape, start)
  if (end === latestAnchor) {
    const [last] = await store.anchors(tape, { limit: 1 })
    return collect(store, tape, from.id, last !== undefined && last.id > from.id ? last.id : undefined, query)
  }
  const ends = await store.anchors(tape, { name: end, after: from.id })
  if (ends[0] === undefined) {
    await findAnchor(store, tape, end)
    throw new NotFoundError(`There is no anchor "${end}" after "${start}" on ${tape}`)
  }
  return collect(store, tape, from.id, ends[0].id, query)
}

export async function afterAnchor(store: Store, tape: string, name: string, query: KindsQuery): Promise<Entry[]> {
  const anchor = await findAnchor(store, tape, name)
  return collect(store, tape, anchor.id, undefined, query)
}

/** After the last anchor, or everything where there is none. */
export async function fromLastAnchor(store: Store, tape: string, query: KindsQuery): Promise<Entry[]> {
  const [anchor]: AnchorRef[] = await store.anchors(tape, { limit: 1 })
  return collect(store, tape, anchor?.id ?? 0, undefined, query)
}

async function collect(
  store: Store,
  tape: string,
  after: number,
  before: number | undefined,
  query: KindsQuery,
): Promise<Entry[]> {
  const range: Range = { after, ...(before === undefined ? {} : { before }), ...query }
  const entries: Entry[] = []
  for await (const entry of store.read(tape, range)) entries.push(entry)
  return entries
}

export interface SearchQuery {
  kinds?: readonly string[]
  /** A day or a time; an end that is a day includes it. */
  from?: string
  to?: string
  limit?: number
  /** Also what resets have archived. */
  archived?: boolean
  onDamage?: (damage: Damage) => void
  signal?: AbortSignal
}

/** As `SearchQuery`. */
export const searchOptions = {
  kinds: true,
  from: true,
  to: true,
  limit: true,
  archived: true,
  onDamage: true,
  signal: true,
} as const satisfies OptionNames<SearchQuery>

export interface Hit {
  readonly entry: Entry
  /** Where the text is not in the entry itself but in its large content: how to read on there, and what stands around it. */
  readonly blob?: { readonly sha256: string; readonly offset: number; readonly excerpt: string }
}

/** Finds text anywhere in entries and their blobs: literally, in any script, regardless of case, newest first. */
export async function search(store: Store, tape: string, text: string, query: SearchQuery = {}): Promise<Hit[]> {
  const wanted = fold(text)
  if (wanted === '') throw new InvalidError('There is nothing to search for')
  const from = query.from === undefined ? Number.NEGATIVE_INFINITY : moment(query.from, 'from')
  const to = query.to === undefined ? Number.POSITIVE_INFINITY : endOf(query.to)
  if (from >= to) throw new InvalidError(`The search begins (${query.from}) after it ends (${query.to})`)
  const limit = query.limit ?? 20
  const { kinds, archived, onDamage } = query
  const found: Hit[] = []
  const range = {
    reverse: true,
    ...(kinds === undefined ? {} : { kinds }),
    ...(archived === undefined ? {} : { archived }),
    ...(onDamage === undefined ? {} : { onDamage }),
  }
  if (limit <= 0) return found
  const seen = new Map<string, Hit['blob']>()
  for await (const entry of store.read(tape, range)) {
    if (query.signal?.aborted === true) throw new CancelledError('The search was cancelled')
    const when = Date.parse(entry.date)
    if (when < from || when >= to) continue
    if (holds(entry.payload, wanted) || holds(entry.meta, wanted)) found.push({ entry })
    else {
      const blob = await inBlobs(store, entry.payload, wanted, seen)
      if (blob !== undefined) found.push({ entry, blob })
    }
    if (found.length >= limit) break
  }
  return found
}

/** `seen`: what was found in blobs so far, because forks and merges refer to one blob from many entries. */
async function inBlobs(
  store: Store,
  payload: unknown,
  wanted: string,
  seen: Map<string, Hit['blob']>,
): Promise<Hit['blob']> {
  for (const sha256 of textBlobs(payload)) {
    if (!seen.has(sha256)) seen.set(sha256, await inBlob(store, sha256, wanted))
    const hit = seen.get(sha256)
    if (hit !== undefined) return hit
  }
  return undefined
}

async function inBlob(store: Store, sha256: string, wanted: string): Promise<Hit['blob']> {
  let text: string
  try {
    text = (await readBlob(store, sha256)).toString()
  } catch (error) {
    // A tape that was copied without its blobs can still be searched.
    if (BatonError.is(error) && error.code === 'not_found') return undefined
    throw error
  }
  const at = fold(text).indexOf(wanted)
  if (at < 0) return undefined
  const start = wholeCharacter(text, Math.max(0, at - 200))
  const excerpt = text.slice(start, wholeCharacter(text, at + wanted.length + 400))
  return { sha256, offset: Buffer.byteLength(text.slice(0, start)), excerpt }
}

/** The blobs with text that a payload refers to: large content, and documents that are stored beside the tape. */
function textBlobs(value: unknown): string[] {
  if (typeof value !== 'object' || value === null) return []
  if (Array.isArray(value)) return value.flatMap(textBlobs)
  const { sha256, bytes, of, mediaType = 'text/plain' } = value as Record<string, unknown>
  const isText = of === undefined && /^(text\/|application\/json)/.test(String(mediaType))
  const own = typeof sha256 === 'string' && typeof bytes === 'number' && isText ? [sha256] : []
  return [...own, ...Object.values(value).flatMap(textBlobs)]
}

/** Whether any text in a value holds what is wanted; numbers count as they are written. */
function holds(value: unknown, wanted: string): boolean {
  if (typeof value === 'string') return fold(value).includes(wanted)
  if (typeof value === 'number' || typeof value === 'boolean') return String(value).includes(wanted)
  if (typeof value !== 'object' || value === null) return false
  if (Array.isArray(value)) return value.some((item) => holds(item, wanted))
  return Object.entries(value).some(([key, item]) => fold(key).includes(wanted) || holds(item, wanted))
}

function fold(text: string): string {
  return text.normalize('NFC').toLowerCase()
}

function moment(text: string, field: string): number {
  const time = Date.parse(text)
  if (Number.isNaN(time))
    throw new InvalidError(`${field} must be a date such as 2026-03-01, not "${text}"`, { path: field })
  return time
}

function endOf(text: string): number {
  const isDay = /^\d{4}-\d\d-\d\d$/.test(text)
  return moment(text, 'to') + (isDay ? 24 * 60 * 60 * 1000 : 1)
}
