// What the commands show that documents print: the items that one document left out, or a whole section of what it is about.

import { InvalidError, NotFoundError } from '../errors.ts'
import type { Store } from '../store/index.ts'
import { entriesAt, readBlob, type Resolved } from '../tape/index.ts'
import type { Profile, Section } from './document/document.ts'
import { readTitle } from './document/sections.ts'
import { sectionsText, sectionText } from './document/write/make.ts'
import { ledger } from './ledger/ledger.ts'
import { redactValue } from './safety/redact.ts'
import { type SavedDocument, savedDocuments } from './saved.ts'

export interface LookUp {
  /** The heading of a section; with `leftOut`, all sections if undefined. */
  readonly title?: string
  /** Of a whole section. */
  readonly profile?: Profile
  /** The name that a document has for what it left out. */
  readonly leftOut?: string
}

/** Markdown; undefined where there is no such section. */
export async function lookUpText(
  store: Store,
  resolved: Resolved,
  { title, profile = 'session', leftOut }: LookUp,
): Promise<string | undefined> {
  const { tape } = resolved
  if (leftOut === undefined) {
    const { value } = await redactValue(await ledger(entriesAt(store, resolved)))
    return title === undefined ? undefined : sectionText(value, title, { profile, tape })
  }
  const { document, sections } = await leftOutOf(store, resolved, leftOut)
  const shown = title === undefined ? sections : sections.filter(({ key }) => key === readTitle(title))
  return shown.length === 0 ? undefined : sectionsText(shown, document.profile, tape)
}

/** The supervisor keeps documents on tapes of its own, so those are looked at, too. */
async function leftOutOf(store: Store, { tape, place }: Resolved, id: string) {
  if (place.type !== 'range') throw new InvalidError('What a document left out is looked up by its range of entries')
  const { from, to } = place
  const isIt = ({ leftOut, range }: SavedDocument) => leftOut?.id === id && range?.from === from && range.to === to
  for (const name of [tape, ...(await othersOf(store, tape))]) {
    for await (const document of savedDocuments(store, name)) {
      if (!isIt(document)) continue
      const text = (await readBlob(store, document.leftOut!.sha256)).toString()
      return { document, sections: JSON.parse(text) as Section[] }
    }
  }
  throw new NotFoundError(`No document "${id}" about ${tape}#${from}..${to ?? ''} is stored in this workspace`, {
    hint: 'Without --left-out, --section TITLE shows a whole section.',
  })
}

async function othersOf(store: Store, tape: string): Promise<string[]> {
  const names: string[] = []
  for await (const other of store.list()) if (other.tape !== tape) names.push(other.tape)
  return names
}
