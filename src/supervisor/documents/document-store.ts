// Makes the document that a fresh context starts from and stores it: on the session's tape first, then as the file that the
// agent will read. What the agent wrote counts as its claim; facts are added from the transcript, and what earlier documents
// said is carried over.

import fs from 'node:fs'
import path from 'node:path'
import {
  compose,
  documentText,
  fit,
  type HandoffDocument,
  type Item,
  type Ledger,
  ledger,
  parseClaims,
  parseDocument,
  reconcileWithGit,
  redactValue,
  renderMarkdown,
  savedDocuments,
  saveDocument,
  type SectionKey,
  validate,
} from '../../handoff/index.ts'
import type { Entry, Store } from '../../store/index.ts'
import { itemsOf, outputText, tokenCounter } from '../../tape/index.ts'
import type { Author, Stored, Trigger } from '../cycle/cycle-state.ts'
import { sessionTape } from '../run.ts'
import { writeDocumentFile } from './document-file.ts'

export interface DocumentJob {
  readonly store: Store
  /** Of the session. */
  readonly name: string
  /** The entry of its tape with which the work began: earlier documents are of another. */
  readonly since: number
  readonly cwd: string
  /** The tape of its transcript; undefined: it has written none. */
  readonly tape: string | undefined
  readonly by: Author
  /** What the agent wrote; undefined: nothing. */
  readonly text: string | undefined
  /** Where the document goes. */
  readonly path: string
  readonly trigger: Trigger
  readonly turns: number
  /** In tokens. */
  readonly budget: number
  readonly now: Date
  readonly signal: AbortSignal
}

export interface Kept {
  readonly document: Stored
  /** What the agent's own version was wrong about; the ledger has overruled it. */
  readonly problems: readonly string[]
}

/** Resolves when the document is durable, on the tape and as a file. */
export async function keepDocument(job: DocumentJob): Promise<Kept> {
  const { store, name, tape, by } = job
  const own = sessionTape(name)
  const before = await previousDocument(store, own, job.since)
  const facts = await factsOf(job, before)
  const claims = job.text === undefined ? undefined : parseClaims(job.text, 'cycle')
  const progress = hasProgress(facts)
  const inherited = before === undefined ? [] : carried(parseDocument(before, 'cycle'), by, progress)
  const printed = by === 'ledger' && tape !== undefined ? await lastOutputs(sinceAnchor(store, tape), tape) : []
  const narrative = joined(claims, [...inherited, { key: 'context', items: printed }])
  const header = {
    profile: 'cycle' as const,
    created: `${job.now.toISOString().slice(0, 19)}Z`,
    project: job.cwd,
    ...(tape === undefined ? {} : { tape }),
    ...(job.trigger.percent === undefined ? {} : { contextUsage: Math.round(job.trigger.percent) }),
  }
  const { value } = await redactValue({ facts, narrative })
  const count = await tokenCounter()
  const composed = withoutOld(compose(value.facts, { ...header, narrative: value.narrative }))
  const { markdown, tokens } = fit(composed, budgetFor(job, count(renderMarkdown(value.narrative))), count)
  const note = {
    profile: 'cycle' as const,
    writer: by === 'ledger' ? 'ledger' : 'agent',
    ...(facts.range === undefined ? {} : { range: facts.range }),
  }
  const saved = await saveDocument(store, own, markdown, note)
  writeDocumentFile(job.path, markdown)
  const document: Stored = {
    id: saved.id,
    path: job.path,
    sha256: saved.sha256,
    by: by === 'ledger' ? 'ledger' : 'agent',
    turns: job.turns,
    tokens,
    progress,
  }
  const problems = claims === undefined ? [] : validate(claims, facts).map(({ message }) => message)
  return { document, problems }
}

/** Loads what writing needs, while the agent still thinks. */
export async function warmUp(): Promise<void> {
  await Promise.all([tokenCounter(), redactValue({ text: 'warm' })])
}

async function previousDocument(store: Store, tape: string, since: number): Promise<string | undefined> {
  for await (const saved of savedDocuments(store, tape))
    return saved.id > since ? documentText(store, saved) : undefined
  return undefined
}

/** The ledger of the context that is to be replaced. */
async function factsOf(
  { store, tape, cwd, signal, path: file }: DocumentJob,
  before: string | undefined,
): Promise<Ledger> {
  const entries = tape === undefined ? nothing() : sinceAnchor(store, tape)
  const found = await ledger(entries, { cwd })
  const inherited = before === undefined ? found.inherited : { id: 0, name: 'handoff', state: before }
  const facts = await reconcileWithGit({ ...found, inherited }, { cwd, signal })
  // Handoff documents are not part of the work that they describe.
  const folder = path.dirname(file)
  return { ...facts, files: facts.files.filter((each) => path.dirname(path.resolve(cwd, each.path)) !== folder) }
}

async function* nothing(): AsyncGenerator<Entry> {}

