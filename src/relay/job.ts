// A job is the work of an agent that may need inputs from others: it finds out what is missing and who could provide it,
// requests that, and continues with the answer.

import { hash } from 'node:crypto'
import { BatonError } from '../errors.ts'
import { iso } from './context.ts'
import type { HandoffFailure } from './recovery.ts'
import type { Relay } from './relay.ts'
import type { RequestOutcome } from './results.ts'
import {
  type HandoffDecision,
  type HandoffRequest,
  type HandoffResponse,
  human,
  type MissingInput,
  type Priority,
  handoffSchemaVersion,
  type Rejection,
} from './schema.ts'
import type { RelaySettings } from './settings.ts'

const researchSources = ['external', 'market']
const userSources = ['user', 'decision']

type EscalatedOutcome = Extract<RequestOutcome, { status: 'escalated' }>

export type JobState = Readonly<Record<string, unknown>>

/** A person is asked. When they have answered, `runJob` continues with this `requestId` as `resume`, and this `state`. */
export class HandoffEscalationError extends BatonError {
  readonly response: HandoffResponse
  readonly requestId: string
  readonly escalation: string
  /** What the job has so far, answers to earlier requests included. */
  readonly state: JobState

  constructor(message: string, { response, requestId, escalation }: EscalatedOutcome, state: JobState) {
    super('refused', message, { hint: `See "baton escalations show ${escalation}".` })
    this.response = response
    this.requestId = requestId
    this.escalation = escalation
    this.state = state
  }
}

/** The relay refused to ask for what a job needs; `rejection` names the limit or rule. Nothing was run without it. */
export class HandoffRefusedError extends BatonError {
  readonly requestId: string
  readonly rejection: Rejection

  constructor(documentType: string, { requestId, rejection, reason }: Extract<RequestOutcome, { status: 'rejected' }>) {
    super('refused', `${documentType} cannot continue: ${reason}`, {
      hint: 'Raise the limit in baton.config.json, provide the input, or allow the job to run with less (allowLess).',
    })
    this.requestId = requestId
    this.rejection = rejection
  }
}

/** Whether an agent can work with the state it has; if not, who may have the rest. */
export function assess(
  required: readonly MissingInput[],
  state: JobState,
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
  // Nobody is known to have what is missing, so it is better to try than to ask everybody.
  return { canHandle: true, confidence: 0.6 }
}

function missingFrom(required: readonly MissingInput[], state: JobState): MissingInput[] {
  return required.filter(({ key }) => !Object.hasOwn(state, key) || state[key] === undefined)
}

export interface Job<R> {
  readonly relay: Relay
  /** The agent that does the work. */
  readonly agent: string
  readonly traceId: string
  /** What is worked on, as in "market-analysis". */
  readonly documentType: string
  /** What the work needs. */
  readonly required: readonly MissingInput[]
  readonly state: JobState
  /** The work itself, on the state with all inputs that were provided. */
  readonly run: (state: JobState) => Promise<R> | R
  readonly currentStep?: number
  readonly attemptNumber?: number
  readonly priority?: Priority
  /** The request of an earlier run that ended in a `HandoffEscalationError`: continue with its answer. */
  readonly resume?: string
  /** Run although a request was refused by a limit or a rule. Otherwise that is a `HandoffRefusedError`. */
  readonly allowLess?: boolean
  /** Told when the job runs although something is missing; by default, Node prints a warning. */
  readonly warn?: (message: string) => void
  readonly signal?: AbortSignal
}

/** Requests what is missing, then runs the job; the recovery policy may let it run although something is still missing. */
export async function runJob<R>(job: Job<R>): Promise<R> {
  const { resume, relay, state } = job
  if (resume === undefined) return runOnceComplete(job, state)
  return withAnswer(job, resume, async (response) => {
    const { request } = (await relay.status(resume)).envelope
    return goOn(job, state, await applyRecovery(job, { requestId: resume, request, response, state, tried: [] }))
  })
}

/** Works with the answer of a person, which is used once: it is used up when the work is done. */
async function withAnswer<R>(
  { relay, agent, signal }: Job<R>,
  requestId: string,
  work: (response: HandoffResponse) => Promise<R>,
): Promise<R> {
  const options = { by: agent, ...(signal === undefined ? {} : { signal }) }
  const end = await relay.resume(requestId, options, async (response): Promise<JobEnd<R>> => {
    try {
      return { result: await work(response) }
    } catch (error) {
      // The answer counts as used: it is part of the state of the error, which waits for the next answer.
      if (error instanceof HandoffEscalationError) return { error }
      throw error
    }
  })
  if (end.error !== undefined) throw end.error
  return end.result
}

