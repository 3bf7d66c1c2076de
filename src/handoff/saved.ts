// Documents on their tape: an event that says what it is, and a blob with its text. Each event names the one before, so
// that they can be listed without reading the tape.

import fs from 'node:fs'
import path from 'node:path'
import { NotFoundError } from '../errors.ts'
import type { Entry, Store } from '../store/index.ts'
import { createFile, makeFolder } from '../system/index.ts'
import { readBlob } from '../tape/index.ts'
import type { Profile } from './document/document.ts'

/** The key of the newest document on a tape. */
const documentKey = 'handoff_document'

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
}

export type DocumentNote = Pick<SavedDocument, 'profile' | 'goal' | 'writer' | 'range'>

export async function saveDocument(
  store: Store,
  tape: string,
  markdown: string,
  note: DocumentNote,
): Promise<SavedDocument> {
  const blob = await store.putBlob(Buffer.from(markdown))
  const previous = (await store.latest(tape, documentKey))?.id
  const data = { ...note, ...blob, ...(previous === undefined ? {} : { previous }) }
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

function asSaved(tape: string, entry: Entry): SavedDocument {
  const { data } = entry.payload as { data: DocumentNote & { sha256: string; bytes: number; previous?: number } }
  const { previous: _previous, ...rest } = data
  return { tape, id: entry.id, date: entry.date, ...rest }
}

/**
 * The folder of a session's documents. It lies in the agent's own folder, since a sandbox lets it write nowhere else: in the
 * workspace if that is there, else in a folder that git does not see.
 */
export function documentsFolder(cwd: string, name: string, chosen: string | undefined): string {
  const own = encodeURIComponent(name)
  if (chosen !== undefined) return path.join(path.resolve(cwd, chosen), own)
  const workspace = path.join(cwd, '.baton')
  if (fs.existsSync(path.join(workspace, 'tape'))) return path.join(workspace, 'handoffs', own)
  return path.join(cwd, '.handoffs', own)
}

/** Makes the folder, and hides it from git. */
export function ownFolder(folder: string): string {
  fs.mkdirSync(folder, { recursive: true, mode: 0o700 })
  const top = path.dirname(folder)
  const ignore = path.join(top, '.gitignore')
  if (path.basename(top) === '.handoffs' && !fs.existsSync(ignore)) fs.writeFileSync(ignore, '*\n')
  return folder
}

/** The names that a document of that minute may have, in the order in which they are tried; without end. */
export function* documentPaths(folder: string, when: Date): Generator<string, never> {
  const minute = when.toISOString().slice(0, 16).replaceAll(/[T:]/g, '-')
  for (let n = 1; ; n++) yield path.join(folder, `handoff-${minute}${n === 1 ? '' : `-${n}`}.md`)
}

/**
 * A saved document as a file, for people and for agents that read files. It is named by the minute; two in one minute do
 * not collide, and a file that is there is never written over.
 */
export function projectDocument(folder: string, when: Date, markdown: string): string {
  makeFolder(folder)
  const names = documentPaths(folder, when)
  for (;;) {
    const file = names.next().value
    if (createFile(file, markdown)) return file
  }
}
