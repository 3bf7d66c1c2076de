// `baton relay request`: asks another agent, or a person.

import { randomUUID } from 'node:crypto'
import { BatonError, InvalidError } from '../../errors.ts'
import { relayRequest } from '../../operations/index.ts'
import { handoffSchemaVersion, type RequestOutcome } from '../../relay/index.ts'
import { cancellable } from '../base/io.ts'
import { readObject } from '../base/json-file.ts'
import type { Globals } from '../base/output.ts'
import { withWorkspace } from '../base/workspace.ts'
import { given, parseInputs, parseMissing } from './input.ts'
import { printResponse } from './text.ts'

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
  const composed = await compose(options)
  const requestId = options.requestId ?? randomUUID()
  await withWorkspace(options, async ({ run }, out) => {
    const wait = options.wait === true
    if (wait && options.io.stderr.isTTY === true && options.quiet !== true) {
      out.warn(`${requestId} waits for an answer (Ctrl-C leaves it: baton relay status ${requestId} --wait)`)
    }
    const outcome = await cancellable(options.io, (signal) =>
      run(relayRequest, { request: composed, requestId, wait, mode: options.mode }, { signal }),
    )
    if (isFailure(outcome)) options.io.exit.code = 1
    if (out.json) return out.data(outcome)
    switch (outcome.status) {
      case 'rejected':
        throw new BatonError('refused', `Not handed over: ${outcome.reason}`)
      case 'resolved':
      case 'partial':
      case 'failed':
        return printResponse(out, outcome.response)
      case 'escalated':
        out.line(outcome.requestId)
        return out.warn(`A person is asked: baton escalations show ${outcome.escalation}`)
      case 'pending':
        return out.line(outcome.requestId)
    }
  })
}

function isFailure(outcome: RequestOutcome): boolean {
  return outcome.status === 'rejected' || outcome.status === 'failed'
}

/** The request of the file, with the options over it; the schema checks it later. */
async function compose(options: RequestOptions): Promise<Record<string, unknown>> {
  const file = options.file === undefined ? {} : await readObject(options.file, options.io)
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
    schemaVersion: handoffSchemaVersion,
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

function demand(fields: Record<string, unknown>, options: Record<string, string>): void {
  for (const [field, option] of Object.entries(options)) {
    if (fields[field] === undefined) throw new InvalidError(`A request needs --${option}`, { path: field })
  }
}

/** A value that is not an object is left as it is, so that the schema reports it. */
function layered(usual: object, file: unknown, over: Record<string, unknown>): unknown {
  if (file !== undefined && (typeof file !== 'object' || file === null || Array.isArray(file))) return file
  return { ...usual, ...file, ...given(over) }
}
