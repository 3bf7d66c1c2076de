// Commands of people to a session. They are entries of its tape, so that they reach the supervisor from any process.

import { NotFoundError } from '../../../errors.ts'
import type { Entry, Store } from '../../../store/index.ts'
import { sessionTape } from '../../run.ts'

export type ControlCommand = 'pause' | 'unpause' | 'stop' | 'cycle'

export interface Control {
  readonly command: ControlCommand
  /** The entry. */
  readonly id: number
  readonly date: string
}

/** Resolves when durable; the supervisor of the session sees it within a second. */
export async function control(store: Store, name: string, command: ControlCommand): Promise<Control> {
  if ((await store.info(sessionTape(name))) === undefined) {
    throw new NotFoundError(`There is no supervised session "${name}"`, { hint: 'See "baton ls".' })
  }
  const draft = {
    kind: 'event',
    payload: { name: 'control', data: { wish: command } },
    meta: { key: keyOf(command), context: false },
  }
  const [entry] = await store.append(sessionTape(name), [draft])
  return asControl(entry!)!
}

/** Each command under a key of its own, so that the last one of each is found; `pause` and `unpause` undo each other. */
function keyOf(command: ControlCommand): string {
  return `control:${command === 'unpause' ? 'pause' : command}`
}

export async function lastControl(store: Store, name: string, command: ControlCommand): Promise<Control | undefined> {
  const entry = await store.latest(sessionTape(name), keyOf(command))
  return entry && asControl(entry)
}

export function asControl(entry: Entry): Control | undefined {
  const { name, data } = entry.payload as { name?: unknown; data?: { wish: ControlCommand } }
  return name === 'control' && data !== undefined ? { command: data.wish, id: entry.id, date: entry.date } : undefined
}
