// How much of each item a document tells: from whole quotes and tails, by steps, to names alone. A shorter telling of all
// that matters is worth more than a full telling of some of it.

import type { CountTokens } from '../../../tape/index.ts'
import type { FileNote, HandoffDocument, Item, SectionKey } from '../document.ts'
import { clipEnd, shorten, shortenProse, shortenStart } from './shorten.ts'

/** How much of each kind of text is kept, in characters. */
export interface DetailLevel {
  readonly quote: number
  readonly text: number
  readonly data: number
  /** Lines of files. */
  readonly counts: boolean
  readonly refs: 'all' | 'words' | 'none'
  /** Of a failure only the command. */
  readonly terse?: true
}

export const detailLevels: readonly DetailLevel[] = [
  { quote: 2_000, text: 800, data: 1_200, counts: true, refs: 'all' },
  { quote: 1_000, text: 400, data: 500, counts: true, refs: 'all' },
  { quote: 500, text: 300, data: 200, counts: true, refs: 'all' },
  { quote: 300, text: 240, data: 0, counts: false, refs: 'all' },
  { quote: 240, text: 200, data: 0, counts: false, refs: 'words' },
  { quote: 240, text: 160, data: 0, counts: false, refs: 'none' },
  { quote: 160, text: 80, data: 0, counts: false, refs: 'none' },
  { quote: 160, text: 80, data: 0, counts: false, refs: 'none', terse: true },
]
/** Characters that a next step or an open question may always take. */
const longStep = 480
/** When nothing else helps: tokens of a text, whatever its script. */
const leastTokens = 12

export function atDetail(document: HandoffDocument, detail: DetailLevel): HandoffDocument {
  return mapItems(document, detail.text, (item, key) => {
    if (item.file !== undefined) return fileAtDetail(item, detail)
    const { data, why, ruledOut, ...rest } = item
    const text = textAt(item, key, detail)
    // The closing words, and those around an open question, often are all that a successor needs.
    const room =
      item.tag === 'closing' || key === 'next' ? Math.max(detail.data, detail.refs === 'none' ? 0 : 500) : detail.data
    return {
      ...rest,
      ...(detail.refs === 'none' && { refs: [] }),
      text: data !== undefined && room === 0 && !detail.terse ? `${text} […]` : text,
      ...(data !== undefined && room > 0 && { data: shortenStart(data, room).trim() }),
      ...(why !== undefined && { why: shorten(why, detail.text) }),
      ...(ruledOut !== undefined && { ruledOut: shorten(ruledOut, detail.text) }),
    }
  })
}

function textAt(item: Item, key: SectionKey, detail: DetailLevel): string {
  const { by, text } = item
  if (detail.terse && key === 'failures') return commandOnly(text)
  if (by === 'user') return shorten(text, detail.quote)
  // Cut to a few words, what the assistant said would say nothing.
  if (item.tag === 'words' || item.tag === 'reply') return shortenProse(text, Math.max(detail.text, detail.quote))
  // The next steps, open questions and reasons of decisions are never shortened, however small the budget is.
  if (key === 'next' || key === 'blockers') return shortenProse(text, Math.max(detail.text, detail.quote, longStep))
  if (key === 'decisions') return shortenProse(text, Math.max(detail.text, detail.quote))
  return detail.text < 160 ? clipEnd(text, detail.text) : shortenProse(text, detail.text)
}

/** Where items carry no references, the mark that only git found a file tells the reader nothing. */
function withoutGit({ git: _git, ...file }: FileNote): FileNote {
  return file
}

/** A failure as its command and exit status, without its message: `npm test` exit 1. */
function commandOnly(text: string): string {
  return /^(`+)[^`][\s\S]*?\1(?!`)[^:`]*/.exec(text)?.[0].trim() ?? clipEnd(text, 80)
}

function fileAtDetail(item: Item, detail: DetailLevel): Item {
  const { added, removed, ...bare } = item.file!
  const counts = { ...(added !== undefined && { added }), ...(removed !== undefined && { removed }) }
  return {
    ...item,
    file: detail.counts ? { ...bare, ...counts } : detail.refs === 'none' ? withoutGit(bare) : bare,
    ...(detail.refs !== 'all' && { refs: [] }),
  }
}

/** The items that every document must have, in as few tokens as possible. */
export function atLeast(document: HandoffDocument, count: CountTokens): HandoffDocument {
  const clip = (text: string) => clipTokens(text, count)
  const { project, anchor, goal } = document.header
  const header = {
    ...document.header,
    ...(project !== undefined && { project: clip(project) }),
    ...(anchor !== undefined && { anchor: clip(anchor) }),
    ...(goal !== undefined && { goal: clip(goal) }),
  }
  const small = mapItems(document, 160, (item) =>
    item.file === undefined
      ? { text: clip(item.text), status: item.status, refs: item.refs.slice(0, 1), ...(item.by && { by: item.by }) }
      : fileAtDetail(item, detailLevels.at(-1)!),
  )
  return { ...small, header }
}

function clipTokens(text: string, count: CountTokens): string {
  let limit = 60
  let clipped = shorten(text, limit)
  while (limit > 2 && count(clipped) > leastTokens * 2) {
    limit = Math.floor(limit / 2)
    clipped = shorten(text, limit)
  }
  return clipped
}

function mapItems(
  document: HandoffDocument,
  headerLimit: number,
  change: (item: Item, key: SectionKey) => Item,
): HandoffDocument {
  const { goal } = document.header
  return {
    ...document,
    header: { ...document.header, ...(goal !== undefined && { goal: shorten(goal, headerLimit) }) },
    sections: document.sections.map((section) => ({
      ...section,
      items: section.items.map((item) => change(item, section.key)),
    })),
  }
}
