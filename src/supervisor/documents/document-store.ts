// Makes the document that a fresh context starts from and stores it: on the session's tape first, then as the file that the
// agent will read. It is written as `baton handoff` writes one; what the agent wrote goes in as its claims.

import fs from 'node:fs'
import path from 'node:path'
import {
  documentText,
  type HandoffDocument,
  isPrinted,
  type Ledger,
  parseClaims,
  redactValue,
  renderMarkdown,
  savedDocuments,
  saveDocument,
  savedItems,
  savedWhole,
  type SectionKey,
  writeDocument,
} from '../../handoff/index.ts'
import type { Store } from '../../store/index.ts'
import { Tape, tokenCounter } from '../../tape/index.ts'
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
  const { store, name, tape, cwd, text } = job
  const own = sessionTape(name)
  const claims = text === undefined ? undefined : parseClaims(text, 'cycle')
  const before = await previousDocument(store, own, job.since, claims !== undefined)
  const written = await writeDocument(tape === undefined ? undefined : new Tape(store, tape), {
    profile: 'cycle',
    cwd,
    project: cwd,
    leaveOut: path.dirname(job.path),
    budget: await budgetFor(job.budget, [claims, before?.shown]),
    signal: job.signal,
    now: () => job.now,
    ...(claims === undefined ? {} : { claims }),
    ...(before === undefined ? {} : { before: before.whole }),
    ...(job.trigger.percent === undefined ? {} : { contextUsage: Math.round(job.trigger.percent) }),
  })
  const { markdown, note, document: items, tokens } = written
  const saved = await saveDocument(store, own, markdown, note, items)
  writeDocumentFile(job.path, markdown)
  const document: Stored = {
    id: saved.id,
    path: job.path,
    sha256: saved.sha256,
    by: job.by === 'ledger' ? 'ledger' : 'agent',
    turns: job.turns,
    tokens,
    progress: hasProgress(written.ledger),
  }
  return { document, problems: written.problems.map(({ message }) => message) }
}

/** Loads what writing needs, while the agent still thinks. */
export async function warmUp(): Promise<void> {
  await Promise.all([tokenCounter(), redactValue({ text: 'warm' })])
}

/** The document before this one. Where the agent has described its state anew, what it said then is out of date. */
async function previousDocument(
  store: Store,
  tape: string,
  since: number,
  rewritten: boolean,
): Promise<{ shown: HandoffDocument; whole: HandoffDocument } | undefined> {
  for await (const saved of savedDocuments(store, tape)) {
    if (saved.id <= since) return undefined
    const of = (document: HandoffDocument) => (rewritten ? withoutState(document) : document)
    return { shown: of(await savedItems(store, saved)), whole: of(await savedWhole(store, saved)) }
  }
  return undefined
}

const stateSections: readonly SectionKey[] = ['doing', 'next', 'pending', 'blockers', 'context', 'notes']

function withoutState(document: HandoffDocument): HandoffDocument {
  const sections = document.sections.map((section) =>
    stateSections.includes(section.key)
      ? { ...section, items: section.items.filter((item) => item.by === 'user' || isPrinted(item)) }
      : section,
  )
  return { ...document, sections }
}

function withoutPrinted(document: HandoffDocument): HandoffDocument {
  const sections = document.sections.map((section) => ({
    ...section,
    items: section.items.filter((item) => !isPrinted(item)),
  }))
  return { ...document, sections }
}

function hasProgress({ files, commands, todos }: Ledger): boolean {
  const changed = files.some((file) => file.state === 'changed' && file.folder !== true && file.uncertain !== true)
  return changed || commands.length > 0 || todos.some(({ status }) => status === 'completed')
}

/**
 * What an agent has taken the trouble to write, and what binds it, is not cut for want of room, within reason. What commands
 * printed gets the room that is left, so that documents do not grow with every command.
 */
async function budgetFor(budget: number, said: readonly (HandoffDocument | undefined)[]): Promise<number> {
  const count = await tokenCounter()
  const tokens = said.reduce(
    (sum, document) => sum + (document === undefined ? 0 : count(renderMarkdown(withoutPrinted(document)))),
    0,
  )
  return Math.max(budget, Math.min(16_000, tokens + 3_000))
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
