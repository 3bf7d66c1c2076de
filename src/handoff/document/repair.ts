// What a document lacks, filled from the ledger and marked so; what the ledger contradicts goes.

import type { Ledger } from '../ledger/facts.ts'
import { contradictions } from './claims.ts'
import { compose } from './compose.ts'
import { type HandoffDocument, type Section, sectionOf } from './document.ts'
import { normalSections } from './normal.ts'
import { validate } from './validate.ts'

export function repairFrom(document: HandoffDocument, ledger: Ledger): HandoffDocument {
  const wrong = contradictions(document, ledger)
  const kept = document.sections.map((section) => ({
    ...section,
    items: section.items.filter((item) => !wrong.has(item)),
  }))
  const honest = { ...document, sections: kept }
  const { range: _, ...header } = document.header
  const facts = compose(ledger, { ...header, profile: document.profile })
  const broken = new Set(validate(honest).map((problem) => problem.section))
  const filled = facts.sections.flatMap(({ key, items }): Section[] => {
    const own = sectionOf(honest, key)
    const facts = key === 'files' || key === 'failures'
    if (!broken.has(key) && !facts && (own === undefined || own.items.length > 0)) return []
    if (!broken.has(key) && facts && own?.items.every((item) => item.status === 'verified')) return []
    // Where the first step says too little, the rest of the list may still be of use.
    const rest = key === 'next' ? (own?.items.slice(1) ?? []) : []
    return [{ key, items: [...items, ...rest], filled: true }]
  })
  const replaced = new Set(filled.map((section) => section.key))
  const sections = [...kept.filter((section) => !replaced.has(section.key)), ...filled]
  return { ...document, sections: normalSections(document.profile, sections) }
}
