// What begins a phase and what a model is given from it: anchors, handoffs, contexts.

import * as z from 'zod'
import { InvalidError } from '../../errors.ts'
import type { Entry } from '../../store/index.ts'
import { Tape } from '../../tape/index.ts'
import { operation } from '../operation.ts'
import { demandTape } from '../workspace.ts'
import { tapeWrittenBy } from './entries.ts'
import { anchor, asAgent, damage, entry, entryId, placedFor, tapeName } from './shapes.ts'

export const tapeAnchors = operation('tape.anchors', 'read', 'GET /tapes/{tape}/anchors', {
  summary: 'The anchors of a tape, oldest first: the newest so many.',
  input: z.object({
    tape: tapeName,
    name: z.string().min(1).max(500).optional(),
    before: entryId.optional(),
    after: entryId.optional(),
    limit: z.int().min(1).max(1000).default(100),
    archived: z.boolean().optional(),
  }),
  output: z.object({ anchors: z.array(anchor) }),
  async run({ store }, { tape, ...query }) {
    await demandTape(store, tape)
    return { anchors: await store.anchors(tape, query) }
  },
})

export const tapeHandoff = operation('tape.handoff', 'write', 'POST /tapes/{tape}/handoff', {
  summary: 'Begin a new phase on the same tape: an anchor with the state that the next agent or person starts from.',
  input: z.object({
    tape: tapeName,
    name: z.string().min(1).max(500).describe('The name of the anchor, such as phase/tests.'),
    state: z.unknown().describe('Any JSON; usually an object with summary and next_steps.'),
    from: z.int().positive().optional().describe('The first entry that stays in the context.'),
    as: asAgent.optional(),
  }),
  output: z.object({ anchor: entry, event: entry }),
  async run({ store }, { tape, name, state, from, as }, { caller }) {
    const opened = await tapeWrittenBy(store, tape, as, caller.name)
    const [made, event] = await opened.handoff(name, { state: state === undefined ? {} : state, from })
    return { anchor: made, event }
  },
})

export const tapeContext = operation('tape.context', 'read', 'GET /tapes/{tape}/context', {
  summary: "What a model is given: the anchor's state, then the entries behind it, as valid messages.",
  input: z.object({
    tape: tapeName,
    anchor: z
      .string()
      .min(1)
      .max(500)
      .optional()
      .describe('Start at the newest anchor of that name, not at the last one.'),
    full: z.boolean().optional().describe('Everything since the last reset, whatever anchors there are.'),
    maxTokens: z.int().min(1).max(10_000_000).optional().describe('Leave out the oldest turns to fit.'),
    format: z.enum(['openai', 'anthropic', 'ai-sdk', 'text']).default('openai'),
  }),
  output: z.object({
    system: z.string().optional(),
    messages: z.union([z.string(), z.array(z.looseObject({}))]),
    anchor: anchor.optional(),
    omitted: z.looseObject({}).optional().describe('What was left out to fit.'),
    damage: z.array(damage),
  }),
  async run({ store }, { tape, format, ...query }, { caller }) {
    if (query.anchor !== undefined && query.full === true)
      throw new InvalidError('anchor and full exclude each other', { path: 'full', hint: 'Leave one of them out.' })
    await demandTape(store, tape)
    const { system, messages, anchor, omitted, damage } = await new Tape(store, tape).context({ ...query, format })
    // The messages of the formats are typed by their providers; here they are JSON.
    const plain = messages as string | Record<string, unknown>[]
    return { system, messages: plain, anchor, omitted: omitted && { ...omitted }, damage: placedFor(caller, damage) }
  },
})

/** How much of a context is weighed: the newest part of a larger one stands for the whole. */
const weighedBytes = 128 * 1024

const tokenKinds = ['state', 'system', 'user', 'assistant', 'tool_call', 'tool_result'] as const
type TokenKind = (typeof tokenKinds)[number]

export const tapeTokens = operation('tape.tokens', 'read', 'GET /tapes/{tape}/tokens', {
  summary: 'About how many tokens the context of a tape takes, by what they are.',
  input: z.object({ tape: tapeName }),
  output: z.object({
    total: z.number(),
    parts: z.array(
      z.object({
        kind: z.enum(tokenKinds),
        tokens: z.number(),
        entries: z
          .int()
          .optional()
          .describe('Missing where the context is so large that only its newest part was weighed.'),
      }),
    ),
    anchor: anchor.optional().describe('The context begins here.'),
    from: z.int().describe('The first entry of the context.'),
  }),
  async run({ store }, { tape: name }) {
    await demandTape(store, name)
    const tape = new Tape(store, name)
    const { contextTokens: total } = await tape.info()
    const [last] = await store.anchors(name, { limit: 1 })
    const from = last === undefined ? 1 : (last.from ?? last.id)
    const found = new Map<TokenKind, { weight: number; entries: number }>()
    let bytes = 0
    for await (const entry of store.read(name, { after: from - 1, reverse: true, onDamage: () => {} })) {
      const kind = entry.id === last?.id ? 'state' : tokenKindOf(entry)
      const text = JSON.stringify(entry.payload)
      bytes += text.length
      if (kind !== undefined && entry.meta.context !== false) {
        const { weight, entries } = found.get(kind) ?? { weight: 0, entries: 0 }
        found.set(kind, { weight: weight + text.length, entries: entries + 1 })
      }
      if (bytes > weighedBytes) break
    }
    const sum = [...found.values()].reduce((sum, { weight }) => sum + weight, 0)
    const parts = tokenKinds.flatMap((kind) => {
      const part = found.get(kind)
      if (part === undefined) return []
      const tokens = Math.round((part.weight / sum) * total)
      return [{ kind, tokens, ...(bytes > weighedBytes ? {} : { entries: part.entries }) }]
    })
    return { total, parts, anchor: last, from }
  },
})

function tokenKindOf({ kind, payload }: Entry): TokenKind | undefined {
  if (kind === 'system' || kind === 'tool_call' || kind === 'tool_result') return kind
  if (kind !== 'message') return undefined
  const { role } = payload as { role?: unknown }
  return role === 'user' || role === 'assistant' || role === 'system' ? role : undefined
}
