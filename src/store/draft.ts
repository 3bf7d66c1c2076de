// A draft made ready to append: checked and serialised once, before it waits for anything, so that a bad one fails
// alone and a good one no longer depends on the caller's objects. What is missing is only its id and its seal.

import { InvalidError, LimitError } from '../errors.ts'
import { type Draft, type Entry, lostEntry, type Meta, reservedFields } from './entry.ts'
import { type AnchorRef, limits } from './store.ts'
import { toJson } from './json.ts'

export interface Prepared {
  /** The JSON of the entry behind its id: `,"kind":…,"payload":…,"meta":…,"date":…`. */
  readonly rest: string
  readonly bytes: number
  readonly kind: string
  readonly date: string
  readonly anchor: string | undefined
  /** Where the context of an anchor begins, if it says so. */
  readonly anchorFrom: number | undefined
  readonly key: string | undefined
  readonly idempotency: string | undefined
}

export function prepare(drafts: readonly Draft[], now: () => Date): Prepared[] {
  if (drafts.length === 0) throw new InvalidError('A batch needs at least one entry')
  if (drafts.length > limits.batchEntries) {
    throw new LimitError(`A batch holds at most ${limits.batchEntries} entries, this one has ${drafts.length}`, {
      hint: 'Append it in parts.',
    })
  }
  let bytes = 0
  const prepared = drafts.map((draft, i) => {
    const one = prepareOne(draft, drafts.length === 1 ? '' : `entry ${i + 1}: `, now)
    bytes += one.bytes
    return one
  })
  if (bytes > limits.batchBytes) {
    throw new LimitError(`A batch holds at most ${limits.batchBytes} bytes, this one has ${bytes}`, {
      hint: 'Append it in parts, or keep the content in a blob and append its reference.',
    })
  }
  return prepared
}

/** What takes the place of an entry that was lost; `left` says what is left of it. */
export function lostDraft(id: number, left: string): Draft {
  const message = `Entry ${id} was damaged and could not be read; ${left}`
  return { kind: 'error', payload: { kind: lostEntry, message }, meta: { context: false } }
}

function prepareOne(draft: Draft, where: string, now: () => Date): Prepared {
  if (typeof draft !== 'object' || draft === null || Array.isArray(draft)) {
    throw new InvalidError(`${where}an entry is an object with kind and payload`)
  }
  for (const field of reservedFields) {
    if (field in draft) throw new InvalidError(`${where}"${field}" is set by the store, leave it out`, { path: field })
  }
  const { kind, payload, meta, date } = draft
  if (typeof kind !== 'string' || kind === '') throw new InvalidError(`${where}kind must be a word`, { path: 'kind' })
  if (payload === undefined) throw new InvalidError(`${where}payload is missing`, { path: 'payload' })
  if (meta !== undefined && (typeof meta !== 'object' || meta === null || Array.isArray(meta))) {
    throw new InvalidError(`${where}meta must be an object`, { path: 'meta' })
  }
  if (date !== undefined && !isDate(date)) {
    throw new InvalidError(`${where}date must be an ISO 8601 date, not ${String(date)}`, { path: 'date' })
  }
  const body = toJson(payload, `${where}payload`)
  const about = meta === undefined ? '{}' : toJson(meta, `${where}meta`)
  const made = date ?? isoNow(now())
  let rest = `,"kind":${JSON.stringify(kind)},"payload":${body},"meta":${about},"date":${JSON.stringify(made)}`
  for (const field of Object.keys(draft)) {
    if (ownFields.has(field) || draft[field] === undefined) continue
    rest += `,${JSON.stringify(field)}:${toJson(draft[field], where + field)}`
  }
  // What is indexed is taken from the text, for a toJSON or a getter may have had its say.
  const isIndexed = about.includes('"key"') || about.includes('"idempotency"')
  const stored = isIndexed ? (JSON.parse(about) as Meta) : {}
  const anchor = kind === 'anchor' ? anchorIn(JSON.parse(body), where) : undefined
  return {
    rest,
    bytes: Buffer.byteLength(rest),
    kind,
    date: made,
    anchor: anchor?.name,
    anchorFrom: anchor?.from,
    key: word(stored, 'key', where),
    idempotency: word(stored, 'idempotency', where),
  }
}

let lastGiven = ''

/** Entries of one moment come together. */
function isDate(date: unknown): boolean {
  if (date === lastGiven && date !== '') return true
  if (typeof date !== 'string' || !iso8601.test(date) || Number.isNaN(Date.parse(date))) return false
  lastGiven = date
  return true
}

const ownFields = new Set(['kind', 'payload', 'meta', 'date'])

let lastDate = { time: Number.NaN, text: '' }

/** Many entries are made within one millisecond. */
function isoNow(now: Date): string {
  const time = now.getTime()
  if (time !== lastDate.time) lastDate = { time, text: now.toISOString() }
  return lastDate.text
}

const iso8601 = /^\d{4}-\d\d-\d\d(T\d\d:\d\d(:\d\d(\.\d+)?)?(Z|[+-]\d\d:?\d\d)?)?$/

function anchorIn(payload: unknown, where: string): { name: string; from: number | undefined } {
  const { name, from } = (payload ?? {}) as { name?: unknown; from?: unknown }
  if (typeof name !== 'string' || name === '') {
    throw new InvalidError(`${where}an anchor needs a name`, { path: 'payload.name' })
  }
  if (from !== undefined && !(Number.isSafeInteger(from) && Number(from) > 0)) {
    throw new InvalidError(`${where}an anchor's from is the id of an entry, not ${String(from)}`, {
      path: 'payload.from',
    })
  }
  return { name, from: from === undefined ? undefined : Number(from) }
}

function word(meta: Meta, field: 'key' | 'idempotency', where: string): string | undefined {
  const value = meta[field]
  if (value === undefined) return undefined
  if (typeof value === 'string' && value !== '') return value
  throw new InvalidError(`${where}meta.${field} must be a word`, { path: `meta.${field}` })
}

/** The entry as it will be read back: parsed from what is written, not borrowed from the caller. */
export function asEntry(id: number, prepared: Prepared): Entry {
  return JSON.parse(`{"id":${id}${prepared.rest}}`) as Entry
}

export function asAnchor(entry: Entry): AnchorRef {
  const { name, state = {}, from } = entry.payload as { name: string; state?: unknown; from?: number }
  return { id: entry.id, name, state, ...(from === undefined ? {} : { from }), date: entry.date }
}
