// This folder writes a document as Markdown and reads it back: `parseDocument` gives the value that `renderMarkdown` was given.

import type { HandoffDocument, Header, Item, Omitted, Profile, Section, SectionKey, Status } from '../document.ts'
import { codeSpan, fenceFor } from '../../safety/fence.ts'
import { fileLines, isFileItem } from './file-lines.ts'
import { shellWord } from '../../../system/index.ts'
import { guardEnd, guardStart, refMark } from './references.ts'
import { ruleOf } from '../sections.ts'

/**
 * `terse`: where every token counts, headings count what was left out, the header says nothing twice, and blank lines, which
 * are for the eye, go. It reads back to the same value.
 */
export function renderMarkdown(document: HandoffDocument, terse?: true): string {
  const parts = [renderHead(document, terse)]
  let under: string | undefined
  for (const section of document.sections) {
    const rule = ruleOf(document.profile, section.key)
    if (rule.under !== undefined && rule.under !== under) parts.push(`## ${rule.under}`)
    under = rule.under
    parts.push(renderSection(document, section, terse))
  }
  return terse ? `${parts.join('\n').replace(/\n{2,}/g, '\n')}\n` : `${parts.join('\n\n')}\n`
}

function titleOf(document: HandoffDocument): string {
  return `# ${document.profile === 'cycle' ? 'Cycle' : 'Session'} handoff (verified unless marked claimed)`
}

function renderHead(document: HandoffDocument, terse?: true): string {
  return `${titleOf(document)}\n${headerFields(document.header, terse !== undefined).join(' | ')}`
}

function headerFields(header: Header, terse: boolean): string[] {
  const { created, contextUsage, project, tape, range, anchor, goal } = header
  const fields: [name: string, value: string | undefined][] = [
    ['Created', (terse ? created?.replace(/\.\d+Z$/, 'Z') : created) ?? 'unknown'],
    ['Context Usage', contextUsage === undefined ? (terse ? undefined : 'unknown') : `${contextUsage}%`],
    ['Project', project],
    // The look-up command of the header names the tape already.
    ['Tape', terse && range !== undefined ? undefined : tape],
    // The headings only count what was left out: the flag shows it.
    ['Look up', range && `${showCommand(header, range)}${terse ? sectionHint : ''}`],
    ['Anchor', anchor],
    ['Goal', goal],
  ]
  return fields.flatMap(([name, value]) =>
    value === undefined ? [] : [`${name}: ${value.replace(/[\\|]/g, String.raw`\$&`)}`],
  )
}

/** How a terse header says that the command shows a single section, too. */
export const sectionHint = ' [--section TITLE]'

/** What follows the entries in the command of the header, where something was left out. */
export const leftOutFlag = ' --left-out '

function showCommand({ tape = '', leftOut }: Header, { from, to }: { from: number; to: number }): string {
  return `baton show ${shellWord(`${tape}#${from}..${to}`)}${leftOut === undefined ? '' : leftOutFlag + leftOut}`
}

/**
 * The command that shows what a document left out, or where that is nothing, all that it speaks for; the header has it, so that
 * others say only where they differ.
 */
export function lookUp(header: Header): string | undefined {
  const { tape, range } = header
  return tape === undefined || range === undefined ? undefined : showCommand(header, range)
}

/** The command that shows what was left out of a section; for a document that does not name itself, the whole section. */
export function sectionCommand(header: Header, profile: Profile, key: SectionKey): string | undefined {
  const base = lookUp(header)
  if (base === undefined) return undefined
  const isOther = profile === 'cycle' && header.leftOut === undefined
  return `${base} --section ${key}${isOther ? ' --profile cycle' : ''}`
}