async function* sinceAnchor(store: Store, tape: string): AsyncGenerator<Entry> {
  const [anchor] = await store.anchors(tape, { limit: 1 })
  const first = anchor === undefined ? 0 : (anchor.from ?? anchor.id)
  if (anchor !== undefined && first < anchor.id)
    yield* store.read(tape, { after: anchor.id - 1, before: anchor.id + 1 })
  yield* store.read(tape, { after: first - 1 })
}

function hasProgress({ counts, commands, todos }: Ledger): boolean {
  return counts.filesChanged > 0 || commands.length > 0 || todos.some(({ status }) => status === 'completed')
}

type Carried = readonly { readonly key: SectionKey; readonly items: readonly Item[] }[]

/** What holds beyond the context that it was said in; all that the ledger cannot see, where no agent wrote it anew. */
function carried(before: HandoffDocument, by: Author, progress: boolean): Carried {
  const lasting: readonly SectionKey[] = ['goal', 'constraints', 'decisions']
  const silent: readonly SectionKey[] = ['context', 'notes', 'blockers', 'pending']
  const present: readonly SectionKey[] = ['doing', 'next']
  return before.sections.map(({ key, items }) => ({
    key,
    items: items.filter((item) => {
      if (item.by === 'user') return true
      if (isOld(item) || item.data !== undefined) return false
      if (lasting.includes(key)) return true
      // Facts are taken anew; what was said beside them is only in the document.
      if (by !== 'ledger' || item.status === 'verified') return false
      return silent.includes(key) || (!progress && present.includes(key))
    }),
  }))
}

function joined(claims: HandoffDocument | undefined, more: Carried): HandoffDocument {
  const own = claims ?? { profile: 'cycle' as const, header: {}, sections: [] }
  const keys = new Set<SectionKey>([...own.sections, ...more].map(({ key }) => key))
  const itemsOf = (sections: Carried, key: SectionKey) =>
    sections.filter((section) => section.key === key).flatMap(({ items }) => items)
  const sections = [...keys].map((key) => {
    const before = itemsOf(more, key)
    const users = before.filter(({ by }) => by === 'user')
    // The user's words stay the user's, whoever repeats them.
    const rest = before.filter(({ by }) => by !== 'user')
    return { key, items: withoutTwins([...users, ...itemsOf(own.sections, key), ...rest]) }
  })
  return { ...own, sections }
}

/** What is said twice would be said three times in the next document. */
function withoutTwins(items: readonly Item[]): Item[] {
  const seen = new Set<string>()
  return items.filter(({ text, data }) => {
    const key = `${text.replaceAll(/[\s.]+$/g, '')}\n${data ?? ''}`
    return !seen.has(key) && seen.add(key)
  })
}

/** The document before is carried on item by item; there is no need to quote it whole. */
function withoutOld(document: HandoffDocument): HandoffDocument {
  const sections = document.sections.map((section) => {
    const items = withoutTwins(section.items.filter((item) => !isOld(item)))
    return { ...section, items: items.length === 0 ? section.items : items }
  })
  return { ...document, sections }
}

function isOld({ text, status }: Item): boolean {
  return (
    status === 'verified' &&
    /^(?:Handed over before: handoff|Go on from handoff|Ask the user what to do: the tape holds no request)$/.test(text)
  )
}

/** What an agent has taken the trouble to write, and what binds it, is not cut for want of room, within reason. */
function budgetFor({ budget }: DocumentJob, said: number): number {
  return Math.max(budget, Math.min(16_000, said + 3_000))
}

/** The text of a document that was stored, put back where the agent will read it, if it is not there. */
export async function restoreFile(store: Store, name: string, document: Stored): Promise<void> {
  if (fs.existsSync(document.path)) return
  for await (const saved of savedDocuments(store, sessionTape(name))) {
    if (saved.id !== document.id) continue
    writeDocumentFile(path.resolve(document.path), await documentText(store, saved))
    return
  }
}

/** A longer output is a result to look at, not a fact to remember. */
const longest = 300
const kept = 12

async function lastOutputs(entries: AsyncIterable<Entry>, tape: string): Promise<Item[]> {
  const commands = new Map<string, string>()
  const printed: Item[] = []
  for await (const entry of entries) {
    for (const item of itemsOf(entry)) {
      if (item.type === 'calls') for (const { id, arguments: given } of item.calls) note(commands, id, given)
      if (item.type !== 'results') continue
      for (const { callId, output } of item.results) {
        const command = commands.get(callId)
        const text = outputText(output).trim()
        if (command === undefined || text === '' || text.length > longest) continue
        printed.push({ text: `\`${command}\` printed`, status: 'verified', refs: [`${tape}#${entry.id}`], data: text })
      }
    }
  }
  return printed.slice(-kept)
}

/** Agents name it `command` or `cmd`, and give it whole or in words. */
function note(commands: Map<string, string>, id: string, given: unknown): void {
  const { command, cmd } = (given ?? {}) as { command?: unknown; cmd?: unknown }
  const line = Array.isArray(command) ? command.join(' ') : (command ?? cmd)
  if (typeof line === 'string' && line !== '') commands.set(id, line.split('\n')[0]!.slice(0, 120))
}
