// Traces: the runs of a pipeline that requests belong to, who has each, and the archive of those that are closed.

import * as z from 'zod'
import { operation } from '../operation.ts'
import { agent } from './shapes.ts'

const trace = z.string().min(1).max(200).describe('The id of the trace; its beginning is enough.')
const owner = z.looseObject({ agent: z.string() })

export const traceOwner = operation('trace.owner', 'read', 'GET /relay/traces/{trace}', {
  summary: 'Which agent a trace belongs to now.',
  input: z.object({ trace }),
  output: owner,
  async run(workspace, { trace }) {
    const relay = await workspace.relay()
    return { ...(await relay.owner(await relay.wholeId('trace', trace))) }
  },
})

export const traceReturn = operation('trace.return', 'write', 'POST /relay/traces/{trace}/return', {
  summary: 'Give a trace back to the agent that handed it over.',
  input: z.object({ trace, from: agent.describe('Who has it now.'), reason: z.string().min(1).max(4000) }),
  output: owner,
  async run(workspace, { trace, from, reason }) {
    const relay = await workspace.relay()
    return { ...(await relay.returnToCaller(await relay.wholeId('trace', trace), { from, reason })) }
  },
})

export const traceArchive = operation('trace.archive', 'operate', 'POST /relay/archive', {
  summary: 'Move closed traces out of the way; they can still be looked up, and open ones stay.',
  input: z.object({
    olderThanMs: z.number().min(0).optional().describe('Those in which nothing has happened for so long.'),
    keep: z.int().min(0).optional().describe('All but the newest so many.'),
  }),
  output: z.object({ archived: z.looseObject({ traces: z.int(), requests: z.int() }).optional() }),
  async run(workspace, { olderThanMs, keep }) {
    const archived = await (await workspace.relay()).archive({ olderThanMs, keep })
    return { archived: archived && { ...archived } }
  },
})
