// Makes a document fit its budget of tokens: long quotes and tails are shortened first, then whole items go, the least
// important first, and are counted. What is returned has been counted as a whole, so the bound holds whatever the
// tokenizer makes of the seams. The work grows with the budget, not with the document.

import { LimitError } from '../../errors.ts'
import type { CountTokens } from '../../tape/tokens.ts'
import { isNone } from './concrete.ts'
import { atDetail, atLeast, details } from './detail.ts'
import type { HandoffDocument, Item, Profile, Section, SectionKey } from './document.ts'
import { plain } from './likeness.ts'
import { namesFile } from './names-file.ts'
import { longAgoText } from './long-ago.ts'
import { lookUp, renderMarkdown, showCommand } from './render.ts'
import { profiles } from './sections.ts'

export const defaultBudget = 2_000

export interface Fitted {
  readonly document: HandoffDocument
  readonly markdown: string
  readonly tokens: number
}

/** Facts up to this rank are worth more than a longer quote. */
const essential = 6.5

interface Candidate {
  readonly key: SectionKey
  readonly item: Item
  readonly rank: number
  /** In its section. */
  readonly at: number
  /** Order among those of the same rank. */
  readonly order: number
}

/** Throws a LimitError that names the least budget when not even the goal and the next step fit. */
export function fit(document: HandoffDocument, budget: number, count: CountTokens): Fitted {
  const candidates = ranked(document, budget, count)
  const needed = candidates.filter((candidate) => candidate.rank <= essential)
  const measureAt = (detailed: HandoffDocument, terse?: true) => (kept: readonly Candidate[]) => {
    const chosen = terse ? byPath(choose(detailed, kept, terse)) : choose(detailed, kept)
    const markdown = renderMarkdown(chosen, terse)
    // So long a text is not worth counting: a token is rarely longer than five characters.
    const tokens = markdown.length > budget * 10 ? Infinity : count(markdown)
    return { document: chosen, markdown, tokens }
  }
  for (const [level, detail] of details.entries()) {
    const last = level === details.length - 1
    // An item is no less than a token.
    if (!last && needed.length > budget) continue
    const measure = measureAt(atDetail(document, detail), detail.terse)
    if (!last && measure(needed).tokens > budget) continue
    const fitted = fill(candidates, budget, measure, count)
    if (fitted !== undefined) return fitted
  }
  const scarce = atLeast(document, count)
  const fitted = fill(candidates, budget, measureAt(scarce), count)
  if (fitted !== undefined) return fitted
  const tokens = count(renderMarkdown(choose(scarce, candidates.slice(0, least(candidates)))))
  throw new LimitError(`A budget of ${budget} tokens is too small: this handoff document takes at least ${tokens}`, {
    hint: `Allow ${tokens} or more.`,
  })
}

/** How many of the first no document goes without: the user's requests, the next step, and where there is nothing. */
function least(candidates: readonly Candidate[]): number {
  return candidates.filter(({ rank, at }) => rank < 0.5 || (rank === 1 && at === 0)).length
}

/** As many of the first as fit, then later ones that are small enough; undefined when not even the least do. */
function fill(
  candidates: readonly Candidate[],
  budget: number,
  measure: (kept: readonly Candidate[]) => Fitted,
  count: CountTokens,
): Fitted | undefined {
  const first = (length: number) => candidates.slice(0, length)
  let low = least(candidates)
  let best = measure(first(low))
  if (best.tokens > budget) return undefined
  let step = 8
  let high = candidates.length + 1
  // Doubling first: a measure never grows far beyond the budget.
  while (low + step < high) {
    const tried = measure(first(low + step))
    if (tried.tokens > budget) {
      high = low + step
      break
    }
    low += step
    best = tried
    step *= 2
  }
  while (low + 1 < high) {
    const middle = Math.floor((low + high) / 2)
    const tried = measure(first(middle))
    if (tried.tokens > budget) high = middle
    else {
      low = middle
      best = tried
    }
  }
  return squeeze(candidates, low, best, budget, measure, count)
}

/** How many that turned out too large are tried before giving up. */
const patience = 12

