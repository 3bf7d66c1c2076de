// Entries by the anchors around them.

import { NotFoundError } from '../errors.ts'
import type { AnchorRef, Entry, Range, Store } from '../store/index.ts'
import { findAnchor } from './context.ts'

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
