// Documents on their tape: an event that says what it is, and a blob with its text. Each event names the one before, so
// that they can be listed without reading the tape.

import { NotFoundError } from '../errors.ts'
import type { Entry, Store } from '../store/index.ts'
import { readBlob } from '../tape/index.ts'
import type { HandoffDocument, Profile, Section } from './document/document.ts'
import { parseDocument } from './document/markdown/parse.ts'

/** The key of the newest document on a tape. */
const documentKey = 'handoff_document'

/** A handoff document that was stored on a tape. */
export interface SavedDocument {
  readonly tape: string
  /** The entry of its event. */
  readonly id: number
  readonly date: string
  readonly sha256: string
  readonly bytes: number
  readonly profile: Profile
  readonly goal?: string
  readonly writer: string
  /** The entries that the document is about. */
  readonly range?: { readonly from: number; readonly to: number }
  /** The blob with its items as JSON, unless a person has changed the text. */
  readonly items?: string
  /** The name that the document has for what it left out, and the blob with that. */
  readonly leftOut?: { readonly id: string; readonly sha256: string }
}

export interface DocumentNote extends Pick<SavedDocument, 'profile' | 'goal' | 'writer' | 'range'> {
  readonly leftOut?: { readonly id: string; readonly sections: readonly Section[] }
}

/** `document`: what the text was written from; without it, the items are read from the text. */
export async function saveDocument(
  store: Store,
  tape: string,
  markdown: string,
  note: DocumentNote,
  document?: HandoffDocument,
): Promise<SavedDocument> {
  const blob = await store.putBlob(Buffer.from(markdown))
  const items = document && (await store.putBlob(Buffer.from(JSON.stringify(document)))).sha256
  const { leftOut, ...about } = note
  const left = leftOut && (await store.putBlob(Buffer.from(JSON.stringify(leftOut.sections)))).sha256
  const previous = (await store.latest(tape, documentKey))?.id
  const data = {
    ...about,
    ...blob,
    ...(leftOut === undefined ? {} : { leftOut: { id: leftOut.id, sha256: left } }),
    ...(items === undefined ? {} : { items }),
    ...(previous === undefined ? {} : { previous }),
  }
  const draft = { kind: 'event', payload: { name: documentKey, data }, meta: { key: documentKey, context: false } }
  const [entry] = await store.append(tape, [draft])
  return asSaved(tape, entry!)
}

/** The documents of a tape, newest first. */
export async function* savedDocuments(store: Store, tape: string): AsyncGenerator<SavedDocument> {
  let entry = await store.latest(tape, documentKey)
  while (entry !== undefined) {
    yield asSaved(tape, entry)
    const { previous } = (entry.payload as { data: { previous?: number } }).data
    entry = previous === undefined ? undefined : await entryAt(store, tape, previous)
  }
}

async function entryAt(store: Store, tape: string, id: number): Promise<Entry | undefined> {
  for await (const entry of store.read(tape, { after: id - 1, before: id + 1, archived: true })) return entry
  return undefined
}

/** The document that the event with this id recorded. */
export async function savedAt(store: Store, tape: string, id: number): Promise<SavedDocument> {
  const entry = await entryAt(store, tape, id)
  if ((entry?.payload as { name?: unknown } | undefined)?.name === documentKey) return asSaved(tape, entry!)
  throw new NotFoundError(`${tape}#${id} is not a handoff document`, { hint: 'See "baton handoff ls".' })
}

export async function documentText(store: Store, saved: SavedDocument): Promise<string> {
  return (await readBlob(store, saved.sha256)).toString()
}

/** The items of a saved document. */
export async function savedItems(store: Store, saved: SavedDocument): Promise<HandoffDocument> {
  if (saved.items === undefined) return parseDocument(await documentText(store, saved), saved.profile)
  return JSON.parse((await readBlob(store, saved.items)).toString()) as HandoffDocument
}

function asSaved(tape: string, entry: Entry): SavedDocument {
  const { data } = entry.payload as { data: Omit<SavedDocument, 'tape' | 'id' | 'date'> & { previous?: number } }
  const { previous: _previous, ...rest } = data
  return { tape, id: entry.id, date: entry.date, ...rest }
}
