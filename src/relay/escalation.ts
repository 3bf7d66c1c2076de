// What a person is shown of a request: what is asked, why, and what would settle it.

import { answerCommand } from './notices.ts'
import type { Escalation } from './outcome.ts'
import type { Envelope, HandoffRequest } from './schema.ts'

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
    `Answer with "${answerCommand({ id, missing: missingInputs })}"; the agent goes on from there`,
  ]
}
