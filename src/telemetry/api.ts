// OpenTelemetry, once somebody has set it up. Loading its API takes longer than many commands, so it is not loaded before
// an SDK has registered itself, which is seen from the global that all copies of the API share.

import { createRequire } from 'node:module'
import type * as Api from '@opentelemetry/api'
import manifest from '../../package.json' with { type: 'json' }

const registered = Symbol.for('opentelemetry.js.api.1')
const instrumentation = '@baton/baton'

export interface OpenTelemetry {
  readonly api: typeof Api
  readonly tracer: Api.Tracer
  readonly meter: Api.Meter
}

let loaded: typeof Api | undefined

/** Undefined while no SDK is set up; asking costs a lookup. */
export function openTelemetry(): OpenTelemetry | undefined {
  if (!(registered in globalThis)) return undefined
  // Not an import: spans begin in the middle of work that cannot wait for one.
  loaded ??= createRequire(import.meta.url)('@opentelemetry/api') as typeof Api
  return {
    api: loaded,
    tracer: loaded.trace.getTracer(instrumentation, manifest.version),
    meter: loaded.metrics.getMeter(instrumentation, manifest.version),
  }
}
