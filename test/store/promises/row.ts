// A row of the promise table, and what it is given to work with.

import type { Draft, Entry, Range, Store } from '../../../src/store/index.ts'
import type { Engine } from '../engines.ts'

interface Workplace {
  /** The first handle on a fresh place. */
  readonly store: Store
  /** Another handle on the same place, as another process would have. */
  readonly another: () => Promise<Store>
  /** Closes all handles and opens the place anew. */
  readonly restart: () => Promise<Store>
}

export interface StorePromise {
  readonly title: string
  readonly ids: readonly string[]
  readonly keep: (at: Workplace) => Promise<void>
}

export async function atWork(engine: Engine, keep: StorePromise['keep']): Promise<void> {
  const place = await engine.fresh()
  let open: Store[] = []
  const another = async () => {
    const store = await place.open()
    open.push(store)
    return store
  }
  const closeAll = async () => {
    for (const store of open) await store.close()
    open = []
  }
  const restart = async () => {
    await closeAll()
    return another()
  }
  try {
    await keep({ store: await another(), another, restart })
  } finally {
    await closeAll()
    await place.discard()
  }
}

export function message(content: string, meta: Draft['meta'] = {}): Draft {
  return { kind: 'message', payload: { role: 'user', content }, meta }
}

export function anchor(name: string, state: unknown = {}, more: object = {}): Draft {
  return { kind: 'anchor', payload: { name, state, ...more } }
}

export async function all<T>(items: AsyncIterable<T>): Promise<T[]> {
  const found: T[] = []
  for await (const item of items) found.push(item)
  return found
}

export async function ids(store: Store, tape: string, range?: Range): Promise<number[]> {
  return (await all(store.read(tape, range))).map((entry) => entry.id)
}

export function contents(entries: readonly Entry[]): string[] {
  return entries.map((entry) => (entry.payload as { content: string }).content)
}

export function count(from: number, to: number): number[] {
  return Array.from({ length: Math.max(0, to - from + 1) }, (_, i) => from + i)
}

/** A tape of so many messages, appended in large batches. */
export async function fill(store: Store, tape: string, size: number, content = 'x'): Promise<void> {
  for (let at = 0; at < size; at += 1_000) {
    const batch = count(at + 1, Math.min(size, at + 1_000))
    await store.append(
      tape,
      batch.map((n) => message(`${content}${n}`)),
    )
  }
}
