// The document as Markdown for people and models. `parseDocument` reads it back to the same value.

import type { HandoffDocument, Header, Item, Omitted, Section } from './document.ts'
import { fileLines, isFileItem } from './file-lines.ts'
import { type Hoisted, itemLines } from './item-line.ts'
import { shellWord } from '../../store/shell-word.ts'
import { refMark } from './marks.ts'
import { ruleOf } from './sections.ts'

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
  return `${titleOf(document)}\n${headerFields(document.header, terse).join(' | ')}`
}

function headerFields(header: Header, terse?: true): string[] {
  const { created, contextUsage, project, tape, range, anchor, goal } = header
  const fields: [name: string, value: string | undefined][] = [
    ['Created', created ?? 'unknown'],
    ['Context Usage', contextUsage === undefined ? (terse ? undefined : 'unknown') : `${contextUsage}%`],
    ['Project', project],
    // The command to look things up names it.
    ['Tape', terse && range !== undefined ? undefined : tape],
    ['Look up', range && showCommand(tape ?? '', range)],
    ['Anchor', anchor],
    ['Goal', goal],
  ]
  return fields.flatMap(([name, value]) =>
    value === undefined ? [] : [`${name}: ${value.replace(/[\\|]/g, String.raw`\$&`)}`],
  )
}

export function showCommand(tape: string, range: { from: number; to: number }, flag?: string): string {
  return `baton show ${shellWord(`${tape}#${range.from}..${range.to}`)}${flag === undefined ? '' : ` --${flag}`}`
}

/** The command that shows all that a document speaks for; the header has it, so that others say only where they differ. */
export function lookUp({ tape, range }: Header): string | undefined {
  return tape === undefined || range === undefined ? undefined : showCommand(tape, range)
}

function renderSection(document: HandoffDocument, section: Section, terse?: true): string {
  const { tape } = document.header
  const { title, under } = ruleOf(document.profile, section.key)
  const hoisted = hoist(section)
  const { omitted } = section
  const counted = terse && omitted !== undefined && omitted.command === lookUp(document.header)
  const lines = [
    (under === undefined ? `## ${title}` : `### ${title}`) +
      (counted ? ` (+${omitted.count})` : '') +
      (hoisted.refs ? refMark(section.items[0]!.refs, tape) : '') +
      (hoisted.status === 'claimed' ? ' (claimed)' : '') +
      (section.filled ? ' (from the ledger)' : ''),
  ]
  let previous: Item | undefined
  for (let at = 0; at < section.items.length;) {
    const item = section.items[at]!
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
  if (omitted !== undefined && !counted) lines.push(omittedLine(omitted, section.key, lookUp(document.header)))
  return lines.join('\n')
}

/** Files name their command in full: theirs is the list that is asked for most. */
function omittedLine({ count, command }: Omitted, key: Section['key'], base: string | undefined): string {
  const line = `- … and ${count} more`
  if (command === undefined || command === base) return line
  return `${line}: ${key !== 'files' && command.startsWith(`${base} --`) ? command.slice(base!.length + 1) : command}`
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
