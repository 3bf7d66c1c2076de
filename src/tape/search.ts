// Finds text anywhere in entries: literally, in any script, regardless of case, newest first.

import { InvalidError } from '../errors.ts'
import type { Damage, Entry, Store } from '../store/index.ts'

export interface SearchQuery {
  kinds?: readonly string[]
  /** A day or a time; an end that is a day includes it. */
  from?: string
  to?: string
  limit?: number
  onDamage?: (damage: Damage) => void
}

export async function search(store: Store, tape: string, text: string, query: SearchQuery = {}): Promise<Entry[]> {
  const wanted = fold(text)
  if (wanted === '') throw new InvalidError('There is nothing to search for')
  const from = query.from === undefined ? Number.NEGATIVE_INFINITY : moment(query.from, 'from')
  const to = query.to === undefined ? Number.POSITIVE_INFINITY : endOf(query.to)
  if (from >= to) throw new InvalidError(`The search begins (${query.from}) after it ends (${query.to})`)
  const limit = query.limit ?? 20
  const { kinds, onDamage } = query
  const found: Entry[] = []
  const range = {
    reverse: true,
    ...(kinds === undefined ? {} : { kinds }),
    ...(onDamage === undefined ? {} : { onDamage }),
  }
  if (limit <= 0) return found
  for await (const entry of store.read(tape, range)) {
    const when = Date.parse(entry.date)
    if (when < from || when >= to || !(holds(entry.payload, wanted) || holds(entry.meta, wanted))) continue
    if (found.push(entry) >= limit) break
  }
  return found
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
