// Looks back at a tape while a session is imported to it: where the kept end of a context begins, and what remains of a context
// when the person went back. A tape is append-only, so the part that still counts is copied after a new anchor.

import type { Draft, Entry, Store } from '../store/index.ts'
import { formatUri } from '../tape/index.ts'
import { contextKinds } from '../tape/index.ts'
import type { Rewound } from '../agents/index.ts'
import { event, opening, openingAnchor } from './facts-to-entries.ts'

export interface TapeView {
  readonly store: Store
  readonly tape: string
  /** Entries that are not on the tape yet; `next` is the id of the entry that will follow them. */
  readonly pending: readonly Draft[]
  readonly next: number
}

type Placed = Pick<Entry, 'id' | 'payload' | 'meta'> & { kind: string; date?: string; source?: unknown }

export async function rewind(look: TapeView, fact: Rewound): Promise<Draft[]> {
  const { to, before, date } = fact
  const said = event(
    'rewind',
    { ...(to === undefined ? {} : { to }), ...(before === undefined ? {} : { before }) },
    date,
  )
  const last = await lastKept(look, fact)
  if (last === undefined) return [said, opening({ owner: 'human', reason: 'rewind' }, date)]
  const opener = await openerAt(look, last)
  const { name, state, from } = (opener?.payload ?? { name: openingAnchor, state: { owner: 'human' } }) as {
    name: string
    state: unknown
    from?: number
  }
  const anchor: Draft = { kind: 'anchor', payload: { name, state }, ...(date === undefined ? {} : { date }) }
  const first = opener === undefined ? 1 : (from ?? opener.id + 1)
  return [said, anchor, ...(await copies(look, first, last))]
}

/** The last entry that is still part of the context. */
async function lastKept(look: TapeView, { to, before }: Rewound): Promise<number | undefined> {
  if (before !== undefined) {
    const first = await placeOf(look, before)
    return first === undefined ? undefined : first - 1
  }
  const first = to === undefined ? undefined : await placeOf(look, to)
  if (first === undefined) return undefined
  // A line may have become several entries; only the first of them has its source.
  for await (const entry of entriesFrom(look, first + 1)) if (entry.source !== undefined) return entry.id - 1
  return look.next - 1
}

/** Where the newest entries of a line begin. */
export async function placeOf(look: TapeView, source: string): Promise<number | undefined> {
  const at = look.pending.findLastIndex((draft) => draft.source === source)
  if (at >= 0) return firstPending(look) + at
  for await (const entry of look.store.read(look.tape, { reverse: true })) if (entry.source === source) return entry.id
  return undefined
}

async function openerAt(look: TapeView, id: number): Promise<Placed | undefined> {
  for (let i = look.pending.length - 1; i >= 0; i--) {
    const draft = look.pending[i]!
    if (draft.kind === 'anchor' && firstPending(look) + i <= id) return placed(look, i)
  }
  const [anchor] = await look.store.anchors(look.tape, { before: id + 1, limit: 1 })
  if (anchor === undefined) return undefined
  const { id: at, date, ...payload } = anchor
  return { id: at, kind: 'anchor', payload, meta: {}, date }
}

async function copies(look: TapeView, first: number, last: number): Promise<Draft[]> {
  const { store, tape } = look
  const drafts: Draft[] = []
  for await (const entry of entriesFrom(look, first)) {
    if (entry.id > last) break
    const kind = contextKinds.find((known) => known === entry.kind)
    if (kind === undefined || kind === 'anchor' || entry.meta.context === false) continue
    const { key: _key, idempotency: _idempotency, ...meta } = entry.meta
    const origin = formatUri({ workspace: store.workspace, tape, place: { type: 'entry', id: entry.id } })
    drafts.push({
      kind,
      payload: entry.payload,
      meta: { origin, ...meta },
      ...(entry.source === undefined ? {} : { source: entry.source }),
      ...(entry.date === undefined ? {} : { date: entry.date }),
    })
  }
  return drafts
}

async function* entriesFrom(look: TapeView, id: number): AsyncGenerator<Placed> {
  const pendingFrom = firstPending(look)
  if (id < pendingFrom) yield* look.store.read(look.tape, { after: id - 1 })
  for (let i = Math.max(0, id - pendingFrom); i < look.pending.length; i++) yield placed(look, i)
}

function firstPending(look: TapeView): number {
  return look.next - look.pending.length
}

function placed(look: TapeView, i: number): Placed {
  const { kind, payload, meta = {}, date, source } = look.pending[i]!
  return { id: firstPending(look) + i, kind, payload, meta, source, ...(date === undefined ? {} : { date }) }
}
