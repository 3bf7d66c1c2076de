// A draft made ready to append: checked and serialised once, before it waits for anything, so that a bad one fails
// alone and a good one no longer depends on the caller's objects. What is missing is only its id and its seal.

import { InvalidError, LimitError } from '../errors.ts'
import { isDate } from './date.ts'
import { type Draft, type Entry, lostEntry, type Meta, reservedFields } from './entry.ts'
import { type AnchorRef, limits } from './store.ts'
import { toJson } from './json.ts'

export class Prepared {
  /** The JSON of the entry behind its id: `,"kind":…,"payload":…,"meta":…,"date":…`. */
  readonly rest: string
  readonly kind: string
  readonly date: string
  readonly anchor: string | undefined
  /** Where the context of an anchor begins, if it says so. */
  readonly anchorFrom: number | undefined
  readonly key: string | undefined
  readonly idempotency: string | undefined

  constructor(rest: string, kind: string, date: string, { anchor, from, key, idempotency }: Indexed) {
    this.rest = rest
    this.kind = kind
    this.date = date
    this.anchor = anchor
    this.anchorFrom = from
    this.key = key
    this.idempotency = idempotency
  }

  /** How long `rest` is in UTF-8. Counted when it is asked for: who writes it into a large buffer learns it by the way. */
  get bytes(): number {
    return Buffer.byteLength(this.rest)
  }
}

/** What an entry is found by. */
interface Indexed {
  readonly anchor?: string
  readonly from?: number | undefined
  readonly key?: string | undefined
  readonly idempotency?: string | undefined
}

export function prepare(drafts: readonly Draft[], now: () => Date): Prepared[] {
  const prepared = prepareUncounted(drafts, now)
  if (mostBytes * charactersOf(prepared) > limits.batchBytes) demandRoom(bytesOf(prepared))
  return prepared
}

/** For whoever learns how many bytes they are by writing them, and calls `demandRoom` then. */
export function prepareUncounted(drafts: readonly Draft[], now: () => Date): Prepared[] {
  if (drafts.length === 0) throw new InvalidError('A batch needs at least one entry')
  if (drafts.length > limits.batchEntries) {
    throw new LimitError(`A batch holds at most ${limits.batchEntries} entries, this one has ${drafts.length}`, {
      hint: 'Append it in parts.',
    })
  }
  const prepared = drafts.map((_, i) => prepareAt(drafts, i, now))
  // A character is at least one byte.
  if (charactersOf(prepared) > limits.batchBytes) demandRoom(bytesOf(prepared))
  return prepared
}

/** A character of a string becomes at most so many bytes. */
const mostBytes = 3

function charactersOf(prepared: readonly Prepared[]): number {
  return prepared.reduce((sum, { rest }) => sum + rest.length, 0)
}

function bytesOf(prepared: readonly Prepared[]): number {
  return prepared.reduce((sum, { bytes }) => sum + bytes, 0)
}

/** `bytes`: those of the `rest` of every entry of a batch. */
export function demandRoom(bytes: number): void {
  if (bytes <= limits.batchBytes) return
  throw new LimitError(`A batch holds at most ${limits.batchBytes} bytes, this one has ${bytes}`, {
    hint: 'Append it in parts, or keep the content in a blob and append its reference.',
  })
}

/** What takes the place of an entry that was lost; `left` says what is left of it. */
export function lostDraft(id: number, left: string): Draft {
  const message = `Entry ${id} was damaged and could not be read; ${left}`
  return { kind: 'error', payload: { kind: lostEntry, message }, meta: { context: false } }
}

/** Which one of several is wrong is said only where one is: nearly none are, and this is called for each entry. */
function prepareAt(drafts: readonly Draft[], index: number, now: () => Date): Prepared {
  const draft = drafts[index]!
  if (drafts.length === 1) return prepareOne(draft, '', now)
  try {
    return prepareOne(draft, '', now)
  } catch {
    return prepareOne(draft, `entry ${index + 1}: `, now)
  }
}

function prepareOne(draft: Draft, where: string, now: () => Date): Prepared {
  if (typeof draft !== 'object' || draft === null || Array.isArray(draft)) {
    throw new InvalidError(`${where}an entry is an object with kind and payload`)
  }
  // Written out field by field, here and below, because this runs for every entry.
  if ('id' in draft || 'b' in draft || 'crc' in draft) {
    const field = reservedFields.find((each) => each in draft)!
    throw new InvalidError(`${where}"${field}" is set by the store, leave it out`, { path: field })
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
  let rest = `,"kind":${JSON.stringify(kind)},"payload":${body},"meta":${about},"date":"${made}"`
  for (const field in draft) {
    if (field === 'kind' || field === 'payload' || field === 'meta' || field === 'date') continue
    if (draft[field] === undefined || !Object.hasOwn(draft, field)) continue
    rest += `,${JSON.stringify(field)}:${toJson(draft[field], where + field)}`
  }
  // What is indexed is taken from the text, for a toJSON or a getter may have had its say.
  const isKeyed = about.includes('"key"') || about.includes('"idempotency"')
  const keys = isKeyed ? keysIn(JSON.parse(about) as Meta, where) : notIndexed
  return new Prepared(rest, kind, made, kind === 'anchor' ? { ...anchorIn(JSON.parse(body), where), ...keys } : keys)
}

const notIndexed: Indexed = {}

function keysIn(meta: Meta, where: string): Indexed {
  return { key: word(meta, 'key', where), idempotency: word(meta, 'idempotency', where) }
}

let lastDate = { time: Number.NaN, text: '' }

/** Many entries are made within one millisecond. */
function isoNow(now: Date): string {
  const time = now.getTime()
  if (time !== lastDate.time) lastDate = { time, text: now.toISOString() }
  return lastDate.text
}

function anchorIn(payload: unknown, where: string): Indexed {
  const { name, from } = (payload ?? {}) as { name?: unknown; from?: unknown }
  if (typeof name !== 'string' || name === '') {
    throw new InvalidError(`${where}an anchor needs a name`, { path: 'payload.name' })
  }
  if (from !== undefined && !(Number.isSafeInteger(from) && Number(from) > 0)) {
    throw new InvalidError(`${where}an anchor's from is the id of an entry, not ${String(from)}`, {
      path: 'payload.from',
    })
  }
  return { anchor: name, from: from === undefined ? undefined : Number(from) }
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
