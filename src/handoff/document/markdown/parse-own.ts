// Reads the Markdown that `renderMarkdown` writes, also after a person has edited it: a line that is not of ours becomes
// an item as it stands.

import { readCodeSpan } from '../../safety/fence.ts'
import type { HandoffDocument, Header, Item, Omitted, Profile, Section, SectionKey, Status } from '../document.ts'
import { readFileLine } from './file-lines.ts'
import { takeRefs, takeStatus, unguardEnd, unguardStart } from './references.ts'
import { claimedMark, leftOutFlag, lookUp, sectionCommand, sectionHint } from './render.ts'
import { profiles, readTitle } from '../sections.ts'

/** The profile that the first line names, when the document is ours. */
export function ownTitle(lines: readonly string[]): Profile | undefined {
  const first = lines.find((line) => line !== '') ?? ''
  const match = /^# (Session|Cycle) handoff \(verified unless marked claimed\)$/.exec(first)
  return match === null ? undefined : match[1] === 'Cycle' ? 'cycle' : 'session'
}

interface Draft {
  key: SectionKey
  items: Item[]
  /** Put in front of every item, for a section that we do not know. */
  label: string
  refs: string[]
  status: Status | undefined
  omitted?: Omitted
}

export function parseOwn(lines: readonly string[], profile: Profile): HandoffDocument {
  const start = lines.findIndex((line) => line !== '')
  const header = readHeader(lines[start + 1] ?? '')
  const drafts: Draft[] = []
  let section: Draft | undefined
  for (let at = start + 2; at < lines.length;) {
    const line = lines[at]!
    const heading = /^(#{2,6}) (.*)$/.exec(line)
    if (heading !== null) {
      at++
      section = readHeading(heading[2]!, header.tape, profile)
      if (section !== undefined) drafts.push(section)
    } else if (line.trim() === '') at++
    else {
      if (section === undefined) drafts.push((section = newDraft('notes')))
      at = readBlock(lines, at, section, header.tape)
    }
  }
  return { profile, header, sections: drafts.map((draft) => finish(withCommand(draft, header, profile))) }
}

function readHeader(line: string): Header {
  const fields = new Map(
    (line.match(/(?:\\.|[^|\\])+/g) ?? []).flatMap((field): [string, string][] => {
      const colon = field.indexOf(': ')
      if (colon < 0) return []
      return [
        [
          field.slice(0, colon).trim(),
          field
            .slice(colon + 2)
            .trim()
            .replace(/\\(.)/g, '$1'),
        ],
      ]
    }),
  )
  const usage = /^(\d+(?:\.\d+)?)%$/.exec(fields.get('Context Usage') ?? '')
  const [command = '', leftOut] = fields.get('Look up')?.replace(sectionHint, '').split(leftOutFlag) ?? []
  const range = /#(\d+)\.\.(\d+)'?$/.exec(command)
  const tape = fields.get('Tape') ?? (range === null ? undefined : tapeIn(command))
  const created = fields.get('Created')
  return {
    ...(created !== undefined && created !== 'unknown' && { created }),
    ...(usage !== null && { contextUsage: Number(usage[1]) }),
    ...(range !== null && { range: { from: Number(range[1]), to: Number(range[2]) } }),
    ...pick(fields, 'project', 'Project'),
    ...(tape !== undefined && { tape }),
    ...pick(fields, 'anchor', 'Anchor'),
    ...pick(fields, 'goal', 'Goal'),
    ...(leftOut !== undefined && range !== null && { leftOut }),
  }
}

/** `baton show main#1..8`, quoted as a shell wants it. */
function tapeIn(command: string): string | undefined {
  const word = /^baton show (.+)#\d+\.\.\d+'?$/.exec(command)?.[1]
  const name = word?.startsWith("'") ? word.slice(1).replaceAll(String.raw`'\''`, "'") : word
  return name === '' ? undefined : name
}

function pick(fields: ReadonlyMap<string, string>, key: keyof Header, name: string): Header {
  const value = fields.get(name)
  return value === undefined ? {} : { [key]: value }
}

function newDraft(key: SectionKey, label = ''): Draft {
  return { key, items: [], label, refs: [], status: undefined }
}

/** Undefined for a heading that only holds others. */
function readHeading(text: string, tape: string | undefined, profile: Profile): Draft | undefined {
  const marked = takeStatus(text)
  const { rest, refs } = takeRefs(marked.rest, tape)
  const [, title = rest, more] = /^(.*) \(\+(\d+)\)$/.exec(rest) ?? []
  const known = profiles[profile].find((rule) => rule.title === title)?.key ?? readTitle(title)
  if (known === 'umbrella') return undefined
  const draft = known === undefined ? newDraft('notes', `${title}: `) : newDraft(known)
  const omitted = more === undefined ? {} : { omitted: { count: Number(more) } }
  return { ...draft, ...omitted, refs, status: marked.status }
}

/** Reads one item, the count of what was left out, or a line of files; gives the line after it. */
function readBlock(lines: readonly string[], at: number, section: Draft, tape: string | undefined): number {
  const line = lines[at]!
  if (line === claimedMark) {
    section.status = 'claimed'
    return at + 1
  }
  if (line.startsWith('>')) return readQuote(lines, at, section, tape)
  const bullet = /^(?:[-*+]|\d+[.)]) /.exec(line)?.[0] ?? ''
  const text = line.slice(bullet.length)
  const omitted = /^… and (\d+) more(?:: (.+))?$/.exec(text)
  if (omitted !== null) {
    section.omitted = { count: Number(omitted[1]), command: omitted[2] }
    return at + 1
  }
  const files = section.key === 'files' ? readFileLine(text, tape, section.status ?? 'verified') : undefined
  if (files !== undefined) {
    section.items.push(...files)
    return at + 1
  }
  return readItem(lines, at, text, section, tape)
}

