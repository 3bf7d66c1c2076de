// What a person wants of a session, said on its tape: so it reaches the supervisor from any process, and is not forgotten.

import { NotFoundError } from '../errors.ts'
import type { Entry, Store } from '../store/index.ts'
import { sessionTape } from './run.ts'

export type Wish = 'pause' | 'unpause' | 'stop' | 'cycle'

export interface Control {
  readonly wish: Wish
  /** The entry. */
  readonly id: number
  readonly date: string
}

/** Resolves when durable; the supervisor of the session sees it within a second. */
export async function control(store: Store, name: string, wish: Wish): Promise<Control> {
  if ((await store.info(sessionTape(name))) === undefined) {
    throw new NotFoundError(`There is no supervised session "${name}"`, { hint: 'See "baton ls".' })
  }
  const draft = {
    kind: 'event',
    payload: { name: 'control', data: { wish } },
    meta: { key: keyOf(wish), context: false },
  }
  const [entry] = await store.append(sessionTape(name), [draft])
  return asControl(entry!)!
}

/** Each wish under a key of its own, so that the last one of each is found; `pause` and `unpause` undo each other. */
function keyOf(wish: Wish): string {
  return `control:${wish === 'unpause' ? 'pause' : wish}`
}

export async function lastControl(store: Store, name: string, wish: Wish): Promise<Control | undefined> {
  const entry = await store.latest(sessionTape(name), keyOf(wish))
  return entry && asControl(entry)
}

export function asControl(entry: Entry): Control | undefined {
  const { name, data } = entry.payload as { name?: unknown; data?: { wish: Wish } }
  return name === 'control' && data !== undefined ? { wish: data.wish, id: entry.id, date: entry.date } : undefined
}
