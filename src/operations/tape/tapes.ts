// Tapes as a whole: which there are, what is known of one, and how its life ends.

import path from 'node:path'
import * as z from 'zod'
import { InvalidError, UnsupportedError } from '../../errors.ts'
import type { Store, TapeInfo } from '../../store/index.ts'
import { exportTape, importTape, isReserved, Tape } from '../../tape/index.ts'
import { liveOperation, operation } from '../operation.ts'
import { demandTape } from '../workspace.ts'
import { archive, damage, placedFor, tapeName } from './shapes.ts'

export const tapeList = operation('tape.list', 'read', 'GET /tapes', {
  summary: 'List the tapes of the workspace by name, a page at a time.',
  input: z.object({
    prefix: z.string().max(200).optional().describe('Only names that begin with this.'),
    after: z.string().max(200).optional().describe('Names behind this one: `next` of the page before.'),
    limit: z.int().min(1).max(1000).default(200),
    own: z.boolean().optional().describe("Also Baton's own tapes: task/…, relay/…, session/…"),
  }),
  output: z.object({
    tapes: z.array(
      z.object({
        tape: z.string(),
        entries: z.int(),
        firstId: z.int(),
        lastId: z.int(),
        anchors: z.int(),
        lastAnchor: z.object({ id: z.int(), name: z.string(), from: z.int().optional() }).optional(),
        bytes: z.int(),
        date: z.string().optional(),
      }),
    ),
    next: z.string().optional().describe('Given if there are more.'),
  }),
  async run({ store }, { prefix, after, limit, own }) {
    const found: TapeInfo[] = []
    for await (const info of store.list(prefix)) {
      if ((own === true || !isReserved(info.tape)) && (after === undefined || info.tape > after)) found.push(info)
    }
    const lineage = own === true ? await store.info('lineage') : undefined
    if (lineage !== undefined && 'lineage'.startsWith(prefix ?? '') && 'lineage' > (after ?? '')) found.push(lineage)
    found.sort((a, b) => (a.tape < b.tape ? -1 : 1))
    const page = found.slice(0, limit)
    const tapes = page.map(({ phase: _phase, ...info }) => info)
    return { tapes, next: found.length > limit ? page.at(-1)!.tape : undefined }
  },
})

export const tapeInfo = operation('tape.info', 'read', 'GET /tapes/{tape}', {
  summary: 'What is known of a tape: entries, anchors, size of its context, last usage, owner, archives.',
  input: z.object({ tape: tapeName }),
  output: z.object({
    tape: z.string(),
    entries: z.int(),
    anchors: z.int(),
    lastAnchor: z.string().optional(),
    lastId: z.int(),
    entriesSinceAnchor: z.int(),
    contextTokens: z.number(),
    bytes: z.int(),
    lastUsage: z.looseObject({}).optional(),
    date: z.string().optional(),
    owner: z.string().optional(),
    archives: z.array(archive),
  }),
  async run({ store }, { tape: name }) {
    await demandTape(store, name)
    const tape = new Tape(store, name)
    return { ...(await tape.info()), owner: await tape.owner(), archives: await store.archives(name) }
  },
})

export const tapeReset = operation('tape.reset', 'operate', 'POST /tapes/{tape}/reset', {
  summary: 'Close the entries of a tape into an archive and start afresh; ids keep counting, references still resolve.',
  input: z.object({ tape: tapeName }),
  output: archive,
  async run({ store }, { tape }) {
    await demandTape(store, tape)
    return new Tape(store, tape).reset()
  },
})

export const tapePurge = operation('tape.purge', 'admin', 'POST /tapes/{tape}/purge', {
  summary: 'Delete the archives of a tape for good.',
  input: z.object({ tape: tapeName }),
  output: z.object({ purged: z.array(archive) }),
  async run({ store }, { tape }) {
    await demandTape(store, tape)
    if (isReserved(tape)) throw new InvalidError(`${tape} is one of Baton's own tapes`, { path: 'tape' })
    return { purged: await new Tape(store, tape).purge() }
  },
})

export const tapeVerify = operation('tape.verify', 'operate', 'POST /tapes/{tape}/verify', {
  summary: 'Read a whole tape and report damage.',
  input: z.object({ tape: tapeName }),
  output: z.object({
    segments: z.array(
      z.object({
        tape: z.string(),
        file: z.string(),
        entries: z.int(),
        bytes: z.int(),
        damage: z.array(damage),
        index: z.enum(['ok', 'missing', 'stale']),
      }),
    ),
  }),
  async run({ store }, { tape }, { caller }) {
    await demandTape(store, tape)
    if (store.verify === undefined) throw new UnsupportedError('This store checks itself: there is nothing to verify')
    const reports = await store.verify(tape)
    const segments = reports.map(({ file, damage, ...report }) => ({
      ...report,
      file: caller.local === true ? file : path.basename(file),
      damage: placedFor(caller, damage),
    }))
    return { segments }
  },
})

export const tapeRepair = operation('tape.repair', 'admin', 'POST /tapes/{tape}/repair', {
  summary: 'Set aside what cannot be read, so that the tape can be used again; no valid entry is lost.',
  input: z.object({ tape: tapeName }),
  output: z.object({ tape: z.string(), damage: z.array(damage), cut: z.array(z.string()), kept: z.int() }),
  async run({ store }, { tape }, { caller }) {
    await demandTape(store, tape)
    if (store.repair === undefined) throw new UnsupportedError('This store has no repair: restore it from a backup')
    const { damage, cut, kept } = await store.repair(tape)
    const files = caller.local === true ? cut : cut.map((file) => path.basename(file))
    return { tape, damage: placedFor(caller, damage), cut: files, kept }
  },
})

export const tapeExport = liveOperation('tape.export', 'read', 'GET /tapes/{tape}/export', {
  summary: 'All of a tape as JSON lines, its blobs among them: what tape.import reads.',
  input: z.object({ tape: tapeName }),
  each: z.looseObject({}),
  async *run({ store }, { tape }) {
    await demandTape(store, tape)
    for await (const line of exportTape(store, tape)) yield JSON.parse(line) as Record<string, unknown>
  },
})

export const tapeImport = operation('tape.import', 'write', 'POST /tapes/{tape}/import', {
  summary: 'Make a new tape from the lines of an export.',
  input: z.object({
    tape: tapeName,
    lines: z.array(z.looseObject({})).min(1).max(100_000),
    source: z.string().min(1).max(500).default('import'),
  }),
  output: z.object({ tape: z.string(), entries: z.int(), lastId: z.int() }),
  async run({ store }, { tape, lines, source }) {
    const { entries, lastId } = await importLines(store, tape, texts(lines), source)
    return { tape, entries, lastId }
  },
})

async function* texts(lines: readonly object[]): AsyncGenerator<string> {
  for (const line of lines) yield JSON.stringify(line)
}

/** As `tape.import`, for as many lines as there are. */
export async function importLines(
  store: Store,
  tape: string,
  lines: AsyncIterable<string>,
  source: string,
): Promise<TapeInfo> {
  if (isReserved(tape)) throw new InvalidError(`${tape} is one of Baton's own tapes`, { path: 'tape' })
  return importTape(store, tape, lines, source)
}
