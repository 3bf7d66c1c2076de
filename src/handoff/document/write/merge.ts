// What a model says, put beside the facts. Its words are claims; where they are about facts, the ledger's stand and the
// claim goes: files, failures, the todo list, and success that the tape does not bear out.

import type { Ledger } from '../../ledger/facts.ts'
import { contradictions } from '../check/claims.ts'
import { isConcrete, isNone, isPlaceholder } from '../check/concrete.ts'
import type { HandoffDocument, Item, Section, SectionKey } from '../document.ts'
import { sameText } from '../check/similarity.ts'

/** Sections that take their items from the ledger alone. */
const factual: ReadonlySet<SectionKey> = new Set(['files', 'failures'])

export function mergeNarrative(facts: HandoffDocument, narrative: HandoffDocument, ledger: Ledger): HandoffDocument {
  const wrong = contradictions(narrative, ledger)
  const claims = new Map(
    narrative.sections.map((section) => [
      section.key,
      section.items.filter((item) => usable(item) && !wrong.has(item)),
    ]),
  )
  const keys = new Set<SectionKey>([...facts.sections, ...narrative.sections].map((section) => section.key))
  const sections = [...keys].map((key): Section => {
    const own = facts.sections.find((section) => section.key === key)?.items ?? []
    const said = factual.has(key) ? [] : (claims.get(key) ?? [])
    const fresh = said.filter((item) => !own.some((fact) => sameText(fact.text, item.text)))
    return { key, items: joined(key, own, fresh) }
  })
  return { ...facts, sections }
}

/** A model that has read it all knows better what comes next; everywhere else the facts come first. */
function joined(key: SectionKey, own: readonly Item[], said: readonly Item[]): Item[] {
  if (key !== 'next' || said[0] === undefined || !isConcrete(said[0].text)) return [...own, ...said]
  return [...said, ...own]
}

function usable({ text }: Item): boolean {
  return !isPlaceholder(text) && !isNone(text)
}
