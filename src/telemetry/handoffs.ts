// Handoffs as OpenTelemetry sees them: an observer that does nothing at all while no SDK is set up. A request is a span with the
// target's work below it; in between, an agent of another process is called, which is a span of the caller's too. When a person is asked, the span ends, and the answer is a span of its own
// that links back, because traces do not last for days.

import type { Attributes, MeterProvider, Span, SpanKind } from '@opentelemetry/api'
import * as z from 'zod'
import { type AgentShape, genAi, invokeAgent, type TokenUsage, usageAttributes } from './conventions.ts'
import { openTelemetry, type OpenTelemetry, spanContextOf, traceContextOf } from './opentelemetry.ts'
import type { HandoffFacts, HandoffObserver, HandoffRequestSpan, HandoffWorkSpan, ResponseShape } from './observer.ts'
import {
  instruments,
  type Instruments,
  MetricAttributes,
  requestAttributes,
  responseAttributes,
  shortened,
} from './instruments.ts'

/** The `telemetry` section of baton.config.json. */
export const telemetrySection = z.strictObject({
  seedNames: z
    .boolean()
    .default(false)
    .describe('also under the older names: handoff.total, handoff.duration_ms and the like'),
})
export type TelemetrySettings = z.output<typeof telemetrySection>

const silentRequest: HandoffRequestSpan = { rejected() {}, answered() {}, escalated() {}, left() {}, failed() {} }
const silentWork: HandoffWorkSpan = { run: (work) => work(), answered() {}, failed() {} }

export function handoffTelemetry(settings: TelemetrySettings = { seedNames: false }): HandoffObserver {
  const attributes = new MetricAttributes()
  const known = new WeakMap<MeterProvider, Instruments>()
  /** The requests that this process waits for, by their ids. */
  const asking = new Map<string, Span>()

  /** One set for each provider: an SDK may be set up, or replaced, at any time. */
  function metrics({ api, meter }: OpenTelemetry): Instruments {
    const provider = api.metrics.getMeterProvider()
    let found = known.get(provider)
    if (found === undefined) {
      found = instruments(meter, settings.seedNames)
      known.set(provider, found)
    }
    return found
  }

  return {
    invalid(error) {
      const otel = openTelemetry()
      if (otel === undefined) return
      metrics(otel).requests({})
      metrics(otel).failed({ 'error.type': 'invalid' })
      const span = otel.tracer.startSpan('handoff.request', { kind: otel.api.SpanKind.CLIENT })
      fail(otel, span, error, 'invalid')
    },

    requested(facts) {
      const otel = openTelemetry()
      if (otel === undefined) return silentRequest
      metrics(otel).requests(attributes.of(facts))
      const mode: Attributes = facts.mode === undefined ? {} : { 'handoff.mode': facts.mode }
      const span = begin(otel, 'handoff.request', facts, otel.api.SpanKind.CLIENT, mode)
      const calling = facts.isRemote === true ? call(otel, span, facts) : undefined
      asking.set(facts.requestId, span)
      /** Ends the span once: a caller that waits for a person reports more after the span has ended. */
      const once = (finish: (span: Span) => void) => {
        if (asking.get(facts.requestId) === span) asking.delete(facts.requestId)
        for (const each of [calling, span]) if (each?.isRecording() === true) finish(each)
      }
      return {
        ...traceContextOf((calling ?? span).spanContext()),
        rejected: (code, response) => once((each) => end(otel, each, response, code)),
        answered(response, cause) {
          calling?.setAttributes(usageAttributes(response.tokenUsage))
          once((each) => end(otel, each, response, cause))
        },
        escalated: (escalation) => once((each) => pass(each, escalation)),
        left: () => once((each) => each.end()),
        failed: (error) => once((each) => fail(otel, each, error)),
      }
    },

    working(facts) {
      const otel = openTelemetry()
      if (otel === undefined) return silentWork
      const { api, tracer } = otel
      const { request, worker, agent } = facts
      const span = begin(otel, 'handoff.response', facts, api.SpanKind.SERVER, { 'handoff.worker': worker })
      const inside = api.trace.setSpan(api.context.active(), span)
      const { name, attributes: about } = invokeAgent(request.handoffTo, request.traceId, agent)
      const started = performance.now()
      const work = tracer.startSpan(name, { kind: api.SpanKind.INTERNAL, attributes: about }, inside)
      /** Ends both spans; the metric says the same as the span of the agent. */
      const finish = (end: (span: Span) => void, error: Attributes, usage?: TokenUsage) => {
        const to = metrics(otel)
        to.invoked((performance.now() - started) / 1000, attributes.invocation(request.handoffTo, agent, error))
        if (usage !== undefined) to.tokens(usage, attributes.invocation(request.handoffTo, agent))
        for (const each of [work, span]) end(each)
      }
      return {
        ...traceContextOf(work.spanContext()),
        run: (task) => api.context.with(api.trace.setSpan(api.context.active(), work), task),
        answered(response, cause) {
          work.setAttributes(usageAttributes(response.tokenUsage))
          const error: Attributes = response.status === 'failed' ? { [genAi.errorType]: cause ?? 'failed' } : {}
          finish((each) => end(otel, each, response, cause), error, response.tokenUsage)
        },
        failed: (error) => finish((each) => fail(otel, each, error), { [genAi.errorType]: typeOf(error) }),
      }
    },

    answered(facts) {
      const otel = openTelemetry()
      if (otel === undefined) return
      const { status } = facts.response
      const { rejection } = facts
      const to = metrics(otel)
      if (status === 'resolved') to.resolved(attributes.of(facts))
      if (status === 'failed')
        to.failed(attributes.of(facts, { 'error.type': rejection ?? (facts.timedOut === true ? 'timeout' : 'failed') }))
      if (rejection === 'circular') to.circularBlocked(attributes.of(facts))
      // A refusal takes no time, and would lower the durations.
      if (rejection === undefined) to.duration(facts.durationMs, attributes.of(facts, { 'handoff.status': status }))
    },

    escalated(facts) {
      const otel = openTelemetry()
      if (otel === undefined) return
      metrics(otel).escalated(attributes.of(facts))
      const more = {
        'handoff.escalation_id': facts.escalation,
        'handoff.reason_detail': shortened(facts.request.reasonDetail),
      }
      begin(otel, 'handoff.human_escalation', facts, otel.api.SpanKind.PRODUCER, more).end()
      const waiting = asking.get(facts.requestId)
      asking.delete(facts.requestId)
      if (waiting?.isRecording() === true) pass(waiting, facts.escalation)
    },

    resumed(facts) {
      const otel = openTelemetry()
      if (otel === undefined) return
      const before = spanContextOf(otel.api, facts)
      const span = otel.tracer.startSpan('handoff.response', {
        kind: otel.api.SpanKind.CONSUMER,
        attributes: {
          ...requestAttributes(facts),
          'handoff.escalation_id': facts.escalation,
          'handoff.waited_ms': facts.durationMs,
        },
        links: before === undefined ? [] : [{ context: before }],
      })
      end(otel, span, facts.response)
    },

    ignored({ why }) {
      const otel = openTelemetry()
      if (otel !== undefined) metrics(otel).ignored({ 'handoff.ignored': why })
    },
  }
}

