// Makes a document fit its budget of tokens. Every item has a brief form and longer ones; each form is bought for what it adds
// to a successor's knowledge, the most for its tokens first, and what is left out is counted. What is returned has been
// counted as a whole, so the bound holds whatever the tokenizer makes of the seams.

import { createHash } from 'node:crypto'
import { LimitError } from '../../../errors.ts'
import type { CountTokens } from '../../../tape/index.ts'
import { plain } from '../check/similarity.ts'
import type { HandoffDocument, Item, Section, SectionKey } from '../document.ts'
import { renderMarkdown, sectionCommand } from '../markdown/render.ts'
import { asUserSaid } from '../phrases.ts'
import { profiles } from '../sections.ts'
import {
  atLeast,
  type Form,
  formsOf,
  inForm,
  inStyle,
  leastStyle,
  sizeOf,
  smallBudget,
  type Style,
  styles,
} from './forms.ts'
import { shorten } from './shorten.ts'
import { essential, partOf, type WeightName, weightName, weights } from './weights.ts'

export const defaultBudget = 2_000

export interface Fitted {
  readonly document: HandoffDocument
  readonly markdown: string
  readonly tokens: number
  /** The items that had no room, in the sections they belong to. */
  readonly leftOut: readonly Section[]
}

/** A document that was counted, and what is in it. */
type Measured = Omit<Fitted, 'leftOut'> & { readonly kept: readonly Candidate[] }

/** One form of an item. */
interface Candidate {
  readonly key: SectionKey
  readonly item: Item
  readonly form: Form
  /** The form before it, which has to be there. */
  readonly behind?: Candidate
  /** Worth for a token. */
  readonly gain: number
  /** Its index in its section. */
  readonly at: number
  /** Order among those of the same gain. */
  readonly order: number
}

/** Throws a LimitError that names the least budget when not even the goal and the next step fit. */
export function fit(document: HandoffDocument, budget: number, count: CountTokens): Fitted {
  const candidates = ranked(document)
  const id = idOf(document, budget)
  const needed = candidates.filter(({ gain, form }) => gain >= essential && form < 2)
  const measureIn = (whole: HandoffDocument, style: Style, isScarce = false) => {
    const forms = new Map<Candidate, Item>()
    const formOf = (candidate: Candidate): Item => {
      const { key, at, form } = candidate
      const made =
        forms.get(candidate) ??
        inStyle(
          isScarce
            ? whole.sections.find((section) => section.key === key)!.items[at]!
            : inForm(candidate.item, key, form),
          style,
        )
      forms.set(candidate, made)
      return made
    }
    return (kept: readonly Candidate[]): Measured => {
      const chosen = choose(whole, kept, formOf, style, id)
      const markdown = renderMarkdown(chosen, style.terse)
      // So long a text is not worth counting: a token is rarely longer than five characters.
      const tokens = markdown.length > budget * 10 ? Number.POSITIVE_INFINITY : count(markdown)
      return { document: chosen, markdown, tokens, kept }
    }
  }
  for (const style of budget < smallBudget ? [...styles.slice(0, -1), leastStyle] : styles) {
    const last = style.terse === true
    // An item takes at least one token.
    if (!last && needed.length > budget) continue
    const measure = measureIn(document, style)
    if (!last && measure(needed).tokens > budget) continue
    const fitted = fill(candidates, budget, measure, count)
    if (fitted !== undefined) return withLeftOut(fitted, document)
  }
  const first = candidates.filter(({ form }) => form === 0)
  const measure = measureIn(atLeast(document, count), leastStyle, true)
  const fitted = fill(first, budget, measure, count)
  if (fitted !== undefined) return withLeftOut(fitted, document)
  const { tokens } = { tokens: count(measure(first.slice(0, least(first))).markdown) }
  throw new LimitError(`A budget of ${budget} tokens is too small: this handoff document takes at least ${tokens}`, {
    hint: `Allow ${tokens} or more.`,
  })
}

/** Digits that tell this document from others about the same entries: of digits, any six take the same tokens. */
function idOf({ header, sections }: HandoffDocument, budget: number): string {
  const sizes = sections.map(({ key, items }) => [key, items.length])
  const digest = createHash('sha256')
    .update(JSON.stringify([header, sizes, budget]))
    .digest()
  return String(100_000 + (digest.readUInt32BE() % 900_000))
}

function withLeftOut({ kept, ...fitted }: Measured, { sections }: HandoffDocument): Fitted {
  const leftOut = sections.flatMap(({ key, items }): Section[] => {
    const places = new Set(kept.flatMap((candidate) => (candidate.key === key ? [candidate.at] : [])))
    const left = items.filter((_, at) => !places.has(at))
    return left.length === 0 ? [] : [{ key, items: left }]
  })
  return { ...fitted, leftOut }
}

