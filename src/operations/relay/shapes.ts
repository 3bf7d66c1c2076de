// What operations of the relay take and answer in common.

import * as z from 'zod'
import { ConflictError } from '../../errors.ts'
import type { AnswerResult, HandoffRequest } from '../../relay/index.ts'
import { type Call, demandPerson } from '../operation.ts'

export const agent = z.string().min(1).max(200)
export const requestId = z.string().min(1).max(200).describe('The id of a request; its beginning is enough.')
/** An object whose fields the relay's own schemas describe. */
export const anyObject = z.looseObject({})

export function tooLate(id: string, { response }: Extract<AnswerResult, { status: 'late' }>): ConflictError {
  return new ConflictError(`The answer to ${id} came too late: it is kept, but changes nothing`, {
    actual: 0,
    ...(response === undefined ? {} : { hint: `The answer that was accepted is that of ${response.respondingAgent}.` }),
  })
}

/**
 * The person who answers a question to people. On this machine a program may pass on an ordinary answer; a decision that only people
 * make, and any answer over the network, needs a person: an agent that answers its own question would pass every gate.
 */
export function personAnswering({ reason }: HandoffRequest, call: Call): Call['caller']['person'] {
  return call.caller.local !== true || reason === 'requires_human_decision' ? demandPerson(call) : undefined
}
