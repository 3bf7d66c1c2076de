// What agents say to each other: a request, a response, and the decision whether to make one. The envelope is what the relay adds
// around a request so that it can travel between processes.

import * as z from 'zod'
import type { Json } from '../store/index.ts'

export const handoffSchemaVersion = '1.0.0'

/** The target that is a person. */
export const human = 'human'

const reasons = [
  'missing_required_input',
  'validation_failure',
  'expertise_mismatch',
  'resource_exhausted',
  'requires_human_decision',
] as const
/** In order, the most urgent first. */
export const priorities = ['critical', 'high', 'medium', 'low'] as const
const statuses = ['resolved', 'partial', 'failed', 'escalated'] as const

const word = z.string().min(1).max(200)
const text = z.string()
const version = z.literal(handoffSchemaVersion)
// In lower case, so that two spellings of a UUID are the same trace.
const traceId = z.uuid().toLowerCase()
const time = z.iso.datetime({ offset: true })

/** Ten years; a much longer timeout would end at a date that cannot be written. */
const longestTimeout = 315_576_000_000

/** Inputs become keys of plain objects, so the names that every object has are refused. */
const inputKey = word.refine((key) => !unsafeKeys.has(key), 'that name is not allowed')
const unsafeKeys = new Set(['__proto__', 'constructor', 'prototype'])

/**
 * What may be kept and merged: values that JSON writes and reads back as they are. Anything else (instances, functions,
 * `undefined`, NaN, a `toJSON`, a `__proto__`) would change on the way, or bring behaviour along.
 */
export const plainJson = z.unknown().refine((value) => isPlainJson(value), 'it must be plain JSON') as z.ZodType<Json>

/** A parser drops a `__proto__` silently; it is refused here, because nobody sends one by accident. */
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
/** A request from one agent to another agent or a person. */
export type HandoffRequest = z.output<typeof requestSchema>
export type HandoffReason = HandoffRequest['reason']
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
  tokenUsage: z
    .strictObject({ input: z.int().min(0), output: z.int().min(0) })
    .optional()
    .describe('tokensUsed in two parts, as models report them'),
})
/** The answer to a request. */
export type HandoffResponse = z.output<typeof responseSchema>
export type HandoffStatus = HandoffResponse['status']

/** What a target answers; the relay fills in the rest of the response. */
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

/** Who owns the trace after the answer: the caller again, or the target for good. */
const modes = ['return_to_caller', 'pass_control'] as const
export type HandoffMode = (typeof modes)[number]

/** Why a valid request was refused. */
export type Rejection =
  | 'item_limit'
  | 'pipeline_limit'
  | 'human_limit'
  | 'cooldown'
  | 'circular'
  | 'not_owner'
  | 'forbidden_route'
  | 'undeclared_route'
  | 'superseded'

/** How far a worker is. */
export const progressSchema = z.strictObject({
  text: z.string().max(2_000).optional(),
  percent: z.number().min(0).max(100).optional(),
})

export const requestIdSchema = z
  .string()
  .regex(/^[\w.:-]{1,128}$/, 'it takes at most 128 letters, digits and marks such as - _ . :')

/** As in the W3C recommendation on trace context. */
export const traceparentSchema = z
  .string()
  .regex(/^[\da-f]{2}-[\da-f]{32}-[\da-f]{16}-[\da-f]{2}$/, 'it is not a W3C traceparent')

export const tracestateSchema = z.string().regex(/^[\x20-\x7e]{1,512}$/, 'it is not a W3C tracestate')

export const envelopeSchema = z.strictObject({
  requestId: requestIdSchema,
  hops: z.int().min(1).describe('handoffs tried in this trace so far, this one included'),
  hopsLeft: z.int().min(0).describe('how many more the trace may make'),
  mode: z.enum(modes),
  traceparent: traceparentSchema.optional(),
  tracestate: tracestateSchema.optional(),
  acceptedAt: time,
  deadline: time.optional().describe('when it counts as failed; people have none'),
  request: requestSchema,
})
export type Envelope = z.output<typeof envelopeSchema>

const schemas = {
  request: requestSchema,
  response: responseSchema,
  answer: answerSchema,
  decision: decisionSchema,
  envelope: envelopeSchema,
}
export type RelaySchemaName = keyof typeof schemas
export const relaySchemaNames = Object.keys(schemas) as RelaySchemaName[]

export function relaySchema(name: RelaySchemaName): Record<string, unknown> {
  return { title: `Baton handoff ${name}`, ...z.toJSONSchema(schemas[name]) }
}

/** Deeper than any sensible data, and shallow enough for the stack. */
const deepest = 200

function isPlainJson(value: unknown, depth = 0): value is Json {
  if (depth > deepest) return false
  switch (typeof value) {
    case 'string':
    case 'boolean':
      return true
    case 'number':
      return Number.isFinite(value)
    case 'object':
      break
    default:
      return false
  }
  if (value === null) return true
  if (Array.isArray(value)) {
    for (let i = 0; i < value.length; i++) if (!isPlainJson(value[i], depth + 1)) return false
    return true
  }
  const prototype: unknown = Object.getPrototypeOf(value)
  if (prototype !== Object.prototype && prototype !== null) return false
  for (const [key, item] of Object.entries(value)) {
    if (key === '__proto__' || key === 'toJSON' || !isPlainJson(item, depth + 1)) return false
  }
  return true
}
