// The questions that agents ask people, and the answers of people.

import * as z from 'zod'
import { decideOnTask, taskOf } from '../../approvals/index.ts'
import type { Escalation, EscalationDetail } from '../../relay/index.ts'
import type { Json } from '../../store/index.ts'
import { openTasks } from '../../task/index.ts'
import { operation } from '../operation.ts'
import { anyObject, personAnswering, tooLate } from './shapes.ts'

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

type Listed = Escalation & Pick<EscalationDetail, 'answer'>

const answer = z.object({ by: z.string(), at: z.string(), response: anyObject }).optional()

export const escalationList = operation('escalation.list', 'read', 'GET /escalations', {
  summary: 'What agents ask people, the most urgent first; or what people have answered, the newest first.',
  input: z.object({
    limit: z.int().min(1).max(1000).default(100),
    answered: z.boolean().default(false).describe('Those that were answered.'),
  }),
  output: z.object({ escalations: z.array(escalation.extend({ answer })) }),
  async run(workspace, { limit, answered }) {
    const { escalations } = await workspace.relay()
    const found: readonly Listed[] = answered
      ? await escalations.answered({ limit })
      : await escalations.list({ limit })
    return { escalations: found.map((each) => ({ ...each })) }
  },
})

export const escalationShow = operation('escalation.show', 'read', 'GET /escalations/{id}', {
  summary: 'One question to people, with the whole request and its answer if there is one.',
  input: z.object({ id: escalationId }),
  output: escalation.extend({
    request: anyObject,
    via: z.string().optional().describe('The agent that handed the request on.'),
    answer,
  }),
  async run(workspace, { id }) {
    const relay = await workspace.relay()
    return { ...(await relay.escalations.show(await relay.wholeId('escalation', id))) }
  },
})

export const escalationAnswer = operation('escalation.answer', 'operate', 'POST /escalations/{id}/answer', {
  summary: 'Answer what an agent asks people. A decision that only people make needs a person.',
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
    const person = personAnswering(asked.request, call)
    const isOfTask = asked.request.reason === 'requires_human_decision' && taskOf(asked) !== undefined
    // The decision comes before the answer: if this process dies in between, the question can be answered again.
    if (isOfTask && asked.answer === undefined && status !== 'failed') {
      // A slip of the pen is not a no.
      relay.escalations.check(asked, inputs, { by, status, reason })
      // Opened without people to notify: the answer below is what ends the question.
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
