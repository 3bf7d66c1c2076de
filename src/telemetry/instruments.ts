// The metrics of handoffs, and the attributes of metrics and spans. Names follow the conventions of OpenTelemetry: no `total`, no
// unit in a name, seconds; the older names are added where the settings ask for them. Ids are attributes of spans only, because
// each of them would make a separate time series, and only a limited number of agent names is taken from requests.

import type { Attributes, Counter, Histogram, Meter } from '@opentelemetry/api'
import { type AgentShape, genAi, genAiMetrics, invocation, tokenBoundaries, type TokenUsage } from './conventions.ts'
import type { HandoffFacts, ResponseShape } from './observer.ts'

export interface Instruments {
  requests(attributes: Attributes): void
  resolved(attributes: Attributes): void
  failed(attributes: Attributes): void
  escalated(attributes: Attributes): void
  circularBlocked(attributes: Attributes): void
  duration(milliseconds: number, attributes: Attributes): void
  ignored(attributes: Attributes): void
  invoked(seconds: number, attributes: Attributes): void
  tokens(usage: TokenUsage, attributes: Attributes): void
}

/** In seconds: agents answer within their timeout, people within days. */
const boundaries = [0.005, 0.01, 0.05, 0.1, 0.5, 1, 2.5, 5, 10, 30, 60, 300, 3_600, 86_400]

export function instruments(meter: Meter, seedNames: boolean): Instruments {
  const counted = (description: string, name: string, alias?: string) => {
    const options = { description, unit: '{handoff}' }
    const counters: Counter[] = [meter.createCounter(name, options)]
    if (seedNames && alias !== undefined) counters.push(meter.createCounter(alias, options))
    return (attributes: Attributes) => counters.forEach((counter) => counter.add(1, attributes))
  }
  const timed = (name: string, unit: string, advice: number[]): Histogram =>
    meter.createHistogram(name, {
      description: 'Time from a handoff request to its answer',
      unit,
      advice: { explicitBucketBoundaries: advice },
    })
  const seconds = timed('handoff.duration', 's', boundaries)
  const alias = seedNames
    ? timed(
        'handoff.duration_ms',
        'ms',
        boundaries.map((each) => each * 1000),
      )
    : undefined
  return {
    ...invocationInstruments(meter),
    requests: counted('Handoffs attempted', 'handoff.requests', 'handoff.total'),
    resolved: counted('Handoffs that returned everything that was requested', 'handoff.resolved', 'handoff.success'),
    failed: counted('Handoffs that failed or were refused', 'handoff.failed'),
    escalated: counted('Handoffs that a person has to answer', 'handoff.escalated'),
    circularBlocked: counted('Handoffs refused because they went in a circle', 'handoff.circular_blocked'),
    ignored: counted('Answers that came too late or once more', 'handoff.ignored'),
    duration(milliseconds, attributes) {
      seconds.record(milliseconds / 1000, attributes)
      alias?.record(milliseconds, attributes)
    },
  }
}

/** What the conventions measure of an agent at work. */
export function invocationInstruments(meter: Meter): Pick<Instruments, 'invoked' | 'tokens'> {
  const { agentDuration, tokens } = genAiMetrics
  const invoked = meter.createHistogram(agentDuration.name, {
    description: 'Time that an agent worked on a request or a task',
    unit: agentDuration.unit,
    advice: { explicitBucketBoundaries: boundaries },
  })
  const used = meter.createHistogram(tokens.name, {
    description: 'Tokens that an agent used for a request or a task',
    unit: tokens.unit,
    advice: { explicitBucketBoundaries: tokenBoundaries },
  })
  return {
    invoked: (seconds, attributes) => invoked.record(seconds, attributes),
    tokens({ input, output }, attributes) {
      used.record(input, { ...attributes, [genAi.tokenType]: 'input' })
      used.record(output, { ...attributes, [genAi.tokenType]: 'output' })
    },
  }
}

/** The longest free text in a span. */
const textCharacters = 1_000
const namedAgents = 200
/** The conventions' name for everything that is not listed. */
const other = '_OTHER'

export function requestAttributes({ requestId, request }: HandoffFacts): Attributes {
  return {
    'handoff.request_id': requestId,
    'handoff.trace_id': request.traceId,
    'handoff.source_agent': request.sourceAgent,
    'handoff.target_agent': request.handoffTo,
    'handoff.reason': request.reason,
    'handoff.priority': request.priority,
    'handoff.inputs_missing': request.missingInputs?.length ?? 0,
    [genAi.conversation]: request.traceId,
  }
}

export function responseAttributes(response: ResponseShape): Attributes {
  return {
    'handoff.status': response.status,
    'handoff.responding_agent': response.respondingAgent,
    'handoff.execution_time_ms': response.executionTimeMs,
    'handoff.inputs_provided': Object.keys(response.providedInputs ?? {}).length,
    'handoff.inputs_unresolved': response.unresolved?.length ?? 0,
    ...(response.tokensUsed === undefined ? {} : { 'handoff.tokens_used': response.tokensUsed }),
  }
}

export function shortened(text: string): string {
  return text.length > textCharacters ? `${text.slice(0, textCharacters)}…` : text
}

export class MetricAttributes {
  readonly #agents = new Set<string>()

  of({ request }: Pick<HandoffFacts, 'request'>, more: Attributes = {}): Attributes {
    return {
      'handoff.source_agent': this.agent(request.sourceAgent),
      'handoff.target_agent': this.agent(request.handoffTo),
      'handoff.reason': request.reason,
      ...more,
    }
  }

  /** The attributes of an agent at work. */
  invocation(agent: string, about: AgentShape | undefined, more: Attributes = {}): Attributes {
    return { ...invocation(this.agent(agent), about), ...more }
  }

  /** The name of an agent, or the one for all others when there are too many. */
  agent(name: string): string {
    if (this.#agents.size < namedAgents) this.#agents.add(name)
    return this.#agents.has(name) ? name : other
  }
}
