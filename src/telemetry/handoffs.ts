// Handoffs as OpenTelemetry sees them. It hears what the relay tells (`RelayObserver`), and does nothing at all while no
// SDK is set up. A request is one span with the target's work below it, also in another process; when a person is asked
// the span ends, and the answer is a span of its own that links back: traces do not last for days.

import type { Attributes, MeterProvider, Span, SpanKind } from '@opentelemetry/api'
import { openTelemetry, type OpenTelemetry } from './api.ts'
import { MetricAttributes, requestAttributes, responseAttributes, shortened } from './attributes.ts'
import type { AnswerFacts, Facts, ResponseShape } from './facts.ts'
import { instruments, type Instruments } from './instruments.ts'
import type { TelemetrySettings } from './settings.ts'
import { parseTraceparent, traceparentOf } from './traceparent.ts'

export interface HandoffRequestSpan {
  readonly traceparent?: string | undefined
  rejected(code: string, response: ResponseShape): void
  answered(response: ResponseShape): void
  escalated(escalation: string): void
  left(): void
  failed(error: unknown): void
}

export interface HandoffWorkSpan {
  readonly traceparent?: string | undefined
  /** Does the work as a part of the span, so that spans of its own lie below. */
  run<T>(work: () => T): T
  answered(response: ResponseShape): void
  failed(error: unknown): void
}

export interface HandoffTelemetry {
  invalid(error: unknown): void
  requested(facts: Facts & { readonly mode?: string }): HandoffRequestSpan
  working(facts: Facts & { readonly worker: string }): HandoffWorkSpan
  answered(
    facts: AnswerFacts & { readonly rejection?: string | undefined; readonly timedOut?: boolean | undefined },
  ): void
  escalated(facts: Facts & { readonly escalation: string }): void
  resumed(facts: AnswerFacts & { readonly escalation: string }): void
  ignored(facts: { readonly requestId: string; readonly why: string }): void
}

const silentRequest: HandoffRequestSpan = { rejected() {}, answered() {}, escalated() {}, left() {}, failed() {} }
const silentWork: HandoffWorkSpan = { run: (work) => work(), answered() {}, failed() {} }

export function handoffTelemetry(settings: TelemetrySettings = { seedNames: false }): HandoffTelemetry {
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
      asking.set(facts.requestId, span)
      /** Does it once: a caller that waits for a person has more to say after the span has ended. */
      const once = (finish: () => void) => {
        if (asking.get(facts.requestId) === span) asking.delete(facts.requestId)
        if (span.isRecording()) finish()
      }
      return {
        traceparent: traceparentOf(span.spanContext()),
        rejected: (code, response) => once(() => end(otel, span, response, code)),
        answered: (response) => once(() => end(otel, span, response)),
        escalated: (escalation) => once(() => pass(span, escalation)),
        left: () => once(() => span.end()),
        failed: (error) => once(() => fail(otel, span, error)),
      }
    },

    working(facts) {
      const otel = openTelemetry()
      if (otel === undefined) return silentWork
      // Here it is the target that is at work.
      const work = {
        'gen_ai.operation.name': 'invoke_agent',
        'gen_ai.agent.name': facts.request.handoffTo,
        'handoff.worker': facts.worker,
      }
      const span = begin(otel, 'handoff.response', facts, otel.api.SpanKind.SERVER, work)
      const { api } = otel
      return {
        traceparent: traceparentOf(span.spanContext()),
        run: (work) => api.context.with(api.trace.setSpan(api.context.active(), span), work),
        answered: (response) => end(otel, span, response),
        failed: (error) => fail(otel, span, error),
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
      // A refusal takes no time, and would make the others look fast.
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
      const before = parseTraceparent(facts.traceparent)
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

/** Below the span that the envelope names, else below the one that is active here. */
function begin({ api, tracer }: OpenTelemetry, name: string, facts: Facts, kind: SpanKind, more: Attributes): Span {
  const parent = parseTraceparent(facts.traceparent)
  const context = api.context.active()
  const attributes = { ...requestAttributes(facts), ...more }
  return tracer.startSpan(
    name,
    { kind, attributes },
    parent === undefined ? context : api.trace.setSpanContext(context, parent),
  )
}

function end({ api }: OpenTelemetry, span: Span, response: ResponseShape, code?: string): void {
  span.setAttributes(responseAttributes(response))
  if (response.status === 'failed') {
    span.setAttribute('error.type', code ?? 'failed')
    span.setStatus({ code: api.SpanStatusCode.ERROR, message: shortened(response.failureReason ?? '') })
  }
  span.end()
}

/** A person is asked: from here on nobody knows how long it takes. */
function pass(span: Span, escalation: string): void {
  span.setAttributes({ 'handoff.status': 'escalated', 'handoff.escalation_id': escalation })
  span.end()
}

function fail({ api }: OpenTelemetry, span: Span, error: unknown, type?: string): void {
  const problem = error instanceof Error ? error : new Error(String(error))
  span.recordException({ name: problem.name, message: shortened(problem.message) })
  span.setAttribute('error.type', type ?? problem.name)
  span.setStatus({ code: api.SpanStatusCode.ERROR, message: shortened(problem.message) })
  span.end()
}
