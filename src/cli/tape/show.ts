// `baton show`: what a reference points at. Secrets stay out, as in the documents that print these references.

import { isUtf8 } from 'node:buffer'
import { pipeline } from 'node:stream/promises'
import { type Closed, type Ledger, type Profile, redactValue } from '../../handoff/index.ts'
import { factKinds, referenceFacts, referenceSection, referenceShow } from '../../operations/index.ts'
import { entryLine } from './entry-line.ts'
import type { Globals, Output } from '../base/output.ts'
import { type Door, withWorkspace } from '../base/workspace.ts'
import type { Entry } from '../../store/index.ts'
import { type Item, itemsOf, outputText, pieceText } from '../../tape/index.ts'
import { sanitise } from '../chat/screen/sanitise.ts'

type FactKind = (typeof factKinds)[number]

interface ShowOptions extends Globals, Partial<Record<FactKind, boolean>> {
  offset?: number
  length?: number
  section?: string
  leftOut?: string
  profile?: Profile
}

export async function show(options: ShowOptions, ref: string): Promise<void> {
  await withWorkspace(options, async (door, out) => {
    if (ref.startsWith('blob:')) return showBlob(door, ref.slice('blob:'.length), options)
    const { section: title, profile = 'session', leftOut } = options
    if (title !== undefined || leftOut !== undefined) {
      const { text } = await door.run(referenceSection, { ref, title, profile, left_out: leftOut })
      for (const line of text.split('\n')) out.line(line)
      return
    }
    const kind = factKinds.find((each) => options[each] === true)
    if (kind !== undefined) showFacts((await door.run(referenceFacts, { ref, kind })).facts, kind, out)
    else await showEntries(door, ref, out)
  })
}

/** A range is one of the text without its secrets, so that ranges which follow each other show all of it. */
async function showBlob({ workspace }: Door, sha256: string, { offset = 0, length, io }: ShowOptions) {
  const source = withoutSecrets(await (await workspace('read')).store.getBlob(sha256))
  await pipeline(sliceOf(source, offset, length === undefined ? undefined : offset + length), io.stdout, { end: false })
}

/** So much is searched at a time; it ends with a line. */
const blockLength = 4_000_000

async function* withoutSecrets(source: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  let held: Buffer[] = []
  let size = 0
  for await (const chunk of source) {
    held.push(chunk)
    size += chunk.length
    const end = size < blockLength ? 0 : chunk.lastIndexOf(10) + 1
    if (end === 0) continue
    const block = Buffer.concat([...held.slice(0, -1), chunk.subarray(0, end)])
    held = [chunk.subarray(end)]
    size = chunk.length - end
    yield withoutSecretsIn(block)
  }
  yield withoutSecretsIn(Buffer.concat(held))
}

/** What holds no secret stays as it is, to the byte, as does what is no text, such as an image. */
async function withoutSecretsIn(bytes: Buffer): Promise<Buffer> {
  if (!isUtf8(bytes)) return bytes
  const { value, kinds } = await redactValue(bytes.toString('utf8'))
  return kinds.size === 0 ? bytes : Buffer.from(value)
}

async function* sliceOf(source: AsyncIterable<Buffer>, start: number, end = Number.POSITIVE_INFINITY) {
  let at = 0
  for await (const chunk of source) {
    if (at >= end) return
    yield chunk.subarray(Math.max(0, start - at), Math.max(0, end - at))
    at += chunk.length
  }
}

async function showEntries({ run }: Door, ref: string, out: Output): Promise<void> {
  for (let next: string | undefined = ref; next !== undefined;) {
    const page: Awaited<ReturnType<typeof referenceShow.run>> = await run(referenceShow, { ref: next, limit: 1000 })
    for (const found of page.entries) {
      const { value: entry } = await redactValue(found)
      if (out.json) out.data(entry)
      else if (page.uri === undefined) out.line(entryLine(entry, out))
      else {
        out.line(out.style('bold', `${page.tape}#${entry.id}`) + out.style('dim', `  ${entry.kind}  ${entry.date}`))
        out.line(entryText(entry))
        if (Object.keys(entry.meta).length > 0) out.line(out.style('dim', `meta ${JSON.stringify(entry.meta)}`))
      }
    }
    next = page.next
  }
}

/** The facts of a stretch of tape, all of one kind: what a handoff document had no room for. */
function showFacts(facts: Partial<Ledger>, kind: FactKind, out: Output): void {
  const found = facts[kind] ?? []
  if (out.json) for (const fact of found) out.data(fact)
  else if (found.length === 0) out.note(`No ${kind} here.`)
  else for (const line of lines[kind](facts as Ledger)) out.line(line)
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
  before: 'failed in the same way without the work',
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

/**
 * One entry in full, for people: what was said, called and answered as text with its own line breaks, and everything else as
 * fields. Nothing of it is left out; `--json` shows how it is stored.
 */
function entryText(entry: Entry): string {
  return sanitise(linesOf(entry).join('\n'))
}

function linesOf(entry: Entry): string[] {
  const payload = entry.payload as Record<string, unknown> | null
  switch (entry.kind) {
    case 'anchor':
      return [`anchor ${entry.payload.name}`, ...fields(without(payload, 'name'), 1)]
    case 'event':
      return [`event ${entry.payload.name}`, ...fields(payload?.data, 1)]
    case 'error':
      return [
        `error ${entry.payload.kind}: ${entry.payload.message}`,
        ...fields(without(payload, 'kind', 'message'), 1),
      ]
    default: {
      const items = itemsOf({ ...entry, meta: {} })
      return items.length > 0 ? items.flatMap(itemLines) : fields(payload, 0)
    }
  }
}

function itemLines(item: Item): string[] {
  if (item.type === 'calls') return item.calls.flatMap((call) => [`call ${call.name}`, ...fields(call.arguments, 1)])
  if (item.type === 'results') {
    return item.results.flatMap((result) => [
      `${result.name === '' ? 'result' : `result of ${result.name}`}${result.isError ? ', failed' : ''}:`,
      outputText(result.output),
    ])
  }
  return [`${item.type}:`, item.pieces.map(pieceText).join('\n')]
}

function without(payload: Record<string, unknown> | null, ...names: string[]): Record<string, unknown> {
  return Object.fromEntries(Object.entries(payload ?? {}).filter(([name]) => !names.includes(name)))
}

/** `name: value`, one a line; a value with fields or several lines follows below its name, indented. */
function fields(value: unknown, depth: number): string[] {
  const indent = '  '.repeat(depth)
  if (Array.isArray(value)) return value.flatMap((each: unknown) => field('-', each, depth))
  if (typeof value === 'object' && value !== null)
    return Object.entries(value).flatMap(([name, each]) => field(`${name}:`, each, depth))
  return value === undefined ? [] : scalar(value).map((line) => `${indent}${line}`)
}

function field(name: string, value: unknown, depth: number): string[] {
  const indent = '  '.repeat(depth)
  if (value === undefined) return []
  const isEmpty = typeof value === 'object' && value !== null && Object.keys(value).length === 0
  if (isEmpty) return [`${indent}${name} ${JSON.stringify(value)}`]
  if (typeof value === 'object' && value !== null) return [`${indent}${name}`, ...fields(value, depth + 1)]
  const [first = '', ...more] = scalar(value)
  return more.length === 0 ? [`${indent}${name} ${first}`] : [`${indent}${name}`, ...fields(value, depth + 1)]
}

function scalar(value: unknown): string[] {
  return typeof value === 'string' ? value.split('\n') : [JSON.stringify(value)]
}
