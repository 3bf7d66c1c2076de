// Imports a session to a tape. The first import creates the tape whole; later ones append only what is new. Each batch ends
// with a mark, an entry that says how far the transcript was read: an import that dies in between continues from there.

import { BatonError, ConflictError, InvalidError } from '../errors.ts'
import { type Draft, type Entry, type Store } from '../store/index.ts'
import { isReserved, recordEdge } from '../tape/index.ts'
import { edgeTo } from '../tape/index.ts'
import {
  type AgentName,
  agentNamed,
  type Fact,
  given,
  type LineDamage,
  type SessionFile,
  sessionKey,
} from '../agents/index.ts'
import { type Cursor, isSame, TranscriptReader, type ReadStep } from './transcript-reader.ts'
import { placeOf, rewind } from './rewind.ts'
import {
  event,
  opening,
  openingAnchor,
  EntryBuilder,
  type Carried,
  ImportBatch,
  lightBytes,
  spillLarge,
} from './facts-to-entries.ts'

export interface ImportOptions {
  /** `agent:session` unless given. */
  readonly tape?: string | undefined
  /** The tape that it comes from in lineage; the transcript itself unless given. */
  readonly parent?: string | undefined
  /** Reads the transcript as if it ended at that offset. */
  readonly upTo?: number | undefined
  /** Called with the number of bytes of the transcript that have been read. */
  readonly onProgress?: ((bytes: number) => void) | undefined
  /** Called with every entry that is written; it is durable when the import ends. */
  readonly onEntry?: ((entry: Entry) => void) | undefined
}

export interface Imported {
  readonly tape: string
  readonly agent: AgentName
  readonly session: string
  readonly path: string
  /** How many entries are new. */
  readonly entries: number
  /** Whether this import created the tape. */
  readonly created: boolean
  /** The file is no longer the one that was imported before, so it was read again from its beginning. */
  readonly replaced: boolean
  readonly damaged: readonly LineDamage[]
}

/** How far the transcript has been imported: the newest entry of the tape with the key `import`. */
export interface Mark {
  readonly agent: AgentName
  readonly session: string
  readonly path: string
  readonly cursor?: Cursor
  readonly standing?: Carried
  /** Sessions that this tape followed before, each left for the next by `/clear`. */
  readonly moved?: readonly string[]
}

const markKey = 'import'

export async function markOf(store: Store, tape: string): Promise<Mark | undefined> {
  const entry = await store.latest(tape, markKey)
  return (entry?.payload as { data?: Mark } | undefined)?.data
}

export function markDraft(mark: Mark): Draft {
  return { kind: 'event', payload: { name: markKey, data: mark }, meta: { key: markKey, context: false } }
}

export function tapeFor(file: SessionFile): string {
  return `${file.agent}:${file.id}`
}

export async function importFile(store: Store, file: SessionFile, options: ImportOptions = {}): Promise<Imported> {
  const tape = options.tape ?? tapeFor(file)
  if (isReserved(tape)) throw new InvalidError(`${tape} is one of Baton's own tapes`)
  const { parent = sessionKey(file), onProgress, onEntry, upTo } = options
  const job: ImportJob = { store, tape, file, parent, upTo, entries: 0, bytes: 0, damaged: [], onProgress, onEntry }
  for (let attempt = 1; ; attempt++) {
    try {
      const created = (await store.info(tape)) === undefined
      if (created) await create(job)
      const replaced = await appendNew(job)
      await recordEdge(store, { parent, child: tape, how: 'import' })
      const { entries } = job
      // Lines that were gathered and then read again report their damage twice.
      const damaged = [...new Map(job.damaged.map((each) => [each.offset, each])).values()]
      return { tape, agent: file.agent, session: file.id, path: file.path, entries, created, replaced, damaged }
    } catch (error) {
      // Somebody else wrote to the tape meanwhile: look again at what is new.
      if (!BatonError.is(error) || error.code !== 'conflict' || error instanceof Refusal || attempt === 5) throw error
    }
  }
}

interface ImportJob {
  readonly store: Store
  readonly tape: string
  readonly file: SessionFile
  readonly parent: string
  readonly upTo: number | undefined
  readonly onProgress: ((bytes: number) => void) | undefined
  readonly onEntry: ((entry: Entry) => void) | undefined
  readonly damaged: LineDamage[]
  entries: number
  bytes: number
}

class Refusal extends ConflictError {}

/** Creates the tape, up to the first fact that needs to look back at entries of it. */
async function create(job: ImportJob): Promise<void> {
  const reader = new TranscriptReader(agentNamed(job.file.agent), job.file, undefined, job.upTo)
  try {
    const info = await job.store.create(job.tape, shown(job, firstBatches(job, reader)))
    job.entries += info.entries
  } finally {
    reader.close()
  }
}

/** Shows each entry of a new tape to whoever wants to see it. */
async function* shown({ onEntry }: ImportJob, batches: AsyncIterable<Draft[]>): AsyncGenerator<Draft[]> {
  let id = 0
  for await (const drafts of batches) {
    yield drafts
    if (onEntry === undefined) continue
    const now = new Date().toISOString()
    for (const draft of drafts) onEntry(entryOf(draft, ++id, now))
  }
}

/** The entry that a draft of an import has become. Spelled out: copies of whatever fields there are take much longer. */
function entryOf({ kind, payload, meta = {}, date, source }: Draft, id: number, now: string): Entry {
  const entry = { id, kind, payload, meta, date: date ?? now, ...(source === undefined ? undefined : { source }) }
  return entry as unknown as Entry
}

