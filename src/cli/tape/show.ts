// `baton show`: what a reference points at. Secrets stay out, as in the documents that print these references.

import { pipeline } from 'node:stream/promises'
import { InvalidError } from '../../errors.ts'
import { type Closed, ledger, type Ledger, type Profile, redactValue, sectionText } from '../../handoff/index.ts'
import type { Entry } from '../../store/index.ts'
import { entriesAt, resolve } from '../../tape/index.ts'
import { entryLine } from './entry-line.ts'
import type { Globals, Output } from '../base/output.ts'
import { withStore } from '../base/workspace.ts'

interface ShowOptions extends Globals, Partial<Record<FactKind, boolean>> {
  offset?: number
  length?: number
  section?: string
  profile?: Profile
}

export async function show(options: ShowOptions, ref: string): Promise<void> {
  await withStore(options, async (store, out) => {
    if (ref.startsWith('blob:')) {
      const start = options.offset ?? 0
      const end = options.length === undefined ? {} : { end: start + options.length }
      await pipeline(await store.getBlob(ref.slice('blob:'.length), { start, ...end }), options.io.stdout, {
        end: false,
      })
      return
    }
    const resolved = await resolve(store, ref)
    const kind = factKinds.find((each) => options[each] === true)
    if (options.section !== undefined)
      return showSection(entriesAt(store, resolved), resolved.tape, options.section, options.profile, out)
    if (kind !== undefined) return showFacts(entriesAt(store, resolved), kind, out)
    for await (const found of entriesAt(store, resolved)) {
      const { value: entry } = await redactValue(found)
      if (out.json) out.data(entry)
      else if (resolved.place.type === 'range') out.line(entryLine(entry, out))
      else {
        out.line(out.style('bold', `${resolved.tape}#${entry.id}`) + out.style('dim', `  ${entry.kind}  ${entry.date}`))
        out.line(JSON.stringify(entry.payload, null, 2))
        if (Object.keys(entry.meta).length > 0) out.line(out.style('dim', `meta ${JSON.stringify(entry.meta)}`))
      }
    }
  })
}

const factKinds = ['files', 'commands', 'failures', 'todos', 'instructions', 'decisions'] as const

type FactKind = (typeof factKinds)[number]

/** The facts of a stretch of tape, all of one kind: what a handoff document had no room for. Secrets stay out, as in the document. */
async function showFacts(entries: AsyncIterable<Entry>, kind: FactKind, out: Output): Promise<void> {
  const { value: found } = await redactValue(await ledger(entries))
  if (out.json) for (const fact of found[kind]) out.data(fact)
  else if (found[kind].length === 0) out.note(`No ${kind} here.`)
  else for (const line of lines[kind](found)) out.line(line)
}

/** A section of the document that the range makes, with everything that the document had no room for. */
async function showSection(
  entries: AsyncIterable<Entry>,
  tape: string,
  title: string,
  profile: Profile = 'session',
  out: Output,
): Promise<void> {
  const { value } = await redactValue(await ledger(entries))
  const text = sectionText(value, title, { profile, tape })
  if (text === undefined) {
    throw new InvalidError(`A ${profile} document has no section "${title}"`, {
      hint: 'Name it as its heading does, for example "Key Decisions".',
    })
  }
  for (const line of text.split('\n')) out.line(line)
}

const lines: Record<FactKind, (found: Ledger) => string[]> = {
  files: ({ files }) =>
    files.map((file) => {
      const counts = file.added === undefined ? '' : ` +${file.added} -${file.removed ?? 0}`
      const from = file.from === undefined ? '' : ` from ${file.from}`
      const state = file.state === 'undone' || file.state === 'scratch' ? ` (${file.state})` : ''
      return `${file.action} ${file.path}${from}${counts}${state}${at(file.lastId)}`
    }),
  commands: ({ commands }) =>
    commands.map((each) => {
      const verdict =
        each.ok === undefined ? 'unknown' : each.ok ? 'ok' : `failed${each.exit === undefined ? '' : ` (${each.exit})`}`
      return `${verdict}, ${each.times}x: ${each.command}${at(each.lastId)}`
    }),
  failures: ({ failures }) =>
    failures.map((each) => {
      const state = each.closed === undefined ? 'open' : closedText(each.closed)
      return `${state}: ${each.what}: ${each.message}${at(each.lastId)}`
    }),
  todos: ({ todos }) => todos.map((todo) => `${todo.status}: ${todo.text}${at(todo.id)}`),
  instructions: ({ instructions }) =>
    instructions.map((each) => {
      const over = each.supersededBy === undefined ? '' : ` (superseded by #${each.supersededBy})`
      return `#${each.id}${each.standing.length === 0 ? '' : ' stands'}${over}: ${each.text}`
    }),
  decisions: ({ decisions }) =>
    decisions.map((each) => `${each.text}${each.why === undefined ? '' : `; why: ${each.why}`}${at(each.id)}`),
}

const closedWords: Record<Closed['reason'], string> = {
  passed: 'passed',
  replaced: 'replaced by another command',
  published: 'committed or sent out since',
  changed: 'changed since',
  left: 'a step on the way',
  said: 'somebody said so',
}

function closedText({ reason, id }: Closed): string {
  return `closed (${closedWords[reason]}${at(id)})`
}

function at(id: number | undefined): string {
  return id === undefined ? '' : ` #${id}`
}
