// Forking copies a phase to a new tape, so that parent and child cannot disturb each other; merging brings the child's
// new entries back. Both are recorded in the lineage.

import { BatonError, InvalidError } from '../../errors.ts'
import { shellWord } from '../../system/index.ts'
import type { AnchorRef, Draft, Entry, Store } from '../../store/index.ts'
import { inBatches } from '../export.ts'
import { findAnchor } from '../reference.ts'
import { withoutMiddle } from '../context/fit.ts'
import { edgeTo, readEdges, recordEdge } from './lineage.ts'
import { isReserved, ownerKey } from './owner.ts'
import { formatUri } from '../reference.ts'

/** What the child is for. */
export interface Intention {
  next_steps?: string
  context_summary?: string
  /** When set, the parent's tape is notified of the child's completion, with this word. */
  trigger_on_complete?: string
}

export interface ForkOptions {
  /** The anchor to copy from, itself included; everything where none is given. */
  from?: string
  /** Copies only the phase that the tape is in: what its context is made from. */
  phase?: boolean
  intention?: Intention
}

/** The key under which a forked tape holds its intention. */
const forkKey = 'fork'

export async function fork(store: Store, parent: string, child: string, options: ForkOptions = {}): Promise<void> {
  if (isReserved(parent) && options.intention?.trigger_on_complete !== undefined) {
    throw new InvalidError(
      `${parent} is one of Baton's own tapes, so nobody there would read that a fork is complete`,
      {
        path: 'intention.trigger_on_complete',
      },
    )
  }
  const anchor = await startOf(store, parent, options)
  const info = await store.info(parent)
  // A phase may keep entries from before its anchor.
  const kept = options.phase === true ? anchor?.from : undefined
  const first = Math.min(kept ?? Number.POSITIVE_INFINITY, anchor?.id ?? info?.firstId ?? 1)
  const last = info?.lastId ?? 0
  const state = { ...options.intention }
  const origin = { parent, ...(anchor === undefined ? {} : { anchor: anchor.name }) }
  async function* drafts(): AsyncGenerator<Draft> {
    for await (const entry of store.read(parent, { after: first - 1, before: last + 1 }))
      yield copyOf(store, parent, entry, first)
  }
  async function* batches(): AsyncGenerator<Draft[]> {
    yield* inBatches(drafts())
    const payload = { name: 'intention', state, ...(last >= first ? { from: 1 } : {}) }
    yield [
      { kind: 'anchor', payload, meta: { key: forkKey, fork: origin } },
      { kind: 'event', payload: { name: 'handoff', data: { name: 'intention', state } } },
    ]
  }
  await store.create(child, batches())
  await recordEdge(store, { ...origin, child, how: 'fork' })
}

async function startOf(store: Store, parent: string, { from, phase }: ForkOptions): Promise<AnchorRef | undefined> {
  if (from !== undefined) return findAnchor(store, parent, from)
  return phase === true ? (await store.anchors(parent, { limit: 1 }))[0] : undefined
}

/** A copy keeps where it first came from; ids that it names move along with it. */
function copyOf(store: Store, parent: string, entry: Entry, first: number): Draft {
  const { id, ...draft } = entry
  const origin =
    entry.meta.origin ?? formatUri({ workspace: store.workspace, tape: parent, place: { type: 'entry', id } })
  const meta = { ...entry.meta, origin }
  // The child belongs to the agent that forks; the owner of the parent is only recorded.
  if (meta.key === ownerKey) delete meta.key
  if (entry.kind !== 'anchor' || entry.payload.from === undefined) return { ...draft, meta }
  return { ...draft, meta, payload: { ...entry.payload, from: Math.max(1, entry.payload.from - first + 1) } }
}

/** A fork that died between its tape and its lineage is completed when the tape is next opened. */
export async function completeFork(store: Store, child: string): Promise<void> {
  const fork = await forkOf(store, child)
  if (fork !== undefined && (await edgeTo(store, child, 'fork')) === undefined) {
    await recordEdge(store, { ...fork.origin, child, how: 'fork' })
  }
}

interface Fork {
  /** The id of the intention; what the child did itself comes behind it. */
  readonly id: number
  readonly intention: Intention
  readonly origin: { parent: string; anchor?: string }
}

export async function forkOf(store: Store, child: string): Promise<Fork | undefined> {
  const entry = await store.latest(child, forkKey)
  // Anybody can append an entry with any key.
  const origin = entry?.meta.fork as Fork['origin'] | undefined
  if (entry?.kind !== 'anchor' || typeof origin?.parent !== 'string') return undefined
  return { id: entry.id, intention: { ...(entry.payload.state as Intention | undefined) }, origin }
}

export interface MergeOptions {
  /** `false`: what comes is on the parent's tape, for search and the ledger, but not in its context. */
  context?: boolean
}

