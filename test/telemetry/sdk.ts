// A real OpenTelemetry SDK with exporters in memory, for the length of a test.

import { context, metrics, trace } from '@opentelemetry/api'
import { AsyncLocalStorageContextManager } from '@opentelemetry/context-async-hooks'
import {
  AggregationTemporality,
  InMemoryMetricExporter,
  MeterProvider,
  PeriodicExportingMetricReader,
} from '@opentelemetry/sdk-metrics'
import {
  BasicTracerProvider,
  InMemorySpanExporter,
  type ReadableSpan,
  SimpleSpanProcessor,
} from '@opentelemetry/sdk-trace-base'
import { onTestFinished } from 'vitest'
import { genAi } from '../../src/telemetry/conventions.ts'

/** The attributes that a span of each operation must have from its start, because samplers decide by them. */
export const requiredAttributes = {
  invoke_agent: [genAi.operation, genAi.provider, genAi.agentName],
  execute_tool: [genAi.operation, genAi.toolName],
} as const

interface Point {
  readonly attributes: Record<string, unknown>
  readonly value: unknown
}

export interface Sdk {
  spans(name?: string): ReadableSpan[]
  /** Name: its unit and its points. */
  metrics(): Promise<Map<string, { unit: string; points: Point[] }>>
}

export function setUpSdk(): Sdk {
  const spans = new InMemorySpanExporter()
  const tracers = new BasicTracerProvider({ spanProcessors: [new SimpleSpanProcessor(spans)] })
  const exporter = new InMemoryMetricExporter(AggregationTemporality.CUMULATIVE)
  const reader = new PeriodicExportingMetricReader({ exporter, exportIntervalMillis: 3_600_000 })
  const meters = new MeterProvider({ readers: [reader] })
  const contexts = new AsyncLocalStorageContextManager().enable()
  trace.setGlobalTracerProvider(tracers)
  metrics.setGlobalMeterProvider(meters)
  context.setGlobalContextManager(contexts)
  onTestFinished(async () => {
    trace.disable()
    metrics.disable()
    context.disable()
    await tracers.shutdown()
    await meters.shutdown()
  })
  return {
    spans: (name) => spans.getFinishedSpans().filter((span) => name === undefined || span.name === name),
    async metrics() {
      await meters.forceFlush()
      const found = new Map<string, { unit: string; points: Point[] }>()
      // Cumulative: the last report holds everything.
      for (const scope of exporter.getMetrics().at(-1)?.scopeMetrics ?? []) {
        for (const { descriptor, dataPoints } of scope.metrics) {
          found.set(descriptor.name, { unit: descriptor.unit, points: dataPoints })
        }
      }
      return found
    },
  }
}
