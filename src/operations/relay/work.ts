// Requests between agents, for those who work on them: the inbox, a claim and its lease, progress, the answer, and the requests that
// killed their workers.

import * as z from 'zod'
import { taskOf } from '../../approvals/index.ts'
import { BatonError, CancelledError, ConflictError } from '../../errors.ts'
import type { Claim, Relay } from '../../relay/index.ts'
import { shellWord } from '../../system/index.ts'
import { liveOperation, operation } from '../operation.ts'
import { agent, anyObject, personAnswering, requestId, tooLate } from './shapes.ts'

const claimToken = z.string().min(1).max(200).describe('The token that relay.claim gave.')

export const relayInbox = operation('relay.inbox', 'read', 'GET /relay/inbox/{agent}', {
  summary: 'What waits for an agent, the most urgent first.',
  input: z.object({ agent, limit: z.int().min(1).max(1000).default(100) }),
  output: z.object({ items: z.array(anyObject) }),
  async run(workspace, { agent, limit }) {
    const items = await (await workspace.relay()).inbox(agent, { limit })
    return { items: items.map((item) => ({ ...item })) }
  },
})

export const relayInboxWatch = liveOperation('relay.watch', 'read', 'GET /relay/inbox/{agent}/watch', {
  summary: 'Follow the inbox of an agent: what waits now, and what comes.',
  input: z.object({ agent }),
  each: anyObject,
  async *run(workspace, { agent }, { signal }) {
    for await (const item of (await workspace.relay()).watchInbox(agent, signal)) yield { ...item }
  },
})

export const relayClaim = operation('relay.claim', 'write', 'POST /relay/inbox/{agent}/claim', {
  summary: 'Take the next request of an inbox, or a certain one, for as long as a lease lasts.',
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
  output: z.object({ claim: anyObject.optional().describe('Missing if nothing waits.') }),
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

export const relayHeartbeat = operation('relay.heartbeat', 'write', 'POST /relay/requests/{requestId}/heartbeat', {
  summary: 'Keep a claimed request for longer.',
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

export const relayRelease = operation('relay.release', 'write', 'POST /relay/requests/{requestId}/release', {
  summary: 'Give a claimed request back to its inbox.',
  input: z.object({ requestId, token: claimToken.optional() }),
  output: z.object({ released: z.literal(true) }),
  async run(workspace, { requestId, token }) {
    const relay = await workspace.relay()
    const claim = token === undefined ? {} : { claim: { token } }
    await relay.release(await relay.wholeId('request', requestId), claim)
    return { released: true as const }
  },
})

export const relayProgress = operation('relay.progress', 'write', 'POST /relay/requests/{requestId}/progress', {
  summary: 'Report progress to the agent that waits for the answer.',
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
    const { status } = await relay.status(requestId)
    if (status !== 'pending' && status !== 'claimed') {
      throw new ConflictError(`${requestId} is ${status}: nobody waits for progress`, { actual: 0 })
    }
    await relay.progress(requestId, { by: by ?? caller.name, ...update })
    return { told: true as const }
  },
})

export const relayAnswer = operation('relay.answer', 'write', 'POST /relay/requests/{requestId}/answer', {
  summary: 'Answer a request that you have claimed.',
  input: z.object({
    requestId,
    answer: z
      .looseObject({ status: z.string().describe('resolved, partial or failed.') })
      .describe(
        'providedInputs is an object with what was asked for; a failure has a failureReason. The whole form: `baton relay schema answer`.',
      ),
    token: claimToken.optional(),
    by: agent.optional(),
  }),
  output: z.looseObject({ status: z.enum(['accepted', 'duplicate']) }),
  async run(workspace, { requestId: given, answer, token, by }, call) {
    const { relay, telemetry } = await workspace.openedRelay()
    const requestId = await relay.wholeId('request', given)
    const { envelope } = await relay.status(requestId)
    const { request } = envelope
    const { handoffTo } = request
    if (handoffTo === 'human') {
      personAnswering(request, call)
      const task = taskOf({ requestId, request })?.task_id
      if (task !== undefined) throw notADecision(requestId, task)
    }
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

/** The question would be closed, and the task would wait on. */
function notADecision(requestId: string, task: string): BatonError {
  return new BatonError('refused', `${requestId} asks a person about ${task}: an answer here would decide nothing`, {
    hint: `Decide with "baton task approve ${shellWord(task)}" or "baton task reject ${shellWord(task)}".`,
  })
}

export const relayDead = operation('relay.dead', 'read', 'GET /relay/dead', {
  summary: 'Requests that killed the workers that took them.',
  input: z.object({}),
  output: z.object({
    letters: z.array(
      z.looseObject({
        requestId: z.string(),
        from: z.string(),
        to: z.string(),
        at: z.number(),
        lost: z.array(anyObject),
      }),
    ),
  }),
  async run(workspace) {
    const letters = await (await workspace.relay()).deadLetters.list()
    return { letters: letters.map((letter) => ({ ...letter, lost: letter.lost.map((each) => ({ ...each })) })) }
  },
})

export const relayDeadRetry = operation('relay.retry', 'operate', 'POST /relay/dead/{requestId}/retry', {
  summary: 'Put a dead letter back into its inbox.',
  input: z.object({ requestId, by: agent.optional() }),
  output: z.object({ retried: z.literal(true) }),
  async run(workspace, { requestId, by }, { caller }) {
    const relay = await workspace.relay()
    await relay.deadLetters.retry(await relay.wholeId('request', requestId), { by: by ?? caller.name })
    return { retried: true as const }
  },
})

export const relayDeadDrop = operation('relay.drop', 'operate', 'POST /relay/dead/{requestId}/drop', {
  summary: 'Take a dead letter off the list.',
  input: z.object({ requestId, by: agent.optional() }),
  output: z.object({ dropped: z.literal(true) }),
  async run(workspace, { requestId, by }, { caller }) {
    const relay = await workspace.relay()
    await relay.deadLetters.drop(await relay.wholeId('request', requestId), { by: by ?? caller.name })
    return { dropped: true as const }
  },
})
