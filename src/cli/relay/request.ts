// `baton relay request` asks another agent, or a person; `baton relay ask` does so in one line and waits. With `reply`, `progress`
// and `cancel`, asker and worker speak to each other meanwhile. Inputs are typed as KEY=JSON, missing ones as KEY:TYPE.

import { randomUUID } from 'node:crypto'
import { BatonError, InvalidError } from '../../errors.ts'
import { relayRequest, relayAsk, relayCancel, relayProgress, relayReply } from '../../operations/index.ts'
import { handoffSchemaVersion, type RequestOutcome, type AskOptions as Asking } from '../../relay/index.ts'
import { cancellable, userName } from '../base/io.ts'
import { readObject } from '../base/json-file.ts'
import type { Globals } from '../base/output.ts'
import { withWorkspace } from '../base/workspace.ts'
import { printResponse } from './views.ts'
import type { Json } from '../../store/index.ts'

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

interface AskOptions extends Globals {
  missing?: string[]
  trace?: string
  item?: string
  priority?: Asking['priority']
  timeout?: number
  requestId?: string
}

export async function ask(options: AskOptions, from: string, to: string, summary: string): Promise<void> {
  const requestId = options.requestId ?? randomUUID()
  await withWorkspace(options, async ({ run }, out) => {
    const { missing, trace, item, priority, timeout: timeoutMs } = options
    const asking = { from, to, summary, requestId, missing: missing?.map(missingOf), trace, item, priority, timeoutMs }
    // Whoever sits in front of a terminal can reply in another one.
    const leaveQuestions = options.io.stderr.isTTY === true
    const outcome = await cancellable(options.io, (signal) =>
      run(relayAsk, { ...asking, wait: true, leaveQuestions }, { signal, progress: (text) => out.warn(text) }),
    )
    if (outcome.status === 'rejected' || outcome.status === 'failed') options.io.exit.code = 1
    if (out.json) return out.data(outcome)
    switch (outcome.status) {
      case 'rejected':
        throw new BatonError('refused', `Not handed over: ${outcome.reason}`)
      case 'escalated':
        out.line(outcome.requestId)
        return out.warn(`A person is asked: baton escalations show ${outcome.escalation}`)
      case 'pending':
        return out.line(outcome.requestId)
      default:
        return printResponse(out, outcome.response)
    }
  })
}

/** A name, or KEY:TYPE[:DESCRIPTION]. */
function missingOf(text: string): string | ReturnType<typeof parseMissing> {
  return text.includes(':') ? parseMissing(text) : text
}

export async function reply(options: Globals & { answer: string; by?: string }, requestId: string): Promise<void> {
  await withWorkspace(options, async ({ run }, out) => {
    const { by = userName(), answer } = options
    await run(relayReply, { requestId, by, answer: parseAnswer(answer) })
    if (out.json) out.data({ requestId, status: 'replied' })
    else out.note('The worker continues with it.')
  })
}

interface ProgressOptions extends Globals {
  text?: string
  percent?: number
  by?: string
}

export async function progress(options: ProgressOptions, requestId: string): Promise<void> {
  const { text, percent, by = userName() } = options
  await withWorkspace(options, async ({ run }, out) => {
    const shown = { ...(text === undefined ? {} : { text }), ...(percent === undefined ? {} : { percent }) }
    await run(relayProgress, { requestId, by, ...shown })
    if (out.json) out.data({ requestId, by, ...shown })
  })
}

export async function cancel(options: Globals & { reason?: string; by?: string }, requestId: string): Promise<void> {
  await withWorkspace(options, async ({ run }, out) => {
    const { by = userName(), reason } = options
    const { cancelled: isCancelled } = await run(relayCancel, { requestId, by, reason })
    if (out.json) return out.data({ requestId, cancelled: isCancelled })
    out.note(
      isCancelled ? `${requestId} is cancelled; whoever works on it is notified.` : `${requestId} had ended before.`,
    )
  })
}

/** Types whose values are text, which may be typed without JSON's quotes. */
const textual = new Set(['string', 'text', 'date', 'datetime', 'url', 'email', 'uuid'])

/** `KEY=JSON`; a value that is not JSON is taken as text, and so is every value where text is expected. */
export function parseInputs(
  given: readonly string[],
  missing: readonly { readonly key: string; readonly expectedType: string }[] = [],
): Record<string, unknown> {
  const inputs: Record<string, unknown> = {}
  for (const each of given) {
    const at = each.indexOf('=')
    if (at <= 0) {
      throw new InvalidError(`"${each}" is not an input: it must be KEY=JSON`, {
        hint: 'For example: --input budget=1000',
      })
    }
    const key = each.slice(0, at)
    if (Object.hasOwn(inputs, key)) throw new InvalidError(`The input "${key}" is given twice`)
    // Assigning it would set the object's prototype instead of a key.
    if (key === '__proto__') throw new InvalidError('"__proto__" cannot be the name of an input')
    const type = missing.find((input) => input.key === key)?.expectedType
    inputs[key] = parseValue(key, each.slice(at + 1), type)
  }
  return inputs
}

function parseValue(key: string, text: string, type: string | undefined): unknown {
  const isText = type !== undefined && textual.has(type)
  try {
    const value = JSON.parse(text) as unknown
    return typeof value !== 'string' && isText ? text : value
  } catch (error) {
    // A value that begins like an object, a list or a quoted text was meant as JSON.
    if (isText || !/^\s*[[{"]/.test(text)) return text
    throw new InvalidError(`The input "${key}" is not JSON: ${(error as Error).message}`, { path: key })
  }
}

/** JSON, or else the text itself. */
export function parseAnswer(text: string): Json {
  try {
    return JSON.parse(text) as Json
  } catch {
    return text
  }
}

/** `KEY:TYPE[:DESCRIPTION]` */
export function parseMissing(text: string): { key: string; expectedType: string; description: string } {
  const [key, expectedType, ...rest] = text.split(':')
  if (key === undefined || key === '' || expectedType === undefined || expectedType === '') {
    throw new InvalidError(`"${text}" is not KEY:TYPE`, { hint: 'For example: --missing budget:number' })
  }
  return { key, expectedType, description: rest.join(':') }
}

/** Drops the fields that were not given. */
export function given(fields: Record<string, unknown>): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries(fields).filter(([, value]) => value !== undefined && !(Array.isArray(value) && value.length === 0)),
  )
}
