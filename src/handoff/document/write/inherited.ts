// What the document before this one still says. A session is handed over again and again; what bound its beginning binds
// its end, so the items of the last document go along as items, and the budget decides about them as about the others.

import type { Ledger } from '../../ledger/facts.ts'
import { FailedCommands } from '../../ledger/tools/failure-book.ts'
import { isFields } from '../../ledger/tools/tool-calls.ts'
import { type HandoffDocument, type Item, sectionOf, type SectionKey } from '../document.ts'
import { announces, sentencesOf } from '../../ledger/words/sentences.ts'
import { namedFiles } from '../../ledger/files/paths.ts'
import { sharedWith, termsOf } from '../../ledger/words/terms.ts'
import { codeSpan } from '../../safety/fence.ts'
import { isNone } from '../check/concrete.ts'
import { contains } from '../check/similarity.ts'
import { oneLine } from '../markdown/normalise.ts'
import { ownTitle } from '../markdown/parse-own.ts'
import { parseClaims, parseDocument } from '../markdown/parse.ts'
import {
  answeredLast,
  asReply,
  bareTodo,
  closedEarlier,
  isPrinted,
  isQuestionStep,
  namedCommand,
  onListOfEarlierTurn,
  repeatsUser,
  saidEarlier,
  saidByAssistant,
  saidInStep,
} from '../phrases.ts'
import type { LaterWords } from './later-words.ts'
import { shorten } from './shorten.ts'
import { hasChangedSince, hasWorkedSince } from './since.ts'

/** The document that opened the phase, if it is one of ours. */
function inheritedDocument({ inherited }: Ledger): HandoffDocument | undefined {
  if (inherited?.name !== 'handoff') return undefined
  if (isDocument(inherited.state)) return inherited.state
  if (typeof inherited.state !== 'string') return undefined
  const lines = inherited.state.replace(/^\s*<handoff-context>\n/, '').split('\n')
  return ownTitle(lines) === undefined ? undefined : parseDocument(inherited.state)
}

/** The document itself, where whoever wrote it hands it on as it is. */
function isDocument(state: unknown): state is HandoffDocument {
  return isFields(state) && typeof state['profile'] === 'string' && Array.isArray(state['sections'])
}

/** The words in which the agent summed up its context when that was full. */
function summaryText({ inherited }: Ledger): string | undefined {
  const state = inherited?.name === 'compaction' ? inherited.state : inherited?.summary?.state
  if (state === undefined) return undefined
  const text = isFields(state) ? state['summary'] : state
  return typeof text === 'string' ? text.replaceAll(summaryFrame, '').trim() : undefined
}

/** What the user asked for last, according to the document that opened the phase. */
export function inheritedRequest(ledger: Ledger): string | undefined {
  const before = inheritedDocument(ledger)
  return before === undefined ? undefined : requestsIn(before).at(-1)?.text
}

/** The failures of the document that opened the phase which nothing since has settled. */
export function inheritedFailures(ledger: Ledger): Item[] {
  const before = inheritedDocument(ledger)
  if (before === undefined || ledger.deeds.some(({ kind }) => kind === 'outward')) return []
  const items = itemsOf(before, 'failures')
  // Each names first, as code, the command that failed.
  const failed = new FailedCommands(items.map((item) => ({ what: namedCommand(item) ?? '', lastId: 0 })))
  const passed = ledger.commands.filter(({ ok }) => ok === true)
  const settled = new Set(passed.flatMap(({ command }) => failed.includedIn(command)).map(({ what }) => what))
  return items.filter((item) => !settled.has(namedCommand(item) ?? ''))
}

/** So much of the words of a todo, in one place, shows that it was dealt with. */
const cameUp = 0.6

/**
 * What was open on the lists of earlier sessions. A list holds until somebody works; after that, a todo whose words came up in what was
 * done or said is settled, and the others may be done without a word.
 */
export function inheritedTodos(ledger: Ledger): Item[] {
  const before = inheritedDocument(ledger)
  if (before === undefined) return []
  const of = (key: SectionKey) => itemsOf(before, key)
  if (ledger.todos.length === 0 && !hasWorked(ledger)) {
    const steps = of('next').filter(({ status, tag }) => status === 'claimed' || tag === 'todo')
    return [...of('doing'), ...of('pending'), ...steps].filter(isTask)
  }
  const since = [
    ...ledger.replies,
    ...(ledger.lastWords === undefined ? [] : [ledger.lastWords]),
    ...ledger.todos,
    ...ledger.deeds,
  ].map(({ text }) => termsOf(text))
  const isSettledTodo = (item: Item) => {
    const terms = termsOf(bareTodo(item.text))
    return since.some((told) => sharedWith(terms, told) >= cameUp)
  }
  const listed = [...of('doing'), ...of('next')].filter(({ tag }) => tag === 'todo')
  return [...listed, ...of('pending')]
    .filter((item) => isTask(item) && !isSettledTodo(item))
    .map((item) => {
      const isMarked = bareTodo(item.text) !== item.text
      return { ...item, tag: 'todo', ...(!isMarked && { text: onListOfEarlierTurn(item.text, true) }) }
    })
}

