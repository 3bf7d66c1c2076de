// Entries: append them, read them, follow them, find them.

import * as z from 'zod'
import { BatonError } from '../../errors.ts'
import { type Damage, limits, type Entry, type Store } from '../../store/index.ts'
import { ownerKey, Tape } from '../../tape/index.ts'
import { liveOperation, operation } from '../operation.ts'
import { demandTape } from '../workspace.ts'
import { asAgent, damage, draft, entry, entryId, expectation, kinds, placedFor, tapeName } from './shapes.ts'

/** A page ends behind the entry that fills it, so that an answer never holds a whole tape. */
const pageBytes = 4 * 1024 * 1024

export const tapeAppend = operation('tape.append', 'write', 'POST /tapes/{tape}/entries', {
  summary: 'Append entries to a tape, all or none; they are durable when this answers.',
  input: z.object({
    tape: tapeName,
    entries: z.array(draft).min(1).max(limits.batchEntries),
    expect: expectation.optional(),
    as: asAgent.optional(),
  }),
  output: z.object({ entries: z.array(entry) }),
  async run({ store }, { tape, entries, expect, as }, { caller }) {
    if (as === undefined && expect === undefined) {
      try {
        // Most tapes are nobody's: the store checks that while it appends.
        return { entries: await new Tape(store, tape).append(entries, { expect: { key: ownerKey, id: 0 } }) }
      } catch (error) {
        if (!BatonError.is(error) || error.code !== 'conflict') throw error
      }
    }
    const opened = await tapeWrittenBy(store, tape, as, caller.name)
    return { entries: await opened.append(entries, expect === undefined ? {} : { expect }) }
  },
  once: {
    carry: ({ entries: [first, ...rest], ...input }, idempotency, request) => ({
      ...input,
      entries: [{ ...first!, meta: { idempotency, ...first!.meta, request } }, ...rest],
    }),
    requestOf: ({ entries: [first] }) => first?.meta.request as string | undefined,
  },
})

/** On a tape that belongs to an agent, only that one writes; whoever does not say who it is is not it. */
export async function tapeWrittenBy(store: Store, name: string, as: string | undefined, caller: string): Promise<Tape> {
  if (as !== undefined) return new Tape(store, name, undefined, as)
  const owner = await new Tape(store, name).owner()
  return new Tape(store, name, undefined, owner === undefined ? undefined : caller)
}

export const tapeRead = operation('tape.read', 'read', 'GET /tapes/{tape}/entries', {
  summary:
    'Read entries of a tape, a page at a time: pass `next` as `after` (backwards: as `before`) for the page behind it.',
  input: z.object({
    tape: tapeName,
    after: entryId.optional().describe('Entries with a greater id.'),
    before: entryId.optional().describe('Entries with a smaller id.'),
    kinds: kinds.optional(),
    limit: z.int().min(1).max(1000).default(100),
    reverse: z.boolean().optional().describe('Newest first.'),
    archived: z.boolean().optional().describe('Also what resets have archived.'),
  }),
  output: z.object({
    entries: z.array(entry),
    next: z.int().optional().describe('Given if there is more behind this page.'),
    lastId: z.int().describe('The last id of the tape.'),
    damage: z.array(damage).describe('What could not be read; the entries around it are there.'),
  }),
  async run({ store }, { tape, limit, ...range }, { caller }) {
    await demandTape(store, tape)
    const entries: Entry[] = []
    let bytes = 0
    let more = false
    const found: Damage[] = []
    const onDamage = (each: Damage) => void found.push(each)
    for await (const each of store.read(tape, { ...range, limit: limit + 1, onDamage })) {
      if (entries.length >= limit || bytes > pageBytes) {
        more = true
        break
      }
      entries.push(each)
      bytes += JSON.stringify(each).length
    }
    const lastId = (await store.info(tape))?.lastId ?? 0
    return { entries, next: more ? entries.at(-1)!.id : undefined, lastId, damage: placedFor(caller, found) }
  },
})

export const tapeWatch = liveOperation('tape.watch', 'read', 'GET /tapes/{tape}/watch', {
  summary: 'Follow a tape: every entry after an id, now and from now on, once each.',
  input: z.object({ tape: tapeName, after: entryId.default(0) }),
  each: entry,
  run: ({ store }, { tape, after }, { signal }) => store.watch(tape, after, signal),
})

export const tapeSearch = operation('tape.search', 'read', 'GET /tapes/{tape}/search', {
  summary: 'Find text anywhere in the entries of a tape and their large content, newest first.',
  input: z.object({
    tape: tapeName,
    text: z.string().min(1).max(1000),
    kinds: kinds.optional(),
    from: z.string().max(40).optional().describe('A day or a time.'),
    to: z.string().max(40).optional().describe('A day, which is included, or a time.'),
    limit: z.int().min(1).max(200).default(20),
    archived: z.boolean().optional(),
  }),
  output: z.object({
    hits: z.array(
      z.object({
        entry,
        blob: z
          .object({ sha256: z.string(), offset: z.int(), excerpt: z.string() })
          .optional()
          .describe('Where the text is in large content.'),
      }),
    ),
    damage: z.array(damage),
  }),
  async run({ store }, { tape, text, ...query }, { caller, signal }) {
    await demandTape(store, tape)
    const found: Damage[] = []
    const onDamage = (each: Damage) => void found.push(each)
    const hits = await new Tape(store, tape).find(text, { ...query, onDamage, signal })
    return { hits, damage: placedFor(caller, found) }
  },
})
