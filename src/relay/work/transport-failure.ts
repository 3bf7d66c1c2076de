// Tells a failure on the way to a target, which passes, from an answer of the target, which counts.

const passing = new Set([
  'ECONNRESET',
  'ECONNREFUSED',
  'ECONNABORTED',
  'ETIMEDOUT',
  'EPIPE',
  'EAI_AGAIN',
  'EHOSTUNREACH',
  'ENETUNREACH',
  'ENETDOWN',
  'UND_ERR_SOCKET',
  'UND_ERR_CONNECT_TIMEOUT',
  'UND_ERR_HEADERS_TIMEOUT',
  'UND_ERR_BODY_TIMEOUT',
])

/**
 * Whether an error is worth another attempt: a connection that was refused, reset or timed out, or an error that says so itself with
 * `isRetryable`, as those of the AI SDK do. The cause counts, too, because `fetch` wraps what happened.
 */
export function isTransportFailure(error: unknown, depth = 0): boolean {
  if (typeof error !== 'object' || error === null || depth > 5) return false
  const { code, isRetryable, cause } = error as { code?: unknown; isRetryable?: unknown; cause?: unknown }
  if (isRetryable === true || (typeof code === 'string' && passing.has(code))) return true
  return isTransportFailure(cause, depth + 1)
}