/** How many of the first no document goes without: the user's requests, the next step, and where there is nothing. */
function least(candidates: readonly Candidate[]): number {
  const end = candidates.findIndex(({ gain }) => gain !== Number.POSITIVE_INFINITY)
  return end < 0 ? candidates.length : end
}

/** As many of the first as fit, then later ones that are small enough; undefined when not even the least do. */
function fill(
  candidates: readonly Candidate[],
  budget: number,
  measure: (kept: readonly Candidate[]) => Measured,
  count: CountTokens,
): Measured | undefined {
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

/** After this many that turned out to be too large, no more are tried. */
const patience = 12

function squeeze(
  candidates: readonly Candidate[],
  length: number,
  fitted: Measured,
  budget: number,
  measure: (kept: readonly Candidate[]) => Measured,
  count: CountTokens,
): Measured {
  let best = fitted
  const kept = new Set(candidates.slice(0, length))
  let misses = 0
  for (let at = length + 1; at < candidates.length && misses < patience; at++) {
    const candidate = candidates[at]!
    if (candidate.behind !== undefined && !kept.has(candidate.behind)) continue
    const { text, data = '' } = inForm(candidate.item, candidate.key, candidate.form)
    if (candidate.form === 0 && best.tokens + count(text + data) / 2 > budget) {
      misses++
      continue
    }
    kept.add(candidate)
    const tried = measure([...kept])
    if (tried.tokens <= budget) best = tried
    else {
      kept.delete(candidate)
      misses++
    }
  }
  return best
}

/** Every form of every item, the one that adds most for its tokens first. */
function ranked(document: HandoffDocument): Candidate[] {
  const wanted = new Set(
    plain(document.header.goal ?? '')
      .split(' ')
      .filter((word) => word.length > 3),
  )
  const folders = lastTouched(document)
  const told = new Map<string, number>()
  const candidates: Candidate[] = []
  const add = (key: SectionKey, item: Item, at: number, items: number, order: number) => {
    const name = weightName(document.profile, key, item, at, items)
    const isWanted = isAbout(item, wanted)
    const group = isWanted ? `${name} for the goal` : name
    const before = told.get(group) ?? 0
    told.set(group, before + 1)
    candidates.push(...candidatesOf(item, { key, at, order, name, before, isWanted }))
  }
  for (const { key, items } of document.sections) {
    if (key === 'files') {
      // Files of a folder stay together, where they share a line; the folder touched last comes first.
      const order = (item: Item) => -(folders.get(folderOf(item)) ?? 0)
      const sorted = items
        .map((item, at) => ({ item, at }))
        .sort((a, b) => order(a.item) - order(b.item) || a.at - b.at)
      sorted.forEach(({ item, at }) => add(key, item, at, items.length, order(item)))
    } else items.forEach((item, at) => add(key, item, at, items.length, at))
  }
  const position = new Map(profiles[document.profile].map((rule, at) => [rule.key, at]))
  return candidates.sort(
    (a, b) =>
      b.gain - a.gain ||
      a.form - b.form ||
      a.order - b.order ||
      position.get(a.key)! - position.get(b.key)! ||
      a.at - b.at,
  )
}

interface Place {
  readonly key: SectionKey
  readonly at: number
  readonly order: number
  readonly name: WeightName
  /** Items of the same class before it. */
  readonly before: number
  readonly isWanted: boolean
}

/** What a goal that somebody gave for the next session makes of what is about it. */
const aboutGoal = 3
/** The first of each class come right behind what no document goes without. */
const early = 1e6

function candidatesOf(item: Item, { key, at, order, name, before, isWanted }: Place): Candidate[] {
  const weight: (typeof weights)[WeightName] & { more?: readonly [number, number]; early?: true } = weights[name]
  const isNeeded = weight.worth === Number.POSITIVE_INFINITY
  const part = (isWanted ? aboutGoal : 1) * partOf(name, item)
  const worth = isNeeded ? 1 : (part * weight.worth * weight.half) / (weight.half + before)
  const more = weight.more ?? [0.3, 0.2]
  const found: Candidate[] = []
  for (const form of formsOf(item, key)) {
    const behind = found.at(-1)
    const size = sizeOf(item, key, form) - (behind === undefined ? 0 : sizeOf(item, key, behind.form))
    const cost = item.file === undefined ? tokensOf(item, size) + (form === 0 ? itemCost : 0) : fileCost(item, before)
    const gain =
      form === 0
        ? isNeeded
          ? Number.POSITIVE_INFINITY
          : worth / cost + (weight.early && before === 0 ? early : 0)
        : (worth * (more[form - 1] ?? wholeMore)) / cost
    // A longer form never comes before the shorter one.
    const bound =
      behind === undefined ? gain : Math.min(gain, behind.gain === Number.POSITIVE_INFINITY ? gain : behind.gain)
    found.push({ key, item, form, at, order, gain: bound, ...(behind && { behind }) })
  }
  return found
}

/** The whole of a long quote takes the room that nothing else needs. */
const wholeMore = 0.02

/** Tokens that an item takes besides its text. */
const itemCost = 3

/** About as many tokens as so many characters of an item take. */
function tokensOf({ text }: Item, size: number): number {
  const sample = text.slice(0, 80)
  // oxlint-disable-next-line no-control-regex -- ASCII begins with control characters
  const wide = sample.replaceAll(/[\u0000-\u024F]/g, '').length
  return Math.max(1, (size / 4) * (1 + (2 * wide) / Math.max(1, sample.length)))
}

function fileCost({ text }: Item, before: number): number {
  return 2 + (text.length - (before === 0 ? 0 : folderOf({ text }).length)) / 4
}

function lastTouched({ sections }: HandoffDocument): Map<string, number> {
  const folders = new Map<string, number>()
  for (const item of sections.find((section) => section.key === 'files')?.items ?? []) {
    const id = Number(/#(\d+)/.exec(item.refs[0] ?? '')?.[1] ?? 0)
    folders.set(folderOf(item), Math.max(id, folders.get(folderOf(item)) ?? 0))
  }
  return folders
}

function folderOf({ text }: Pick<Item, 'text'>): string {
  return text.slice(0, text.lastIndexOf('/') + 1)
}

/** Whether an item is about the goal of the next session. */
function isAbout(item: Item, wanted: ReadonlySet<string>): boolean {
  if (wanted.size === 0) return false
  return plain(item.text.slice(0, 2_000))
    .split(' ')
    .some((word) => wanted.has(word))
}

/** Characters of the header's goal. */
const longestGoal = 800
const tersestGoal = 160

/** A message up to this length is read as a whole: of a longer one, its rules are worth pointing out. */
const readWhole = 500

/** Rules of the message that opens the document need no second telling where it is short and told whole. */
function withoutQuoted(rules: readonly Item[], opening: Item | undefined): Item[] {
  if (opening?.by !== 'user' || opening.text.length > readWhole || opening.text.includes('[…]')) return [...rules]
  const isQuoted = ({ by, text, refs }: Item) =>
    by === 'user' &&
    refs.join() === opening.refs.join() &&
    text.split('[…]').every((part) => opening.text.includes(part.trim()))
  const left = rules.filter((rule) => !isQuoted(rule))
  return left.length > 0 || rules.length === 0 ? left : [{ text: asUserSaid, status: 'verified', refs: opening.refs }]
}

function choose(
  document: HandoffDocument,
  kept: readonly Candidate[],
  formOf: (candidate: Candidate) => Item,
  style: Style,
  id: string,
): HandoffDocument {
  const keep = new Map<SectionKey, Map<number, Candidate>>()
  for (const candidate of kept) {
    const places = keep.get(candidate.key) ?? new Map<number, Candidate>()
    keep.set(candidate.key, places)
    const other = places.get(candidate.at)
    if (other === undefined || other.form < candidate.form) places.set(candidate.at, candidate)
  }
  const places = new Map(
    document.sections.map(({ key }) => [key, [...(keep.get(key) ?? [])].sort(([a], [b]) => a - b)]),
  )
  const { range } = document.header
  const isWhole = document.sections.every(({ key, items }) => items.length === places.get(key)!.length)
  const named = isWhole || range === undefined ? document.header : { ...document.header, leftOut: id }
  const [goal0] = places.get('goal') ?? []
  const opening = goal0 === undefined ? undefined : formOf(goal0[1])
  const sections = document.sections.map((section): Section => {
    const told = places.get(section.key)!.map(([, candidate]) => formOf(candidate))
    const count = section.items.length - told.length + (section.omitted?.count ?? 0)
    const items = section.key === 'constraints' ? withoutQuoted(told, opening) : told
    if (count === 0) return { ...section, items }
    const command = section.omitted?.command ?? sectionCommand(named, document.profile, section.key)
    return { ...section, items, omitted: { count, command } }
  })
  const { goal, contextUsage, anchor, ...header } = named
  const limit = style.terse ? tersestGoal : longestGoal
  return {
    ...document,
    header: {
      ...header,
      ...(!style.least && {
        ...(contextUsage !== undefined && { contextUsage }),
        ...(anchor !== undefined && { anchor }),
      }),
      ...(goal !== undefined && { goal: shorten(goal, limit) }),
    },
    sections,
  }
}