/** What Claude Code and Codex say around a summary: it is addressed to their own next context. */
const summaryFrame =
  /^This session is being continued from a previous conversation[^\n]*|^Another language model started to solve this problem[^\n]*|^If you need specific details from before compaction[\s\S]*$|^(?:Please )?[Cc]ontinue the conversation from where (?:it|we) left (?:it )?off without asking[\s\S]*$/gm

/** What was handed over before, as a text; undefined where its items go along one by one. */
export function inheritedText(ledger: Ledger): string | undefined {
  const { inherited } = ledger
  if (inherited === undefined || inheritedDocument(ledger) !== undefined || summaryOf(ledger) !== undefined)
    return undefined
  const text = summaryText(ledger) ?? stateText(inherited.state)
  return text.trim() === '' ? undefined : text
}

/** The state of an anchor as lines that a person reads: a field a line, what is in it below; empty where there is nothing. */
export function stateText(state: unknown): string {
  return stateLines(state).join('\n')
}

function stateLines(value: unknown): string[] {
  if (value === null || value === undefined) return []
  if (Array.isArray(value)) return value.flatMap((each) => under('- ', stateLines(each)))
  if (!isFields(value)) return String(value).split('\n')
  return Object.entries(value).flatMap(([name, field]) => {
    const lines = stateLines(field)
    const isPlain = lines.length === 1 && typeof field !== 'object'
    return isPlain ? [`${name}: ${lines[0]!}`] : lines.length === 0 ? [] : [`${name}:`, ...under('  ', lines)]
  })
}