/** Starts a span below the one that the envelope names, else below the active one. */
function begin(
  { api, tracer }: OpenTelemetry,
  name: string,
  facts: HandoffFacts,
  kind: SpanKind,
  more: Attributes,
): Span {
  const parent = spanContextOf(api, facts)
  const context = api.context.active()
  const attributes = { ...requestAttributes(facts), ...more }
  return tracer.startSpan(
    name,
    { kind, attributes },
    parent === undefined ? context : api.trace.setSpanContext(context, parent),
  )
}

/** The call of an agent in another process, as the conventions have it for the caller. */
function call(
  { api, tracer }: OpenTelemetry,
  below: Span,
  { request, agent }: HandoffFacts & { agent?: AgentShape | undefined },
): Span {
  const { name, attributes } = invokeAgent(request.handoffTo, request.traceId, agent)
  const inside = api.trace.setSpan(api.context.active(), below)
  return tracer.startSpan(name, { kind: api.SpanKind.CLIENT, attributes }, inside)
}

function end({ api }: OpenTelemetry, span: Span, response: ResponseShape, code?: string): void {
  span.setAttributes(responseAttributes(response))
  if (response.status === 'failed') {
    span.setAttribute('error.type', code ?? 'failed')
    span.setStatus({ code: api.SpanStatusCode.ERROR, message: shortened(response.failureReason ?? '') })
  }
  span.end()
}

/** Ends the span because a person is asked, which may take days. */
function pass(span: Span, escalation: string): void {
  span.setAttributes({ 'handoff.status': 'escalated', 'handoff.escalation_id': escalation })
  span.end()
}

function fail({ api }: OpenTelemetry, span: Span, error: unknown, type?: string): void {
  const problem = error instanceof Error ? error : new Error(String(error))
  span.recordException({ name: problem.name, message: shortened(problem.message) })
  span.setAttribute('error.type', type ?? typeOf(error))
  span.setStatus({ code: api.SpanStatusCode.ERROR, message: shortened(problem.message) })
  span.end()
}

function typeOf(error: unknown): string {
  return error instanceof Error ? error.name : 'Error'
}
