// Asking in a few words: the defaults of a request, and a result that has the type of its schema.

import { randomUUID } from 'node:crypto'
import * as z from 'zod'
import type { OptionNames } from '../options.ts'
import type { Json } from '../store/index.ts'
import { iso } from './context.ts'
import { requestOptions, type RequestOptions } from './manager.ts'
import type { RequestOutcome } from './results.ts'
import {
  type HandoffReason,
  type HandoffRequest,
  handoffSchemaVersion,
  human,
  type MissingInput,
  type Priority,
} from './schema.ts'

/** What to ask for, and how to wait for it. A `schema` types the result. */
export interface AskOptions<S extends z.ZodObject = z.ZodObject> extends RequestOptions {
  /** What the other has to know. */
  readonly summary: string
  /** What is wanted: names, or inputs with their types. By default, the required fields of the schema. */
  readonly missing?: readonly (string | MissingInput)[]
  /** What the inputs must look like; the result has its type. */
  readonly schema?: S
  /** Something made so far that the other may need. */
  readonly outputs?: Readonly<Record<string, Json>>
  /** The run of a pipeline that this belongs to, a UUID; a new one by default. */
  readonly trace?: string | undefined
  /** What is worked on in it: limits count for each item. */
  readonly item?: string
  readonly reason?: HandoffReason
  /** The reason in words. */
  readonly detail?: string
  readonly priority?: Priority
  readonly timeoutMs?: number
}

/** As `AskOptions`. */
export const askOptions = {
  summary: true,
  missing: true,
  schema: true,
  outputs: true,
  trace: true,
  item: true,
  reason: true,
  detail: true,
  priority: true,
  timeoutMs: true,
  ...requestOptions,
} as const satisfies OptionNames<AskOptions>

/** How a request ended, by its `status`. */
export type AskResult<T> =
  | (Omit<Extract<RequestOutcome, { status: 'resolved' }>, 'inputs'> & { readonly inputs: T })
  | Exclude<RequestOutcome, { status: 'resolved' }>

/** The whole request. */
export function requestOf(from: string, to: string, options: AskOptions): HandoffRequest {
  const { summary, trace = randomUUID(), item, detail = summary, priority = 'medium', timeoutMs, outputs } = options
  const missingInputs = missingOf(options)
  const usual =
    to === human ? 'requires_human_decision' : missingInputs.length > 0 ? 'missing_required_input' : undefined
  return {
    schemaVersion: handoffSchemaVersion,
    traceId: trace,
    timestamp: iso(Date.now()),
    sourceAgent: from,
    sourceContext: { ...(item === undefined ? {} : { documentType: item }), currentStep: 1, attemptNumber: 1 },
    canHandle: false,
    handoffTo: to,
    reason: options.reason ?? usual ?? 'expertise_mismatch',
    reasonDetail: detail,
    ...(missingInputs.length === 0 ? {} : { missingInputs }),
    contextForTarget: { summary, ...(outputs === undefined ? {} : { relevantOutputs: outputs }) },
    priority,
    ...(timeoutMs === undefined ? {} : { timeoutMs }),
  }
}

/** The result in the type of the schema; what does not fit it is a failure. */
export function resultOf<S extends z.ZodObject>(
  outcome: RequestOutcome,
  schema: S | undefined,
): AskResult<z.output<S>> {
  if (outcome.status !== 'resolved') return outcome
  if (schema === undefined) return { ...outcome, inputs: outcome.inputs as z.output<S> }
  const parsed = schema.safeParse(outcome.inputs)
  if (parsed.success) return { ...outcome, inputs: parsed.data }
  const [issue] = parsed.error.issues
  const reason = `The answer does not fit the schema: ${issue!.path.join('.')}: ${issue!.message}`
  const { requestId, response } = outcome
  return { status: 'failed', requestId, response, reason }
}

function missingOf({ missing, schema }: AskOptions): MissingInput[] {
  const fields = schema === undefined ? new Map<string, MissingInput>() : fieldsOf(schema)
  if (missing === undefined) return [...fields.values()]
  return missing.map((each) =>
    typeof each === 'string' ? (fields.get(each) ?? { key: each, expectedType: 'json', description: '' }) : each,
  )
}

/** The required fields of a schema, each with the type that the relay checks. The schema itself is checked by the agent that asks. */
function fieldsOf(schema: z.ZodObject): Map<string, MissingInput> {
  const { properties = {}, required = [] } = z.toJSONSchema(schema, { io: 'input', unrepresentable: 'any' })
  return new Map(
    required.map((key) => {
      const field = properties[key]
      const { type, description = '' } = typeof field === 'object' ? field : {}
      return [key, { key, expectedType: typeof type === 'string' ? type : 'json', description }]
    }),
  )
}
