// Whether a document can be handed over: its sections are there and say something, and what it claims is not what the
// ledger contradicts.

import type { Ledger } from '../../ledger/facts.ts'
import { contradictions } from './claims.ts'
import { isConcrete, isNone, isPlaceholder } from './concrete.ts'
import { type HandoffDocument, type Item, type SectionKey, sectionOf } from '../document.ts'
import { profiles, type SectionRule } from '../sections.ts'

export interface Problem {
  readonly section: SectionKey
  readonly kind: 'missing' | 'empty' | 'placeholder' | 'vague' | 'unknown-file' | 'contradicted' | 'open-todo'
  readonly message: string
}

/** In the order of the document; none means valid. Facts are checked where a ledger is given. */
export function validate(document: HandoffDocument, ledger?: Ledger): Problem[] {
  const structural = profiles[document.profile].flatMap((rule) => checkSection(document, rule) ?? [])
  return ledger === undefined ? structural : [...structural, ...contradictions(document, ledger).values()]
}

function checkSection(document: HandoffDocument, rule: SectionRule): Problem | undefined {
  const { key, title, required, mayBeNone } = rule
  const section = sectionOf(document, key)
  const problem = (kind: Problem['kind'], message: string): Problem => ({ section: key, kind, message })
  if (section === undefined) return required ? problem('missing', `The section "${title}" is missing`) : undefined
  const { items, omitted } = section
  if (items.length === 0) {
    return required && omitted === undefined ? problem('empty', `The section "${title}" is empty`) : undefined
  }
  if (items.every((item) => saysNothing(item, mayBeNone))) {
    return problem('placeholder', `"${title}" only says "${items[0]!.text.slice(0, 60)}"`)
  }
  if (key === 'next' && !isConcrete(items[0]!.text)) {
    const first = items[0]!.text.slice(0, 60)
    return problem('vague', `The first next step, "${first}", is not something that one could start on`)
  }
  return undefined
}

function saysNothing({ text, by, file }: Item, mayBeNone: boolean): boolean {
  if (by === 'user' || file !== undefined) return false
  return mayBeNone && isNone(text) ? false : isPlaceholder(text)
}
