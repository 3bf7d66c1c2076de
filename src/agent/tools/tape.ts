// The agent's own tape as tools: where it stands, what it did, and a handoff to itself with a fresh context.

import * as z from 'zod'
import type { Entry } from '../../store/index.ts'
import { defineTool } from './define.ts'

export const tapeHandoff = defineTool({
  name: 'tape.handoff',
  description:
    'Create tape anchor with optional summary and next_steps state. From then on your context holds only this state and what comes after it: ' +
    'put all that you will need into it. What lies before stays on the tape (tape.search, tape.anchors).',
  input: z.object({
    name: z.string().min(1).describe("Anchor name (e.g., 'phase-1')"),
    summary: z.string().optional().describe('Progress summary'),
    next_steps: z.string().optional().describe('Next steps to take'),
  }),
  async run({ name, summary, next_steps }, { tape, entryId, runId }) {
    const state = { ...(summary === undefined ? {} : { summary }), ...(next_steps === undefined ? {} : { next_steps }) }
    // From the call on, so that it and its result stay a pair in the new context.
    const [anchor] = await tape.handoff(name, { state, runId, from: entryId })
    return { output: `Handed off at anchor ${name} (entry ${anchor.id}). Your context starts from here.` }
  },
})

export const tapeAnchors = defineTool({
  name: 'tape.anchors',
  description:
    'List the anchors of the tape, oldest first: the phases of the work so far, with the state each began with.',
  input: z.object({
    limit: z.int().min(1).max(200).default(20).describe('The newest so many'),
    name: z.string().optional().describe('Only anchors with this name'),
  }),
  async run({ limit, name }, { tape }) {
    const anchors = await tape.anchors({ limit, ...(name === undefined ? {} : { name }) })
    return { output: anchors.map(({ id, name, state, date }) => ({ id, name, state, date })) }
  },
})

export const tapeSearch = defineTool({
  name: 'tape.search',
  description:
    'Find text in all that is on the tape, also behind the last handoff; newest first. Literal, regardless of case.',
  input: z.object({
    query: z.string().min(1),
    kinds: z
      .array(z.enum(['message', 'system', 'tool_call', 'tool_result', 'anchor', 'event', 'error']))
      .optional()
      .describe('Only entries of these kinds'),
    from: z.string().optional().describe('A day or a time, such as 2026-03-01'),
    to: z.string().optional(),
    limit: z.int().min(1).max(50).default(10),
  }),
  async run({ query, limit, kinds, from, to }, { tape, entryId }) {
    const given = { kinds, from, to }
    const asked = Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined))
    // The call itself holds what is searched for.
    const found = (await tape.search(query, { ...asked, limit: limit + 1 })).filter(({ id }) => id !== entryId)
    return {
      output: found.slice(0, limit).map((entry) => ({
        id: entry.id,
        kind: entry.kind,
        date: entry.date,
        excerpt: excerpt(entry, query),
        ref: tape.uri({ entry: entry.id }),
      })),
    }
  },
})

/** The text around the first place, as it stands in the entry. */
function excerpt({ payload }: Entry, query: string): string {
  const text = JSON.stringify(payload)
  const at = Math.max(0, text.toLowerCase().indexOf(JSON.stringify(query).slice(1, -1).toLowerCase()))
  const start = Math.max(0, at - 200)
  const end = Math.min(text.length, at + query.length + 400)
  return `${start > 0 ? '…' : ''}${text.slice(start, end)}${end < text.length ? '…' : ''}`
}

export const tapeInfo = defineTool({
  name: 'tape.info',
  description: 'How long the tape is, its last anchor, and how many tokens your context takes, about.',
  input: z.object({}),
  async run(_input, { tape }) {
    return { output: await tape.info() }
  },
})

export const tapeFork = defineTool({
  name: 'tape.fork',
  description:
    'Copy this tape to a new one with an intention, for somebody else to go on from. To have a child agent do the work, use agent.spawn.',
  input: z.object({
    name: z.string().min(1).describe('Name of the new tape'),
    from: z.string().optional().describe('The anchor to copy from; everything where none is given'),
    next_steps: z.string().optional(),
    context_summary: z.string().optional(),
    trigger_on_complete: z.string().optional().describe('When set, this tape is told once the new one is complete'),
  }),
  async run({ name, from, ...intention }, { tape }) {
    const child = await tape.fork(name, { intention, ...(from === undefined ? {} : { from }) })
    const { entries } = await child.info()
    return { output: { tape: name, entries, ref: child.uri({ anchor: 'intention' }) } }
  },
})
