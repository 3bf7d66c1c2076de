// The document as JSON: its own shape, checked when it comes back from outside.

import { z } from 'zod'
import { InvalidError } from '../../errors.ts'
import type { HandoffDocument } from './document.ts'
import { normalDocument } from './normal.ts'

const status = z.enum(['verified', 'claimed'])
const file = z.object({
  action: z.enum(['created', 'edited', 'renamed', 'deleted', 'read']),
  from: z.string().optional(),
  added: z.number().int().nonnegative().optional(),
  removed: z.number().int().nonnegative().optional(),
  git: z.literal(true).optional(),
  uncertain: z.literal(true).optional(),
})
const item = z.object({
  text: z.string(),
  status,
  by: z.literal('user').optional(),
  refs: z.array(z.string()),
  data: z.string().optional(),
  why: z.string().optional(),
  ruledOut: z.string().optional(),
  checked: z.boolean().optional(),
  file: file.optional(),
})
const key = z.enum([
  'goal',
  'constraints',
  'done',
  'doing',
  'pending',
  'decisions',
  'context',
  'next',
  'blockers',
  'failures',
  'files',
  'notes',
])
const schema: z.ZodType<HandoffDocument> = z.object({
  profile: z.enum(['session', 'cycle']),
  header: z.object({
    created: z.string().optional(),
    contextUsage: z.number().nonnegative().optional(),
    project: z.string().optional(),
    tape: z.string().optional(),
    range: z.object({ from: z.number().int(), to: z.number().int() }).optional(),
    anchor: z.string().optional(),
    goal: z.string().optional(),
  }),
  sections: z.array(
    z.object({
      key,
      items: z.array(item),
      omitted: z.object({ count: z.number().int().positive(), command: z.string().optional() }).optional(),
      filled: z.literal(true).optional(),
    }),
  ),
})

export function renderJson(document: HandoffDocument): string {
  return `${JSON.stringify(document, null, 2)}\n`
}

export function parseJson(text: string): HandoffDocument {
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch (cause) {
    throw new InvalidError('The handoff document is not JSON', { cause })
  }
  const parsed = schema.safeParse(value)
  if (parsed.success) return normalDocument(parsed.data)
  const [issue] = parsed.error.issues
  const path = issue?.path.join('.') ?? ''
  throw new InvalidError(`The handoff document is wrong at "${path}": ${issue?.message ?? 'unknown'}`, { path })
}
