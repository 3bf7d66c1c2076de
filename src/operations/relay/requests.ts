// Requests between agents, for those who make them: ask, look after a request, reply to its worker, cancel it.

import { randomUUID } from 'node:crypto'
import * as z from 'zod'
import { taskOf } from '../../approvals/index.ts'
import { BatonError } from '../../errors.ts'
import { handoffSchemaVersion, type Relay, type RequestOutcome } from '../../relay/index.ts'
import type { Json } from '../../store/index.ts'
import { operation } from '../operation.ts'
import { agent, anyObject, requestId } from './shapes.ts'

/** To name a new request. */
const newRequestId = z.string().min(1).max(200)

const outcome = z.looseObject({
  status: z.enum(['resolved', 'partial', 'failed', 'rejected', 'escalated', 'pending']),
  requestId: z.string(),
})

const missing = z.union([
  z.string().min(1),
  z.object({ key: z.string().min(1), expectedType: z.string().min(1), description: z.string() }),
])

const plain = (value: RequestOutcome) => ({ ...value })

export const relayAsk = operation('relay.ask', 'write', 'POST /relay/ask', {
  summary: 'One agent asks another, or `human`, for something it misses; with wait, until there is an answer.',
  input: z.object({
    from: agent,
    to: agent.describe('An agent of the configuration, or human.'),
    summary: z.string().min(1).max(20_000).describe('What the other has to know.'),
    missing: z.array(missing).max(50).optional().describe('What is wanted: names, or inputs with their types.'),
    outputs: z.record(z.string(), z.unknown()).optional().describe('What was made so far that the other may need.'),
    priority: z.enum(['low', 'medium', 'high', 'critical']).optional(),
    trace: z.string().min(1).max(200).optional().describe('A UUID; of a trace that exists, its beginning is enough.'),
    item: z.string().max(500).optional(),
    detail: z.string().max(20_000).optional(),
    timeoutMs: z
      .int()
      .min(1)
      .max(7 * 24 * 3_600_000)
      .optional(),
    requestId: newRequestId.optional(),
    wait: z.boolean().default(false),
    leaveQuestions: z
      .boolean()
      .optional()
      .describe('Whether what the worker asks back waits for relay.reply; otherwise it hears that nobody replies.'),
  }),
  output: outcome,
  async run(workspace, { from, to, outputs, trace: given, leaveQuestions, ...rest }, { signal, progress }) {
    const relay = await workspace.relay()
    const trace = given === undefined ? undefined : await relay.wholeId('trace', given)
    const options = { ...rest, trace }
    const known = outputs === undefined ? {} : { outputs: outputs as Record<string, Json> }
    const onQuestion = ({ requestId, by, text }: { requestId: string; by: string; text: string }) => {
      progress(`${by} asks back: ${text} (baton relay reply ${requestId} --answer TEXT)`)
      return undefined
    }
    const told = {
      onProgress: (at: Parameters<typeof progressText>[0]) => progress(progressText(at)),
      ...(leaveQuestions === true ? { onQuestion } : {}),
    }
    return plain(await relay.ask(from, to, { ...options, ...known, ...told, signal }))
  },
})

/** How far a worker is. */
export function progressText({
  by,
  text,
  percent,
}: {
  by: string
  text?: string | undefined
  percent?: number | undefined
}): string {
  return [by, percent === undefined ? undefined : `${percent}%`, text].filter((part) => part !== undefined).join(' · ')
}

export const relayRequest = operation('relay.request', 'write', 'POST /relay/requests', {
  summary: 'A whole handoff request by its schema. The same requestId is the same request.',
  input: z.object({
    request: anyObject.describe(
      'See `baton relay schema request`; traceId, timestamp and schemaVersion are added where they are missing.',
    ),
    requestId: newRequestId.optional(),
    mode: z.enum(['return_to_caller', 'pass_control']).optional(),
    wait: z.boolean().default(false),
  }),
  output: outcome,
  async run(workspace, { request, ...options }, { signal }) {
    const relay = await workspace.relay()
    const { traceId } = request
    const trace = typeof traceId === 'string' ? { traceId: await relay.wholeId('trace', traceId) } : {}
    const before = await askedBefore(relay, options.requestId)
    const usual = {
      schemaVersion: handoffSchemaVersion,
      traceId: randomUUID(),
      timestamp: new Date().toISOString(),
      ...before,
    }
    return plain(await relay.requestFromJson({ ...usual, ...request, ...trace }, { ...options, signal }))
  },
})

async function askedBefore(relay: Relay, id: string | undefined): Promise<{ traceId?: string; timestamp?: string }> {
  if (id === undefined) return {}
  try {
    const { traceId, timestamp } = (await relay.status(id)).envelope.request
    return { traceId, timestamp }
  } catch (error) {
    if (BatonError.is(error) && error.code === 'not_found') return {}
    throw error
  }
}

export const relayShow = operation('relay.show', 'read', 'GET /relay/requests/{requestId}', {
  summary: 'The status of a request, with its answer once there is one; with wait, waits for that.',
  input: z.object({ requestId, wait: z.boolean().optional() }),
  output: anyObject,
  async run(workspace, { requestId: given, wait }, { signal }) {
    const relay = await workspace.relay()
    const requestId = await relay.wholeId('request', given)
    if (wait === true) await relay.wait(requestId, { signal })
    return { ...(await relay.status(requestId)) }
  },
})

export const relayReply = operation('relay.reply', 'write', 'POST /relay/requests/{requestId}/reply', {
  summary: 'Answer what the worker of a request has asked back.',
  input: z.object({ requestId, answer: z.unknown(), by: agent.optional() }),
  output: z.object({ told: z.literal(true) }),
  async run(workspace, { requestId, answer, by }, { caller }) {
    const relay = await workspace.relay()
    const whole = await relay.wholeId('request', requestId)
    await relay.reply(whole, { by: by ?? caller.name, answer: (answer ?? null) as Json })
    return { told: true as const }
  },
})

export const relayCancel = operation('relay.cancel', 'write', 'POST /relay/requests/{requestId}/cancel', {
  summary: 'Cancel a request; its worker is notified.',
  input: z.object({ requestId, reason: z.string().max(4000).optional(), by: agent.optional() }),
  output: z.object({ cancelled: z.boolean().describe('False if it had ended before.') }),
  async run(workspace, { requestId, reason, by }, { caller }) {
    const relay = await workspace.relay()
    const whole = await relay.wholeId('request', requestId)
    const { request } = (await relay.status(whole)).envelope
    const task = taskOf({ requestId: whole, request })?.task_id
    if (task !== undefined) {
      throw new BatonError('refused', `${whole} asks a person about ${task}: only a person can withdraw the question`, {
        hint: `Type "baton task withdraw ${task}" on a terminal that no agent has started.`,
      })
    }
    return { cancelled: await relay.cancel(whole, { by: by ?? caller.name, reason }) }
  },
})
