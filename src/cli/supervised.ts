// Supervised sessions, by the names that people give them.

import { NotFoundError } from '../errors.ts'
import type { Store } from '../store/index.ts'
import { nearest } from '../tape/nearest.ts'
import { type SessionRow, sessionRows } from '../supervisor/index.ts'

export async function allSupervised(store: Store): Promise<SessionRow[]> {
  const rows: SessionRow[] = []
  for await (const row of sessionRows(store)) rows.push(row)
  return rows
}

/** By its name, or by the beginning of the agent's own id of it. */
export async function supervised(store: Store, ref: string): Promise<SessionRow> {
  const rows = await allSupervised(store)
  const found = rows.find(({ name }) => name === ref) ?? onlyOne(rows.filter(({ session }) => session?.startsWith(ref)))
  if (found !== undefined) return found
  const names = rows.map(({ name }) => name)
  const close = nearest(ref, names)
  const help = close.length > 0 ? { nearest: close } : { hint: hintFor(names) }
  throw new NotFoundError(`There is no supervised session "${ref}" in this workspace`, help)
}

function hintFor(names: readonly string[]): string {
  if (names.length === 0) return 'Start one with "baton run AGENT".'
  return `There ${names.length === 1 ? 'is' : 'are'} ${names.slice(0, 5).join(', ')}${names.length > 5 ? '…' : ''}.`
}

function onlyOne<T>(found: readonly T[]): T | undefined {
  return found.length === 1 ? found[0] : undefined
}

/** The first of `name`, `name-2`, `name-3`… that is not taken. */
export function freeName(usual: string, taken: readonly string[]): string {
  const plain = usual.replaceAll(/[^\w.-]+/g, '-')
  for (let n = 1; ; n++) {
    const name = n === 1 ? plain : `${plain}-${n}`
    if (!taken.includes(name)) return name
  }
}
