// How much of each item a document tells: from whole quotes and tails, by steps, to names alone. A shorter telling of all
// that matters is worth more than a full telling of some of it.

import type { CountTokens } from '../../tape/tokens.ts'
import type { FileNote, HandoffDocument, Item, SectionKey } from './document.ts'
import { clipEnd, shorten, shortenProse, shortenStart } from './shorten.ts'
import { assistantQuoted } from './claims.ts'

/** How much of each kind of text is kept, in characters. */
export interface Detail {
  readonly quote: number
  readonly text: number
  readonly data: number
  /** Lines of files. */
  readonly counts: boolean
  readonly refs: 'all' | 'words' | 'none'
  /** Of a failure only the command. */
  readonly terse?: true
}

export const details: readonly Detail[] = [
  { quote: 2_000, text: 800, data: 1_200, counts: true, refs: 'all' },
  { quote: 1_000, text: 400, data: 500, counts: true, refs: 'all' },
  { quote: 500, text: 300, data: 200, counts: true, refs: 'all' },
  { quote: 300, text: 240, data: 0, counts: false, refs: 'all' },
  { quote: 240, text: 200, data: 0, counts: false, refs: 'words' },
  { quote: 240, text: 160, data: 0, counts: false, refs: 'none' },
  { quote: 160, text: 80, data: 0, counts: false, refs: 'none' },
  { quote: 160, text: 80, data: 0, counts: false, refs: 'none', terse: true },
]
/** When nothing else helps: tokens of a text, whatever its script. */
const leastTokens = 12

export function atDetail(document: HandoffDocument, detail: Detail): HandoffDocument {
  return mapItems(document, detail.text, (item, key) => {
    if (item.file !== undefined) return fileAtDetail(item, detail)
    const { data, why, ruledOut, ...rest } = item
    const text = textAt(item, key, detail)
    return {
      ...rest,
      ...(detail.refs === 'none' && { refs: [] }),
      text: data !== undefined && detail.data === 0 && !detail.terse ? `${text} […]` : text,
      ...(data !== undefined && detail.data > 0 && { data: shortenStart(data, detail.data).trim() }),
      ...(why !== undefined && { why: shorten(why, detail.text) }),
      ...(ruledOut !== undefined && { ruledOut: shorten(ruledOut, detail.text) }),
    }
  })
}

function textAt({ by, text }: Item, key: SectionKey, detail: Detail): string {
  if (detail.terse && key === 'failures') return commandOnly(text)
  if (by === 'user') return shorten(text, detail.quote)
  // Cut to a few words, what the assistant said would say nothing.
  if (assistantQuoted.test(text)) return shortenProse(text, Math.max(detail.text, detail.quote))
  // What is to be done is told whole, however little there is room for.
  if (key === 'next') return shortenProse(text, Math.max(detail.text, detail.quote))
  return detail.text < 160 ? clipEnd(text, detail.text) : shortenProse(text, detail.text)
}

/** Without references, nobody looks for an entry that only git could stand in for. */
function withoutGit({ git: _git, ...file }: FileNote): FileNote {
  return file
}

/** `npm test` exit 1, without what it said. */
function commandOnly(text: string): string {
  return /^(`+)[^`][\s\S]*?\1(?!`)[^:`]*/.exec(text)?.[0].trim() ?? clipEnd(text, 80)
}

function fileAtDetail(item: Item, detail: Detail): Item {
  const { added, removed, ...bare } = item.file!
  const counts = { ...(added !== undefined && { added }), ...(removed !== undefined && { removed }) }
  return {
    ...item,
    file: detail.counts ? { ...bare, ...counts } : detail.refs === 'none' ? withoutGit(bare) : bare,
    ...(detail.refs !== 'all' && { refs: [] }),
  }
}

/** What no document goes without, in as few tokens as can be. */
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
      : fileAtDetail(item, details.at(-1)!),
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
