// What every part of the relay works with.

import { checked } from '../config/checked.ts'
import type { ExpectedTypes } from './expected-type.ts'
import type { Journal } from './journal.ts'
import type { RelayObserver } from './observer.ts'
import type { Escalation } from './outcome.ts'
import { checkAgent } from './routes.ts'
import { type HandoffRequest, human, requestSchema } from './schema.ts'
import type { RelaySettings } from './settings.ts'

export interface Desk {
  readonly journal: Journal
  readonly settings: RelaySettings
  readonly types: ExpectedTypes
  readonly observer: RelayObserver
  /** Tells a person that they are asked; nothing depends on it, for the escalation is stored. */
  readonly notify: (escalation: Escalation) => void
  /** Milliseconds of the wall clock, which may jump. */
  readonly now: () => number
  /** Milliseconds of a clock that never goes back, and means nothing to other processes. */
  readonly monotonic: () => number
  /** Something that nobody waits for, but that must be over before the relay is. */
  readonly later: (work: Promise<unknown>) => void
  /** Tells this process from others. */
  readonly self: string
}

export const iso = (ms: number) => new Date(ms).toISOString()

/** A request as the schema, the topology and the known types have it; anything else is an error with its path. */
export function parseRequest({ settings, types }: Desk, given: unknown): HandoffRequest {
  const request = checked(requestSchema, given, 'The request')
  checkAgent(settings, request.sourceAgent, 'sourceAgent')
  if (request.handoffTo !== human) checkAgent(settings, request.handoffTo, 'handoffTo')
  request.missingInputs?.forEach((input, i) => types.get(input.expectedType, `missingInputs[${i}].expectedType`))
  return request
}
