// Makes the answer of a target into the response to a request. What it provides is checked before anybody merges it: the right
// inputs, of the right types, from the right agent.

import { hash } from 'node:crypto'
import { isDeepStrictEqual } from 'node:util'
import type * as z from 'zod'
import { checked } from '../../config/index.ts'
import { InvalidError } from '../../errors.ts'
import { type RelayContext, iso } from '../context.ts'
import type { ExpectedTypes } from './expected-type.ts'
import { answerSchema, type HandoffRequest, type HandoffResponse, handoffSchemaVersion } from '../schema.ts'

export interface Respondent {
  readonly agent: string
  /** How long it took; used unless the answer says so itself. */
  readonly tookMs: number
}

export function responseTo(
  context: RelayContext,
  request: HandoffRequest,
  given: unknown,
  by: Respondent,
): HandoffResponse {
  const answer = checked(answerSchema, given, 'The answer')
  if (answer.traceId !== undefined && answer.traceId !== request.traceId) {
    throw new InvalidError(`The answer is to trace ${answer.traceId}, the request is of ${request.traceId}`, {
      path: 'traceId',
    })
  }
  if (answer.respondingAgent !== undefined && answer.respondingAgent !== by.agent) {
    throw new InvalidError(`${answer.respondingAgent} cannot answer for ${by.agent}, who was asked`, {
      path: 'respondingAgent',
    })
  }
  const provided = answer.providedInputs ?? {}
  checkProvided(context, request, provided)
  const absent = (request.missingInputs ?? []).map(({ key }) => key).filter((key) => !Object.hasOwn(provided, key))
  if (answer.status === 'resolved' && absent.length > 0) {
    throw new InvalidError(`It is not resolved without ${absent.join(', ')}`, {
      path: `providedInputs.${absent[0]}`,
      hint: 'Provide what is missing, or answer with the status partial.',
    })
  }
  const unresolved = answer.unresolved ?? (answer.status === 'partial' ? absent : undefined)
  const failureReason = answer.failureReason ?? (answer.status === 'failed' ? 'No reason was given' : undefined)
  const response: HandoffResponse = {
    schemaVersion: handoffSchemaVersion,
    traceId: request.traceId,
    timestamp: answer.timestamp ?? iso(context.now()),
    respondingAgent: by.agent,
    status: answer.status,
    executionTimeMs: answer.executionTimeMs ?? Math.max(0, Math.round(by.tookMs)),
  }
  if (answer.providedInputs !== undefined) response.providedInputs = answer.providedInputs
  if (unresolved !== undefined) response.unresolved = unresolved
  if (failureReason !== undefined) response.failureReason = failureReason
  if (answer.recommendations !== undefined) response.recommendations = answer.recommendations
  if (answer.tokenUsage !== undefined) response.tokenUsage = answer.tokenUsage
  const used = answer.tokensUsed ?? (answer.tokenUsage && answer.tokenUsage.input + answer.tokenUsage.output)
  if (used !== undefined) response.tokensUsed = used
  return response
}

/** A request that names its missing inputs gets only those, each of its type; any other gets whatever is plain JSON. */
function checkProvided({ types }: RelayContext, request: HandoffRequest, provided: Record<string, unknown>): void {
  const missing = request.missingInputs ?? []
  if (missing.length === 0) return
  for (const [key, value] of Object.entries(provided)) {
    const path = `providedInputs.${key}`
    const input = missing.find((one) => one.key === key)
    if (input === undefined) {
      throw new InvalidError(`${path} was not asked for`, {
        path,
        hint: `Asked for are ${missing.map((one) => one.key).join(', ')}.`,
      })
    }
    const type = typeOf(types, input.expectedType, path)
    const result = type.safeParse(value)
    if (!result.success) {
      const [issue] = result.error.issues
      const inside = issue!.path.length === 0 ? '' : ` (at ${issue!.path.map(String).join('.')})`
      throw new InvalidError(`${path} must be ${input.expectedType}, not ${shown(value)}${inside}`, { path })
    }
  }
}

/** The type was known when the request was made, but the settings may have changed since. */
function typeOf(types: ExpectedTypes, expected: string, path: string): z.ZodType {
  try {
    return types.get(expected, path)
  } catch (cause) {
    throw new InvalidError(`${path} was asked for as "${expected}", which the settings no longer know`, {
      path,
      hint: 'Put it back into relay.types, or answer with the status partial or failed.',
      cause,
    })
  }
}

function shown(value: unknown): string {
  const text = JSON.stringify(value)
  return text.length > 60 ? `${text.slice(0, 60)}…` : text
}

/** A response that the relay gives itself, in the name of the orchestrator. */
export function failedResponse(
  { settings, now }: RelayContext,
  request: { traceId: string },
  reason: string,
): HandoffResponse {
  return {
    schemaVersion: handoffSchemaVersion,
    traceId: request.traceId,
    timestamp: iso(now()),
    respondingAgent: settings.roles.orchestrator,
    status: 'failed',
    failureReason: reason,
    executionTimeMs: 0,
  }
}

/** What makes two answers the same: everything except when they were given and how long they took. */
function substance(response: HandoffResponse): unknown {
  const { respondingAgent, status, providedInputs, unresolved, failureReason, recommendations } = response
  return { respondingAgent, status, providedInputs, unresolved, failureReason, recommendations }
}

export function isSameAnswer(a: HandoffResponse, b: HandoffResponse): boolean {
  return isDeepStrictEqual(substance(a), substance(b))
}

export function digestOf(response: HandoffResponse): string {
  return hash('sha256', JSON.stringify(substance(response)), 'base64url').slice(0, 16)
}