/** Lines that begin with a mark, and those after the first below it. */
function under(mark: string, lines: readonly string[]): string[] {
  return lines.map((line, at) => (at === 0 ? mark : '  ') + line)
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

/** The turn that began after the summary is over: what it was to do is done, or told anew. */
function hasEnded({ ending }: Ledger): boolean {
  return ending.state === 'answered' || ending.state === 'asks' || ending.state === 'silent'
}

/** A step whose files were changed after it was written down. */
function begunSince(item: Item, id: number, ledger: Ledger): Item {
  const named = namedFiles(item.text)
  const isBegun = named.length > 0 && named.every((name) => hasChangedSince(id, ledger, name))
  return isBegun ? { ...item, text: `${item.text} (worked on since; may be done)` } : item
}

/** Of a summary, what no fact tells: what it is about, and what is to be done. Each a claim of the agent. */
function withSummary<Sections extends Partial<Record<SectionKey, Item[]>>>(
  sections: Sections,
  ledger: Ledger,
  tape: string | undefined,
): Sections {
  const before = summaryOf(ledger)
  if (before === undefined) return sections
  const since = ledger.inherited!.summary?.id ?? ledger.inherited!.id
  const refs = tape === undefined ? [] : [`${tape}#${since}`]
  const result = { ...sections }
  const add = (from: SectionKey, key: SectionKey, most: number, infront = false) => {
    const own = result[key] ?? []
    const fresh = itemsOf(before, from)
      .filter(
        (item) => item.text.trim() !== '' && !/^\[(?:done|completed|x)\]/i.test(item.text) && !announces(item.text),
      )
      .filter((item) => !own.some((each) => contains(each.text, item.text)))
      .slice(0, most)
    const isWork = from === 'doing' || from === 'pending' || from === 'next'
    const told = fresh.map((item) => ({ ...(isWork ? begunSince(item, since, ledger) : item), refs }))
    if (told.length > 0) result[key] = infront ? [...told, ...own] : [...own, ...told]
  }
  const home = (key: SectionKey, elsewhere: SectionKey): SectionKey => (key in sections ? key : elsewhere)
  add('goal', home('goal', 'doing'), 2)
  add('constraints', home('constraints', 'context'), 20)
  add('decisions', home('decisions', 'notes'), 20)
  // What the agent was doing when it wrote the summary, it may since have done.
  const moved = ledger.instructions.some(({ id }) => id > since) || hasEnded(ledger)
  if (ledger.todos.length === 0 && !moved) {
    add('doing', 'doing', 3)
    add('pending', home('pending', 'next'), 20)
    add('next', 'next', 2, !hasWorkedSince(since, ledger))
  }
  add('context', 'context', 20)
  return result
}

/** The sections with what is carried along behind what is new. */
export function withInherited<Sections extends Partial<Record<SectionKey, Item[]>>>(
  sections: Sections,
  ledger: Ledger,
  tape: string | undefined,
  laterWords: LaterWords,
): Sections {
  const before = inheritedDocument(ledger)
  if (before === undefined) return withSummary(sections, ledger, tape)
  return withSummary(withDocument(sections, before, ledger, laterWords), ledger, tape)
}

function withDocument<Sections extends Partial<Record<SectionKey, Item[]>>>(
  sections: Sections,
  before: HandoffDocument,
  ledger: Ledger,
  laterWords: LaterWords,
): Sections {
  const of = (key: SectionKey): Item[] => itemsOf(before, key)
  const [first, ...requests] = requestsIn(before)
  const later = requests.filter(({ tag }) => tag !== 'rule')
  const files = of('files').filter(
    ({ file, text }) => file?.action !== 'read' && !ledger.files.some(({ path }) => path === text.replace(/\/$/, '')),
  )
  // The state that a document of a cycle tells begins with the words that bind.
  const isRule = ({ by }: Item) => before.profile === 'cycle' && by === 'user'
  const others = [
    ...later,
    ...[...of('context').filter((item) => !isRule(item)), ...of('notes')]
      .map((item) => saidEarlier(item, quoted))
      .filter(lasts),
  ]
  const home = (key: SectionKey, ...elsewhere: SectionKey[]): SectionKey =>
    [key, ...elsewhere].find((each) => each in sections) ?? key
  const result = { ...sections }
  const add = (key: SectionKey, items: readonly Item[], infront = false) => {
    const own = result[key] ?? []
    // The user's words count as the same only if they are equal to the letter.
    const isNew = (item: Item) =>
      !own.some((each) => each.text === item.text || (item.by === undefined && contains(each.text, item.text)))
    const fresh = items.filter(isNew)
    if (fresh.length > 0) result[key] = infront ? [...fresh, ...own] : [...own, ...fresh]
  }
  if (first !== undefined) add(home('goal', 'doing'), [first], true)
  const binding = [
    ...of('constraints'),
    ...of('context').filter(isRule),
    ...requests.filter(({ tag }) => tag === 'rule'),
  ]
  const rules = binding.map((item) => ({ ...item, text: laterWords.mark(item.text, sentencesOf(item.text), 0) }))
  add(home('constraints', 'context'), rules, true)
  // What was said at the end of the session before stands in its first step.
  const done = of('done').flatMap((item) =>
    [answeredLast, saidByAssistant.last('')].includes(item.text) ? (closedEarlier(item, quoted) ?? []) : asReply(item),
  )
  add('done', [...of('next').flatMap((step) => saidInStep(step, 'closing') ?? []), ...done])
  add(home('pending', 'next'), inheritedTodos(ledger))
  add(home('decisions', 'notes'), of('decisions'))
  // A question waits for the user, who has said nothing yet. It is the first thing to do only while nobody has worked without the answer.
  if (ledger.instructions.length === 0) {
    add('next', of('next').filter(isQuestionStep), !hasWorked(ledger))
    add('blockers', of('blockers'))
  }
  add('failures', inheritedFailures(ledger))
  add('files', files)
  add(home('notes', 'context'), [...of('next').flatMap((step) => saidInStep(step, 'stopped') ?? []), ...others])
  addPrinted(result, home('notes', 'context'), [...of('context'), ...of('notes')].filter(isPrinted))
  return result
}

/** What was said at the end of an earlier session, in a line; no document tells more of it. */
function quoted(words: string): string {
  return codeSpan(shorten(oneLine(words), longestSaid))
}
const longestSaid = 600

/** What commands printed is told apart by every letter: two of them often differ in a number alone. */
function addPrinted(sections: Partial<Record<SectionKey, Item[]>>, key: SectionKey, items: readonly Item[]): void {
  const own = sections[key] ?? []
  const isTold = (item: Item) => own.some(({ text, data }) => text === item.text && data === item.data)
  const fresh = items.filter((item) => !isTold(item)).map((item) => ({ ...item, tag: 'command' as const }))
  if (fresh.length > 0) sections[key] = [...own, ...fresh]
}

/** The user's requests; a document of a cycle has them under its current work. */
function requestsIn(document: HandoffDocument): Item[] {
  return [...itemsOf(document, 'goal'), ...itemsOf(document, 'doing')].filter(({ by }) => by === 'user')
}

function hasWorked({ ending, files, commands }: Ledger): boolean {
  const idle = ending.state === 'requested' || ending.state === 'empty'
  return !idle && (files.some(({ state }) => state === 'changed') || commands.some(({ looks }) => looks !== true))
}

/** Calls and processes of an earlier context are not of this one; the user's words stand elsewhere. */
function isTask({ by, data }: Item): boolean {
  return by === undefined && data === undefined
}

function itemsOf(document: HandoffDocument, key: SectionKey): Item[] {
  return (sectionOf(document, key)?.items ?? []).filter((item) => !isNone(item.text) && !repeatsUser(item))
}

/** The rest of a document's context is about the moment it was written. */
function lasts(item: Item): boolean {
  return item.data === undefined && (item.by === 'user' || item.status === 'claimed')
}
