// What a failed call to a model means: whether to try again and when, whether the context was too long, and what to tell.

import { APICallError, InvalidResponseDataError, JSONParseError, RetryError } from 'ai'
import { isTooLong } from '../handoff/narrative.ts'

export interface Failure {
  readonly message: string
  /** The same request may succeed later. */
  readonly retry: boolean
  /** The context is larger than the model takes. */
  readonly tooLong: boolean
  /** What the provider asked to wait for, in seconds. */
  readonly after?: number
  /** How many tokens the model takes, where it said so. */
  readonly window?: number
}

export function failureOf(error: unknown): Failure {
  const cause = RetryError.isInstance(error) ? error.lastError : error
  const call = APICallError.isInstance(cause) ? cause : undefined
  const status = call?.statusCode
  const text = textOf(cause)
  const body = `${text} ${call?.responseBody ?? ''}`
  const tooLong = status !== 429 && isTooLong({ message: body })
  const window = tooLong ? windowIn(body) : undefined
  const after = call?.responseHeaders === undefined ? undefined : retryAfter(call.responseHeaders)
  return {
    message: status === undefined ? text : `${text} (HTTP ${status})`,
    retry: !tooLong && mayRetry(cause, call, body),
    tooLong,
    ...(after === undefined ? {} : { after }),
    ...(window === undefined ? {} : { window }),
  }
}

function mayRetry(cause: unknown, call: APICallError | undefined, body: string): boolean {
  if (/insufficient_quota|billing/i.test(body)) return false
  if (call !== undefined) return call.isRetryable && call.responseHeaders?.['x-should-retry'] !== 'false'
  // What goes wrong inside a stream comes as plain data, and what was refused there stays refused.
  if (!(cause instanceof Error)) return !/invalid_request|authentication|permission|not_found/i.test(body)
  const { isRetryable } = cause as Error & { isRetryable?: unknown }
  if (typeof isRetryable === 'boolean') return isRetryable
  return InvalidResponseDataError.isInstance(cause) || JSONParseError.isInstance(cause)
}

function textOf(error: unknown): string {
  if (error instanceof Error) return error.message
  if (typeof error === 'string') return error
  if (typeof error !== 'object' || error === null) return String(error)
  const { message, type, error: inner } = error as { message?: unknown; type?: unknown; error?: unknown }
  if (typeof inner === 'object' && inner !== null) return textOf(inner)
  if (typeof message !== 'string') return JSON.stringify(error)
  return typeof type === 'string' ? `${message} (${type})` : message
}

/** Seconds or a date; some say milliseconds in a header of their own. */
function retryAfter(headers: Record<string, string>): number | undefined {
  const ms = Number(headers['retry-after-ms'])
  if (headers['retry-after-ms'] !== undefined && ms >= 0) return ms / 1000
  const value = headers['retry-after']
  if (value === undefined) return undefined
  const seconds = Number(value)
  if (!Number.isNaN(seconds)) return Math.max(0, seconds)
  const date = Date.parse(value)
  return Number.isNaN(date) ? undefined : Math.max(0, (date - Date.now()) / 1000)
}

function windowIn(text: string): number | undefined {
  const found =
    /(?:maximum context length (?:is|of)|tokens > |context (?:window|size|length|limit)\D{0,20})\s*([\d,]{4,})/i.exec(
      text,
    )
  const tokens = Number(found?.[1]?.replaceAll(',', ''))
  return tokens > 0 ? tokens : undefined
}
