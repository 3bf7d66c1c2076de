// A session onto a tape. The first time the tape arrives whole; after that, only what is new is appended. Each batch ends
// with a cursor, an entry that says how far the transcript was read: an import that dies in between goes on from there.

import { BatonError, ConflictError, InvalidError } from '../errors.ts'
import { type Draft, limits, type Store } from '../store/index.ts'
import { isReserved, recordEdge } from '../tape/index.ts'
import { edgeTo } from '../tape/lineage.ts'
import type { AgentName, SessionFile } from './agent.ts'
import { agentNamed } from './agents.ts'
import type { Fact, LineDamage } from './fact.ts'
import { given } from './fields.ts'
import { type Cursor, isSame, Reading, type Step } from './reading.ts'
import { placeOf, rewind } from './rewind.ts'
import { event, opening, openingAnchor, Scribe, type Standing } from './scribe.ts'
import { lightBytes, slim } from './slim.ts'

export interface ImportOptions {
  /** `agent:session` unless given. */
  readonly tape?: string | undefined
  /** The tape that it comes from in lineage; the transcript itself unless given. */
  readonly parent?: string | undefined
  /** Told how many bytes of the transcript have been read. */
  readonly onProgress?: ((bytes: number) => void) | undefined
}

export interface Imported {
  readonly tape: string
  readonly agent: AgentName
  readonly session: string
  readonly path: string
  /** How many entries are new. */
  readonly entries: number
  /** Whether the tape was made now. */
  readonly created: boolean
  /** The transcript was not the one that was read before: it was read anew from its beginning. */
  readonly replaced: boolean
  readonly damaged: readonly LineDamage[]
}

/** How far a tape has been brought, in the newest entry with the key `import`. */
export interface Mark {
  readonly agent: AgentName
  readonly session: string
  readonly path: string
  readonly cursor?: Cursor
  readonly standing?: Standing
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
  const { parent = sourceOf(file), onProgress } = options
  const job: Job = { store, tape, file, parent, entries: 0, bytes: 0, damaged: [], onProgress }
  for (let attempt = 1; ; attempt++) {
    try {
      const created = (await store.info(tape)) === undefined
      if (created) await create(job)
      const replaced = await goOn(job)
      await recordEdge(store, { parent, child: tape, how: 'import' })
      const { entries } = job
      // What was gathered and then read again told of its damage twice.
      const damaged = [...new Map(job.damaged.map((each) => [each.offset, each])).values()]
      return { tape, agent: file.agent, session: file.id, path: file.path, entries, created, replaced, damaged }
    } catch (error) {
      // Somebody else wrote to the tape meanwhile: what is new now is looked at again.
      if (!BatonError.is(error) || error.code !== 'conflict' || error instanceof Refusal || attempt === 5) throw error
    }
  }
}

interface Job {
  readonly store: Store
  readonly tape: string
  readonly file: SessionFile
  readonly parent: string
  readonly onProgress: ((bytes: number) => void) | undefined
  readonly damaged: LineDamage[]
  entries: number
  bytes: number
}

class Refusal extends ConflictError {}

function sourceOf({ agent, path, id }: SessionFile): string {
  return agent === 'opencode' ? `${path}#${id}` : path
}

/** A new tape, up to the first fact that needs to look back at it. */
async function create(job: Job): Promise<void> {
  const reading = new Reading(agentNamed(job.file.agent), job.file)
  try {
    const info = await job.store.create(job.tape, firstBatches(job, reading))
    job.entries += info.entries
  } finally {
    reading.close()
  }
}

async function* firstBatches(job: Job, reading: Reading): AsyncGenerator<Draft[]> {
  const { agent, id: session } = job.file
  const date = firstDate(job.file)
  const first = opening({ owner: 'human', agent, session }, date)
  const scribe = new Scribe(1, given({ date }))
  const needsTape = (fact: Fact) => scribe.needsTape(fact)
  const batch = new Batch(scribe)
  batch.add([{ ...first, meta: { key: openingAnchor } }])
  scribe.learn(batch.drafts)
  // From here a reader that must look back starts over, if that comes in the first batch.
  yield batch.take(markDraft({ agent, session, path: job.file.path }))
  for (const step of reading.steps()) {
    // What was gathered since the last mark is read again from there, with the tape at hand.
    if (step.facts.some(needsTape)) return
    for (const fact of step.facts) {
      const drafts = scribe.drafts(fact)
      // Waiting for each would take longer than what is waited for.
      batch.add(step.bytes < lightBytes ? drafts : await light(job, drafts), step.bytes)
    }
    note(job, step)
    while (batch.isOver) yield batch.part()
    if (batch.isFull) yield batch.take(mark(job, reading, scribe))
  }
  yield batch.take(mark(job, reading, scribe))
}

