// Documents on their tape: an event that says what it is, and a blob with its text. Each event names the one before, so
// that they can be listed without reading the tape.

import { NotFoundError } from '../errors.ts'
import type { Entry, Store } from '../store/index.ts'
import { readBlob } from '../tape/index.ts'
import { type HandoffDocument, type Item, type Profile, type Section, sectionOf } from './document/document.ts'
import { parseDocument } from './document/markdown/parse.ts'
import { isPrinted } from './document/phrases.ts'
import { inForm } from './document/write/forms.ts'

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
  /** The blob with all that the document was made from, unless a person has changed the text. */
  readonly whole?: string
  /** The entry that a fork copied it from. */
  readonly origin?: string
}

export interface DocumentNote extends Pick<SavedDocument, 'profile' | 'goal' | 'writer' | 'range'> {
  readonly leftOut?: { readonly id: string; readonly sections: readonly Section[] }
  readonly whole?: HandoffDocument
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
  const put = async (value: unknown) => (await store.putBlob(Buffer.from(JSON.stringify(value)))).sha256
  const { leftOut, whole, ...about } = note
  const items = document && (await put(document))
  const all = document && whole && (await put(carriedOn(whole)))
  const left = leftOut && (await put(leftOut.sections))
  const previous = (await store.latest(tape, documentKey))?.id
  const data = {
    ...about,
    ...blob,
    ...(leftOut === undefined ? {} : { leftOut: { id: leftOut.id, sha256: left } }),
    ...(items === undefined ? {} : { items }),
    ...(all === undefined ? {} : { whole: all }),
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
  return blobAs<HandoffDocument>(store, saved.items)
}

/** All that a saved document was made from; what it says, where somebody has changed its text. */
export async function savedWhole(store: Store, saved: SavedDocument): Promise<HandoffDocument> {
  return saved.whole === undefined ? savedItems(store, saved) : blobAs<HandoffDocument>(store, saved.whole)
}

/**
 * All that the document was made from, whose text is given, or what the text says and what it left out, if somebody has
 * changed it; undefined if it was not saved here.
 */
export async function savedFrom(store: Store, text: string): Promise<HandoffDocument | undefined> {
  const read = parseDocument(text)
  const { tape, range, leftOut } = read.header
  if (tape === undefined || range === undefined) return undefined
  const about = JSON.stringify([read.profile, range])
  for await (const saved of documentsFor(store, tape, leftOut !== undefined)) {
    if (JSON.stringify([saved.profile, saved.range]) !== about || saved.leftOut?.id !== leftOut) continue
    const isSame = JSON.stringify(parseDocument(await documentText(store, saved))) === JSON.stringify(read)
    if (isSame && saved.whole !== undefined) return savedWhole(store, saved)
    if (saved.leftOut === undefined) continue
    return withSections(read, await blobAs<readonly Section[]>(store, saved.leftOut.sha256))
  }
  return undefined
}

/** How far back on a tape a document is looked for. */
const mostSearched = 100

/** The supervisor keeps documents on tapes of its own. */
async function* documentsFor(store: Store, tape: string, isElsewhere: boolean): AsyncGenerator<SavedDocument> {
  yield* newestOf(store, tape)
  if (!isElsewhere) return
  for await (const other of store.list('session/')) if (other.tape !== tape) yield* newestOf(store, other.tape)
}

async function* newestOf(store: Store, tape: string): AsyncGenerator<SavedDocument> {
  let left = mostSearched
  for await (const saved of savedDocuments(store, tape)) {
    yield saved
    if (--left === 0) return
  }
}

function withSections(document: HandoffDocument, more: readonly Section[]): HandoffDocument {
  const added = new Map(more.map(({ key, items }) => [key, items]))
  const keys = new Set([...document.sections, ...more].map(({ key }) => key))
  return {
    ...document,
    sections: [...keys].map((key) => ({
      key,
      items: [...(sectionOf(document, key)?.items ?? []), ...(added.get(key) ?? [])],
    })),
  }
}

/** After a thousand of a kind, nobody looks for the next. */
const mostCarried = 1_000

/** What a later document may still say of it: not what was only read or run, nor more of a text than a document ever shows. */
function carriedOn(document: HandoffDocument): HandoffDocument {
  const isPassing = (item: Item) => item.file?.action === 'read' || (item.tag === 'command' && !isPrinted(item))
  return {
    ...document,
    sections: document.sections.map(({ key, items }) => ({
      key,
      items: items
        .filter((item) => !isPassing(item))
        .slice(0, mostCarried)
        .map((item) => ({ ...inForm(item, key, 3), ...(item.short !== undefined && { short: item.short }) })),
    })),
  }
}

async function blobAs<Value>(store: Store, sha256: string): Promise<Value> {
  return JSON.parse((await readBlob(store, sha256)).toString()) as Value
}

function asSaved(tape: string, entry: Entry): SavedDocument {
  const { data } = entry.payload as { data: Omit<SavedDocument, 'tape' | 'id' | 'date'> & { previous?: number } }
  const { previous: _previous, ...rest } = data
  const { origin } = entry.meta
  return { tape, id: entry.id, date: entry.date, ...rest, ...(origin === undefined ? {} : { origin }) }
}
