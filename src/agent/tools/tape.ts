// The tools for the agent's own tape: what is on it, the blobs beside it, a handoff to a fresh context, forks with or without a
// child agent, and a context passed to another agent, which shares the tape or owns it from then on.

import { randomBytes } from 'node:crypto'
import * as z from 'zod'
import type { Entry } from '../../store/index.ts'
import { UnsupportedError } from '../../errors.ts'
import { childTaskText } from '../../handoff/index.ts'
import { defineTool } from './tool.ts'
import { shellWord } from '../../system/index.ts'
import { receiveContextHandoff, sendContextHandoff } from '../../relay/index.ts'

export const tapeHandoff = defineTool('tape.handoff', {
  description:
    'Create tape anchor with optional summary and next_steps state. From then on your context holds only this state, what the user said, and what ' +
    'comes after: put all else that you will need into it. What lies before stays on the tape (tape.search, tape.anchors).',
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

export const tapeAnchors = defineTool('tape.anchors', {
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

export const tapeSearch = defineTool('tape.search', {
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
    archived: z.boolean().optional().describe('Also what lies before a reset of the tape'),
    limit: z.int().min(1).max(50).default(10),
  }),
  async run({ query, limit, kinds, from, to, archived }, { tape, entryId }) {
    const given = { kinds, from, to, archived }
    const asked = Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined))
    // The call itself holds what is searched for.
    const found = (await tape.find(query, { ...asked, limit: limit + 1 })).filter(({ entry }) => entry.id !== entryId)
    return {
      output: found.slice(0, limit).map(({ entry, blob }) => ({
        id: entry.id,
        kind: entry.kind,
        date: entry.date,
        excerpt: blob?.excerpt ?? excerpt(entry, query),
        ref: tape.uri({ entry: entry.id }),
        ...(blob === undefined ? {} : { blob: { sha256: blob.sha256, offset: blob.offset } }),
      })),
    }
  },
})

/** The text around the first match, exactly as in the entry. */
function excerpt({ payload }: Entry, query: string): string {
  const text = JSON.stringify(payload)
  const at = Math.max(0, text.toLowerCase().indexOf(JSON.stringify(query).slice(1, -1).toLowerCase()))
  const start = Math.max(0, at - 200)
  const end = Math.min(text.length, at + query.length + 400)
  return `${start > 0 ? '…' : ''}${text.slice(start, end)}${end < text.length ? '…' : ''}`
}

export const tapeInfo = defineTool('tape.info', {
  description: 'How long the tape is, its last anchor, and how many tokens your context takes, about.',
  input: z.object({}),
  async run(_input, { tape }) {
    return { output: await tape.info() }
  },
})

export const tapeFork = defineTool('tape.fork', {
  description:
    'Copy the phase that you are in to a new tape with an intention, for somebody else to continue from. To have a child agent do the work, use agent.spawn.',
  input: z.object({
    name: z.string().min(1).describe('Name of the new tape'),
    from: z.string().optional().describe('The anchor to copy from, where more than this phase is needed'),
    next_steps: z.string().optional(),
    context_summary: z.string().optional(),
    trigger_on_complete: z.string().optional().describe('When set, this tape is notified once the new one is complete'),
  }),
  async run({ name, from, ...intention }, { tape }) {
    const child = await tape.fork(name, { intention, ...(from === undefined ? { phase: true } : { from }) })
    const { entries } = await child.info()
    return { output: { tape: name, entries, ref: child.uri({ anchor: 'intention' }) } }
  },
})

const pageBytes = 24 * 1024

/** Pages through a blob, which holds text or data that was too large for the context. */
export const blobRead = defineTool('blob.read', {
  description:
    'Read a part of stored content by its SHA-256, as given with a preview. Offsets are bytes; the pages together are the content byte for byte.',
  input: z.object({
    sha256: z.string().regex(/^[0-9a-f]{64}$/, 'a SHA-256 has 64 hexadecimal digits'),
    offset: z.int().min(0).default(0).describe('First byte'),
    length: z.int().min(1).max(pageBytes).default(8_000).describe('How many bytes at most'),
    encoding: z.enum(['utf8', 'base64']).optional().describe('How bytes are shown; text where they are text'),
  }),
  async run({ sha256, offset, length, encoding }, { tape }) {
    // One byte more shows whether this is the end; three more, whether a letter is cut.
    const bytes = await tape.readBlob(sha256, { start: offset, end: offset + length + 4 })
    const page = bytes.subarray(0, length)
    const letters = page.subarray(0, wholeLetters(page, bytes.length > page.length))
    // Bytes that do not survive decoding and encoding are not text.
    const shown = encoding ?? (Buffer.from(letters.toString()).equals(letters) ? 'utf8' : 'base64')
    const whole = shown === 'utf8' ? letters : page
    const next = offset + whole.length
    const rest = bytes.length > whole.length ? { next_offset: next } : { end: true }
    return { output: { offset, bytes: whole.length, ...rest, encoding: shown, content: whole.toString(shown) } }
  },
})

