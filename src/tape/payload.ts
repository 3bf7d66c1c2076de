// What the payloads of known kinds look like. Checked where entries come in, with fields nobody knows kept as they are;
// kinds nobody knows pass unchecked.

import * as z from 'zod'
import { InvalidError } from '../errors.ts'
import type { Draft } from '../store/index.ts'

const part = z.looseObject({ type: z.string().min(1) })

const message = z.looseObject({
  role: z.string().min(1),
  content: z.union([z.string(), z.array(part), z.null()]).optional(),
  customType: z.string().optional(),
  display: z.boolean().optional(),
})

const call = z.looseObject({ id: z.string().min(1), name: z.string().min(1), arguments: z.unknown().optional() })

const result = z.looseObject({
  call_id: z.string().min(1),
  name: z.string().optional(),
  output: z.unknown().optional(),
  is_error: z.boolean().optional(),
})

const payloads: Record<string, z.ZodType> = {
  message,
  system: z.looseObject({ content: z.string() }),
  tool_call: z.looseObject({ calls: z.array(call).min(1) }),
  tool_result: z.looseObject({ results: z.array(result).min(1) }),
  anchor: z.looseObject({
    name: z.string().min(1),
    state: z.unknown().optional(),
    from: z.int().positive().optional(),
  }),
  event: z.looseObject({ name: z.string().min(1), data: z.unknown().optional() }),
  error: z.looseObject({ kind: z.string().min(1), message: z.string(), details: z.unknown().optional() }),
}

export type Part = z.infer<typeof part>
export type MessagePayload = z.infer<typeof message>
export type ToolCall = z.infer<typeof call>
export type ToolResult = z.infer<typeof result>

export interface EventPayload {
  name: string
  data?: unknown
}

/** Throws `InvalidError` with the path of what is wrong in the payload of a known kind. */
export function checkPayload(draft: Draft, where = ''): void {
  const schema = Object.hasOwn(payloads, draft.kind) ? payloads[draft.kind] : undefined
  const issue = schema?.safeParse(draft.payload).error?.issues[0]
  if (issue === undefined) return
  const path = ['payload', ...issue.path].join('.')
  throw new InvalidError(`${where}${path} of a ${draft.kind} is wrong: ${issue.message}`, { path })
}