/** Brings what is new on the child to the parent; a second time there is nothing new. Returns how many entries came. */
export async function merge(
  store: Store,
  parent: string,
  child: string,
  { context = true }: MergeOptions = {},
): Promise<number> {
  const marker = `merge:${child}`
  const fork = await forkOf(store, child)
  // From after the intention and its event on; a tape that is no fork of this one is merged as a whole.
  const start = fork?.origin.parent === parent ? fork.id + 1 : 0
  const last = (await store.info(child))?.lastId ?? 0
  let merged = 0
  for (;;) {
    const before = await store.latest(parent, marker)
    const upTo = Number((before?.payload as { data?: { upto?: number } } | undefined)?.data?.upto ?? start)
    if (upTo >= last) break
    const batch = await firstOf(inBatches(broughtBack(store, child, upTo, last, context), 1))
    if (batch === undefined) break
    const upto = idOf(batch.at(-1)!)
    const event = {
      kind: 'event',
      payload: { name: 'merge', data: { child, upto } },
      meta: { key: marker, context: false },
    }
    try {
      await store.append(parent, [...batch, event], { expect: { key: marker, id: before?.id ?? 0 } })
      merged += batch.length
    } catch (error) {
      // Somebody else merged the same child at the same time: look again at what is left.
      if (!BatonError.is(error) || error.code !== 'conflict') throw error
    }
  }
  if (merged > 0) await recordEdge(store, { parent: child, child: parent, how: 'merge', anchor: `#${last}` })
  return merged
}

async function firstOf<T>(items: AsyncIterable<T>): Promise<T | undefined> {
  for await (const item of items) return item
  return undefined
}

/** The child's entries as the parent will hold them. Its anchors become events, so that they do not cut the parent's context. */
async function* broughtBack(
  store: Store,
  child: string,
  after: number,
  last: number,
  context: boolean,
): AsyncGenerator<Draft> {
  for await (const entry of store.read(child, { after, before: last + 1 })) {
    const { id, meta, ...draft } = entry
    const origin = formatUri({ workspace: store.workspace, tape: child, place: { type: 'entry', id } })
    const { key, idempotency: _once, ...kept } = meta
    // A key would make the child's setting the parent's.
    const hidden = context ? {} : { context: false }
    const moved = { ...kept, ...hidden, origin, ...(key === undefined ? {} : { child_key: key }) }
    if (entry.kind !== 'anchor') yield { ...draft, meta: moved }
    else yield { kind: 'event', payload: { name: 'anchor', data: entry.payload }, meta: moved, date: entry.date }
  }
}

function idOf(draft: Draft): number {
  return Number(/\/entry\/(\d+)$/.exec(draft.meta!.origin!)![1])
}

export interface CompleteOptions {
  /** `false`: the parent learns of it in another way, so nothing is said in its context. */
  context?: boolean
}

/**
 * Tells the parent that a child with `trigger_on_complete` is done: once, with the child's last anchor, as an event for programs and as a
 * notice for the parent's next context and screen. A parent that was handed over gets the notice on the tape where its work continues.
 */
export async function complete(
  store: Store,
  child: string,
  { context = true }: CompleteOptions = {},
): Promise<boolean> {
  const fork = await forkOf(store, child)
  const trigger = fork?.intention.trigger_on_complete
  if (fork === undefined || trigger === undefined || isReserved(fork.origin.parent)) return false
  const [anchor] = await store.anchors(child, { limit: 1 })
  const data = { child, anchor: anchor?.name, state: anchor?.state, trigger }
  const key = completedKey(child)
  const event: Draft = { kind: 'event', payload: { name: 'child_completed', data }, meta: { key } }
  const parent = await workGoesOn(store, fork.origin.parent)
  for (const tape of new Set([fork.origin.parent, parent]))
    if ((await store.latest(tape, key)) !== undefined) return false
  try {
    const drafts = context ? [event, completedNotice(child, anchor)] : [event]
    await store.append(parent, drafts, { expect: { key, id: 0 } })
    return true
  } catch (error) {
    if (BatonError.is(error) && error.code === 'conflict') return false
    throw error
  }
}

function completedKey(child: string): string {
  return `completed:${child}`
}

/** The tape that a session was handed over to last, or the tape itself. */
async function workGoesOn(store: Store, tape: string): Promise<string> {
  const edges = await readEdges(store)
  for (let at = tape, seen = new Set<string>(); ; seen.add(at)) {
    const next = edges.findLast(({ parent, how }) => parent === at && how === 'handoff')?.child
    if (next === undefined || seen.has(next) || (await store.info(next)) === undefined) return at
    at = next
  }
}

const shownState = 4_000

/** What the child leaves is data: no `<` survives in it, so that it cannot close its fence. */
function completedNotice(child: string, anchor: AnchorRef | undefined): Draft {
  const where = anchor === undefined ? child : `${child}@${anchor.name}`
  const state = withoutMiddle(JSON.stringify(anchor?.state ?? {}, null, 1), shownState).replaceAll('<', '\\u003c')
  const content = [
    `[Baton: ${child}, which was forked from here, is complete. Its last anchor is ${where}, with this state:]`,
    `<child-state>\n${state}\n</child-state>`,
    `[Read more of it with tape.read or baton show; bring its entries here with baton tape merge ${shellWord(child)}.]`,
  ].join('\n')
  const payload = { role: 'user', content, customType: 'notice', display: true }
  return { kind: 'message', payload, meta: { completed: child } }
}
