import type { Failure } from './reply.ts'
import type { Turn } from './turn.ts'

interface AnthropicFailure {
  status: number
  headers: Record<string, string>
  body: { type: 'error'; error: { type: string; message: string }; request_id: string }
}

/** Anthropic's failures: the same body with an HTTP status and as an event in a stream. */
export function anthropicFailure(failure: Failure, turn: Pick<Turn, 'id'>): AnthropicFailure {
  const { status, type, message, headers = {} } = described(failure)
  const id = `req_${turn.id}`
  return {
    status,
    headers: { 'request-id': id, ...headers },
    body: { type: 'error', error: { type, message }, request_id: id },
  }
}

interface Described {
  status: number
  type: string
  message: string
  headers?: Record<string, string>
}

function described(failure: Failure): Described {
  switch (failure.kind) {
    case 'context-length':
      return {
        status: 400,
        type: 'invalid_request_error',
        message: `prompt is too long: ${failure.used} tokens > ${failure.max} maximum`,
      }
    case 'rate-limit':
      return {
        status: 429,
        type: 'rate_limit_error',
        message:
          "This request would exceed your organization's rate limit of 40,000 input tokens per minute. For details, " +
          'refer to: https://docs.claude.com/en/api/rate-limits. You can see the response headers for current usage.',
        headers: {
          'retry-after': String(failure.retryAfter),
          'anthropic-ratelimit-input-tokens-limit': '40000',
          'anthropic-ratelimit-input-tokens-remaining': '0',
        },
      }
    case 'overloaded':
      return { status: 529, type: 'overloaded_error', message: 'Overloaded' }
    case 'server':
      return { status: 500, type: 'api_error', message: 'Internal server error' }
    case 'auth':
      return { status: 401, type: 'authentication_error', message: 'invalid x-api-key' }
    case 'plan-limit':
      return { status: 429, type: 'rate_limit_error', message: failure.message }
    case 'status':
      return {
        status: failure.status,
        type: failure.status < 500 ? 'invalid_request_error' : 'api_error',
        message: failure.message,
      }
  }
}
