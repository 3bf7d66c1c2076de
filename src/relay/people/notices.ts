// What the relay shows people, each time with the command to act on it.

import type { Notification } from '../../notify/index.ts'
import { shellWord } from '../../system/index.ts'
import type { AlertReading } from '../alerts/alert-rules.ts'
import type { Claim, Escalation } from '../results.ts'
import type { Envelope, HandoffRequest, MissingInput, Priority } from '../schema.ts'

export function alertNotice(reading: AlertReading, since: string): Notification & { key: string } {
  const { name, severity, text, threshold, advice } = reading
  return {
    level: severity,
    title: `Relay: ${text}`,
    body: `That is more than ${threshold}${name === 'duration_p95' ? ' ms' : ''} (alert ${name}).`,
    action: advice,
    source: 'relay',
    key: `alert:${name}:${since}`,
  }
}

const levels: Record<Priority, Notification['level']> = {
  critical: 'critical',
  high: 'warning',
  medium: 'info',
  low: 'info',
}

export function escalationNotice(escalation: Escalation): Notification & { key: string } {
  const { id, from, priority, reasonDetail, summary, missing } = escalation
  const wanted = missing.map(({ key, expectedType, description }) => `- ${key} (${expectedType}): ${description}`)
  return {
    level: levels[priority],
    title: `${from} asks a person (${priority}): ${reasonDetail === '' ? summary : reasonDetail}`,
    body: [summary, ...wanted].filter((line) => line !== '').join('\n'),
    action: answerCommand(escalation),
    source: 'relay',
    key: `escalation:${id}`,
  }
}

/** The command that answers an escalation, with the type of each missing input as a placeholder. */
export function answerCommand({ id, missing }: Pick<Escalation, 'id' | 'missing'>): string {
  return `baton escalations answer ${shellWord(id)}${missing.map(inputOption).join('')}`
}

/** The command that answers a claimed request. */
export function answerCommandFor({
  requestId,
  token,
  envelope,
}: Pick<Claim, 'requestId' | 'token' | 'envelope'>): string {
  const inputs = (envelope.request.missingInputs ?? []).map(inputOption)
  return `baton relay answer ${shellWord(requestId)} --token ${token} --status resolved${inputs.join('')}`
}

function inputOption({ key, expectedType }: MissingInput): string {
  return ` --input ${shellWord(`${key}=${placeholder(expectedType)}`)}`
}

/** A simple type by its name, as in budget=NUMBER; any other as JSON. */
function placeholder(type: string): string {
  return /^\w+$/.test(type) ? type.toUpperCase() : 'JSON'
}

/** What a person is shown of a request: what is asked, why, and what would settle it. */
export function escalationOf(
  { requestId, request, acceptedAt }: Envelope,
  id: string,
  now: number,
  recommendations?: readonly string[],
  askedAt: string = acceptedAt,
): Escalation {
  return {
    id,
    requestId,
    traceId: request.traceId,
    from: request.sourceAgent,
    priority: request.priority,
    reason: request.reason,
    reasonDetail: request.reasonDetail,
    summary: request.contextForTarget.summary,
    missing: request.missingInputs ?? [],
    recommendations: recommendations ?? recommend(request, id),
    askedAt,
    ageMs: Math.max(0, now - Date.parse(askedAt)),
  }
}

export function recommend({ missingInputs = [] }: HandoffRequest, id: string): string[] {
  const keys = missingInputs.map(({ key, expectedType }) => `${key} (${expectedType})`).join(', ')
  return [
    'Review the context of the request',
    ...(keys === '' ? [] : [`Provide ${keys}`]),
    `Answer with "${answerCommand({ id, missing: missingInputs })}"; the agent continues from there`,
  ]
}
