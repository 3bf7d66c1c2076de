// Makes a document fit its budget of tokens: long quotes and tails are shortened first, then whole items go, the least
// important first, and are counted. What is returned has been counted as a whole, so the bound holds whatever the
// tokenizer makes of the seams. The work grows with the budget, not with the document.

import { LimitError } from '../../../errors.ts'
import type { CountTokens } from '../../../tape/index.ts'
import { isNone } from '../check/concrete.ts'
import { atDetail, atLeast, detailLevels } from './detail-levels.ts'
import type { HandoffDocument, Item, Profile, Section, SectionKey } from '../document.ts'
import { plain } from '../check/similarity.ts'
import { namesFile } from './quotes.ts'
import { lookUp, renderMarkdown, showCommand } from '../markdown/render.ts'
import { profiles } from '../sections.ts'

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
  /** Its index in its section. */
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
  for (const [level, detail] of detailLevels.entries()) {
    const last = level === detailLevels.length - 1
    // An item takes at least one token.
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

/** After this many items that turned out to be too large, no more are tried. */
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
  const shortWords = fitting(itemsOf(document, 'context').filter(isShortWord), budget / 8, count)
  let turns = 0
  const candidates = document.sections.flatMap(({ key, items }) =>
    items.map((item, at): Candidate => {
      const isNothing = items.length === 1 && isNone(item.text)
      let rank = isNothing ? ranks.nothing : rankOf(document.profile, key, item, at, budget)
      // The last turns are told; the story before them comes behind what the user said.
      if (item.tag === 'reply' && ++turns > lastTurns) rank = ranks.olderTurn
      if (key === 'constraints' && (!within.has(item) || namesFile(item.text))) rank = Math.max(rank, ranks.ruleForFile)
      if (shortWords.has(item)) rank = Math.min(rank, ranks.shortWords)
      if (lately.has(item)) rank = Math.min(rank, ranks.recentWords)
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

/** A short word of the user's that names no file: it says something about all of the work more often than a long one. */
function isShortWord({ by, text }: Item): boolean {
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

/** Whether an item is about the goal of the next session. */
function isWanted(item: Item, wanted: ReadonlySet<string>): boolean {
  if (wanted.size === 0) return false
  return plain(item.text.slice(0, 2_000))
    .split(' ')
    .some((word) => wanted.has(word))
}

/** How many of the last turns are told with the work that was done. */
const lastTurns = 4
/** How many of the last commits, pushes and releases the reader must know of, so as not to repeat them. */
const lastDeeds = 4

/** Below this, what the assistant said and did last gives way to what the user said and what was changed. */
const small = 1_000

/** What comes first when not everything has room: the lower, the more it is worth for its tokens. */
const ranks = {
  nothing: -1,
  status: 0,
  request: 0,
  firstStep: 1,
  otherGoal: 1.5,
  rule: 2,
  failure: 3,
  staleFailure: 3.5,
  open: 4,
  laterStep: 4.5,
  closing: 4.6,
  lastDeed: 4.7,
  changedFile: 5,
  ruleForFile: 5.2,
  place: 5.3,
  recentWords: 5.4,
  shortWords: 5.5,
  otherWords: 5.6,
  decision: 6,
  lastWordsInSmall: 6.2,
  note: 7,
  verifiedStep: 7.5,
  done: 8,
  olderTurn: 9.3,
  command: 9.6,
  readFile: 10,
} as const

/** What a model says comes behind what the tape shows. */
const claimedBehind = 0.5

function rankOf(profile: Profile, key: SectionKey, item: Item, at: number, budget: number): number {
  const claimed = item.status === 'claimed' ? claimedBehind : 0
  const byUser = item.by === 'user'
  switch (key) {
    case 'status':
      return ranks.status
    case 'goal':
      return byUser || at === 0 ? ranks.request : ranks.otherGoal
    case 'next':
      if (at === 0) return ranks.firstStep
      return profile === 'cycle' ? ranks.open + claimed : claimed > 0 ? ranks.laterStep : ranks.verifiedStep
    case 'constraints':
      return ranks.rule + claimed
    case 'failures':
      return item.tag === 'stale' ? ranks.staleFailure : ranks.failure
    case 'doing':
      return profile === 'cycle' && byUser ? ranks.request : ranks.open + claimed
    case 'pending':
    case 'blockers':
      return ranks.open + claimed
    case 'files':
      return item.file?.action === 'read' ? ranks.readFile : ranks.changedFile
    case 'decisions':
      return ranks.decision + claimed
    case 'context':
      return byUser && profile === 'cycle' ? ranks.rule : storyRank(item, at, budget, ranks.note)
    case 'notes':
      return storyRank(item, at, budget, profile === 'cycle' ? ranks.decision + claimed : ranks.verifiedStep)
    case 'done':
      return storyRank(item, at, budget, ranks.done + claimed)
  }
}

/** The closing words tell where the work stands; which commands ran is told last. */
function storyRank(item: Item, at: number, budget: number, other: number): number {
  if (item.by === 'user') return ranks.otherWords
  switch (item.tag) {
    case 'closing':
    case 'words':
      return budget < small ? ranks.lastWordsInSmall : ranks.closing
    case 'deed':
      return at < (budget < small ? 1 : lastDeeds) ? ranks.lastDeed : other
    case 'place':
      return ranks.place
    case 'command':
      return ranks.command
    default:
      return other
  }
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
    const items = section.items.filter((_, at) => places?.has(at)).map(untagged)
    const count = section.items.length - items.length + (section.omitted?.count ?? 0)
    if (count === 0) return { ...section, items }
    // Elsewhere than for files, the look-up command of the header has to do: it is not said again.
    const own = section.omitted?.command ?? commandFor(document, section.key)
    const command = terse && section.key !== 'files' ? lookUp(document.header) : own
    return { ...section, items, omitted: { count, command } }
  })
  return { ...document, sections }
}

function untagged({ tag: _tag, ...item }: Item): Item {
  return item
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
