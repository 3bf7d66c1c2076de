// What references point at: entries, the facts among them, and the sections of the document that they would make.

import * as z from 'zod'
import { InvalidError } from '../../errors.ts'
import { ledger, lookUpText, redactValue } from '../../handoff/index.ts'
import type { Entry } from '../../store/index.ts'
import { entriesAt, formatUri, resolve } from '../../tape/index.ts'
import { operation } from '../operation.ts'
import { entry } from './shapes.ts'

const reference = z.string().min(1).max(2000).describe('main#12, main#12..40, main@anchor or tape://…')

export const referenceShow = operation('reference.show', 'read', 'GET /references', {
  summary: 'What a reference points at: main#12, main#12..40, main@anchor or tape://…',
  input: z.object({
    ref: reference,
    limit: z.int().min(1).max(1000).default(100).describe('Of a range: at most so many entries.'),
  }),
  output: z.object({
    tape: z.string(),
    entries: z.array(entry),
    uri: z.string().optional().describe('The tape:// form of a single entry.'),
    more: z.boolean(),
    next: z.string().optional().describe('The reference to the rest, if there is more.'),
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
    if (place.type !== 'range')
      return { tape, entries, uri: formatUri({ workspace: store.workspace, tape, place }), more }
    const next = more ? `${tape}#${entries.at(-1)!.id + 1}..${place.to ?? ''}` : undefined
    return { tape, entries, more, next }
  },
})

export const factKinds = ['files', 'commands', 'failures', 'todos', 'instructions', 'decisions'] as const

export const referenceFacts = operation('reference.facts', 'read', 'GET /references/facts', {
  summary: 'The facts of a stretch of tape, such as the files it changed, without secrets.',
  input: z.object({ ref: reference, kind: z.enum(factKinds) }),
  output: z.object({ facts: z.looseObject({}).describe('By their kind.') }),
  async run({ store }, { ref, kind }) {
    const { value } = await redactValue(await ledger(entriesAt(store, await resolve(store, ref))))
    return { facts: { [kind]: value[kind] } as Pick<typeof value, typeof kind> }
  },
})

export const referenceSection = operation('reference.section', 'read', 'GET /references/section', {
  summary: 'What a handoff document had no room for, or a whole section of the document of a stretch of tape.',
  input: z.object({
    ref: reference,
    title: z.string().min(1).max(200).optional().describe('Its heading, such as Key Decisions.'),
    profile: z.enum(['session', 'cycle']).default('session'),
    left_out: z
      .string()
      .min(1)
      .max(40)
      .optional()
      .describe('Only what that document left out, as its header names it.'),
  }),
  output: z.object({ text: z.string() }),
  async run({ store }, { ref, title, profile, left_out: leftOut }) {
    if (title === undefined && leftOut === undefined) throw new InvalidError('Name a section', { path: 'title' })
    const text = await lookUpText(store, await resolve(store, ref), { title, profile, leftOut })
    if (text !== undefined) return { text }
    if (leftOut !== undefined) return { text: 'Nothing was left out.' }
    throw new InvalidError(`A ${profile} document has no section "${title}"`, {
      path: 'title',
      hint: 'Name it as its heading does, for example "Key Decisions".',
    })
  },
})
