// W3C trace context, written and read here rather than by the SDK's propagator: what an envelope carries must not depend on
// how the process that reads it is set up.

import type { SpanContext } from '@opentelemetry/api'

const shape = /^([\da-f]{2})-([\da-f]{32})-([\da-f]{16})-([\da-f]{2})(-.*)?$/

export function traceparentOf({ traceId, spanId, traceFlags }: SpanContext): string | undefined {
  const text = `00-${traceId}-${spanId}-${traceFlags.toString(16).padStart(2, '0')}`
  return parseTraceparent(text) === undefined ? undefined : text
}

/** Undefined for what is not one: another's mistake must not stop the work. */
export function parseTraceparent(text: string | undefined): SpanContext | undefined {
  const [, version, traceId, spanId, flags, more] = shape.exec(text ?? '') ?? []
  if (version === undefined || traceId === undefined || spanId === undefined || flags === undefined) return undefined
  // Later versions may add to it; version 00 may not, and ff is none.
  if (version === 'ff' || (version === '00' && more !== undefined)) return undefined
  if (/^0+$/.test(traceId) || /^0+$/.test(spanId)) return undefined
  return { traceId, spanId, traceFlags: Number.parseInt(flags, 16) & 1, isRemote: true }
}
