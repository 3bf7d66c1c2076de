// How much of an item a document tells: a brief form, a normal one, a full one, and where room is left the whole. A brief telling of all that matters is worth
// more than a full telling of some of it.

import type { CountTokens } from '../../../tape/index.ts'
import type { FileNote, HandoffDocument, Item, SectionKey } from '../document.ts'
import { clipEnd, shorten, shortenProse, shortenStart } from './shorten.ts'

/** An index of the lengths below: brief, normal, full, whole. */
export type Form = (typeof allForms)[number]
const allForms = [0, 1, 2, 3] as const

/** How a whole document is written. */
export interface Style {
  /** `words`: of what people said and what failed, not of files. */
  readonly refs: 'all' | 'words' | 'none'
  /** Lines of files. */
  readonly counts: boolean
  /** Every token counts; see `renderMarkdown`. */
  readonly terse?: true
  /** Only the look-up command of the header is left, and of the header what a reader cannot do without. */
  readonly least?: true
}

export const styles: readonly Style[] = [
  { refs: 'all', counts: true },
  { refs: 'all', counts: false },
  { refs: 'words', counts: false },
  { refs: 'none', counts: false, terse: true },
]
/** For budgets below `smallBudget`. */
export const leastStyle: Style = { refs: 'none', counts: false, terse: true, least: true }
export const smallBudget = 700

type Lengths = readonly [brief: number, normal: number, full: number, whole: number]

/** Characters of each kind of text, by form. */
const lengths = {
  /** The user's words bind to the last: a long task may hold its values in the middle. */
  quote: [240, 500, 2_000, 12_000],
  text: [160, 300, 800, 800],
  /** What the assistant said: cut to a few words it would say nothing. */
  said: [240, 400, 800, 800],
  /** A next step or an open question. */
  step: [480, 480, 800, 800],
  /** The words that ended the work, or that lead to an open question: often they are all that a successor needs. */
  closing: [200, 700, 2_400, 2_400],
  output: [0, 300, 1_200, 1_200],
  /** What a command printed that succeeded: a fact is a line. */
  printed: [80, 300, 1_200, 1_200],
  ruledOut: [0, 160, 800, 800],
} as const satisfies Record<string, Lengths>

/** When nothing else helps: tokens of a text, whatever its script. */
const leastTokens = 12

/** A longer form that adds fewer characters is not worth having. */
const leastMore = 16

/** The forms of an item that differ, the briefest first. */
export function formsOf(item: Item, key: SectionKey): Form[] {
  if (item.file !== undefined) return [0]
  const sizes = allForms.map((form) => sizeOf(item, key, form))
  return allForms.filter((form) => form === 0 || sizes[form]! > sizes[form - 1]! + leastMore)
}

/** Characters of an item in a form. */
export function sizeOf(item: Item, key: SectionKey, form: Form): number {
  const { text, data = '', why = '', ruledOut = '', short } = item
  const limit = lengths[kindOf(item, key)][form]
  return (
    Math.min((form === 0 && short !== undefined ? short : text).length, limit) +
    Math.min(data.length, roomForData(item, key, form)) +
    Math.min(why.length, lengths.text[form]) +
    Math.min(ruledOut.length, lengths.ruledOut[form])
  )
}

export function inForm(item: Item, key: SectionKey, form: Form): Item {
  if (item.file !== undefined) return item
  const { data, why, ruledOut, short, ...rest } = item
  const kind = kindOf(item, key)
  const limit = lengths[kind][form]
  const told = form === 0 && short !== undefined ? short : item.text
  const text = kind === 'quote' ? shorten(told, limit) : shortenProse(told, limit)
  const room = roomForData(item, key, form)
  return {
    ...rest,
    text: data !== undefined && room === 0 && short === undefined ? `${text} […]` : text,
    ...(data !== undefined && room > 0 && { data: shortData(data, room, dataKind(item, key)) }),
    ...(why !== undefined && { why: shorten(why, lengths.text[form]) }),
    ...(ruledOut !== undefined && form > 0 && { ruledOut: shorten(ruledOut, lengths.ruledOut[form]) }),
  }
}

/** A brief form of its own says what matters of what would stand below it. */
function roomForData(item: Item, key: SectionKey, form: Form): number {
  return form === 0 && item.short !== undefined ? 0 : lengths[dataKind(item, key)][form]
}

/** The end of an output says what went wrong; what somebody wrote says most at its beginning. */
function shortData(data: string, room: number, kind: keyof typeof lengths): string {
  return (kind === 'closing' ? shorten(data, room) : shortenStart(data, room)).trim()
}

function kindOf({ by, tag }: Item, key: SectionKey): keyof typeof lengths {
  if (by === 'user') return 'quote'
  if (tag === 'words' || tag === 'reply' || key === 'decisions') return 'said'
  return key === 'next' || key === 'blockers' ? 'step' : 'text'
}

function dataKind({ tag }: Item, key: SectionKey): keyof typeof lengths {
  if (tag === 'command') return 'printed'
  return tag === 'closing' || tag === 'words' || key === 'next' ? 'closing' : 'output'
}

export function inStyle(item: Item, style: Style): Item {
  const { tag: _tag, short: _short, data, ...rest } = item
  if (item.file === undefined)
    return {
      ...rest,
      ...(style.refs === 'none' && { refs: [] }),
      ...(data !== undefined && { data: style.terse ? data.replaceAll(/\n{2,}/g, '\n') : data }),
    }
  const { added, removed, git, ...bare } = item.file
  const counts = { ...(added !== undefined && { added }), ...(removed !== undefined && { removed }) }
  return {
    ...rest,
    file: {
      ...bare,
      ...(style.counts && counts),
      // Where items carry no references, the mark that only git found a file tells the reader nothing.
      ...(git && style.refs !== 'none' && { git }),
    } satisfies FileNote,
    ...(style.refs !== 'all' && { refs: [] }),
  }
}

/** The items that every document must have, in as few tokens as possible. */
export function atLeast(document: HandoffDocument, count: CountTokens): HandoffDocument {
  const clip = (text: string) => clipTokens(text, count)
  const { project, anchor, goal } = document.header
  return {
    ...document,
    header: {
      ...document.header,
      ...(project !== undefined && { project: clip(project) }),
      ...(anchor !== undefined && { anchor: clip(anchor) }),
      ...(goal !== undefined && { goal: clip(goal) }),
    },
    sections: document.sections.map((section) => ({
      ...section,
      items: section.items.map((item) =>
        item.file === undefined
          ? { text: clip(item.text), status: item.status, refs: item.refs.slice(0, 1), ...(item.by && { by: item.by }) }
          : inStyle(item, styles.at(-1)!),
      ),
    })),
  }
}

function clipTokens(text: string, count: CountTokens): string {
  let limit = 60
  let clipped = clipEnd(text, limit)
  while (limit > 2 && count(clipped) > leastTokens * 2) {
    limit = Math.floor(limit / 2)
    clipped = clipEnd(text, limit)
  }
  return clipped
}