function readQuote(lines: readonly string[], at: number, section: Draft, tape: string | undefined): number {
  const first = /^> User((?: \[(?:"(?:[^"\\]|\\.)*"|[^\]"])*\])?)( \(claimed\))?: (.*)$/.exec(lines[at]!)
  let end = at + 1
  const rest: string[] = []
  for (; end < lines.length && lines[end]!.startsWith('>'); end++) {
    const line = lines[end]!.replace(/^> ?/, '')
    if (/^User\b/.test(line)) break
    rest.push(unguardStart(line))
  }
  const text = [first === null ? lines[at]!.replace(/^> ?/, '') : first[3]!, ...rest].join('\n')
  const refs = first === null ? [] : takeRefs(first[1]!, tape).refs
  // A quote that does not name the user was put in by hand.
  const by = first === null ? {} : { by: 'user' as const }
  const status = section.status ?? (first === null || first[2] !== undefined ? 'claimed' : 'verified')
  section.items.push({ text, status, ...by, refs: refs.length > 0 ? refs : section.refs })
  return end
}

function readItem(
  lines: readonly string[],
  at: number,
  line: string,
  section: Draft,
  tape: string | undefined,
): number {
  const box = /^\[([ xX])\] /.exec(line)
  const marked = takeStatus(box === null ? line : line.slice(box[0].length))
  const { rest, refs } = takeRefs(marked.rest, tape)
  const text = [section.label + unguardStart(unguardEnd(rest))]
  const more: { -readonly [K in 'why' | 'ruledOut' | 'data']?: string } = {}
  let end = at + 1
  for (; end < lines.length && lines[end]!.startsWith('  '); end++) {
    const later = lines[end]!.slice(2)
    const fence = /^`{3,}$/.exec(later)?.[0]
    const close = fence === undefined ? -1 : lines.indexOf(`  ${fence}`, end + 1)
    const span = readCodeSpan(later)
    if (close > 0) {
      more.data = lines
        .slice(end + 1, close)
        .map((data) => data.replace(/^ {2}/, ''))
        .join('\n')
      end = close
    } else if (span !== undefined) more.data = span
    else if (later.startsWith('why: ')) more.why = later.slice('why: '.length)
    else if (later.startsWith('ruled out: ')) more.ruledOut = later.slice('ruled out: '.length)
    else text.push(unguardStart(later))
  }
  section.items.push({
    text: text.join('\n'),
    status: section.status ?? marked.status ?? 'verified',
    refs: refs.length > 0 ? refs : section.refs,
    ...more,
    ...(box !== null && { checked: box[1] !== ' ' }),
  })
  return end
}

/** A command that is not written out begins as the header's. */
function withCommand(draft: Draft, header: Header, profile: Profile): Draft {
  const base = lookUp(header)
  const given = draft.omitted?.command
  if (draft.omitted === undefined || base === undefined || (given !== undefined && !given.startsWith('--')))
    return draft
  const command = given === undefined ? sectionCommand(header, profile, draft.key) : `${base} ${given}`
  return { ...draft, omitted: { ...draft.omitted, command } }
}

function finish({ key, items, omitted }: Draft): Section {
  return { key, items, omitted }
}