/** Where a letter of several bytes is cut by the end of a page, the page ends before it. */
function wholeLetters(page: Buffer, goesOn: boolean): number {
  if (!goesOn) return page.length
  for (let back = 1; back <= Math.min(4, page.length); back += 1) {
    const byte = page[page.length - back]!
    if ((byte & 0xc0) === 0x80) continue
    const letterBytes = byte >= 0xf0 ? 4 : byte >= 0xe0 ? 3 : byte >= 0xc0 ? 2 : 1
    // A page that is smaller than its first letter is given as it is.
    return letterBytes > back && page.length > back ? page.length - back : page.length
  }
  return page.length
}

/** Runs a child agent on a fork of the tape: it sees what its parent sees, and works without filling the parent's context. */
export const agentSpawn = defineTool('agent.spawn', {
  description:
    'Give a task to a child agent. It works on a fork of this tape, with the same tools and no more rights, and its last words come back to you. ' +
    'With merge, all that it did is noted on this tape too, where tape.search and a handoff document find it.',
  input: z.object({
    task: z.string().min(1).describe('What the child is to do, and what it should answer with'),
    name: z.string().optional().describe("Name of the child's tape"),
    context_summary: z.string().optional().describe('What the child should know besides the conversation so far'),
    merge: z.boolean().default(false),
  }),
  async run({ task, name, context_summary, merge }, { tape, spawn, onOutput }) {
    if (spawn === undefined)
      throw new UnsupportedError('A child of a child of a child cannot have children', {
        hint: 'Do the task yourself.',
      })
    const childName = name ?? `${tape.name}/${randomBytes(3).toString('hex')}`
    const child = await tape.fork(childName, {
      phase: true,
      intention: {
        next_steps: task,
        ...(context_summary === undefined ? {} : { context_summary }),
        trigger_on_complete: 'agent.spawn',
      },
    })
    const { status, text, error } = await spawn({ tape: child, prompt: childTaskText(task), onText: onOutput })
    // Only a finished child is reported to the parent's tape; one that was cut short can still be continued.
    if (status === 'done') await child.complete({ context: false })
    // The merged entries serve the ledger and search; in the context, the child's answer is the result of the call.
    const merged = merge && status === 'done' ? { merged: await tape.merge(childName, { context: false }) } : {}
    const [last] = await child.anchors({ limit: 1 })
    const outcome = { tape: childName, status, last_anchor: last?.name, text, ...merged }
    return status === 'done' ? { output: outcome } : { output: { ...outcome, error }, isError: true }
  },
})

/** The sender or receiver of a context, where an agent has no name. */
const nobody = 'agent'

export const tapeGive = defineTool('tape.give', {
  description:
    'Pass what you are working on to another agent: it gets a message with the reason, a summary and a reference to this tape. With ownership transfer ' +
    'the tape is the other agent’s once this turn has ended, and you can no longer write on it.',
  input: z.object({
    to: z.string().min(1).describe('The other agent, such as worker-2'),
    reason: z.string().min(1),
    summary: z.string().min(1).describe('What the other agent has to know first'),
    next_steps: z.string().optional(),
    context_summary: z.string().optional(),
    anchor: z.string().optional().describe('Where on the tape to start reading; the last anchor unless given'),
    ownership: z.enum(['transfer', 'share']).default('share'),
  }),
  // Asked about as the command that does the same.
  access: async ({ to, ownership }, { tape }) => ({
    kind: 'command',
    command: `baton tape give ${shellWord(tape.name)} --to ${shellWord(to)}${ownership === 'share' ? ' --share' : ''}`,
  }),
  async run({ to, reason, summary, next_steps, context_summary, anchor, ownership }, { tape, entryId, afterTurn }) {
    const [last] = anchor === undefined ? await tape.anchors({ limit: 1 }) : []
    const name = anchor ?? last?.name
    const message = {
      type: 'context_handoff',
      from: tape.as ?? nobody,
      to,
      timestamp: new Date().toISOString(),
      content: {
        reason,
        summary,
        tape_ref: tape.uri(name === undefined ? { entry: entryId } : { anchor: name }),
        intention: {
          ...(next_steps === undefined ? {} : { next_steps }),
          ...(context_summary === undefined ? {} : { context_summary }),
        },
        ownership,
      },
    }
    // The rest of the turn is still ours to write down, so the tape changes hands when it is over.
    if (ownership === 'transfer' && afterTurn !== undefined) {
      afterTurn(async () => void (await sendContextHandoff(tape.store, message)))
      return { output: `${tape.name} goes to ${to} when this turn ends. Say what is left to say, and stop.` }
    }
    const { id } = await sendContextHandoff(tape.store, message)
    return { output: { id, to, ownership, tape_ref: message.content.tape_ref } }
  },
})

export const tapeInbox = defineTool('tape.inbox', {
  description:
    'Take the oldest context that another agent passed to you: why, a summary, and a reference to its tape for tape.read. Each is given once.',
  input: z.object({}),
  async run(_input, { tape }) {
    const received = await receiveContextHandoff(tape.store, tape.as ?? nobody)
    return { output: received === undefined ? `Nothing waits for ${tape.as ?? nobody}.` : received.message }
  },
})
