import type { HttpFailure } from './protocol.ts'
import type { Failure } from './reply.ts'

/** A limit that lasts longer than this is one of the day, not of the minute. */
const minutes = 300

/** Google's failures: the same body with an HTTP status and inside a stream. */
export function googleFailure(failure: Failure, { model }: { model: string }): HttpFailure {
  const { code, status, message, details } = described(failure, model)
  return { status: code, headers: {}, body: { error: { code, message, status, ...(details && { details }) } } }
}

interface Described {
  code: number
  status: string
  message: string
  details?: readonly object[]
}

function described(failure: Failure, model: string): Described {
  switch (failure.kind) {
    case 'context-length':
      return {
        code: 400,
        status: 'INVALID_ARGUMENT',
        message: `The input token count (${failure.used}) exceeds the maximum number of tokens allowed (${failure.max}).`,
      }
    case 'rate-limit':
      return limited(failure.retryAfter, model)
    case 'overloaded':
      return { code: 503, status: 'UNAVAILABLE', message: 'The model is overloaded. Please try again later.' }
    case 'server':
      return { code: 500, status: 'INTERNAL', message: 'An internal error has occurred.' }
    case 'auth':
      return {
        code: 400,
        status: 'INVALID_ARGUMENT',
        message: 'API key not valid. Please pass a valid API key.',
        details: [
          {
            '@type': 'type.googleapis.com/google.rpc.ErrorInfo',
            reason: 'API_KEY_INVALID',
            domain: 'googleapis.com',
            metadata: { service: 'generativelanguage.googleapis.com' },
          },
        ],
      }
    case 'plan-limit':
      return limited(Math.max(minutes + 1, (failure.resetsAt.getTime() - Date.now()) / 1000), model)
    case 'status':
      return { code: failure.status, status: 'UNKNOWN', message: failure.message }
  }
}

function limited(seconds: number, model: string): Described {
  const span = seconds > minutes ? 'PerDay' : 'PerMinute'
  return {
    code: 429,
    status: 'RESOURCE_EXHAUSTED',
    message:
      'You exceeded your current quota, please check your plan and billing details. For more information on this error, ' +
      'head to: https://ai.google.dev/gemini-api/docs/rate-limits.',
    details: [
      {
        '@type': 'type.googleapis.com/google.rpc.QuotaFailure',
        violations: [
          {
            quotaMetric: 'generativelanguage.googleapis.com/generate_content_paid_tier_requests',
            quotaId: `GenerateRequests${span}PerProjectPerModel`,
            quotaDimensions: { location: 'global', model },
            quotaValue: '10',
          },
        ],
      },
      { '@type': 'type.googleapis.com/google.rpc.RetryInfo', retryDelay: `${seconds}s` },
    ],
  }
}