function squeeze(
  candidates: readonly Candidate[],
  length: number,
  fitted: Fitted,
  budget: number,
  measure: (kept: readonly Candidate[]) => Fitted,
  count: CountTokens,
): Fitted {
  let best = fitted
  const kept = candidates.slice(0, length)
  let misses = 0
  for (let at = length + 1; at < candidates.length && misses < patience; at++) {
    const candidate = candidates[at]!
    const { text, data = '' } = candidate.item
    if (best.tokens + count(text + data) / 2 > budget) {
      misses++
      continue
    }
    kept.push(candidate)
    const tried = measure(kept)
    if (tried.tokens <= budget) best = tried
    else {
      kept.pop()
      misses++
    }
  }
  return best
}

/** Goal and last request, next step, constraints, failures, what is open, files changed, decisions, the rest. */
function ranked(document: HandoffDocument, budget: number, count: CountTokens): Candidate[] {
  const wanted = new Set(
    plain(document.header.goal ?? '')
      .split(' ')
      .filter((word) => word.length > 3),
  )
  const folders = lastTouched(document)
  const within = fitting(itemsOf(document, 'constraints'), 120 + budget / 10, count)
  const asked = document.sections.flatMap(({ key, items }) => (key === 'context' || key === 'notes' ? items : []))
  const lately =
    budget < small ? new Set<Item>() : fitting(asked.filter(({ by }) => by === 'user').slice(0, 3), budget / 16, count)
  const rules = fitting(itemsOf(document, 'context').filter(mayBeRule), budget / 8, count)
  let turns = 0
  const candidates = document.sections.flatMap(({ key, items }) =>
    items.map((item, at): Candidate => {
      const isNothing = items.length === 1 && isNone(item.text)
      let rank = isNothing ? -1 : rankOf(document.profile, key, item, at, budget)
      // The last turns are told; the story before them comes behind what the user said.
      if (key === 'done' && item.text.startsWith('Said: ') && ++turns > lastTurns) rank = 9.3
      if (key === 'constraints' && (!within.has(item) || namesFile(item.text))) rank = Math.max(rank, 5.2)
      if (key === 'context' && rules.has(item)) rank = Math.min(rank, 5.5)
      if (lately.has(item)) rank = Math.min(rank, 5.4)
      // Files of a folder stay together, where they share a line; the folder touched last comes first.
      const order = item.file === undefined ? at : -folders.get(folderOf(item))!
      return { key, item, rank, at, order: isWanted(item, wanted) ? order - 1e12 : order }
    }),
  )
  const position = new Map(profiles[document.profile].map((rule, at) => [rule.key, at]))
  return candidates.sort(
    (a, b) => a.rank - b.rank || a.order - b.order || position.get(a.key)! - position.get(b.key)! || a.at - b.at,
  )
}

/** The first of them that a share of the budget holds: what binds must not crowd out what was done. */
function fitting(items: readonly Item[], share: number, count: CountTokens): ReadonlySet<Item> {
  const held = new Set<Item>()
  let left = share
  for (const item of items) {
    left -= count(item.text.slice(0, 240)) + 4
    if (left < 0) break
    held.add(item)
  }
  return held
}

function itemsOf({ sections }: HandoffDocument, key: SectionKey): readonly Item[] {
  return sections.find((section) => section.key === key)?.items ?? []
}

/** A short word of the user's that names no file: a rule for all of the work, in whatever language, more often than a task. */
function mayBeRule({ by, text }: Item): boolean {
  return by === 'user' && text.length <= 80 && !/[\n?？]/.test(text) && !namesFile(text)
}