/** Appends what is new behind the mark. True if the transcript is another one than it was. */
async function goOn(job: Job): Promise<boolean> {
  const { store, tape, file } = job
  const agent = agentNamed(file.agent)
  const before = await markOf(store, tape)
  if (before === undefined) await checkOurs(job)
  else if (before.session !== file.id || before.agent !== file.agent) throw refuse(job, before)
  const cursor = before?.cursor
  const replaced = cursor !== undefined && !isSame(agent, file, cursor)
  const lastId = (await store.info(tape))?.lastId ?? 0
  const scribe = new Scribe(lastId + 1, before?.standing)
  const batch = new Batch(scribe)
  if (replaced) {
    batch.add([event('transcript/replaced', { path: file.path }, undefined), opening({ owner: 'human' }, undefined)])
    scribe.learn(batch.drafts)
  }
  const reading = new Reading(agent, file, replaced ? undefined : cursor)
  const moved = before?.moved
  const append = async (drafts: Draft[], seen: number) => {
    await store.append(tape, drafts, { expect: seen })
    job.entries += drafts.length
    return seen + drafts.length
  }
  let seen = lastId
  let isNew = replaced
  try {
    for (const step of reading.steps()) {
      for (const fact of step.facts) {
        const look = { store, tape, pending: batch.drafts, next: scribe.next }
        if (fact.type === 'rewound') {
          const drafts = await rewind(look, fact)
          scribe.forget()
          scribe.learn(drafts)
          batch.add(drafts)
        } else {
          if (scribe.needsTape(fact)) scribe.remember(fact.keptFrom!, await placeOf(look, fact.keptFrom!))
          const drafts = scribe.drafts(fact)
          batch.add(step.bytes < lightBytes ? drafts : await light(job, drafts), step.bytes)
        }
      }
      isNew ||= batch.drafts.length > 0
      note(job, step)
      while (batch.isOver) seen = await append(batch.part(), seen)
      if (batch.isFull) seen = await append(batch.take(mark(job, reading, scribe, moved)), seen)
    }
    // A mark alone is worth an entry only if something was read that is not to be read again.
    const end = mark(job, reading, scribe, moved)
    if (isNew || moreWasRead(cursor, reading.cursor)) await append(batch.take(end), seen)
    return replaced
  } finally {
    reading.close()
  }
}

function moreWasRead(before: Cursor | undefined, after: Cursor): boolean {
  return before === undefined || before.offset !== after.offset || before.after !== after.after
}

/** A tape without a mark is only ours if it was archived since: lineage still knows. */
async function checkOurs(job: Job): Promise<void> {
  const edge = await edgeTo(job.store, job.tape, 'import')
  if (edge?.parent !== job.parent) throw refuse(job, undefined)
}

function refuse({ tape, file }: Job, mark: Mark | undefined): Refusal {
  const holds = mark === undefined ? 'is no import' : `holds ${mark.agent} session ${mark.session}`
  return new Refusal(`The tape ${tape} ${holds}, so ${file.agent} session ${file.id} cannot be imported to it`, {
    actual: 0,
    hint: 'Choose another one with --tape.',
  })
}

function mark({ file }: Job, { cursor }: Reading, { standing }: Scribe, moved?: readonly string[]): Draft {
  const { agent, id: session, path } = file
  return markDraft({ agent, session, path, cursor, standing, ...given({ moved }) })
}

/** When the session began, as far as its first lines tell. */
function firstDate(file: SessionFile): string | undefined {
  const reading = new Reading(agentNamed(file.agent), file)
  let looked = 0
  try {
    for (const { facts } of reading.steps()) {
      for (const fact of facts) {
        const date = fact.type === 'said' ? fact.draft.date : 'date' in fact ? fact.date : undefined
        if (date !== undefined) return date
      }
      if (++looked === 50) return undefined
    }
    return undefined
  } finally {
    reading.close()
  }
}

async function light(job: Job, drafts: readonly Draft[]): Promise<Draft[]> {
  return Promise.all(drafts.map((draft) => slim(job.store, draft)))
}

function note(job: Job, step: Step): void {
  for (const fact of step.facts) if (fact.type === 'damaged') job.damaged.push(fact.damage)
  job.bytes += step.bytes
  job.onProgress?.(job.bytes)
}

/** Gathers entries up to what the store takes at once, with room for a mark. */
class Batch {
  drafts: Draft[] = []
  #bytes = 0
  readonly #scribe: Scribe

  constructor(scribe: Scribe) {
    this.#scribe = scribe
  }

  /** `bytes`: of the line they come from; measured when it could be too little. */
  add(drafts: readonly Draft[], bytes = 0): void {
    for (const draft of drafts) {
      this.drafts.push(draft)
      this.#bytes += overhead + (bytes > 0 && bytes < lightBytes ? bytes : JSON.stringify(draft).length)
    }
  }

  get isFull(): boolean {
    return this.drafts.length >= fullEntries || this.#bytes >= fullBytes
  }

  /** More than the store takes at once, from a single line. */
  get isOver(): boolean {
    return this.drafts.length > limits.batchEntries - 2 || this.#bytes > limits.batchBytes - 64 * 1024
  }

  /** As much as fits, from the front. */
  part(): Draft[] {
    let bytes = 0
    let n = 0
    for (; n < this.drafts.length - 1 && n < fullEntries && bytes < fullBytes / 2; n++) {
      bytes += overhead + Buffer.byteLength(JSON.stringify(this.drafts[n]))
    }
    const part = this.drafts.splice(0, Math.max(1, n))
    this.#bytes = this.drafts.reduce((sum, draft) => sum + overhead + JSON.stringify(draft).length, 0)
    return part
  }

  /** Everything, and the mark behind it. */
  take(mark: Draft): Draft[] {
    const all = [...this.drafts, mark]
    this.#scribe.learn([mark])
    this.drafts = []
    this.#bytes = 0
    return all
  }
}

const overhead = 260
const fullEntries = 900
const fullBytes = 512 * 1024
