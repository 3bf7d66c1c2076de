// What the document before this one still says. A session is handed over again and again; what bound its beginning binds
// its end, so the items of the last document go along as items, and the budget decides about them as about the others.

import type { Ledger } from '../ledger/facts.ts'
import { type HandoffDocument, type Item, sectionOf, type SectionKey } from './document.ts'
import { contains } from './likeness.ts'
import { ownTitle } from './own.ts'
import { parseDocument } from './parse.ts'

/** The document that opened the phase, if it is one of ours. */
export function inheritedDocument({ inherited }: Ledger): HandoffDocument | undefined {
  if (inherited?.name !== 'handoff' || typeof inherited.state !== 'string') return undefined
  const lines = inherited.state.replace(/^\s*<handoff-context>\n/, '').split('\n')
  return ownTitle(lines) === undefined ? undefined : parseDocument(inherited.state)
}

/** The sections with what is carried along behind what is new. `binds` tells the user's words that bind what follows. */
export function withInherited<Sections extends Partial<Record<SectionKey, Item[]>>>(
  sections: Sections,
  ledger: Ledger,
  binds: (text: string) => boolean,
): Sections {
  const before = inheritedDocument(ledger)
  if (before === undefined) return sections
  const of = (key: SectionKey): Item[] => itemsOf(before, key)
  const [first, ...later] = of('goal').filter((item) => item.by === 'user')
  const binding = later.filter((item) => binds(item.text))
  const open = ledger.todos.length > 0 ? [] : [...of('doing'), ...of('pending')]
  const failed = ledger.tests.some((test) => test.ok) ? [] : of('failures')
  const files = of('files').filter((item) => !ledger.files.some((file) => file.path === item.text.replace(/\/$/, '')))
  const others = [
    ...later.filter((item) => !binding.includes(item)),
    ...[...of('context'), ...of('notes')].filter(lasts),
  ]
  const home = (key: SectionKey, ...elsewhere: SectionKey[]): SectionKey =>
    [key, ...elsewhere].find((each) => each in sections) ?? key
  const result = { ...sections }
  const add = (key: SectionKey, items: readonly Item[], infront = false) => {
    const own = result[key] ?? []
    // The user's words are told apart to the letter.
    const isNew = (item: Item) =>
      !own.some((each) => each.text === item.text || (item.by === undefined && contains(each.text, item.text)))
    const fresh = items.filter(isNew)
    if (fresh.length > 0) result[key] = infront ? [...fresh, ...own] : [...own, ...fresh]
  }
  if (first !== undefined) add(home('goal', 'doing'), [first], true)
  add(home('constraints', 'context'), [...of('constraints'), ...binding])
  add('done', of('done'))
  add(home('pending', 'next'), open)
  add(home('decisions', 'notes'), of('decisions'))
  add('failures', failed)
  add('files', files)
  add('context', others)
  return result
}

function itemsOf(document: HandoffDocument, key: SectionKey): Item[] {
  return (sectionOf(document, key)?.items ?? []).filter(
    (item) => item.text !== 'None' && !item.text.startsWith("As in the user's words"),
  )
}

/** The rest of a document's context is about the moment it was written. */
function lasts(item: Item): boolean {
  return item.data === undefined && (item.by === 'user' || item.status === 'claimed')
}
