// What agents say to each other when work changes hands: a request, a response, and the decision before them. The
// envelope is what the relay adds around a request so that it can travel between processes.

import * as z from 'zod'
import type { Json } from '../store/index.ts'
import { isPlainJson } from './plain-json.ts'

export const schemaVersion = '1.0.0'

/** The target that is a person. */
export const human = 'human'

const reasons = [
  'missing_required_input',
  'validation_failure',
  'expertise_mismatch',
  'resource_exhausted',
  'requires_human_decision',
] as const
/** The most urgent first. */
export const priorities = ['critical', 'high', 'medium', 'low'] as const
const statuses = ['resolved', 'partial', 'failed', 'escalated'] as const

const word = z.string().min(1).max(200)
const text = z.string()
const version = z.literal(schemaVersion)
// Lower case, so that the same trace in other letters is not another trace.
const traceId = z.uuid().toLowerCase()
const time = z.iso.datetime({ offset: true })

/** Ten years: what is longer is no timeout, and what is much longer is no date. */
const longestTimeout = 315_576_000_000

/** Names become keys of plain objects, so those that objects have of themselves are no names. */
const inputKey = word.refine((key) => !unsafeKeys.has(key), 'that name is not allowed')
const unsafeKeys = new Set(['__proto__', 'constructor', 'prototype'])

/** Data that is exactly what its JSON says: no instances, no functions, nothing that a parser would revive. */
export const plainJson = z.unknown().refine((value) => isPlainJson(value), 'it must be plain JSON') as z.ZodType<Json>

/** A parser drops a `__proto__` without a word; here it is refused, for whoever sends one means no good. */
const inputs = z
  .unknown()
  .refine((value) => !hasOwnPrototype(value), 'it must not have a __proto__')
  .pipe(z.record(inputKey, plainJson))

function hasOwnPrototype(value: unknown): boolean {
  return typeof value === 'object' && value !== null && Object.hasOwn(value, '__proto__')
}

export const missingInputSchema = z.strictObject({
  key: inputKey,
  expectedType: word.describe(
    'string, number, integer, boolean, object, array, date, …, TYPE[], A | B, or a type of the settings',
  ),
  description: text,
  source: word.optional().describe('which document or phase should provide it'),
})
export type MissingInput = z.output<typeof missingInputSchema>

const attemptSchema = z.strictObject({ attempt: z.number(), action: text, result: text })

export const requestSchema = z.strictObject({
  schemaVersion: version,
  traceId,
  timestamp: time,
  sourceAgent: word,
  sourceContext: z.strictObject({
    documentType: word.optional(),
    currentStep: z.number(),
    attemptNumber: z.number(),
  }),
  canHandle: z.literal(false),
  handoffTo: word,
  reason: z.enum(reasons),
  reasonDetail: text,
  missingInputs: z
    .array(missingInputSchema)
    .max(1_000)
    .refine((inputs) => new Set(inputs.map(({ key }) => key)).size === inputs.length, 'two of them have the same key')
    .optional(),
  contextForTarget: z.strictObject({
    summary: text,
    relevantOutputs: inputs.optional(),
    priorAttempts: z.array(attemptSchema).optional(),
  }),
  priority: z.enum(priorities),
  timeoutMs: z.int().min(1).max(longestTimeout).optional(),
})
export type HandoffRequest = z.output<typeof requestSchema>
export type Reason = HandoffRequest['reason']
export type Priority = HandoffRequest['priority']

export const responseSchema = z.strictObject({
  schemaVersion: version,
  traceId,
  timestamp: time,
  respondingAgent: word,
  status: z.enum(statuses),
  providedInputs: inputs.optional(),
  unresolved: z.array(word).optional(),
  failureReason: text.optional(),
  recommendations: z.array(text).optional(),
  executionTimeMs: z.number().min(0),
  tokensUsed: z.number().min(0).optional(),
})
export type HandoffResponse = z.output<typeof responseSchema>
export type Status = HandoffResponse['status']

/** What a target has to say; the relay fills in the rest of the response. */
export const answerSchema = responseSchema.partial({
  schemaVersion: true,
  traceId: true,
  timestamp: true,
  respondingAgent: true,
  executionTimeMs: true,
})
export type HandoffAnswer = z.output<typeof answerSchema>

export const decisionSchema = z.strictObject({
  canHandle: z.boolean(),
  confidence: z.number().min(0).max(1),
  handoffTo: word.optional(),
  reason: text.optional(),
  missingInputs: z.array(inputKey).optional(),
})
export type HandoffDecision = z.output<typeof decisionSchema>

/** Who has the trace once the target is done: the caller again, or the target for good. */
const modes = ['return_to_caller', 'pass_control'] as const
export type Mode = (typeof modes)[number]

export const requestIdSchema = z
  .string()
  .regex(/^[\w.:-]{1,128}$/, 'it takes at most 128 letters, digits and marks such as - _ . :')

/** As in the W3C recommendation. */
export const traceparentSchema = z
  .string()
  .regex(/^[\da-f]{2}-[\da-f]{32}-[\da-f]{16}-[\da-f]{2}$/, 'it is not a W3C traceparent')

export const envelopeSchema = z.strictObject({
  requestId: requestIdSchema,
  hops: z.int().min(1).describe('handoffs tried in this trace so far, this one included'),
  hopsLeft: z.int().min(0).describe('how many more the trace may make'),
  mode: z.enum(modes),
  traceparent: traceparentSchema.optional(),
  acceptedAt: time,
  deadline: time.optional().describe('when it counts as failed; people have none'),
  request: requestSchema,
})
export type Envelope = z.output<typeof envelopeSchema>

const schemas = {
  request: requestSchema,
  response: responseSchema,
  decision: decisionSchema,
  envelope: envelopeSchema,
}
export type SchemaName = keyof typeof schemas
export const schemaNames = Object.keys(schemas) as SchemaName[]

export function jsonSchema(name: SchemaName): Record<string, unknown> {
  return { title: `Baton handoff ${name}`, ...z.toJSONSchema(schemas[name]) }
}
