// `baton relay request`: asks another agent, or a person.

import { randomUUID } from 'node:crypto'
import { BatonError, InvalidError } from '../errors.ts'
import type { Outcome } from '../relay/outcome.ts'
import type { Relay } from '../relay/relay.ts'
import { schemaVersion } from '../relay/schema.ts'
import { cancellable } from './interrupt.ts'
import { readObject } from './json-file.ts'
import type { Globals } from './output.ts'
import { withRelay } from './relay-door.ts'
import { given, parseInputs, parseMissing } from './relay-input.ts'
import { printResponse } from './relay-text.ts'

interface RequestOptions extends Globals {
  file?: string
  from?: string
  to?: string
  reason?: string
  detail?: string
  summary?: string
  priority?: string
  missing?: string[]
  output?: string[]
  trace?: string
  document?: string
  step?: number
  attempt?: number
  timeout?: number
  requestId?: string
  mode?: 'return_to_caller' | 'pass_control'
  wait?: boolean
}

export async function request(options: RequestOptions): Promise<void> {
  const composed = compose(options)
  const requestId = options.requestId ?? randomUUID()
  await withRelay(options, async ({ relay, out }) => {
    const asked =
      options.requestId === undefined ? { ...fresh(), ...composed } : await asBefore(relay, requestId, composed)
    const wait = options.wait === true
    const mode = options.mode === undefined ? {} : { mode: options.mode }
    if (wait && process.stderr.isTTY && options.quiet !== true) {
      out.warn(`${requestId} waits for an answer (Ctrl-C leaves it: baton relay status ${requestId} --wait)`)
    }
    const outcome = await cancellable((signal) => relay.request(asked, { requestId, wait, signal, ...mode }))
    if (isFailure(outcome)) process.exitCode = 1
    if (out.json) return out.data(outcome)
    switch (outcome.status) {
      case 'rejected':
        throw new BatonError('refused', `Not handed over: ${outcome.response.failureReason ?? outcome.rejection}`)
      case 'answered':
        return printResponse(out, outcome.response)
      case 'escalated':
        out.line(outcome.requestId)
        return out.warn(`A person is asked: baton escalations show ${outcome.escalation}`)
      case 'pending':
        return out.line(outcome.requestId)
    }
  })
}

function isFailure(outcome: Outcome): boolean {
  return outcome.status === 'rejected' || (outcome.status === 'answered' && outcome.response.status === 'failed')
}

/** What the file says, with the options over it; the schema has the last word. */
function compose(options: RequestOptions): Record<string, unknown> {
  const file = options.file === undefined ? {} : readObject(options.file)
  const sourceContext = layered({ currentStep: 1, attemptNumber: 1 }, file.sourceContext, {
    documentType: options.document,
    currentStep: options.step,
    attemptNumber: options.attempt,
  })
  const contextForTarget = layered({}, file.contextForTarget, {
    summary: options.summary,
    relevantOutputs: options.output === undefined ? undefined : parseInputs(options.output),
  })
  const whole = {
    schemaVersion,
    canHandle: false,
    priority: 'medium',
    reasonDetail: '',
    ...file,
    ...given({
      traceId: options.trace,
      sourceAgent: options.from,
      handoffTo: options.to,
      reason: options.reason,
      reasonDetail: options.detail,
      priority: options.priority,
      missingInputs: options.missing?.map(parseMissing),
      timeoutMs: options.timeout,
    }),
    sourceContext,
    contextForTarget,
  }
  demand(whole, { sourceAgent: 'from', handoffTo: 'to', reason: 'reason' })
  if (options.file === undefined) demand({ summary: options.summary }, { summary: 'summary' })
  return whole
}

/** Under an id of the caller's own, what was not given is as it was the first time: the same command is the same request. */
async function asBefore(relay: Relay, requestId: string, composed: Record<string, unknown>) {
  try {
    const { traceId, timestamp } = (await relay.status(requestId)).envelope.request
    return { traceId, timestamp, ...composed }
  } catch (error) {
    if (BatonError.is(error) && error.code === 'not_found') return { ...fresh(), ...composed }
    throw error
  }
}

function fresh() {
  return { traceId: randomUUID(), timestamp: new Date().toISOString() }
}

function demand(fields: Record<string, unknown>, options: Record<string, string>): void {
  for (const [field, option] of Object.entries(options)) {
    if (fields[field] === undefined) throw new InvalidError(`A request needs --${option}`, { path: field })
  }
}

/** What is no object is left as it is, for the schema to name. */
function layered(usual: object, file: unknown, over: Record<string, unknown>): unknown {
  if (file !== undefined && (typeof file !== 'object' || file === null || Array.isArray(file))) return file
  return { ...usual, ...file, ...given(over) }
}