function lastTouched({ sections }: HandoffDocument): Map<string, number> {
  const folders = new Map<string, number>()
  for (const item of sections.find((section) => section.key === 'files')?.items ?? []) {
    const id = Number(/#(\d+)/.exec(item.refs[0] ?? '')?.[1] ?? 0)
    folders.set(folderOf(item), Math.max(id, folders.get(folderOf(item)) ?? 0))
  }
  return folders
}

function folderOf({ text }: Item): string {
  return text.slice(0, text.lastIndexOf('/') + 1)
}

/** Has to do with what the next session is for. */
function isWanted(item: Item, wanted: ReadonlySet<string>): boolean {
  if (wanted.size === 0) return false
  return plain(item.text.slice(0, 2_000))
    .split(' ')
    .some((word) => wanted.has(word))
}

const lastTurns = 4

/** Below this, what the assistant said and did last gives way to what the user said and what was changed. */
const small = 1_000

function rankOf(profile: Profile, key: SectionKey, item: Item, at: number, budget: number): number {
  const claimed = item.status === 'claimed' ? 0.5 : 0
  switch (key) {
    case 'goal':
      return item.by === 'user' || at === 0 ? 0 : 1.5
    case 'next':
      return at === 0 ? 1 : profile === 'cycle' ? 4 + claimed : claimed > 0 ? 4.5 : 7.5
    case 'constraints':
      return 2 + claimed
    case 'failures':
      return item.text.includes(longAgoText) ? 5.8 : 3
    case 'doing':
      return profile === 'cycle' && item.by === 'user' ? 0 : 4 + claimed
    case 'pending':
    case 'blockers':
      return 4 + claimed
    case 'files':
      return item.file?.action === 'read' ? 10 : 5
    case 'decisions':
      return 6 + claimed
    case 'context':
      return item.by === 'user' && profile === 'cycle' ? 2 : storyRank(item, budget, 7)
    case 'notes':
      return storyRank(item, budget, profile === 'cycle' ? 6 + claimed : 7.5)
    case 'done':
      // What was done for good, lately, must not be done again.
      return /^(?:Committed|Ran) /.test(item.text) && at < (budget < small ? 1 : 4) ? 4.7 : 8 + claimed
  }
}

/** The assistant's last words tell where it stood; which commands ran is told last. */
function storyRank(item: Item, budget: number, other: number): number {
  if (item.by === 'user') return 9
  if (item.text.startsWith('The assistant said last')) return budget < small ? 6.2 : 4.6
  if (/ on branch \S+(?: at [0-9a-f]{7,10})?(?:,|$)/.test(item.text)) return 5.3
  return item.text.startsWith('Ran ') ? 9.6 : other
}

function choose(document: HandoffDocument, kept: readonly Candidate[], terse?: true): HandoffDocument {
  const keep = new Map<SectionKey, Set<number>>()
  for (const { key, at } of kept) {
    const places = keep.get(key)
    if (places === undefined) keep.set(key, new Set([at]))
    else places.add(at)
  }
  const sections = document.sections.map((section): Section => {
    const places = keep.get(section.key)
    const items = section.items.filter((_, at) => places?.has(at))
    const count = section.items.length - items.length + (section.omitted?.count ?? 0)
    if (count === 0) return section
    // Elsewhere than for files, the look-up command of the header has to do: it is not said again.
    const own = section.omitted?.command ?? commandFor(document, section.key)
    const command = terse && section.key !== 'files' ? lookUp(document.header) : own
    return { ...section, items, omitted: { count, ...(command !== undefined && { command }) } }
  })
  return { ...document, sections }
}

/** Files in the order in which they share most of their paths. */
function byPath(document: HandoffDocument): HandoffDocument {
  const key = ({ text, file }: Item) => `${file?.action ?? ''} ${/\.\w+$/.exec(text)?.[0] ?? ''} ${text}`
  const sections = document.sections.map((section) =>
    section.key === 'files'
      ? { ...section, items: section.items.toSorted((a, b) => (key(a) < key(b) ? -1 : 1)) }
      : section,
  )
  return { ...document, sections }
}

const flags: Partial<Record<SectionKey, string>> = {
  goal: 'instructions',
  constraints: 'instructions',
  done: 'todos',
  doing: 'todos',
  pending: 'todos',
  next: 'todos',
  decisions: 'decisions',
  failures: 'failures',
  files: 'files',
}

function commandFor({ header: { tape, range } }: HandoffDocument, key: SectionKey): string | undefined {
  return tape === undefined || range === undefined ? undefined : showCommand(tape, range, flags[key])
}
