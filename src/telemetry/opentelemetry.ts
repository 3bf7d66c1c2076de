// OpenTelemetry in this process: used if the program has set it up, or started for one of Baton's commands; and its trace context
// as text. Loading its API takes longer than many commands, so it is not loaded before an SDK has registered itself, which is
// seen from the global that all copies of the API share. The SDK itself is the user's to install, because most never need it and
// it is larger than all of Baton.

import { createRequire } from 'node:module'
import type * as Api from '@opentelemetry/api'
import manifest from '../../package.json' with { type: 'json' }
import { schemaUrl } from './conventions.ts'

const registered = Symbol.for('opentelemetry.js.api.1')
const instrumentation = '@baton/baton'

export interface OpenTelemetry {
  readonly api: typeof Api
  readonly tracer: Api.Tracer
  readonly meter: Api.Meter
}

let loaded: typeof Api | undefined

/** Undefined while no SDK is set up; the call costs one look-up. */
export function openTelemetry(): OpenTelemetry | undefined {
  if (!(registered in globalThis)) return undefined
  // Loaded synchronously, because spans begin in the middle of work that cannot wait for an import.
  loaded ??= createRequire(import.meta.url)('@opentelemetry/api') as typeof Api
  return {
    api: loaded,
    tracer: loaded.trace.getTracerProvider().getTracer(instrumentation, manifest.version, { schemaUrl }),
    meter: loaded.metrics.getMeter(instrumentation, manifest.version, { schemaUrl }),
  }
}

const sdkPackage = '@opentelemetry/sdk-node'

/** Each of these variables says where spans or metrics go. */
const exporterVariables = [
  'OTEL_EXPORTER_OTLP_ENDPOINT',
  'OTEL_EXPORTER_OTLP_TRACES_ENDPOINT',
  'OTEL_EXPORTER_OTLP_METRICS_ENDPOINT',
  'OTEL_TRACES_EXPORTER',
  'OTEL_METRICS_EXPORTER',
]

interface Sdk {
  start(): void
  shutdown(): Promise<void>
}

export interface StartedSdk {
  /** Sends the last spans and metrics; resolves within `withinMs`, whether or not that worked. */
  end(options?: { withinMs?: number }): Promise<void>
}

/** Undefined when no variable asks for an SDK, when there is one already, or when none is installed, which is reported to `warn`. */
export async function startSdk(
  warn: (text: string) => void,
  env: NodeJS.ProcessEnv = process.env,
): Promise<StartedSdk | undefined> {
  if (!exporterVariables.some((name) => (env[name] ?? '') !== '') || env.OTEL_SDK_DISABLED?.toLowerCase() === 'true')
    return undefined
  if (openTelemetry() !== undefined) return undefined
  const sdk = await load(warn, env)
  if (sdk === undefined) return undefined
  sdk.start()
  return {
    async end({ withinMs = 5_000 } = {}) {
      let timer: NodeJS.Timeout | undefined
      const late = new Promise<never>((_resolve, reject) => {
        timer = setTimeout(() => reject(new Error(`no answer within ${withinMs} ms`)), withinMs)
      })
      try {
        await Promise.race([sdk.shutdown(), late])
      } catch (error) {
        warn(`baton: the last spans and metrics could not be sent: ${(error as Error).message}`)
      } finally {
        clearTimeout(timer)
      }
    },
  }
}

async function load(warn: (text: string) => void, env: NodeJS.ProcessEnv): Promise<Sdk | undefined> {
  let sdkModule: object
  try {
    sdkModule = (await import(sdkPackage)) as object
  } catch (error) {
    // The command line is bundled, and there the import is a require.
    const missing = /^(?:ERR_)?MODULE_NOT_FOUND$/.test((error as NodeJS.ErrnoException).code ?? '')
    const why = missing ? `${sdkPackage} is not installed beside Baton` : (error as Error).message
    warn(`baton: no telemetry is sent, though OTEL_… variables ask for it: ${why}`)
    return undefined
  }
  const { NodeSDK } = sdkModule as { NodeSDK: new (options: { serviceName?: string }) => Sdk }
  return new NodeSDK((env.OTEL_SERVICE_NAME ?? '') === '' ? { serviceName: 'baton' } : {})
}

// W3C trace context is written and read here rather than by the SDK's propagator: what an envelope carries must not depend on
// how the process that reads it is set up.
const traceparentShape = /^([\da-f]{2})-([\da-f]{32})-([\da-f]{16})-([\da-f]{2})(-.*)?$/

export function traceparentOf({ traceId, spanId, traceFlags }: Api.SpanContext): string | undefined {
  const text = `00-${traceId}-${spanId}-${traceFlags.toString(16).padStart(2, '0')}`
  return parseTraceparent(text) === undefined ? undefined : text
}

/** W3C trace context as text. */
export interface TraceContext {
  readonly traceparent?: string | undefined
  /** What the vendors of tracing pass along with it. */
  readonly tracestate?: string | undefined
}

export function traceContextOf(span: Api.SpanContext): TraceContext {
  const traceparent = traceparentOf(span)
  const tracestate = span.traceState?.serialize()
  if (traceparent === undefined) return {}
  return tracestate === undefined || tracestate === '' ? { traceparent } : { traceparent, tracestate }
}

/** The span that a trace context names; undefined when it names none. */
export function spanContextOf(api: typeof Api, { traceparent, tracestate }: TraceContext): Api.SpanContext | undefined {
  const found = parseTraceparent(traceparent)
  if (found === undefined || tracestate === undefined) return found
  return { ...found, traceState: api.createTraceState(tracestate) }
}

/** Undefined for a text that is no traceparent: the mistake of another program must not stop the work. */
export function parseTraceparent(text: string | undefined): Api.SpanContext | undefined {
  const [, version, traceId, spanId, flags, more] = traceparentShape.exec(text ?? '') ?? []
  if (version === undefined || traceId === undefined || spanId === undefined || flags === undefined) return undefined
  // Later versions may append fields; version 00 may not, and ff is invalid.
  if (version === 'ff' || (version === '00' && more !== undefined)) return undefined
  if (/^0+$/.test(traceId) || /^0+$/.test(spanId)) return undefined
  return { traceId, spanId, traceFlags: Number.parseInt(flags, 16) & 1, isRemote: true }
}
