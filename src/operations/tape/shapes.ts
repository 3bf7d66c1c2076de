// How tapes and entries look from outside.

import path from 'node:path'
import * as z from 'zod'
import { type Damage, limits } from '../../store/index.ts'
import type { Caller } from '../operation.ts'

export const tapeName = z.string().min(1).max(limits.nameBytes).describe('The name of a tape, such as main.')

const meta = z.looseObject({
  run_id: z.string().optional(),
  key: z.string().min(1).optional(),
  origin: z.string().optional(),
  context: z.boolean().optional(),
  idempotency: z.string().min(1).optional(),
})

export const draft = z
  .looseObject({
    kind: z.string().min(1),
    payload: z.unknown(),
    meta: meta.optional(),
    date: z.string().optional(),
  })
  .describe('An entry to append: message, system, tool_call, tool_result, anchor, event, error, or a kind of your own.')

export const entry = z.looseObject({
  id: z.int().positive(),
  kind: z.string(),
  payload: z.unknown(),
  meta: z.looseObject({}),
  date: z.string(),
})

export const entryId = z.int().min(0)

export const expectation = z
  .union([entryId, z.object({ key: z.string().min(1), id: entryId })])
  .describe(
    'The last id that you have seen (0: none), or that of the last entry with a key. Otherwise it is a conflict.',
  )

export const kinds = z.array(z.string().min(1)).max(50).describe('Only entries of these kinds.')

export const anchor = z.object({
  id: z.int(),
  name: z.string(),
  state: z.unknown(),
  from: z.int().optional(),
  date: z.string(),
})

export const archive = z.object({
  ref: z.string(),
  tape: z.string(),
  firstId: z.int(),
  lastId: z.int(),
  bytes: z.int(),
})

export const damage = z.object({
  kind: z.string(),
  file: z.string(),
  offset: z.int(),
  length: z.int(),
  lost: z.object({ from: z.int(), to: z.int() }).optional(),
  message: z.string(),
})

export const asAgent = z
  .string()
  .min(1)
  .max(200)
  .describe('The agent that writes: needed on a tape that belongs to one.')

/** Callers from other machines do not see where the workspace is on this one. */
export function placedFor({ local }: Caller, found: readonly Damage[]): Damage[] {
  return found.map((each) => (local === true ? each : { ...each, file: path.basename(each.file) }))
}
