// Requests between agents: ask, work, answer, and what became of them.

import { randomUUID } from 'node:crypto'
import * as z from 'zod'
import { decideOnTask, taskOf } from '../../approvals/index.ts'
import { BatonError, CancelledError, ConflictError } from '../../errors.ts'
import {
  type AnswerResult,
  type Claim,
  handoffSchemaVersion,
  openAlerts,
  type Relay,
  type RequestOutcome,
} from '../../relay/index.ts'
import type { Json } from '../../store/index.ts'
import type { Call } from '../operation.ts'
import { openTasks } from '../../task/index.ts'
import { liveOperation, operation } from '../operation.ts'

const agent = z.string().min(1).max(200)
/** To name a new request. */
const newRequestId = z.string().min(1).max(200)
const requestId = z.string().min(1).max(200).describe('The id of a request; its beginning is enough.')
const json = z.looseObject({})
const claimToken = z.string().min(1).max(200).describe('The token that relay.claim gave.')

const outcome = z.looseObject({
  status: z.enum(['resolved', 'partial', 'failed', 'rejected', 'escalated', 'pending']),
  requestId: z.string(),
})

const missing = z.union([
  z.string().min(1),
  z.object({ key: z.string().min(1), expectedType: z.string().min(1), description: z.string() }),
])

const plain = (value: RequestOutcome) => ({ ...value })

