// What every part of the relay shares: the journal, the settings, the clocks, and whom to notify.

import { checked } from '../config/index.ts'
import type { ExpectedTypes } from './request/expected-type.ts'
import { type RelayClock, timeLeft } from './clock.ts'
import type { Hold } from './journal/events.ts'
import type { Journal } from './journal/journal.ts'
import type { Escalation } from './results.ts'
import { checkAgent } from './request/routes.ts'
import {
  type HandoffMode,
  type HandoffRequest,
  type HandoffResponse,
  human,
  type Rejection,
  requestSchema,
} from './schema.ts'
import type { RelaySettings } from './settings.ts'
import type { HandoffObserver } from '../telemetry/index.ts'

/** Is called as the relay works; telemetry is one. */
export type RelayObserver = HandoffObserver<HandoffRequest, HandoffResponse, Rejection, HandoffMode>
export type RequestSpan = ReturnType<RelayObserver['requested']>
export type WorkSpan = ReturnType<RelayObserver['working']>

export interface RelayContext extends RelayClock {
  readonly journal: Journal
  readonly settings: RelaySettings
  readonly types: ExpectedTypes
  readonly observer: RelayObserver
  /** Notifies people of an escalation. Nothing depends on it, because the escalation is stored. */
  readonly notify: (escalation: Escalation) => void
  /** Runs work that nobody waits for; the relay does not close before it has ended. */
  readonly inBackground: (work: Promise<unknown>) => void
  /** The name of this process among all that use the relay. */
  readonly self: string
}

export function leaseLeft(clock: RelayClock, hold: Hold & { readonly seen: number }): number {
  return timeLeft(clock, hold, hold.leaseMs)
}

export const iso = (ms: number) => new Date(ms).toISOString()

/** Checks a request against the schema, the agents and the known types; throws an error that names the path. */
export function parseRequest({ settings, types }: RelayContext, given: unknown): HandoffRequest {
  const request = checked(requestSchema, given, 'The request')
  checkAgent(settings, request.sourceAgent, 'sourceAgent')
  if (request.handoffTo !== human) checkAgent(settings, request.handoffTo, 'handoffTo')
  request.missingInputs?.forEach((input, i) => types.get(input.expectedType, `missingInputs[${i}].expectedType`))
  return request
}
