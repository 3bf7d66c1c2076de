// A document in its normal form: the one that Markdown gives back. Whatever builds a document from outside text passes
// it through here once.

import { clean } from '../../safety/clean.ts'
import type { FileNote, HandoffDocument, Header, Item, Profile, Section, SectionKey } from '../document.ts'
import { sectionCommand } from './render.ts'
import { profiles } from '../sections.ts'

export function normaliseDocument(document: HandoffDocument): HandoffDocument {
  const header = normalHeader(document.header)
  const sections = normalSections(document.profile, document.sections).map((section): Section => {
    const command = section.omitted?.command ?? sectionCommand(header, document.profile, section.key)
    if (section.omitted === undefined || command === undefined) return section
    return { ...section, omitted: { count: section.omitted.count, command } }
  })
  return { profile: document.profile, header, sections }
}

/** The sections in the order of the profile; sections of the same key become one. */
function normalSections(profile: Profile, sections: readonly Section[]): Section[] {
  return profiles[profile].flatMap(({ key }) => {
    const same = sections.filter((section) => section.key === key)
    return same.length === 0 ? [] : [joined(key, same)]
  })
}

function joined(key: SectionKey, same: readonly Section[]): Section {
  const omitted = same.flatMap((section) => section.omitted ?? []).filter(({ count }) => count > 0)
  const count = omitted.reduce((sum, one) => sum + one.count, 0)
  const command = omitted.map((one) => oneLine(one.command ?? '')).find((one) => one !== '' && !one.startsWith('--'))
  return {
    key,
    items: same.flatMap((section) => section.items.flatMap((item) => normalItem(item) ?? [])),
    ...(count > 0 && { omitted: { count, command } }),
  }
}

function normalHeader(header: Header): Header {
  const { contextUsage, range, leftOut = '' } = header
  const words = (['created', 'project', 'tape', 'anchor', 'goal'] as const).flatMap((key) => {
    const text = oneLine(header[key] ?? '')
    return text === '' ? [] : [[key, text] as const]
  })
  const usage = contextUsage !== undefined && Number.isFinite(contextUsage) && contextUsage >= 0
  return {
    ...Object.fromEntries(words),
    ...(usage && { contextUsage: Math.round(contextUsage * 10) / 10 }),
    ...(range !== undefined && { range: { from: range.from, to: range.to } }),
    ...(range !== undefined && /^\w+$/.test(leftOut) && { leftOut }),
  }
}

/** The item in its normal form; undefined when no text is left. */
function normalItem(item: Item): Item | undefined {
  const refs = item.refs.map(oneLine).filter((ref) => ref !== '')
  const { status } = item
  if (item.file !== undefined) {
    const path = clean(item.text).trim()
    return path === '' ? undefined : { text: path, status, refs, file: normalFile(item.file) }
  }
  if (item.by === 'user') {
    const text = clean(item.text).trim()
    return text === '' ? undefined : { text, status, by: 'user', refs, ...unwritten(item) }
  }
  const text = paragraph(item.text)
  if (text === '') return undefined
  const data = clean(item.data ?? '')
  const why = oneLine(item.why ?? '')
  const ruledOut = oneLine(item.ruledOut ?? '')
  return {
    text,
    status,
    refs,
    ...(data !== '' && { data }),
    ...(why !== '' && { why }),
    ...(ruledOut !== '' && { ruledOut }),
    ...(item.checked !== undefined && { checked: item.checked }),
    ...unwritten(item),
  }
}

/** What is for the budget alone. */
function unwritten({ tag, short }: Item): Pick<Item, 'tag' | 'short'> {
  const words = short === undefined ? '' : oneLine(short)
  return { ...(tag !== undefined && { tag }), ...(words !== '' && { short: words }) }
}

function normalFile(file: FileNote): FileNote {
  const from = file.action === 'renamed' ? clean(file.from ?? '').trim() : ''
  return {
    action: file.action,
    ...(from !== '' && { from }),
    ...(file.added !== undefined && { added: file.added }),
    ...(file.removed !== undefined && { removed: file.removed }),
    ...(file.git && { git: true }),
    ...(file.uncertain && { uncertain: true }),
  }
}

export function oneLine(text: string): string {
  return clean(text).replace(/\s+/g, ' ').trim()
}

/** A text without its blank lines. */
function paragraph(text: string): string {
  return clean(text)
    .split('\n')
    .filter((line) => line.trim() !== '')
    .join('\n')
    .trim()
}
