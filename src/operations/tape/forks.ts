// How tapes come from one another.

import * as z from 'zod'
import { NotFoundError } from '../../errors.ts'
import { ancestors, descendants, type Edge, edgeTo, familyOf, forkOf, readEdges, Tape } from '../../tape/index.ts'
import { operation } from '../operation.ts'
import { demandTape } from '../workspace.ts'
import { tapeName } from './shapes.ts'

export const tapeFork = operation('tape.fork', 'write', 'POST /tapes/{tape}/forks', {
  summary: 'A new tape with a copy of the entries from an anchor on, and an intention.',
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

export const tapeMerge = operation('tape.merge', 'write', 'POST /tapes/{tape}/merge', {
  summary: 'Bring what is new on a fork back to the tape it came from, or to another.',
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

export const lineageShow = operation('lineage.show', 'read', 'GET /lineage', {
  summary:
    'Which tape came from which, how and at which anchor: of the whole workspace, or of one tape and its family.',
  input: z.object({ tape: tapeName.optional() }),
  output: z.object({
    edges: z.array(edge),
    ancestors: z.array(z.string()).optional(),
    descendants: z.array(z.string()).optional(),
    lost: z.int().describe('How many entries of the lineage were lost to damage: more tapes may be related.'),
  }),
  async run({ store }, { tape }, { caller }) {
    let lost = 0
    const all: Edge[] = await readEdges(store, () => lost++)
    if (tape !== undefined && !all.some(({ child, parent }) => child === tape || parent === tape))
      await demandTape(store, tape)
    // Documents are files of this machine: who wants one asks for it by its name.
    const edges = caller.local === true ? all : all.map(({ document: _document, ...each }) => each)
    if (tape === undefined) return { edges, lost }
    const family = familyOf(edges, tape)
    return { edges: family, ancestors: ancestors(edges, tape), descendants: descendants(edges, tape), lost }
  },
})
