// Composes a document from a ledger, without a model. Every section is filled, the most important item first; budget.ts
// decides what is left out. A narrative adds what a model says, as claims; on facts the ledger has the last word.

import type { Ledger } from '../../ledger/facts.ts'
import {
  type HandoffDocument,
  type Header,
  type Item,
  type Profile,
  sectionOf,
  type SectionKey,
  type Section,
} from '../document.ts'
import { contains, sameText } from '../check/similarity.ts'
import { normaliseDocument } from '../markdown/normalise.ts'
import { answeredLast, saidByAssistant, saidInStep } from '../phrases.ts'
import { ruleOf } from '../sections.ts'
import { withInherited } from './inherited.ts'
import { LaterWords } from './later-words.ts'
import { Material } from './material.ts'
import { endsInStep } from './next-step.ts'
import * as said from './said-items.ts'
import * as work from './work-items.ts'
import { contradictions } from '../check/claims.ts'
import { isConcrete, isNone, isPlaceholder } from '../check/concrete.ts'

export interface ComposeOptions extends Omit<Header, 'range'> {
  /** `session` unless said otherwise. */
  readonly profile?: Profile
  /** A document that a model wrote, read with `parseClaims`. */
  readonly narrative?: HandoffDocument
}

type Sections = Partial<Record<SectionKey, Item[]>>

export function compose(ledger: Ledger, options: ComposeOptions = {}): HandoffDocument {
  const { profile = 'session', narrative, ...header } = options
  const laterWords = new LaterWords(ledger.instructions)
  const material = new Material(ledger, header.tape, header.goal, laterWords)
  const sections = withInherited(
    profile === 'cycle' ? cycleSections(material) : sessionSections(material),
    ledger,
    header.tape,
    laterWords,
  )
  const document: HandoffDocument = {
    profile,
    header: { ...header, ...(ledger.range !== undefined && { range: ledger.range }) },
    sections: (Object.keys(sections) as SectionKey[]).map((key) => ({ key, items: sections[key]! })),
  }
  const merged = narrative === undefined ? document : mergeNarrative(document, narrative, ledger)
  // Blank items go first: a filler stands where nothing else is left.
  return withNone(withoutFillers(normaliseDocument(merged)))
}

function withoutFillers(document: HandoffDocument): HandoffDocument {
  const sections = document.sections.map((section) => {
    const items = section.items.filter(({ tag }) => tag !== 'filler')
    return items.length === 0 ? section : { ...section, items }
  })
  return { ...document, sections }
}

function sessionSections(material: Material): Sections {
  return {
    status: work.status(material),
    goal: said.requests(material),
    constraints: said.constraints(material),
    done: work.done(material),
    doing: work.doing(material),
    pending: work.todos(material, 'pending'),
    decisions: said.decisions(material),
    context: [...work.state(material), ...circumstances(material)],
    next: work.next(material),
    ...withItems('blockers', said.questions(material)),
    failures: work.failures(material),
    files: work.files(material),
  }
}

function cycleSections(material: Material): Sections {
  const [first] = work.next(material)
  const pending = work
    .todos(material, 'pending')
    .filter((todo) => first === undefined || !contains(first.text, todo.text))
  return {
    status: work.status(material),
    doing: [...said.requests(material), ...work.doing(material)],
    done: work.done(material),
    next: [...(first === undefined ? [] : [first]), ...pending],
    context: [...said.constraints(material), ...work.state(material)],
    blockers: said.questions(material),
    failures: work.failures(material),
    files: work.files(material),
    notes: [...said.decisions(material), ...circumstances(material)],
  }
}

function circumstances(material: Material): Item[] {
  return [...said.lastWords(material), ...said.otherRequests(material), ...work.commands(material)]
}

function withItems(key: SectionKey, items: Item[]): Sections {
  return items.length === 0 ? {} : { [key]: items }
}

/** An empty section gets the item "None", where the profile allows it. */
function withNone(document: HandoffDocument): HandoffDocument {
  const sections = document.sections.map((section) => {
    if (section.items.length > 0 || !ruleOf(document.profile, section.key).mayBeNone) return section
    return { ...section, items: [{ text: 'None', status: 'verified' as const, refs: [] }] }
  })
  return { ...document, sections }
}

/** Sections that take their items from the ledger alone. */
const factual: ReadonlySet<SectionKey> = new Set(['files', 'failures'])

function mergeNarrative(facts: HandoffDocument, narrative: HandoffDocument, ledger: Ledger): HandoffDocument {
  const wrong = contradictions(narrative, ledger)
  const ownOf = (key: SectionKey) => sectionOf(facts, key)?.items ?? []
  /** What it adds to the facts. */
  const saidOf = (key: SectionKey) =>
    factual.has(key)
      ? []
      : narrative.sections
          .filter((section) => section.key === key)
          .flatMap(({ items }) => items)
          .filter(
            (item) => usable(item) && !wrong.has(item) && !ownOf(key).some(({ text }) => sameText(text, item.text)),
          )
  const [step] = saidOf('next')
  /** A model that has read it all knows better what comes next, and that something does; everywhere else the facts come first. */
  const knowsNext = step !== undefined && isConcrete(step.text)
  const itemsOf = (key: SectionKey) => {
    if (key === 'next' && knowsNext) return [...saidOf(key), ...ownOf(key).filter(({ tag }) => tag !== 'wait')]
    if (key === 'done' && knowsNext) return [...ownOf(key).flatMap(withoutAnswer), ...closing(facts), ...saidOf(key)]
    return [...ownOf(key), ...saidOf(key)]
  }
  const keys = new Set<SectionKey>([...facts.sections, ...narrative.sections].map((section) => section.key))
  const sections = [...keys].map((key): Section => ({ key, items: itemsOf(key) }))
  return { ...facts, sections }
}

/** What the assistant said last, or the end of it, where only the step says so that asks to wait. */
function closing(facts: HandoffDocument): Item[] {
  const isWhole = ({ tag, data }: Item) => tag === 'closing' && data !== undefined && !endsInStep(data)
  if (sectionOf(facts, 'done')?.items.some(isWhole) === true) return []
  const waits = sectionOf(facts, 'next')?.items.filter(({ tag }) => tag === 'wait') ?? []
  return waits.flatMap((step) => saidInStep(step, 'closing') ?? [])
}

/** Where work is left, its last words answered nobody. */
function withoutAnswer(item: Item): Item[] {
  if (item.text !== answeredLast) return [item]
  return item.data === undefined ? [] : [{ ...item, text: saidByAssistant.last('') }]
}

function usable({ text }: Item): boolean {
  return !isPlaceholder(text) && !isNone(text)
}
