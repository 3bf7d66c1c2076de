// The side of the agent that hands over: see what is missing and who could provide it, ask, and go on with the answer.

import { hash } from 'node:crypto'
import { BatonError } from '../errors.ts'
import { iso } from './desk.ts'
import type { Failure } from './recovery.ts'
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

interface Escalated {
  readonly response: HandoffResponse
  readonly requestId: string
  readonly escalation: string
}

/** A person is asked: the work goes on when they have answered, with `resume` and `state` of `process`. */
export class HandoffEscalationError extends BatonError {
  readonly response: HandoffResponse
  readonly requestId: string
  readonly escalation: string
  /** What the job has so far, answers to earlier requests included. */
  readonly state: State

  constructor(message: string, { response, requestId, escalation }: Escalated, state: State) {
    super('refused', message, { hint: `See "baton escalations show ${escalation}".` })
    this.response = response
    this.requestId = requestId
    this.escalation = escalation
    this.state = state
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
  const { resume, relay, agent, signal, state } = job
  if (resume === undefined) return goOn(job, state)
  const options = { by: agent, ...(signal === undefined ? {} : { signal }) }
  const end = await relay.resume(resume, options, async (response): Promise<End<R>> => {
    try {
      const { request } = (await relay.status(resume)).envelope
      const next = await recover(job, { requestId: resume, request, response, state, tried: [] })
      const gained = { ...state, ...next.inputs }
      return { result: next.isFinal ? await job.run(gained) : await goOn(job, gained) }
    } catch (error) {
      // The answer has been used: it is part of the state that waits for the next one.
      if (error instanceof HandoffEscalationError) return { error }
      throw error
    }
  })
  if (end.error !== undefined) throw end.error
  return end.result
}

type End<R> = { readonly result: R; readonly error?: undefined } | { readonly error: HandoffEscalationError }

async function goOn<R>(job: Job<R>, given: State): Promise<R> {
  for (let state = given; ;) {
    const decision = assess(job.required, state, job.relay.settings.roles)
    if (decision.canHandle) return job.run(state)
    const missing = missingFrom(job.required, state).filter(({ key }) => decision.missingInputs?.includes(key))
    const next = await ask(job, requestFor(job, decision.handoffTo!, decision.reason!, missing), state, [])
    state = { ...state, ...next.inputs }
    if (next.isFinal) return job.run(state)
  }
}

/** What a handoff brought; `isFinal` when the work goes on although something is still missing. */
interface Gain {
  readonly inputs: State
  readonly isFinal: boolean
}

async function ask<R>(job: Job<R>, request: HandoffRequest, state: State, tried: readonly string[]): Promise<Gain> {
  const { relay, signal } = job
  const options = signal === undefined ? {} : { signal }
  const outcome = await relay.request(request, { requestId: idOf(request), ...options })
  if (outcome.status === 'escalated') {
    throw new HandoffEscalationError(`${job.documentType} requires human input`, outcome, state)
  }
  if (outcome.status === 'pending') throw new BatonError('refused', `${outcome.requestId} was left without an answer`)
  const { requestId, response } = outcome
  return recover(job, { requestId, request, response, state, tried })
}

/** What was provided was held against the expected types when it was answered: it can be merged as it is. */
async function recover<R>(
  job: Job<R>,
  { requestId, request, response, state, tried }: Failure & { requestId: string; state: State },
): Promise<Gain> {
  const inputs = response.providedInputs ?? {}
  if (response.status === 'resolved') return { inputs, isFinal: false }
  const decision = await job.relay.recover(requestId, { request, response, tried })
  const left = (request.missingInputs ?? []).filter(({ key }) => !Object.hasOwn(inputs, key))
  const askInstead = async (target: string): Promise<Gain> => {
    const next = requestFor(job, target, decision.reason, left)
    const isPerson = target === human
    const asked = isPerson ? { ...next, reason: 'requires_human_decision' as const } : next
    const gain = await ask(job, asked, { ...state, ...inputs }, [...tried, request.handoffTo])
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

/** The same question of the same job is one request: a job that died while it waited has the answer when it comes again. */
function idOf({ timestamp: _timestamp, ...request }: HandoffRequest): string {
  return `job:${hash('sha256', JSON.stringify(request), 'hex').slice(0, 32)}`
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