type JobEnd<R> = { readonly result: R; readonly error?: undefined } | { readonly error: HandoffEscalationError }

async function goOn<R>(job: Job<R>, state: JobState, { inputs, isFinal }: GainedInputs): Promise<R> {
  const gained = { ...state, ...inputs }
  return isFinal ? job.run(gained) : runOnceComplete(job, gained)
}

async function runOnceComplete<R>(job: Job<R>, state: JobState): Promise<R> {
  const decision = assess(job.required, state, job.relay.settings.roles)
  if (decision.canHandle) return job.run(state)
  const missing = missingFrom(job.required, state).filter(({ key }) => decision.missingInputs?.includes(key))
  const request = requestFor(job, decision.handoffTo!, decision.reason!, missing)
  const gained = await requestInputs(job, request, state, [])
  if (gained.person === undefined) return goOn(job, state, gained)
  return withAnswer(job, gained.person, () => goOn(job, state, gained))
}

/** The inputs that a handoff provided; `isFinal` when the job runs although something is still missing. */
interface GainedInputs {
  readonly inputs: JobState
  readonly isFinal: boolean
  /** The request that a person answered. */
  readonly person?: string
}

async function requestInputs<R>(
  job: Job<R>,
  request: HandoffRequest,
  state: JobState,
  tried: readonly string[],
): Promise<GainedInputs> {
  const { relay, signal } = job
  const options = signal === undefined ? {} : { signal }
  const outcome = await relay.request(request, { requestId: idOf(request), patient: true, ...options })
  if (outcome.status === 'escalated') {
    throw new HandoffEscalationError(`${job.documentType} requires human input`, outcome, state)
  }
  if (outcome.status === 'pending') throw new BatonError('refused', `${outcome.requestId} was left without an answer`)
  const isRefused = outcome.status === 'rejected' && job.allowLess !== true
  if (outcome.status === 'rejected' && isRefused && limitRejections.has(outcome.rejection)) {
    throw new HandoffRefusedError(job.documentType, outcome)
  }
  const { requestId, response } = outcome
  const gained = await applyRecovery(job, { requestId, request, response, state, tried, isRefused })
  return response.respondingAgent === human ? { ...gained, person: requestId } : gained
}

/** Refusals that say nothing about the route: they are never taken for an answer. */
const limitRejections = new Set<Rejection>(['item_limit', 'pipeline_limit', 'human_limit', 'cooldown', 'circular'])

/** Provided inputs were checked against the expected types when the request was answered, so they are merged as they are. */
async function applyRecovery<R>(
  job: Job<R>,
  failure: HandoffFailure & { requestId: string; state: JobState },
): Promise<GainedInputs> {
  const { requestId, request, response, state, tried, isRefused = false } = failure
  const inputs = response.providedInputs ?? {}
  if (response.status === 'resolved') return { inputs, isFinal: false }
  const decision = await job.relay.recover(requestId, { request, response, tried, isRefused })
  const left = (request.missingInputs ?? []).filter(({ key }) => !Object.hasOwn(inputs, key))
  const askInstead = async (target: string): Promise<GainedInputs> => {
    const next = requestFor(job, target, decision.reason, left)
    const isPerson = target === human
    const asked = isPerson ? { ...next, reason: 'requires_human_decision' as const } : next
    const gain = await requestInputs(job, asked, { ...state, ...inputs }, [...tried, request.handoffTo])
    return { ...gain, inputs: { ...inputs, ...gain.inputs } }
  }
  switch (decision.action) {
    case 'retry_different_target':
      return askInstead(decision.newTarget)
    case 'escalate':
      if (request.handoffTo !== human) return askInstead(human)
      throw new BatonError('refused', `${job.documentType} cannot continue: ${decision.reason}`)
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
  const warning = `Proceeding with partial data for ${job.documentType}: ${reason}`
  if (job.warn === undefined) process.emitWarning(warning)
  else job.warn(warning)
}

/** The same question of the same job has the same id, so a job that died while it waited gets the answer when it runs again. */
function idOf({ timestamp: _timestamp, ...request }: HandoffRequest): string {
  return `job:${hash('sha256', JSON.stringify(request), 'hex').slice(0, 32)}`
}

function requestFor<R>(job: Job<R>, target: string, detail: string, missing: readonly MissingInput[]): HandoffRequest {
  const { agent, traceId, documentType, currentStep = 1, attemptNumber = 1, priority = 'medium' } = job
  const keys = missing.map(({ key }) => key).join(', ')
  return {
    schemaVersion: handoffSchemaVersion,
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
