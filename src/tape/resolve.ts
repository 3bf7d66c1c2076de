// What a reference points at, on the current tape or in its archives.

import { InvalidError, NotFoundError } from '../errors.ts'
import type { Entry, Store } from '../store/index.ts'
import { findAnchor } from './context.ts'
import { nearest } from './nearest.ts'
import { parseUri, type Place, readings } from './uri.ts'

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
  const { tape } = possible[0]!
  throw new NotFoundError(`There is no tape "${tape}"`, { nearest: nearest(tape, names) })
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