async function* firstBatches(job: ImportJob, reader: TranscriptReader): AsyncGenerator<Draft[]> {
  const { agent, id: session } = job.file
  const date = firstDate(job.file)
  const first = opening({ owner: 'human', agent, session }, date)
  const builder = new EntryBuilder(1, given({ date }))
  const needsTape = (fact: Fact) => builder.needsTape(fact)
  const batch = new ImportBatch(builder)
  batch.add([{ ...first, meta: { key: openingAnchor } }])
  builder.learn(batch.drafts)
  // This mark is where reading starts again if a fact of the first batch has to look back at the tape.
  yield batch.take(markDraft({ agent, session, path: job.file.path }))
  for (const step of reader.steps()) {
    // `appendNew` reads what was gathered since the last mark again, and can look back at the tape.
    if (step.facts.some(needsTape)) return
    for (const fact of step.facts) {
      const drafts = builder.drafts(fact)
      // Most lines need no blob, and awaiting each of them would take longer than the work itself.
      batch.add(step.bytes < lightBytes ? drafts : await light(job, drafts), step.bytes)
    }
    note(job, step)
    while (batch.isOver) yield batch.part()
    if (batch.isFull) yield batch.take(mark(job, reader, builder))
  }
  yield batch.take(mark(job, reader, builder))
}

/** Appends what is new since the mark. True if the file is no longer the one that was imported before. */
async function appendNew(job: ImportJob): Promise<boolean> {
  const { store, tape, file } = job
  const agent = agentNamed(file.agent)
  const before = await markOf(store, tape)
  if (before === undefined) await checkOurs(job)
  else if (before.session !== file.id || before.agent !== file.agent) throw refuse(job, before)
  const cursor = before?.cursor
  const replaced = cursor !== undefined && !isSame(agent, file, cursor)
  const lastId = (await store.info(tape))?.lastId ?? 0
  const builder = new EntryBuilder(lastId + 1, before?.standing)
  const batch = new ImportBatch(builder)
  if (replaced) {
    batch.add([event('transcript/replaced', { path: file.path }, undefined), opening({ owner: 'human' }, undefined)])
    builder.learn(batch.drafts)
  }
  const reader = new TranscriptReader(agent, file, replaced ? undefined : cursor, job.upTo)
  const moved = before?.moved
  const append = async (drafts: Draft[], seen: number) => {
    const entries = await store.append(tape, drafts, { expect: seen })
    job.entries += entries.length
    if (job.onEntry) entries.forEach(job.onEntry)
    return seen + drafts.length
  }
  let seen = lastId
  let isNew = replaced
  try {
    for (const step of reader.steps()) {
      for (const fact of step.facts) {
        const look = { store, tape, pending: batch.drafts, next: builder.next }
        if (fact.type === 'rewound') {
          const drafts = await rewind(look, fact)
          builder.forget()
          builder.learn(drafts)
          batch.add(drafts)
        } else {
          if (builder.needsTape(fact)) builder.remember(fact.keptFrom!, await placeOf(look, fact.keptFrom!))
          const drafts = builder.drafts(fact)
          batch.add(step.bytes < lightBytes ? drafts : await light(job, drafts), step.bytes)
        }
      }
      isNew ||= batch.drafts.length > 0
      note(job, step)
      while (batch.isOver) seen = await append(batch.part(), seen)
      if (batch.isFull) seen = await append(batch.take(mark(job, reader, builder, moved)), seen)
    }
    // A mark without entries is appended only if lines were read that need not be read again.
    const end = mark(job, reader, builder, moved)
    if (isNew || moreWasRead(cursor, reader.cursor)) await append(batch.take(end), seen)
    return replaced
  } finally {
    reader.close()
  }
}

function moreWasRead(before: Cursor | undefined, after: Cursor): boolean {
  return before === undefined || before.offset !== after.offset || before.after !== after.after
}

/** A tape without a mark is an import only if it was archived since then; lineage still records that. */
async function checkOurs(job: ImportJob): Promise<void> {
  const edge = await edgeTo(job.store, job.tape, 'import')
  if (edge?.parent !== job.parent) throw refuse(job, undefined)
}

function refuse({ tape, file }: ImportJob, mark: Mark | undefined): Refusal {
  const holds = mark === undefined ? 'was not imported' : `holds ${mark.agent} session ${mark.session}`
  return new Refusal(`The tape ${tape} ${holds}, so ${file.agent} session ${file.id} cannot be imported to it`, {
    actual: 0,
    hint: 'Choose another one with --tape.',
  })
}

function mark(
  { file }: ImportJob,
  { cursor }: TranscriptReader,
  { carried }: EntryBuilder,
  moved?: readonly string[],
): Draft {
  const { agent, id: session, path } = file
  return markDraft({ agent, session, path, cursor, standing: carried, ...given({ moved }) })
}

/** The first date in the first lines of the session. */
function firstDate(file: SessionFile): string | undefined {
  const reader = new TranscriptReader(agentNamed(file.agent), file)
  let looked = 0
  try {
    for (const { facts } of reader.steps()) {
      for (const fact of facts) {
        const date = fact.type === 'said' ? fact.draft.date : 'date' in fact ? fact.date : undefined
        if (date !== undefined) return date
      }
      if (++looked === 50) return undefined
    }
    return undefined
  } finally {
    reader.close()
  }
}

async function light(job: ImportJob, drafts: readonly Draft[]): Promise<Draft[]> {
  return Promise.all(drafts.map((draft) => spillLarge(job.store, draft)))
}

function note(job: ImportJob, step: ReadStep): void {
  for (const fact of step.facts) if (fact.type === 'damaged') job.damaged.push(fact.damage)
  job.bytes += step.bytes
  job.onProgress?.(job.bytes)
}
