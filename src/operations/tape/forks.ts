// How tapes come from one another, and what references point at.

import * as z from 'zod'
import { NotFoundError } from '../../errors.ts'
import { InvalidError } from '../../errors.ts'
import type { Entry } from '../../store/index.ts'
import {
  ancestors,
  descendants,
  edgeTo,
  entriesAt,
  familyOf,
  forkOf,
  formatUri,
  readEdges,
  resolve,
  Tape,
} from '../../tape/index.ts'
import { operation } from '../operation.ts'
import { demandTape } from '../workspace.ts'
import { entry, tapeName } from './shapes.ts'

export const tapeFork = operation({
  name: 'tape.fork',
  summary: 'A new tape with a copy of the entries from an anchor on, and an intention.',
  scope: 'write',
  route: 'POST /tapes/{tape}/forks',
  input: z.object({
    tape: tapeName,
    child: tapeName.describe('The name of the new tape.'),
    from: z
      .string()
      .min(1)
      .max(500)
      .optional()
      .describe('The anchor to copy from, itself included; everything unless given.'),
    phase: z.boolean().optional().describe('Copy only the phase that the tape is in.'),
    intention: z
      .object({
        next_steps: z.string().optional(),
        context_summary: z.string().optional(),
        trigger_on_complete: z.string().optional(),
      })
      .optional(),
  }),
  output: z.object({ parent: z.string(), child: z.string(), entries: z.int(), lastId: z.int() }),
  async run({ store }, { tape, child, ...options }) {
    await demandTape(store, tape)
    const made = await (await new Tape(store, tape).fork(child, options)).info()
    return { parent: tape, child, entries: made.entries, lastId: made.lastId }
  },
})

export const tapeMerge = operation({
  name: 'tape.merge',
  summary: 'Bring what is new on a fork back to the tape it came from, or to another.',
  scope: 'write',
  route: 'POST /tapes/{tape}/merge',
  input: z.object({ tape: tapeName.describe('The fork.'), into: tapeName.optional() }),
  output: z.object({ child: z.string(), parent: z.string(), merged: z.int() }),
  async run({ store }, { tape, into }) {
    await demandTape(store, tape)
    const parent = into ?? (await forkOf(store, tape))?.origin.parent ?? (await edgeTo(store, tape, 'fork'))?.parent
    if (parent === undefined)
      throw new NotFoundError(`${tape} is not a fork of another tape`, { hint: 'Say where it should go with "into".' })
    return { child: tape, parent, merged: await new Tape(store, parent).merge(tape) }
  },
})

const edge = z.object({
  parent: z.string(),
  child: z.string(),
  how: z.enum(['fork', 'merge', 'handoff', 'import', 'continue']),
  anchor: z.string().optional(),
  date: z.string(),
})

export const lineageShow = operation({
  name: 'lineage.show',
  summary:
    'Which tape came from which, how and at which anchor: of the whole workspace, or of one tape and its family.',
  scope: 'read',
  route: 'GET /lineage',
  input: z.object({ tape: tapeName.optional() }),
  output: z.object({
    edges: z.array(edge),
    ancestors: z.array(z.string()).optional(),
    descendants: z.array(z.string()).optional(),
  }),
  async run({ store }, { tape }) {
    // Documents are files of this machine: who wants one asks for it by its name.
    const edges = (await readEdges(store)).map(({ document: _document, ...each }) => each)
    if (tape === undefined) return { edges }
    return { edges: familyOf(edges, tape), ancestors: ancestors(edges, tape), descendants: descendants(edges, tape) }
  },
})

export const referenceShow = operation({
  name: 'reference.show',
  summary: 'What a reference points at: main#12, main#12..40, main@anchor or tape://…',
  scope: 'read',
  route: 'GET /references',
  input: z.object({
    ref: z.string().min(1).max(2000),
    limit: z.int().min(1).max(1000).default(100).describe('Of a range: at most so many entries.'),
  }),
  output: z.object({
    tape: z.string(),
    entries: z.array(entry),
    uri: z.string().optional().describe('The tape:// form of a single entry.'),
    more: z.boolean(),
  }),
  async run({ store }, { ref, limit }) {
    if (ref.startsWith('blob:'))
      throw new InvalidError('A blob is read by its own address', { path: 'ref', hint: 'GET /v1/blobs/SHA256.' })
    const resolved = await resolve(store, ref)
    const entries: Entry[] = []
    let more = false
    for await (const each of entriesAt(store, resolved)) {
      more = entries.length >= limit
      if (more) break
      entries.push(each)
    }
    const { tape, place } = resolved
    const uri = place.type === 'range' ? undefined : formatUri({ workspace: store.workspace, tape, place })
    return { tape, entries, uri, more }
  },
})