export function renderSection(document: HandoffDocument, section: Section, terse?: true): string {
  const { tape } = document.header
  const { title, under } = ruleOf(document.profile, section.key)
  let hoisted = hoist(section)
  const { omitted } = section
  const counted =
    omitted !== undefined &&
    terse !== undefined &&
    omitted.command === sectionCommand(document.header, document.profile, section.key)
  const lines = [
    (under === undefined ? `## ${title}` : `### ${title}`) +
      (counted ? ` (+${omitted.count})` : '') +
      (hoisted.refs ? refMark(section.items[0]!.refs, tape) : '') +
      (hoisted.status === 'claimed' ? ' (claimed)' : ''),
  ]
  let previous: Item | undefined
  const claimedFrom = hoisted.status === undefined ? claimedTail(section) : section.items.length
  for (let at = 0; at < section.items.length;) {
    const item = section.items[at]!
    if (at === claimedFrom) lines.push(claimedMark)
    if (at >= claimedFrom) hoisted = { ...hoisted, status: 'claimed' }
    if (section.key === 'files' && isFileItem(item)) {
      let end = at + 1
      while (end < section.items.length && isFileItem(section.items[end]!)) end++
      lines.push(fileLines(section.items.slice(at, end).filter(isFileItem), tape, hoisted.status !== undefined))
      at = end
    } else {
      if (item.by === 'user' && previous?.by === 'user') lines.push('')
      lines.push(itemLines(item, { key: section.key, number: ++at, tape, hoisted }))
    }
    previous = item
  }
  if (omitted !== undefined && !counted) lines.push(omittedLine(omitted, lookUp(document.header)))
  return lines.join('\n')
}

function omittedLine({ count, command }: Omitted, base: string | undefined): string {
  const line = `- … and ${count} more`
  if (command === undefined) return line
  return `${line}: ${command.startsWith(`${base} --`) ? command.slice(base!.length + 1) : command}`
}

/** Said once, where all items behind it are claims. It is no item: those begin with a bullet or a quote mark. */
export const claimedMark = 'Claimed from here on:'
/** So many claims are marked together. */
const fewestTogether = 3

/** The index from which on all items are claims; beyond the last where there are only a few. */
function claimedTail({ key, items }: Section): number {
  const from = items.findLastIndex((item) => item.status !== 'claimed') + 1
  return key === 'files' || items.length - from < fewestTogether ? items.length : from
}

function hoist({ key, items }: Section): Hoisted {
  const [first] = items
  const status = first !== undefined && items.every((item) => item.status === 'claimed') ? 'claimed' : undefined
  const refs =
    key !== 'files' && items.length > 1 && first!.refs.length > 0 && items.every((item) => sameRefs(item, first!))
  return { status, refs }
}

function sameRefs(a: Item, b: Item): boolean {
  return a.refs.length === b.refs.length && a.refs.every((ref, at) => ref === b.refs[at])
}

interface Hoisted {
  /** Written once in the heading, because all items share it. */
  readonly status: Status | undefined
  readonly refs: boolean
}

/** Starts a heading, a quote, a fence, a checkbox, or the count of what was left out. */
const specialFirst = /^(?:#{1,6}\s|>|```|~~~|\[[ xX]\] |… and \d)/
const specialFile = /^(?:created|edited|renamed|deleted|read) /
const specialLater = /^\s*(?:#{1,6}\s|>|`|~~~|why: |ruled out: )/
const specialQuoted = /^User\b/

/**
 * An item as lines of Markdown. Whatever a text holds, its lines stay within the item: they are indented or quoted, and
 * guarded where they start or end like something of ours. Tool text is code that it cannot close.
 */
function itemLines(
  item: Item,
  at: { key: SectionKey; number: number; tape: string | undefined; hoisted: Hoisted },
): string {
  const refs = at.hoisted.refs ? '' : refMark(item.refs, at.tape)
  const status = at.hoisted.status === undefined && item.status === 'claimed' ? ' (claimed)' : ''
  const [first = '', ...later] = item.text.split('\n')
  if (item.by === 'user') {
    const lines = later.map((line) => (line === '' ? '>' : `> ${guardStart(line, specialQuoted)}`))
    return [`> User${refs}${status}: ${first}`, ...lines].join('\n')
  }
  const bullet = at.key === 'next' ? `${at.number}. ` : '- '
  const box = item.checked === undefined ? '' : item.checked ? '[x] ' : '[ ] '
  let text = guardStart(first, specialFirst)
  if (text === first && at.key === 'files') text = guardStart(first, specialFile)
  return [
    bullet + box + guardEnd(text) + refs + status,
    ...later.map((line) => `  ${guardStart(line, specialLater)}`),
    ...(item.why === undefined ? [] : [`  why: ${item.why}`]),
    ...(item.ruledOut === undefined ? [] : [`  ruled out: ${item.ruledOut}`]),
    ...(item.data === undefined ? [] : dataLines(item.data)),
  ].join('\n')
}

function dataLines(data: string): string[] {
  if (!data.includes('\n')) return [`  ${codeSpan(data)}`]
  const fence = `  ${fenceFor(data, 3)}`
  return [fence, ...data.split('\n').map((line) => (line === '' ? '' : `  ${line}`)), fence]
}
