// The questions of tasks as escalations. The task's tape holds what was decided; the escalation only brings the question before a
// person and the answer back. So an answer that no door has checked decides nothing, and the question is asked again. Any agent can ask
// people and name a task, so an answer counts as a decision only if the person was asked in Baton's own words.

import { createHash } from 'node:crypto'
import { isDeepStrictEqual } from 'node:util'
import * as z from 'zod'
import { BatonError, ConflictError, InvalidError } from '../errors.ts'
import { type EscalationDetail, type HandoffRequest, handoffSchemaVersion, type Relay } from '../relay/index.ts'
import { type Person, shellWord } from '../system/index.ts'
import type { People, PersonDecision, TaskQuestion, Tasks } from '../task/index.ts'

const prefix = 'task:'

/** What a request says of the question that it is about. */
const subjectSchema = z.object({ task_id: z.string(), question: z.string(), version: z.number() })
export type TaskSubject = z.output<typeof subjectSchema>

/** How often a question is asked again because its escalation was closed without a decision. */
const mostAttempts = 100

/** Brings the questions of tasks before people by way of a relay: `openTasks({ people: askThroughRelay(relay) })`. */
export function askThroughRelay(relay: Relay): People {
  return {
    async ask(question) {
      for (let attempt = 1; attempt <= mostAttempts; attempt++) {
        const requestId = requestIdOf(question, attempt)
        const outcome = await ask(relay, question, requestId, attempt)
        if (outcome === undefined) return undefined
        if (outcome === 'taken') continue
        if ('escalation' in outcome) return outcome.escalation
        // Refused by the relay, which records why. "baton task approve" is always there.
        if (outcome.status === 'rejected' || outcome.status === 'pending') return undefined
      }
      return undefined
    },

    async settle(question, { verdict, by }) {
      for (const { id, requestId } of await relay.escalations.list()) {
        if (!requestId.startsWith(`${prefix}${question.question.id}.`)) continue
        if (!asks(await relay.escalations.show(id), question)) continue
        if (verdict === 'withdrawn') {
          await relay.escalations.answer(id, undefined, { by, status: 'failed', reason: `${by} withdrew the question` })
        } else await relay.escalations.answer(id, { approved: verdict === 'approved' }, { by })
      }
    },
  }
}

/**
 * Undefined if the relay does not know the agent: then people are asked by "baton task approve" alone. `taken`: somebody has asked
 * something else under that id.
 */
async function ask(relay: Relay, question: TaskQuestion, requestId: string, attempt: number) {
  try {
    return await relay.request(requestFor(question, requestId, attempt), { requestId, wait: false })
  } catch (error) {
    if (error instanceof InvalidError && error.path === 'sourceAgent') return undefined
    if (BatonError.is(error) && error.code === 'conflict') return 'taken' as const
    throw error
  }
}

function requestIdOf({ question }: TaskQuestion, attempt: number): string {
  return `${prefix}${question.id}.${attempt}`
}

function requestFor(
  { task_id, task_title, question }: TaskQuestion,
  requestId: string,
  attempt: number,
): HandoffRequest {
  const { id, issue, suggested_action, asked_by, target_agent, version } = question
  const description = suggested_action === '' ? issue : `${issue} (${suggested_action})`
  return {
    schemaVersion: handoffSchemaVersion,
    traceId: asUuid(createHash('sha256').update(`${task_id} ${requestId}`).digest('hex')),
    timestamp: new Date().toISOString(),
    sourceAgent: asked_by,
    sourceContext: { documentType: 'task', currentStep: version, attemptNumber: attempt },
    canHandle: false,
    handoffTo: 'human',
    reason: 'requires_human_decision',
    reasonDetail: target_agent === '' ? `May ${task_id} continue?` : `May ${task_id} go to ${target_agent}?`,
    missingInputs: [{ key: 'approved', expectedType: 'boolean', description }],
    contextForTarget: {
      summary: `${task_id} (${task_title}) at version ${version} waits for a person: baton task show ${task_id}`,
      relevantOutputs: { task_id, question: id, version } satisfies TaskSubject,
    },
    priority: 'high',
  }
}

/** The question of a task that an escalation says it is about; undefined if it is about something else. */
export function taskOf({
  requestId,
  request,
}: Pick<EscalationDetail, 'requestId' | 'request'>): TaskSubject | undefined {
  if (!requestId.startsWith(prefix)) return undefined
  return subjectSchema.safeParse(request.contextForTarget.relevantOutputs).data
}

/** Whether an escalation is the one by which Baton asks this question. */
function asks(
  { requestId, request }: Pick<EscalationDetail, 'requestId' | 'request'>,
  question: TaskQuestion,
): boolean {
  const { attemptNumber } = request.sourceContext
  if (requestId !== requestIdOf(question, attemptNumber)) return false
  const { timestamp } = request
  return isDeepStrictEqual(request, { ...requestFor(question, requestId, attemptNumber), timestamp })
}

/** Records a person's answer to an escalation as the decision on the question that it asks, and on no other. */
export async function decideOnTask(
  tasks: Tasks,
  escalation: Pick<EscalationDetail, 'id' | 'requestId' | 'request'>,
  answer: { approved: boolean; by: string; note?: string | undefined; person?: Person | undefined },
): Promise<PersonDecision> {
  const { approved, ...decision } = answer
  const { task_id, question: id } = subjectSchema.parse(escalation.request.contextForTarget.relevantOutputs)
  const question = (await tasks.waitingForPerson(task_id)).find((each) => each.id === id)
  const { version, task_title } = await tasks.get(task_id)
  if (question === undefined) {
    throw new ConflictError(`This question of ${task_id} is not open any more; the task is at version ${version}`, {
      actual: version,
      hint: 'Nothing was decided. Say so with --status failed --reason "…".',
    })
  }
  if (!asks(escalation, { task_id, task_title, question })) {
    throw new BatonError('refused', `${escalation.id} does not ask what ${task_id} asks: ${question.issue}`, {
      hint: `Nothing was decided. Decide with "baton task approve ${shellWord(task_id)}" or "baton task reject ${shellWord(task_id)}", and close this one with --status failed --reason "…".`,
    })
  }
  const options = { ...decision, questions: [id] }
  return approved ? tasks.approve(task_id, options) : tasks.reject(task_id, options)
}

function asUuid(hash: string): string {
  const variant = ((Number.parseInt(hash[16]!, 16) & 3) | 8).toString(16)
  const digits = `${hash.slice(0, 12)}8${hash.slice(13, 16)}${variant}${hash.slice(17, 32)}`
  return digits.replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5')
}
