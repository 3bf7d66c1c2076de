// One connection keeps the whole page fresh: what waits for a person and which tapes have changed, and the entries of the tapes
// that are on the screen. It comes back by itself after the server was away; what was missed meanwhile is read again.

import { useEffect, useEffectEvent } from 'react'
import type { LiveEvent } from '../../client/index.ts'
import { client, queryClient } from './queries.ts'
import { noticeRefusal } from './access.ts'
import { value } from './store.ts'

export type Connection = 'connecting' | 'live' | 'reconnecting'

export const connection = value<Connection>('connecting')

export type LiveEntry = Extract<LiveEvent, { type: 'entry' }>['entry']
type TapeRow = Extract<LiveEvent, { type: 'activity' }>['tapes'][number]

/** By tape: what the stream has reported of it, and when. */
const activity = value<ReadonlyMap<string, TapeRow>>(new Map())

interface Follower {
  readonly tape: string
  /** The last entry that the follower has. */
  at: number
  readonly onEntry: (entry: LiveEntry) => void
}

const followers = new Set<Follower>()
let stream: AbortController | undefined
/** Several pages may ask for other tapes at once: the stream is opened again once for all of them. */
let reopening: number | undefined

/** Follows everything until the returned function is called. */
export function startLive(): () => void {
  open()
  return () => {
    stream?.abort()
    stream = undefined
  }
}

/** Gets every entry of a tape behind `after`, once each and in order, while the component is on the screen. */
export function useEntries(tape: string, after: number | undefined, onEntry: (entry: LiveEntry) => void): void {
  const told = useEffectEvent(onEntry)
  const isReady = after !== undefined
  const start = useEffectEvent(() => after ?? 0)
  useEffect(() => {
    if (!isReady) return undefined
    const follower: Follower = { tape, at: start(), onEntry: (entry) => told(entry) }
    followers.add(follower)
    reopen()
    return () => {
      followers.delete(follower)
      reopen()
    }
  }, [tape, isReady])
}

function reopen(): void {
  if (stream === undefined) return
  window.clearTimeout(reopening)
  reopening = window.setTimeout(() => {
    if (stream !== undefined) open()
  }, 20)
}

function open(): void {
  stream?.abort()
  const own = new AbortController()
  stream = own
  const positions: Record<string, number> = {}
  for (const { tape, at } of followers) positions[tape] = Math.min(at, positions[tape] ?? at)
  void read(positions, own.signal)
}

async function read(tapes: Record<string, number>, signal: AbortSignal): Promise<void> {
  const options = { tapes, activity: true, waiting: true, signal }
  try {
    for await (const event of client.live({ ...options, onState: (state) => noteState(state === 'open') })) {
      if (signal.aborted) return
      receive(event)
    }
  } catch (error) {
    if (signal.aborted) return
    noticeRefusal(error)
    connection.set('reconnecting')
  }
}

function noteState(isOpen: boolean): void {
  // While the server was away anything may have happened.
  if (isOpen && connection.get() === 'reconnecting') void queryClient.invalidateQueries()
  connection.set(isOpen ? 'live' : 'reconnecting')
}

function receive(event: LiveEvent): void {
  if (event.type === 'waiting') {
    queryClient.setQueryData(['waitingList', {}], { items: event.items })
  } else if (event.type === 'activity') {
    noteActivity(event.tapes, event.complete)
  } else {
    for (const follower of followers) {
      if (follower.tape !== event.tape || event.entry.id <= follower.at) continue
      follower.at = event.entry.id
      follower.onEntry(event.entry)
    }
  }
}

function noteActivity(rows: readonly TapeRow[], complete: boolean): void {
  const known = new Map(complete ? [] : activity.get())
  const before = activity.get()
  for (const row of rows) {
    known.set(row.tape, row)
    // The very first list is news to nobody: what is on the screen was read at the same time.
    if (wasHeard && before.get(row.tape)?.lastId !== row.lastId) stale.add(row.tape)
  }
  wasHeard = true
  activity.set(known)
  refreshing ??= window.setTimeout(refresh, 150)
}

let wasHeard = false

/** Tapes that have changed since queries were last refreshed. */
const stale = new Set<string>()
let refreshing: number | undefined

/** By the name of a tape: the operations that show it. The first that fits counts. */
const toldBy: readonly [RegExp, RegExp][] = [
  [/^session\//, /^(supervised|session|meter|activity|document|cycle|spending)/],
  [/^relay\//, /^(relay|escalation)/],
  [/^task\//, /^task/],
  [/^lineage$/, /^lineage/],
  [/^server\//, /^$/],
]

function refresh(): void {
  refreshing = undefined
  const tapes = new Set(stale)
  stale.clear()
  if (tapes.size === 0) return
  void queryClient.invalidateQueries({
    predicate: ({ queryKey: [name, input] }) => [...tapes].some((tape) => concerns(tape, String(name), input)),
  })
}

function concerns(tape: string, name: string, input: unknown): boolean {
  const [, operations] = toldBy.find(([own]) => own.test(tape)) ?? []
  if (operations !== undefined) return operations.test(name)
  if (/^(tapeList|workspaceInfo|documentList|activity|session)/.test(name)) return true
  return /^(tape|document|meter|context)/.test(name) && (input as { tape?: string } | undefined)?.tape === tape
}
