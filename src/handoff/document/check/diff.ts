// What changed between two documents, section by section.

import { type HandoffDocument, type Header, type Item, type Profile, type SectionKey, sectionOf } from '../document.ts'
import { similarity, plain } from './similarity.ts'
import { profiles } from '../sections.ts'

export interface DocumentDiff {
  readonly profile: Profile
  readonly header: readonly HeaderChange[]
  /** Only sections that differ. */
  readonly sections: readonly SectionDiff[]
}

interface HeaderChange {
  readonly field: keyof Header
  readonly from?: Header[keyof Header]
  readonly to?: Header[keyof Header]
}

interface SectionDiff {
  readonly section: SectionKey
  readonly title: string
  readonly added: readonly Item[]
  readonly removed: readonly Item[]
  readonly changed: readonly { readonly from: Item; readonly to: Item }[]
}

export function diffDocuments(before: HandoffDocument, after: HandoffDocument): DocumentDiff {
  const { profile } = after
  return {
    profile,
    header: headerChanges(before.header, after.header),
    sections: profiles[profile].flatMap(({ key, title }) => {
      const diff = diffItems(sectionOf(before, key)?.items ?? [], sectionOf(after, key)?.items ?? [])
      const same = diff.added.length + diff.removed.length + diff.changed.length === 0
      return same ? [] : [{ section: key, title, ...diff }]
    }),
  }
}

function headerChanges(before: Header, after: Header): HeaderChange[] {
  const fields = ['created', 'contextUsage', 'project', 'tape', 'range', 'anchor', 'goal'] as const
  return fields.flatMap((field) => {
    const [from, to] = [before[field], after[field]]
    if (JSON.stringify(from) === JSON.stringify(to)) return []
    return [{ field, from, to }]
  })
}

function diffItems(before: readonly Item[], after: readonly Item[]): Omit<SectionDiff, 'section' | 'title'> {
  const changed: { from: Item; to: Item }[] = []
  const old = new Map<string, Item[]>()
  for (const item of before) old.set(identity(item), [...(old.get(identity(item)) ?? []), item])
  const added: Item[] = []
  for (const item of after) {
    const from = old.get(identity(item))?.shift()
    if (from === undefined) added.push(item)
    else if (shown(from) !== shown(item)) changed.push({ from, to: item })
  }
  const removed = [...old.values()].flat()
  return pairUp(added, removed, changed)
}

/** Sections with more items than this are not searched for changed items, which would take quadratic time. */
const compared = 200

/** An item that went and one that came are the same when they are of the same entry, or say much the same. */
function pairUp(
  added: Item[],
  removed: Item[],
  changed: { from: Item; to: Item }[],
): Omit<SectionDiff, 'section' | 'title'> {
  if (added.length > compared || removed.length > compared) return { added, removed, changed }
  const gone = new Set(removed)
  const fresh = added.filter((item) => {
    if (item.file !== undefined) return true
    let best: Item | undefined
    let most = 0.5
    for (const from of gone) {
      if (from.file !== undefined || from.by !== item.by) continue
      const alike = similarity(from.text, item.text)
      if (alike >= most) [best, most] = [from, alike]
    }
    if (best === undefined) return true
    gone.delete(best)
    changed.push({ from: best, to: item })
    return false
  })
  return { added: fresh, removed: [...gone], changed }
}

function identity(item: Item): string {
  return item.file === undefined ? `${item.by ?? ''}:${plain(item.text)}` : `file:${item.text}`
}

/** Without references: an item that was seen again later is still the same. */
function shown({ text, file, why, ruledOut, data, checked, status }: Item): string {
  return JSON.stringify([text, file?.action, file?.added, file?.removed, why, ruledOut, data, checked, status])
}

/** For people: `+` came, `-` went, `~` changed. */
export function renderDiff({ header, sections }: DocumentDiff): string {
  if (header.length === 0 && sections.length === 0) return 'No difference'
  const lines = header.map(({ field, from, to }) => `~ ${field}: ${value(from)} → ${value(to)}`)
  for (const { title, added, removed, changed } of sections) {
    if (lines.length > 0) lines.push('')
    lines.push(title)
    lines.push(...removed.map((item) => `- ${brief(item)}`))
    lines.push(...added.map((item) => `+ ${brief(item)}`))
    for (const { from, to } of changed) {
      if (brief(from) === brief(to)) lines.push(`~ ${brief(to)} (${from.status} → ${to.status})`)
      else lines.push(`~ ${brief(from)}`, `  → ${brief(to)}`)
    }
  }
  return lines.join('\n')
}

function value(value: HeaderChange['from']): string {
  return value === undefined ? 'unknown' : typeof value === 'object' ? `${value.from}..${value.to}` : String(value)
}

function brief({ text, file, by }: Item): string {
  const line = text.replace(/\s+/g, ' ')
  const short = line.length > 200 ? `${line.slice(0, 199)}…` : line
  if (file === undefined) return by === 'user' ? `User: ${short}` : short
  const counts = [
    file.added === undefined ? '' : ` +${file.added}`,
    file.removed === undefined ? '' : ` -${file.removed}`,
  ]
  return `${file.action} ${short}${counts.join('')}`
}
