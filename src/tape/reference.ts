// References to entries and anchors: how they are written, and what they point at, on the current tape or in its archives.

import { InvalidError, NotFoundError } from '../errors.ts'
import type { AnchorRef, Entry, Store } from '../store/index.ts'

export type Place =
  | { readonly type: 'entry'; readonly id: number }
  | { readonly type: 'anchor'; readonly name: string }
  | { readonly type: 'range'; readonly from: number; readonly to: number | undefined }

export interface TapeUri {
  readonly workspace: string
  readonly tape: string
  readonly place: Exclude<Place, { type: 'range' }>
}

export function formatUri({ workspace, tape, place }: TapeUri): string {
  const target = place.type === 'entry' ? `entry/${place.id}` : `anchor/${encoded(place.name)}`
  return `tape://${encoded(workspace)}/${encoded(tape)}/${target}`
}

/** Half a character, which cannot be percent-encoded, is written as the sign for what cannot be read. */
function encoded(name: string): string {
  return encodeURIComponent(Buffer.from(name).toString())
}

export function parseUri(text: string): TapeUri {
  const match = /^tape:\/\/([^/]+)\/([^/]+)\/(entry|anchor)\/([^/]+)$/.exec(text)
  if (match === null) throw wrong(text)
  const [workspace, tape, name] = [match[1]!, match[2]!, match[4]!].map((part) => decode(part, text)) as [
    string,
    string,
    string,
  ]
  if (match[3] === 'anchor') return { workspace, tape, place: { type: 'anchor', name } }
  const id = Number(name)
  if (!/^\d+$/.test(name) || !Number.isSafeInteger(id) || id === 0) throw wrong(text)
  return { workspace, tape, place: { type: 'entry', id } }
}

function decode(part: string, text: string): string {
  try {
    return decodeURIComponent(part)
  } catch {
    throw wrong(text)
  }
}

function wrong(text: string): InvalidError {
  return new InvalidError(`"${text}" is not a tape reference`, {
    hint: 'It looks like tape://WORKSPACE/TAPE/entry/12 or tape://WORKSPACE/TAPE/anchor/NAME.',
  })
}

/** How a reference for people may be read: a tape's name may itself hold `#` or `@`, so there can be several ways. */
function readings(text: string): { tape: string; place: Place }[] {
  const found: { tape: string; place: Place }[] = []
  const entry = /^(.+)#(\d+)(?:\.\.(\d*))?$/.exec(text)
  if (entry !== null) {
    const from = Number(entry[2])
    const to = entry[3] === '' ? undefined : Number(entry[3])
    const place: Place = entry[3] === undefined ? { type: 'entry', id: from } : { type: 'range', from, to }
    found.push({ tape: entry[1]!, place })
  }
  for (let at = text.indexOf('@', 1); at > 0 && at < text.length - 1; at = text.indexOf('@', at + 1)) {
    found.push({ tape: text.slice(0, at), place: { type: 'anchor', name: text.slice(at + 1) } })
  }
  return found
}

export interface Resolved {
  readonly tape: string
  readonly place: Place
}

/** Reads `main#12`, `main#12..40`, `main@phase/x` or `tape://…`. */
export async function resolve(store: Store, reference: string): Promise<Resolved> {
  if (reference.startsWith('tape://')) {
    const { workspace, tape, place } = parseUri(reference)
    if (workspace === store.workspace) return { tape, place }
    throw new NotFoundError(`${reference} is in another workspace (${workspace}, this one is ${store.workspace})`, {
      hint: 'Open that one with --workspace.',
    })
  }
  const possible = readings(reference)
  if (possible.length === 0) {
    throw new InvalidError(`"${reference}" is not a reference`, {
      hint: 'Try main#12, main#12..40, main@anchor or tape://…',
    })
  }
  for (const reading of possible) if (await exists(store, reading.tape)) return reading
  const names: string[] = []
  for await (const { tape } of store.list()) names.push(tape)
  for (const reading of possible.filter(({ place }) => place.type !== 'anchor')) {
    const tape = onlyOne(reading.tape, names)
    if (tape !== undefined) return { ...reading, tape }
  }
  const { tape } = possible[0]!
  const close = nearest(tape, names)
  const help = close.length > 0 ? { nearest: close } : { hint: 'See "baton tape ls".' }
  throw new NotFoundError(`There is no tape "${tape}" in this workspace`, help)
}

/** The tape of that name, or else the only one that begins so; the name itself where there is neither. */
export async function tapeMeant(store: Store, name: string): Promise<string> {
  if (await exists(store, name)) return name
  const names: string[] = []
  for await (const { tape } of store.list()) names.push(tape)
  return onlyOne(name, names) ?? name
}

/** The beginning of an id will do: 0b415 for claude:0b415cbd…. */
function onlyOne(begin: string, names: readonly string[]): string | undefined {
  const found = names.filter((name) => name.startsWith(begin) || name.split(':')[1]?.startsWith(begin))
  return begin.length >= 4 && found.length === 1 ? found[0] : undefined
}

async function exists(store: Store, tape: string): Promise<boolean> {
  return (await store.info(tape)) !== undefined || (await store.archives(tape)).length > 0
}

/** The entries a reference stands for: one, or those of a range. */
export async function* entriesAt(store: Store, { tape, place }: Resolved): AsyncGenerator<Entry> {
  if (place.type === 'range') {
    const before = place.to === undefined ? {} : { before: place.to + 1 }
    yield* store.read(tape, { after: place.from - 1, ...before, archived: true })
    return
  }
  const id = place.type === 'entry' ? place.id : (await findAnchor(store, tape, place.name, { archived: true })).id
  for await (const entry of store.read(tape, { after: id - 1, before: id + 1, archived: true })) {
    yield entry
    return
  }
  throw new NotFoundError(`There is no entry ${id} on ${tape}`)
}

/** The newest anchor of that name, or NotFound with the names that come close. */
export async function findAnchor(
  store: Store,
  tape: string,
  name: string,
  bounds: { after?: number; archived?: boolean } = {},
): Promise<AnchorRef> {
  const [anchor] = await store.anchors(tape, { name, limit: 1, ...bounds })
  if (anchor !== undefined) return anchor
  const known = await store.anchors(tape, { limit: 500 })
  throw new NotFoundError(`There is no anchor "${name}" on ${tape}`, {
    nearest: nearest(
      name,
      known.map((each) => each.name),
    ),
  })
}

/** The names that could have been meant, best first; at most `limit`. */
export function nearest(asked: string, names: Iterable<string>, limit = 3): string[] {
  const wanted = asked.toLowerCase()
  const scored = [...new Set(names)].map((name) => ({ name, score: distance(wanted, name.toLowerCase()) }))
  // Two edits turn any word of two letters into any other.
  const bound = wanted.length < 3 ? 1 : Math.max(2, Math.ceil(wanted.length / 3))
  return scored
    .filter(({ name, score }) => score <= bound || name.toLowerCase().includes(wanted))
    .sort((a, b) => a.score - b.score || (a.name < b.name ? -1 : 1))
    .slice(0, limit)
    .map(({ name }) => name)
}

/** Edits that turn one word into the other (Levenshtein). */
function distance(a: string, b: string): number {
  let row = Array.from({ length: b.length + 1 }, (_, j) => j)
  for (let i = 1; i <= a.length; i++) {
    const next = [i]
    for (let j = 1; j <= b.length; j++) {
      next[j] = Math.min(row[j]! + 1, next[j - 1]! + 1, row[j - 1]! + (a[i - 1] === b[j - 1] ? 0 : 1))
    }
    row = next
  }
  return row[b.length]!
}
