// What a failed call to a model means: whether to try again and when, whether the context was too long, and what the person sees of it.

import { APICallError, InvalidResponseDataError, JSONParseError, RetryError } from 'ai'
import { isTooLong } from '../../handoff/index.ts'

export interface ModelFailure {
  readonly message: string
  /** What the person can do about it. */
  readonly hint?: string
  /** The same request may succeed later. */
  readonly retry: boolean
  /** The context is larger than the model takes. */
  readonly tooLong: boolean
  /** The model takes no images, or not one of these. */
  readonly refusesImages: boolean
  /** What the provider asked to wait for, in seconds. */
  readonly after?: number
  /** How many tokens the model takes, where it said so. */
  readonly window?: number
}

export function modelFailure(error: unknown): ModelFailure {
  const cause = RetryError.isInstance(error) ? error.lastError : error
  const call = APICallError.isInstance(cause) ? cause : undefined
  const status = call?.statusCode
  const text = call === undefined ? textOf(cause) : wordsOf(call)
  const body = `${text} ${call?.responseBody ?? ''}`
  const tooLong = status === 413 || (status !== 429 && isTooLong({ message: body }))
  const window = tooLong ? windowIn(body) : undefined
  const after = call?.responseHeaders === undefined ? undefined : retryAfter(call.responseHeaders)
  const hint = hintFor(cause, call)
  return {
    message: status === undefined || status === 200 ? text : `${text} (HTTP ${status})`,
    ...(hint === undefined ? {} : { hint }),
    retry: !tooLong && mayRetry(cause, call, body),
    tooLong,
    refusesImages:
      !tooLong && (status === undefined || (status >= 400 && status < 500 && status !== 429)) && aboutImages.test(body),
    ...(after === undefined ? {} : { after }),
    ...(window === undefined ? {} : { window }),
  }
}

/** How providers say that a model takes no images, or that they cannot read one. */
const aboutImages =
  /image[^.\n]{0,80}(?:not (?:supported|allowed|valid|available|enabled)|unsupported|invalid|only supported|could not|cannot|too large)|(?:not support|unsupported|unknown variant|invalid|could not (?:process|decode|read)|cannot (?:process|read)|support|no)[^.\n]{0,60}(?:image|vision|multimodal)/i

function mayRetry(cause: unknown, call: APICallError | undefined, body: string): boolean {
  if (/insufficient_quota|billing/i.test(body)) return false
  if (call !== undefined) return call.isRetryable && call.responseHeaders?.['x-should-retry'] !== 'false'
  // Errors inside a stream come as plain data; a request that was refused there would be refused again.
  if (!(cause instanceof Error)) return !/invalid_request|authentication|permission|not_found/i.test(body)
  const { isRetryable } = cause as Error & { isRetryable?: unknown }
  if (typeof isRetryable === 'boolean') return isRetryable
  return InvalidResponseDataError.isInstance(cause) || JSONParseError.isInstance(cause)
}

const address = 'Is the address of the server right? Most end in /v1.'

function hintFor(cause: unknown, call: APICallError | undefined): string | undefined {
  if (call === undefined) return isNoStream(cause) ? `What came was no answer of a model. ${address}` : undefined
  const { statusCode: status } = call
  if (status === 401 || status === 403)
    return `Is ${placeOf(call).endsWith('/messages') ? 'ANTHROPIC_API_KEY' : 'OPENAI_API_KEY'} the key for ${placeOf(call)}?`
  if (status === 404) return `Asked at ${placeOf(call)}. Is that the name of a model there? ${address}`
  return status === undefined ? `Asked at ${placeOf(call)}. Is the server running? ${address}` : undefined
}

/** The address without its query, which may contain a key. */
function placeOf({ url }: APICallError): string {
  return url.replace(/[?#].*$/s, '')
}

function isNoStream(cause: unknown): boolean {
  return /without a finish reason|JSON parsing failed/.test(textOf(cause))
}

/** The server's own words, even if the SDK does not know the shape of its error. */
function wordsOf({ message, responseBody = '', statusCode, cause }: APICallError): string {
  if (statusCode === 200) return `The answer broke off: ${innermost(cause ?? message)}`
  if (responseBody.includes(message)) return message
  try {
    const body: unknown = JSON.parse(responseBody)
    return textOf(Array.isArray(body) ? body[0] : body) || message
  } catch {
    return message // a page of a proxy, say
  }
}

function innermost(error: unknown): string {
  return error instanceof Error && error.cause !== undefined ? innermost(error.cause) : textOf(error)
}

function textOf(error: unknown): string {
  if (error instanceof Error) return error.message
  if (typeof error === 'string') return error
  if (typeof error !== 'object' || error === null) return String(error)
  const { message, detail, type, error: inner } = error as Record<string, unknown>
  if ((typeof inner === 'object' && inner !== null) || typeof inner === 'string') return textOf(inner)
  if (typeof message !== 'string') return typeof detail === 'string' ? detail : JSON.stringify(error)
  return typeof type === 'string' ? `${message} (${type})` : message
}

/** Seconds or a date; some providers send milliseconds in another header. */
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

/** How providers name the size of the window in an error, from the most to the least reliable wording. */
const windowWords = [
  /(?:> |<= |n_ctx"?: ?|less than |tokens allowed \()([\d,]{4,})/i,
  // DashScope: "Range of input length should be [1, 30720]".
  /input length should be \[\s*\d+\s*,\s*([\d,]{4,})\]/i,
  // SGLang: "is longer than the model's context length (8192 tokens)", "exceeds the maximum allowed length (8192 tokens)".
  /maximum (?:allowed )?(?:context |prompt |model |input )?length(?: is| of|:)? \(?([\d,]{4,})/i,
  /([\d,]{4,}) maximum context length/i,
  // In brackets stands the number of the error too: MiniMax says "context window exceeds limit (2013)".
  /context (?:window|size|length|limit)[^\d(]{0,20}([\d,]{4,})/i,
  /context (?:window|size|length|limit) ?\(([\d,]{4,}) tokens\)/i,
  /exceeds the limit of ([\d,]{4,})/i,
]

/** A smaller number than this in an error is the number of the error, or a part of the context, and no window of a model in use. */
const smallestWindow = 2_048

function windowIn(text: string): number | undefined {
  const found = windowWords.map((words) => words.exec(text)?.[1]).find((each) => each !== undefined)
  const tokens = Number(found?.replaceAll(',', ''))
  return tokens >= smallestWindow ? tokens : undefined
}
