// What people are told about the relay, each with the command that does something about it.

import type { Notification } from '../notify/index.ts'
import { shellWord } from '../store/shell-word.ts'
import type { Reading } from './alerts.ts'
import type { Claim, Escalation } from './outcome.ts'
import type { MissingInput, Priority } from './schema.ts'

export function alertNotice(reading: Reading, since: string): Notification & { key: string } {
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

/** How to answer, ready to be filled in: each missing input stands with its type. */
export function answerCommand({ id, missing }: Pick<Escalation, 'id' | 'missing'>): string {
  return `baton escalations answer ${shellWord(id)}${missing.map(inputOption).join('')}`
}

/** The same for a worker and its claim. */
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

/** A simple type by its name, as in BUDGET=NUMBER; any other is JSON all the same. */
function placeholder(type: string): string {
  return /^\w+$/.test(type) ? type.toUpperCase() : 'JSON'
}
