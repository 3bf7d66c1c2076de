// The attributes of spans and of metrics. Ids are for spans only: as attributes of metrics they would make a time series
// each. Names of agents come from requests, so that only so many of them are taken.

import type { Attributes } from '@opentelemetry/api'
import type { Facts, ResponseShape } from './facts.ts'

/** Of a text that somebody wrote, in a span. */
const textCharacters = 1_000
const namedAgents = 200
/** As the conventions call what is not listed. */
const other = '_OTHER'

export function requestAttributes({ requestId, request }: Facts): Attributes {
  return {
    'handoff.request_id': requestId,
    'handoff.trace_id': request.traceId,
    'handoff.source_agent': request.sourceAgent,
    'handoff.target_agent': request.handoffTo,
    'handoff.reason': request.reason,
    'handoff.priority': request.priority,
    'handoff.inputs_missing': request.missingInputs?.length ?? 0,
    'gen_ai.agent.name': request.sourceAgent,
    'gen_ai.conversation.id': request.traceId,
  }
}

export function responseAttributes(response: ResponseShape): Attributes {
  return {
    'handoff.status': response.status,
    'handoff.responding_agent': response.respondingAgent,
    'handoff.execution_time_ms': response.executionTimeMs,
    'handoff.inputs_provided': Object.keys(response.providedInputs ?? {}).length,
    'handoff.inputs_unresolved': response.unresolved?.length ?? 0,
  }
}

export function shortened(text: string): string {
  return text.length > textCharacters ? `${text.slice(0, textCharacters)}…` : text
}

export class MetricAttributes {
  readonly #agents = new Set<string>()

  of({ request }: Pick<Facts, 'request'>, more: Attributes = {}): Attributes {
    return {
      'handoff.source_agent': this.#agent(request.sourceAgent),
      'handoff.target_agent': this.#agent(request.handoffTo),
      'handoff.reason': request.reason,
      ...more,
    }
  }

  #agent(name: string): string {
    if (this.#agents.size < namedAgents) this.#agents.add(name)
    return this.#agents.has(name) ? name : other
  }
}
