// What the document before this one still says. A session is handed over again and again; what bound its beginning binds
// its end, so the items of the last document go along as items, and the budget decides about them as about the others.

import type { Ledger } from '../ledger/facts.ts'
import { isFields } from '../ledger/vocabulary.ts'
import { type HandoffDocument, type Item, sectionOf, type SectionKey } from './document.ts'
import { contains } from './likeness.ts'
import { ownTitle } from './own.ts'
import { parseClaims, parseDocument } from './parse.ts'

/** The document that opened the phase, if it is one of ours. */
function inheritedDocument({ inherited }: Ledger): HandoffDocument | undefined {
  if (inherited?.name !== 'handoff' || typeof inherited.state !== 'string') return undefined
  const lines = inherited.state.replace(/^\s*<handoff-context>\n/, '').split('\n')
  return ownTitle(lines) === undefined ? undefined : parseDocument(inherited.state)
}

/** The words in which the agent summed up its context when that was full. */
function summaryText({ inherited }: Ledger): string | undefined {
  if (inherited?.name !== 'compaction') return undefined
  const text = isFields(inherited.state) ? inherited.state['summary'] : inherited.state
  return typeof text === 'string' ? text.replaceAll(FRAME, '').trim() : undefined
}

/** What Claude Code and Codex say around a summary: it is addressed to their own next context. */
const FRAME =
  /^This session is being continued from a previous conversation[^\n]*|^Another language model started to solve this problem[^\n]*|^If you need specific details from before compaction[\s\S]*$|^(?:Please )?[Cc]ontinue the conversation from where (?:it|we) left (?:it )?off without asking[\s\S]*$/gm

/** What was handed over before, as a text; undefined where its items go along one by one. */
export function inheritedText(ledger: Ledger): string | undefined {
  const { inherited } = ledger
  if (inherited === undefined || inheritedDocument(ledger) !== undefined || summaryOf(ledger) !== undefined)
    return undefined
  const text =
    summaryText(ledger) ??
    (typeof inherited.state === 'string' ? inherited.state : JSON.stringify(inherited.state ?? null))
  return ['', '{}', 'null'].includes(text.trim()) ? undefined : text
}

/** What the agent's own summary of a compaction says, section by section; undefined when it has none. */
function summaryOf(ledger: Ledger): HandoffDocument | undefined {
  const text = summaryText(ledger)
  if (text === undefined) return undefined
  // Gemini CLI and others mark sections with elements instead of headings.
  const headed = text.replaceAll(
    /^[ \t]*<([a-z]+(?:_[a-z]+)+)>[ \t]*$/gm,
    (_, name: string) => `## ${name.replaceAll('_', ' ')}`,
  )
  const document = parseClaims(headed.replaceAll(/^[ \t]*<\/?[a-z_]+>[ \t]*$/gm, ''))
  return document.sections.filter(({ key }) => key !== 'notes').length < 2 ? undefined : document
}

function isGuess(step: Item | undefined): boolean {
  return /^(?:Check that the user's request|Ask the user what to do)/.test(step?.text ?? '')
}

/** Of a summary, what no fact tells: what it is about, and what is to be done. Each a claim of the agent. */
function withSummary<Sections extends Partial<Record<SectionKey, Item[]>>>(
  sections: Sections,
  ledger: Ledger,
  tape: string | undefined,
): Sections {
  const before = summaryOf(ledger)
  if (before === undefined) return sections
  const refs = tape === undefined ? [] : [`${tape}#${ledger.inherited!.id}`]
  const result = { ...sections }
  const add = (from: SectionKey, key: SectionKey, most: number, infront = false) => {
    const own = result[key] ?? []
    const fresh = itemsOf(before, from)
      .filter((item) => item.text.trim() !== '' && !/^\[(?:done|completed|x)\]/i.test(item.text))
      .filter((item) => !own.some((each) => contains(each.text, item.text)))
      .slice(0, most)
    const told = fresh.map((item) => ({ ...item, refs }))
    if (told.length > 0) result[key] = infront ? [...told, ...own] : [...own, ...told]
  }
  const home = (key: SectionKey, elsewhere: SectionKey): SectionKey => (key in sections ? key : elsewhere)
  add('goal', home('goal', 'doing'), 2)
  add('constraints', home('constraints', 'context'), 20)
  add('decisions', home('decisions', 'notes'), 20)
  // What it was doing then, it may have done since.
  const spoken = ledger.instructions.some(({ id }) => id > ledger.inherited!.id)
  if (ledger.todos.length === 0 && !spoken) {
    add('doing', 'doing', 3)
    add('pending', home('pending', 'next'), 20)
    // Its own plan is worth more than a guess.
    add('next', 'next', 2, isGuess(sections.next?.[0]))
  } else {
    add('pending', 'context', 10)
    add('next', 'context', 2)
  }
  add('context', 'context', 20)
  return result
}

/** The sections with what is carried along behind what is new. `binds` tells the user's words that bind what follows. */
export function withInherited<Sections extends Partial<Record<SectionKey, Item[]>>>(
  sections: Sections,
  ledger: Ledger,
  binds: (text: string) => boolean,
  tape: string | undefined,
): Sections {
  const before = inheritedDocument(ledger)
  if (before === undefined) return withSummary(sections, ledger, tape)
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
