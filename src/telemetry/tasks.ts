// Tasks as OpenTelemetry sees them. A handoff is a span `task.handoff`, with one for each command that it has to pass. When it went through,
// the agent that handed over has finished with the task: its work is a span `invoke_agent AGENT`, from the moment when the task was
// handed to it. Handoffs of one task may lie days apart, so each links to the one before instead of belonging to one trace.

import type { Attributes, Context, Link, Span } from '@opentelemetry/api'
import { executeTool, genAi, genAiMetrics, invokeAgent, type TokenUsage, usageAttributes } from './conventions.ts'
import { invocationInstruments, MetricAttributes, shortened } from './instruments.ts'
import { openTelemetry, type OpenTelemetry, parseTraceparent, traceparentOf } from './opentelemetry.ts'

interface TaskHandoffFacts {
  readonly task: string
  readonly source: string
  readonly target: string
  readonly phase: string
  /** The version that the handoff starts from. */
  readonly version: number
  /** What the agent that hands over has used of a model, if it says so. */
  readonly tokenUsage?: TokenUsage | undefined
  /** The agent that has the task, since when, and the span of the handoff that gave it. */
  readonly holder: string
  readonly heldSince: string
  readonly traceparent?: string | undefined
}

/** The first of its ends that is called is its end. */
export interface TaskHandoffSpan {
  /** What goes with the version, so that the next handoff can link to this one. */
  readonly traceparent?: string | undefined
  /** Runs a gate's command as a part of the span; `isPassed` says how it went. */
  gate<T>(name: string, command: string, run: () => Promise<T>, isPassed: (result: T) => boolean): Promise<T>
  handedOver(version: number): void
  /** Gates stopped it. */
  refused(gates: readonly string[]): void
  failed(error: unknown): void
}

export interface TaskObserver {
  handoff(facts: TaskHandoffFacts): TaskHandoffSpan
}

const silent: TaskHandoffSpan = { gate: (_name, _command, run) => run(), handedOver() {}, refused() {}, failed() {} }

/** Sees nothing: for what is only tried. */
export const silentTasks: TaskObserver = { handoff: () => silent }

export function taskTelemetry(): TaskObserver {
  const names = new MetricAttributes()
  return {
    handoff(facts) {
      const otel = openTelemetry()
      return otel === undefined ? silent : observe(otel, facts, names)
    },
  }
}

function observe(otel: OpenTelemetry, facts: TaskHandoffFacts, names: MetricAttributes): TaskHandoffSpan {
  const { api, tracer, meter } = otel
  const { task, source, target, phase, version } = facts
  const before = parseTraceparent(facts.traceparent)
  const links: Link[] = before === undefined ? [] : [{ context: before }]
  const span = tracer.startSpan('task.handoff', {
    kind: api.SpanKind.INTERNAL,
    attributes: {
      'task.id': task,
      'task.phase': phase,
      'task.version': version,
      'handoff.source_agent': source,
      'handoff.target_agent': target,
      [genAi.conversation]: task,
    },
    links,
  })
  const inside = api.trace.setSpan(api.context.active(), span)
  const count = (error?: string) => {
    const attributes: Attributes = {
      'handoff.source_agent': names.agent(source),
      'handoff.target_agent': names.agent(target),
      'task.phase': phase,
    }
    const handoffs = meter.createCounter('task.handoffs', { description: 'Handoffs of tasks', unit: '{handoff}' })
    handoffs.add(1, error === undefined ? attributes : { ...attributes, [genAi.errorType]: error })
  }
  const fail = (error: string, message: string) => {
    count(error)
    span.setAttribute(genAi.errorType, error)
    span.setStatus({ code: api.SpanStatusCode.ERROR, message: shortened(message) })
    span.end()
  }
  let isEnded = false
  const once = (end: () => void) => {
    if (!isEnded) end()
    isEnded = true
  }
  return {
    traceparent: traceparentOf(span.spanContext()),
    gate: (name, command, run, isPassed) => runGate(otel, inside, { name, command, run, isPassed }),
    handedOver: (made) =>
      once(() => {
        count()
        span.setAttribute('task.version', made)
        if (facts.holder === source) endWork(otel, facts, names, [...links, { context: span.spanContext() }])
        span.end()
      }),
    refused: (gates) =>
      once(() => {
        span.setAttribute('task.gates_failed', [...gates])
        fail('gate', `stopped by ${gates.join(', ')}`)
      }),
    failed: (error) =>
      once(() => {
        const problem = error instanceof Error ? error : new Error(String(error))
        span.recordException({ name: problem.name, message: shortened(problem.message) })
        fail(problem.name, problem.message)
      }),
  }
}

/** The agent's work on the task, which began when the task was handed to it. */
function endWork(
  { api, tracer, meter }: OpenTelemetry,
  { task, source, phase, heldSince, tokenUsage }: TaskHandoffFacts,
  names: MetricAttributes,
  links: Link[],
): void {
  const { name, attributes: about } = invokeAgent(source, task)
  const startTime = new Date(heldSince)
  const attributes = { ...about, 'task.phase': phase, ...usageAttributes(tokenUsage) }
  tracer.startSpan(name, { kind: api.SpanKind.INTERNAL, attributes, startTime, links }, api.ROOT_CONTEXT).end()
  const { invoked, tokens } = invocationInstruments(meter)
  invoked(Math.max(0, Date.now() - startTime.getTime()) / 1000, names.invocation(source, undefined))
  if (tokenUsage !== undefined) tokens(tokenUsage, names.invocation(source, undefined))
}

interface Gate<T> {
  readonly name: string
  readonly command: string
  readonly run: () => Promise<T>
  readonly isPassed: (result: T) => boolean
}

async function runGate<T>({ api, tracer, meter }: OpenTelemetry, inside: Context, gate: Gate<T>): Promise<T> {
  const { name, attributes } = executeTool(gate.name, shortened(gate.command))
  const span: Span = tracer.startSpan(name, { kind: api.SpanKind.INTERNAL, attributes }, inside)
  const started = performance.now()
  let error: string | undefined
  try {
    const result = await api.context.with(api.trace.setSpan(inside, span), gate.run)
    if (!gate.isPassed(result)) error = 'gate'
    return result
  } catch (problem) {
    error = problem instanceof Error ? problem.name : 'Error'
    throw problem
  } finally {
    const failure: Attributes = error === undefined ? {} : { [genAi.errorType]: error }
    if (error !== undefined) span.setAttributes(failure).setStatus({ code: api.SpanStatusCode.ERROR })
    span.end()
    const { name: metric, unit } = genAiMetrics.toolDuration
    const duration = meter.createHistogram(metric, { description: 'Time that the command of a gate ran', unit })
    const tool = { [genAi.operation]: 'execute_tool', [genAi.toolName]: gate.name }
    duration.record((performance.now() - started) / 1000, { ...tool, ...failure })
  }
}