export const relayAsk = operation({
  name: 'relay.ask',
  summary: 'One agent asks another, or `human`, for something it misses; with wait, until there is an answer.',
  scope: 'write',
  route: 'POST /relay/ask',
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
  }),
  output: outcome,
  async run(workspace, { from, to, outputs, trace: given, ...rest }, { signal, progress }) {
    const relay = await workspace.relay()
    const trace = given === undefined ? undefined : await relay.wholeId('trace', given)
    const options = { ...rest, trace }
    const known = outputs === undefined ? {} : { outputs: outputs as Record<string, Json> }
    const told = { onProgress: (at: Parameters<typeof progressText>[0]) => progress(progressText(at)) }
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

export const relayRequest = operation({
  name: 'relay.request',
  summary: 'A whole handoff request by its schema. The same requestId is the same request.',
  scope: 'write',
  route: 'POST /relay/requests',
  input: z.object({
    request: json.describe(
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

export const relayShow = operation({
  name: 'relay.show',
  summary: 'How a request stands, with its answer once there is one; with wait, when there is.',
  scope: 'read',
  route: 'GET /relay/requests/{requestId}',
  input: z.object({ requestId, wait: z.boolean().optional() }),
  output: json,
  async run(workspace, { requestId: given, wait }, { signal }) {
    const relay = await workspace.relay()
    const requestId = await relay.wholeId('request', given)
    if (wait === true) await relay.wait(requestId, { signal })
    return { ...(await relay.status(requestId)) }
  },
})

export const relayStatus = operation({
  name: 'relay.status',
  summary: 'The relay as a whole: what waits, for whom, and how requests have ended so far.',
  scope: 'read',
  route: 'GET /relay',
  input: z.object({}),
  output: z.looseObject({
    pending: z.int(),
    claimed: z.int(),
    escalated: z.int(),
    deadLetters: z.int(),
    counters: z.record(z.string(), z.int()),
    agents: z.record(z.string(), z.object({ pending: z.int(), claimed: z.int() })),
  }),
  async run(workspace) {
    const status = await (await workspace.relay()).status()
    return { ...status, counters: { ...status.counters } }
  },
})

export const relayInbox = operation({
  name: 'relay.inbox',
  summary: 'What waits for an agent, the most urgent first.',
  scope: 'read',
  route: 'GET /relay/inbox/{agent}',
  input: z.object({ agent, limit: z.int().min(1).max(1000).default(100) }),
  output: z.object({ items: z.array(json) }),
  async run(workspace, { agent, limit }) {
    const items = await (await workspace.relay()).inbox(agent, { limit })
    return { items: items.map((item) => ({ ...item })) }
  },
})

export const relayInboxWatch = liveOperation({
  name: 'relay.watch',
  summary: 'Follow the inbox of an agent: what waits now, and what comes.',
  scope: 'read',
  route: 'GET /relay/inbox/{agent}/watch',
  input: z.object({ agent }),
  each: json,
  async *run(workspace, { agent }, { signal }) {
    for await (const item of (await workspace.relay()).watchInbox(agent, signal)) yield { ...item }
  },
})

export const relayClaim = operation({
  name: 'relay.claim',
  summary: 'Take the next request of an inbox, or a certain one, for as long as a lease lasts.',
  scope: 'write',
  route: 'POST /relay/inbox/{agent}/claim',
  input: z.object({
    agent,
    worker: z.string().min(1).max(200).optional().describe('Who works; the name of the token unless given.'),
    requestId: requestId.optional(),
    leaseMs: z
      .int()
      .min(1000)
      .max(24 * 3_600_000)
      .optional(),
    wait: z.boolean().optional().describe('Wait for one, if there is none.'),
  }),
  output: z.object({ claim: json.optional().describe('Missing if nothing waits.') }),
  async run(workspace, { agent, worker, requestId: given, wait, leaseMs }, { caller, signal }) {
    const relay = await workspace.relay()
    const requestId = given === undefined ? undefined : await relay.wholeId('request', given)
    const wanted = { worker: worker ?? caller.name, leaseMs, requestId }
    const claim =
      (await relay.claim(agent, wanted)) ??
      (wait === true ? await waitToClaim(relay, agent, wanted, signal) : undefined)
    return { claim: claim && { ...claim } }
  },
})

async function waitToClaim(
  relay: Relay,
  agent: string,
  wanted: Parameters<Relay['claim']>[1],
  signal: AbortSignal,
): Promise<Claim> {
  for await (const item of relay.watchInbox(agent, signal)) {
    if (wanted.requestId !== undefined && item.requestId !== wanted.requestId) continue
    const taken = await relay.claim(agent, wanted)
    if (taken !== undefined) return taken
  }
  throw new CancelledError(`Nothing came for ${agent}`)
}

export const relayHeartbeat = operation({
  name: 'relay.heartbeat',
  summary: 'Keep a claimed request for longer.',
  scope: 'write',
  route: 'POST /relay/requests/{requestId}/heartbeat',
  input: z.object({ requestId, token: claimToken }),
  output: z.object({ held: z.boolean(), status: z.string(), until: z.string().optional() }),
  async run(workspace, { requestId: given, token }) {
    const relay = await workspace.relay()
    const requestId = await relay.wholeId('request', given)
    const isHeld = await relay.heartbeat({ requestId, token })
    const { status, claim } = await relay.status(requestId)
    return { held: isHeld && claim !== undefined, status, until: claim?.until }
  },
})

export const relayRelease = operation({
  name: 'relay.release',
  summary: 'Give a claimed request back to its inbox.',
  scope: 'write',
  route: 'POST /relay/requests/{requestId}/release',
  input: z.object({ requestId, token: claimToken.optional() }),
  output: z.object({ released: z.literal(true) }),
  async run(workspace, { requestId, token }) {
    const relay = await workspace.relay()
    const claim = token === undefined ? {} : { claim: { token } }
    await relay.release(await relay.wholeId('request', requestId), claim)
    return { released: true as const }
  },
})

export const relayAnswer = operation({
  name: 'relay.answer',
  summary: 'Answer a request that you have claimed.',
  scope: 'write',
  route: 'POST /relay/requests/{requestId}/answer',
  input: z.object({
    requestId,
    answer: z
      .looseObject({ status: z.string().describe('resolved, partial or failed.') })
      .describe('See `baton relay schema answer`.'),
    token: claimToken.optional(),
    by: agent.optional(),
  }),
  output: z.looseObject({ status: z.enum(['accepted', 'duplicate']) }),
  async run(workspace, { requestId: given, answer, token, by }, call) {
    const { relay, telemetry } = await workspace.openedRelay()
    const requestId = await relay.wholeId('request', given)
    const { envelope } = await relay.status(requestId)
    const { handoffTo, reason } = envelope.request
    const needsPerson = call.caller.local !== true || reason === 'requires_human_decision'
    if (handoffTo === 'human' && needsPerson) demandPerson(call)
    const agent = relay.settings.agents[handoffTo]
    const span = telemetry.working({ ...envelope, worker: by ?? handoffTo, agent })
    try {
      const result = await relay.answer(requestId, answer, {
        ...(token === undefined ? {} : { claim: { token } }),
        ...(by === undefined ? {} : { by }),
      })
      if (result.status === 'late') throw tooLate(requestId, result)
      span.answered(result.response)
      return { ...result }
    } catch (error) {
      span.failed(error)
      throw error
    }
  },
})

function tooLate(id: string, { response }: Extract<AnswerResult, { status: 'late' }>): ConflictError {
  return new ConflictError(`The answer to ${id} came too late: it is kept, but changes nothing`, {
    actual: 0,
    ...(response === undefined ? {} : { hint: `What counts is the answer of ${response.respondingAgent}.` }),
  })
}

/** What only people decide: a terminal, a signed-in page or a token that was not made for an agent. */
export function demandPerson({ caller }: Call): NonNullable<Call['caller']['person']> {
  if (caller.person !== undefined) return caller.person
  throw new BatonError('refused', 'Only a person can decide this', {
    hint: 'Answer it on a terminal, in the dashboard, or with a token with operate that was not made for an agent.',
  })
}

export const relayCancel = operation({
  name: 'relay.cancel',
  summary: 'Cancel a request; its worker is notified.',
  scope: 'write',
  route: 'POST /relay/requests/{requestId}/cancel',
  input: z.object({ requestId, reason: z.string().max(4000).optional(), by: agent.optional() }),
  output: z.object({ cancelled: z.boolean().describe('False if it had ended before.') }),
  async run(workspace, { requestId, reason, by }, { caller }) {
    const relay = await workspace.relay()
    const whole = await relay.wholeId('request', requestId)
    return { cancelled: await relay.cancel(whole, { by: by ?? caller.name, reason }) }
  },
})

export const relayProgress = operation({
  name: 'relay.progress',
  summary: 'Report to whoever waits how far the work has come.',
  scope: 'write',
  route: 'POST /relay/requests/{requestId}/progress',
  input: z.object({
    requestId,
    text: z.string().max(4000).optional(),
    percent: z.number().min(0).max(100).optional(),
    by: agent.optional(),
  }),
  output: z.object({ told: z.literal(true) }),
  async run(workspace, { requestId: given, by, ...update }, { caller }) {
    const relay = await workspace.relay()
    const requestId = await relay.wholeId('request', given)
    await relay.status(requestId)
    await relay.progress(requestId, { by: by ?? caller.name, ...update })
    return { told: true as const }
  },
})

export const relayReply = operation({
  name: 'relay.reply',
  summary: 'Answer what the worker of a request has asked back.',
  scope: 'write',
  route: 'POST /relay/requests/{requestId}/reply',
  input: z.object({ requestId, answer: z.unknown(), by: agent.optional() }),
  output: z.object({ told: z.literal(true) }),
  async run(workspace, { requestId, answer, by }, { caller }) {
    const relay = await workspace.relay()
    const whole = await relay.wholeId('request', requestId)
    await relay.reply(whole, { by: by ?? caller.name, answer: (answer ?? null) as Json })
    return { told: true as const }
  },
})

export const relayHistory = operation({
  name: 'relay.history',
  summary: 'What happened on the relay, newest first; of one trace or of all.',
  scope: 'read',
  route: 'GET /relay/history',
  input: z.object({
    traceId: z.string().max(200).optional().describe('The id of a trace; its beginning is enough.'),
    since: z.string().max(40).optional(),
    limit: z.int().min(1).max(1000).default(100),
  }),
  output: z.object({ events: z.array(json) }),
  async run(workspace, { traceId: given, ...query }) {
    const relay = await workspace.relay()
    const traceId = given === undefined ? undefined : await relay.wholeId('trace', given)
    const events = []
    for await (const row of relay.history({ ...query, traceId })) events.push({ ...row })
    return { events }
  },
})

export const relayDead = operation({
  name: 'relay.dead',
  summary: 'Requests that killed the workers that took them.',
  scope: 'read',
  route: 'GET /relay/dead',
  input: z.object({}),
  output: z.object({
    letters: z.array(
      z.looseObject({ requestId: z.string(), from: z.string(), to: z.string(), at: z.number(), lost: z.array(json) }),
    ),
  }),
  async run(workspace) {
    const letters = await (await workspace.relay()).deadLetters.list()
    return { letters: letters.map((letter) => ({ ...letter, lost: letter.lost.map((each) => ({ ...each })) })) }
  },
})

export const relayDeadRetry = operation({
  name: 'relay.retry',
  summary: 'Put a dead letter back into its inbox.',
  scope: 'operate',
  route: 'POST /relay/dead/{requestId}/retry',
  input: z.object({ requestId, by: agent.optional() }),
  output: z.object({ retried: z.literal(true) }),
  async run(workspace, { requestId, by }, { caller }) {
    const relay = await workspace.relay()
    await relay.deadLetters.retry(await relay.wholeId('request', requestId), { by: by ?? caller.name })
    return { retried: true as const }
  },
})

export const relayDeadDrop = operation({
  name: 'relay.drop',
  summary: 'Take a dead letter off the list.',
  scope: 'operate',
  route: 'POST /relay/dead/{requestId}/drop',
  input: z.object({ requestId, by: agent.optional() }),
  output: z.object({ dropped: z.literal(true) }),
  async run(workspace, { requestId, by }, { caller }) {
    const relay = await workspace.relay()
    await relay.deadLetters.drop(await relay.wholeId('request', requestId), { by: by ?? caller.name })
    return { dropped: true as const }
  },
})

export const relayAlerts = operation({
  name: 'relay.alerts',
  summary: 'What should worry somebody about the relay, with its figures.',
  scope: 'read',
  route: 'GET /relay/alerts',
  input: z.object({}),
  output: z.object({
    alerts: z.array(
      z.looseObject({
        name: z.string(),
        on: z.boolean(),
        text: z.string(),
        value: z.number(),
        since: z.string().optional(),
      }),
    ),
  }),
  async run(workspace, _input, { caller }) {
    const { relay, notifier } = await workspace.openedRelay()
    // On the command line, whoever is configured is notified, once per onset; who only reads tells nobody.
    const told = caller.local === true ? { notifier } : {}
    const alerts = await openAlerts({ relay, store: workspace.store, ...told }).evaluate()
    return { alerts: alerts.map((alert) => ({ ...alert })) }
  },
})

export const relayMetrics = operation({
  name: 'relay.metrics',
  summary: 'How requests have ended so far, in numbers.',
  scope: 'read',
  route: 'GET /relay/metrics',
  input: z.object({}),
  output: json,
  async run(workspace) {
    return { ...(await (await workspace.relay()).counters()) }
  },
})

const escalationId = z.string().min(1).max(200).describe('The id of a question to people; its beginning is enough.')

const escalation = z.looseObject({
  id: z.string(),
  requestId: z.string(),
  traceId: z.string(),
  from: z.string(),
  priority: z.string(),
  reason: z.string(),
  reasonDetail: z.string(),
  summary: z.string(),
  missing: z.array(z.looseObject({ key: z.string(), expectedType: z.string(), description: z.string() })),
  recommendations: z.array(z.string()),
  askedAt: z.string(),
})

export const escalationList = operation({
  name: 'escalation.list',
  summary: 'What agents ask people, the most urgent first.',
  scope: 'read',
  route: 'GET /escalations',
  input: z.object({ limit: z.int().min(1).max(1000).default(100) }),
  output: z.object({ escalations: z.array(escalation) }),
  async run(workspace, { limit }) {
    const found = await (await workspace.relay()).escalations.list({ limit })
    return { escalations: found.map((each) => ({ ...each })) }
  },
})

export const escalationShow = operation({
  name: 'escalation.show',
  summary: 'One question to people, with the whole request and its answer if there is one.',
  scope: 'read',
  route: 'GET /escalations/{id}',
  input: z.object({ id: escalationId }),
  output: escalation.extend({
    request: json,
    via: z.string().optional().describe('The agent that handed the request on.'),
    answer: z.object({ by: z.string(), at: z.string(), response: json }).optional(),
  }),
  async run(workspace, { id }) {
    const relay = await workspace.relay()
    return { ...(await relay.escalations.show(await relay.wholeId('escalation', id))) }
  },
})

export const escalationAnswer = operation({
  name: 'escalation.answer',
  summary: 'Answer what an agent asks people. A decision that only people make needs a person.',
  scope: 'operate',
  route: 'POST /escalations/{id}/answer',
  input: z.object({
    id: escalationId,
    inputs: z.record(z.string(), z.unknown()).default({}),
    status: z.enum(['resolved', 'partial', 'failed']).optional(),
    reason: z.string().max(20_000).optional(),
    by: z.string().min(1).max(200).optional(),
  }),
  output: z.looseObject({ status: z.enum(['accepted', 'duplicate']) }),
  async run(workspace, { id: given, inputs, status, reason, by: named }, call) {
    const relay = await workspace.relay()
    const id = await relay.wholeId('escalation', given)
    const by = named ?? call.caller.name
    const asked = await relay.escalations.show(id)
    // Nobody but a person decides for people; an agent that answers its own question would pass every gate.
    const person = asked.request.reason === 'requires_human_decision' ? demandPerson(call) : undefined
    const isOfTask = person !== undefined && taskOf(asked) !== undefined
    // The decision comes before the answer: if this process dies in between, the question can be answered again.
    if (isOfTask && asked.answer === undefined && status !== 'failed') {
      // A slip of the pen is not a no.
      relay.escalations.check(asked, inputs, { by, status, reason })
      // Without people to tell: the answer below is what ends the question.
      const { store, address, cwd } = workspace
      const tasks = await openTasks({ store, address, cwd })
      try {
        await decideOnTask(tasks, asked, { approved: inputs.approved === true, by, note: reason, person })
      } finally {
        await tasks.close()
      }
    }
    const result = await relay.escalations.answer(id, inputs as Record<string, Json>, { by, status, reason })
    if (result.status === 'late') throw tooLate(id, result)
    return { ...result }
  },
})
