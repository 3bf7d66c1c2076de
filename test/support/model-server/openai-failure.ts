import type { HttpFailure } from './protocol.ts'
import type { Failure } from './reply.ts'
import type { Api } from './request.ts'
import type { Turn } from './turn.ts'

interface OpenAiFailure extends HttpFailure {
  body: { error: { message: string; type: string; param: string | null; code: string | null; resets_at?: number } }
}

/** OpenAI's failures, shared by its two protocols. */
export function openAiFailure(failure: Failure, turn: Pick<Turn, 'id' | 'model'>, api: Api): OpenAiFailure {
  const { status, headers = {}, param = null, ...error } = described(failure, turn.model, api)
  return { status, headers: { 'x-request-id': `req_${turn.id}`, ...headers }, body: { error: { ...error, param } } }
}

interface Described {
  status: number
  headers?: Record<string, string>
  message: string
  type: string
  param?: string
  code: string | null
  /** Seconds since the epoch. */
  resets_at?: number
}

function described(failure: Failure, model: string, api: Api): Described {
  switch (failure.kind) {
    case 'context-length':
      return {
        status: 400,
        message:
          api === 'responses'
            ? 'Your input exceeds the context window of this model. Please adjust your input and try again.'
            : `This model's maximum context length is ${failure.max} tokens. However, your messages resulted in ` +
              `${failure.used} tokens. Please reduce the length of the messages.`,
        type: 'invalid_request_error',
        param: api === 'responses' ? 'input' : 'messages',
        code: 'context_length_exceeded',
      }
    case 'rate-limit':
      return {
        status: 429,
        headers: {
          'retry-after': String(failure.retryAfter),
          'retry-after-ms': String(failure.retryAfter * 1000),
          'x-ratelimit-limit-tokens': '30000',
          'x-ratelimit-remaining-tokens': '0',
          'x-ratelimit-reset-tokens': `${failure.retryAfter}s`,
        },
        message:
          `Rate limit reached for ${model} in organization org-scripted on tokens per min (TPM): Limit 30000, ` +
          `Used 30000, Requested 1000. Please try again in ${failure.retryAfter}s. ` +
          'Visit https://platform.openai.com/account/rate-limits to learn more.',
        type: 'tokens',
        code: 'rate_limit_exceeded',
      }
    case 'overloaded':
      return {
        status: 503,
        message: 'Our servers are currently overloaded. Please try again later.',
        type: 'service_unavailable_error',
        code: 'server_is_overloaded',
      }
    case 'server':
      return {
        status: 500,
        message: 'The server had an error while processing your request. Sorry about that!',
        type: 'server_error',
        code: api === 'responses' ? 'server_error' : null,
      }
    case 'auth':
      return {
        status: 401,
        message:
          'Incorrect API key provided. You can find your API key at https://platform.openai.com/account/api-keys.',
        type: 'invalid_request_error',
        code: 'invalid_api_key',
      }
    case 'plan-limit':
      return {
        status: 429,
        message: failure.message,
        type: 'usage_limit_reached',
        code: null,
        resets_at: Math.floor(failure.resetsAt.getTime() / 1000),
      }
    case 'status':
      return {
        status: failure.status,
        message: failure.message,
        type: failure.status < 500 ? 'invalid_request_error' : 'server_error',
        code: null,
      }
  }
}
