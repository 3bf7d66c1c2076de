// The side of the agent that hands over: see what is missing and who could provide it, ask, and go on with the answer.

import { BatonError } from '../errors.ts'
import { iso } from './desk.ts'
import type { Relay } from './relay.ts'
import {
  type HandoffDecision,
  type HandoffRequest,
  type HandoffResponse,
  human,
  type MissingInput,
  type Priority,
  schemaVersion,
} from './schema.ts'
import type { RelaySettings } from './settings.ts'

const researchSources = ['external', 'market']
const userSources = ['user', 'decision']

export type State = Readonly<Record<string, unknown>>

/** A person is asked: the work goes on when they have answered, see `resume` of `process`. */
export class HandoffEscalationError extends BatonError {
  readonly response: HandoffResponse
  readonly requestId: string
  readonly escalation: string

  constructor(message: string, outcome: { response: HandoffResponse; requestId: string; escalation: string }) {
    super('refused', message, { hint: `See "baton escalations show ${outcome.escalation}".` })
    this.response = outcome.response
    this.requestId = outcome.requestId
    this.escalation = outcome.escalation
  }
}

/** Whether an agent can work with what it has; if not, who may have the rest. */
export function assess(
  required: readonly MissingInput[],
  state: State,
  { research, orchestrator }: RelaySettings['roles'],
): HandoffDecision {
  const missing = missingFrom(required, state)
  if (missing.length === 0) return { canHandle: true, confidence: 0.9 }
  const researchable = missing.filter(({ source = '' }) => researchSources.includes(source))
  const needsUser = missing.filter(({ source = '' }) => userSources.includes(source))
  if (needsUser.length > 0) {
    const missingInputs = needsUser.map(({ key }) => key)
    const reason = 'Missing user decision'
    return { canHandle: false, confidence: 0.5, handoffTo: orchestrator, reason, missingInputs }
  }
  if (researchable.length > 0) {
    const missingInputs = researchable.map(({ key }) => key)
    return { canHandle: false, confidence: 0.7, handoffTo: research, reason: 'Missing research data', missingInputs }
  }
  // Nobody is known to have what is missing: better to try than to ask around.
  return { canHandle: true, confidence: 0.6 }
}

function missingFrom(required: readonly MissingInput[], state: State): MissingInput[] {
  return required.filter(({ key }) => !Object.hasOwn(state, key) || state[key] === undefined)
}

export interface Job<R> {
  readonly relay: Relay
  /** Whose work it is. */
  readonly agent: string
  readonly traceId: string
  /** What is worked on, as in "market-analysis". */
  readonly documentType: string
  /** What the work needs. */
  readonly required: readonly MissingInput[]
  readonly state: State
  /** The work itself, with what the state has become. */
  readonly run: (state: State) => Promise<R> | R
  readonly currentStep?: number
  readonly attemptNumber?: number
  readonly priority?: Priority
  /** The request of an earlier try that ended in a `HandoffEscalationError`: go on with its answer. */
  readonly resume?: string
  readonly warn?: (message: string) => void
  readonly signal?: AbortSignal
}

/** Does the work, after asking for what is missing; with what there is when the policy says so. */
export async function process<R>(job: Job<R>): Promise<R> {
  let { state } = job
  if (job.resume !== undefined) {
    const { request, response } = await answerTo(job, job.resume)
    const next = await recover(job, job.resume, request, response)
    state = { ...state, ...next.inputs }
    if (next.isFinal) return job.run(state)
  }
  for (;;) {
    const decision = assess(job.required, state, job.relay.settings.roles)
    if (decision.canHandle) return job.run(state)
    const missing = missingFrom(job.required, state).filter(({ key }) => decision.missingInputs?.includes(key))
    const next = await ask(job, requestFor(job, decision.handoffTo!, decision.reason!, missing), [])
    state = { ...state, ...next.inputs }
    if (next.isFinal) return job.run(state)
  }
}

/** What a handoff brought; `isFinal` when the work goes on although something is still missing. */
interface Gain {
  readonly inputs: State
  readonly isFinal: boolean
}

async function ask<R>(job: Job<R>, request: HandoffRequest, tried: readonly string[]): Promise<Gain> {
  const outcome = await job.relay.request(request, job.signal === undefined ? {} : { signal: job.signal })
  if (outcome.status === 'escalated') {
    throw new HandoffEscalationError(`${job.documentType} requires human input`, outcome)
  }
  if (outcome.status === 'pending') throw new BatonError('refused', `${outcome.requestId} was left without an answer`)
  return recover(job, outcome.requestId, request, outcome.response, tried)
}

/** What was provided was held against the expected types when it was answered: it can be merged as it is. */
async function recover<R>(
  job: Job<R>,
  requestId: string,
  request: HandoffRequest,
  response: HandoffResponse,
  tried: readonly string[] = [],
): Promise<Gain> {
  const inputs = response.providedInputs ?? {}
  if (response.status === 'resolved') return { inputs, isFinal: false }
  const decision = await job.relay.recover(requestId, { request, response, tried })
  const left = (request.missingInputs ?? []).filter(({ key }) => !Object.hasOwn(inputs, key))
  const askInstead = async (target: string): Promise<Gain> => {
    const next = requestFor(job, target, decision.reason, left)
    const isPerson = target === human
    const gain = await ask(job, isPerson ? { ...next, reason: 'requires_human_decision' } : next, [
      ...tried,
      request.handoffTo,
    ])
    return { inputs: { ...inputs, ...gain.inputs }, isFinal: gain.isFinal }
  }
  switch (decision.action) {
    case 'retry_different_target':
      return askInstead(decision.newTarget)
    case 'escalate':
      if (request.handoffTo !== human) return askInstead(human)
      throw new BatonError('refused', `${job.documentType} cannot go on: ${decision.reason}`)
    case 'fallback_default':
      warn(job, decision.reason)
      return { inputs: { ...inputs, ...decision.defaults }, isFinal: false }
    case 'proceed_partial':
    case 'skip_and_continue':
      warn(job, decision.reason)
      return { inputs, isFinal: true }
  }
}

function warn<R>(job: Job<R>, reason: string): void {
  job.warn?.(`Proceeding with partial data for ${job.documentType}: ${reason}`)
}

async function answerTo<R>(job: Job<R>, requestId: string) {
  const { relay, agent, signal } = job
  const response = await relay.resume(requestId, { by: agent, ...(signal === undefined ? {} : { signal }) })
  const { envelope } = await relay.status(requestId)
  return { request: envelope.request, response }
}

function requestFor<R>(job: Job<R>, target: string, detail: string, missing: readonly MissingInput[]): HandoffRequest {
  const { agent, traceId, documentType, currentStep = 1, attemptNumber = 1, priority = 'medium' } = job
  const keys = missing.map(({ key }) => key).join(', ')
  return {
    schemaVersion,
    traceId,
    timestamp: iso(Date.now()),
    sourceAgent: agent,
    sourceContext: { documentType, currentStep, attemptNumber },
    canHandle: false,
    handoffTo: target,
    reason: 'missing_required_input',
    reasonDetail: detail,
    missingInputs: [...missing],
    contextForTarget: { summary: `Processing ${documentType}, missing: ${keys}` },
    priority,
  }
}
