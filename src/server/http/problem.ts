// Failures as `application/problem+json`: a stable type, what happened, the field at fault and what to do. Nothing of this
// machine gets out: no stack, no token, and the folders of the workspace only by what they are.

import os from 'node:os'
import * as z from 'zod'
import { BatonError, type ConflictError, type ErrorCode, type InvalidError, type NotFoundError } from '../../errors.ts'
import type { Workspace } from '../../operations/index.ts'
import { asRefusal } from '../../system/index.ts'
import type { Answer } from './exchange.ts'

/** What only this door can be asked wrongly. */
type HttpCode =
  | 'invalid'
  | 'unauthenticated'
  | 'forbidden'
  | 'foreign_host'
  | 'foreign_origin'
  | 'no_route'
  | 'method'
  | 'too_large'
  | 'media_type'
  | 'key_reused'
  | 'slow_down'
  | 'unavailable'
  | 'internal'

const statuses: Record<ErrorCode | HttpCode, number> = {
  invalid: 400,
  limit: 413,
  conflict: 409,
  not_found: 404,
  cancelled: 499,
  refused: 403,
  locked: 503,
  damaged: 409,
  unknown_outcome: 409,
  storage: 503,
  unsupported: 422,
  unauthenticated: 401,
  forbidden: 403,
  foreign_host: 421,
  foreign_origin: 403,
  no_route: 404,
  method: 405,
  too_large: 413,
  media_type: 415,
  key_reused: 422,
  slow_down: 429,
  unavailable: 503,
  internal: 500,
}

export const problemSchema = z.object({
  type: z.string().describe('Stable: `urn:baton:problem:` and the code.'),
  title: z.string(),
  status: z.int(),
  code: z.string(),
  detail: z.string(),
  field: z.string().optional().describe('The field at fault.'),
  hint: z.string().optional().describe('What to do.'),
  actual: z.unknown().optional().describe('Of a conflict: what was found.'),
  expected: z.unknown().optional(),
  nearest: z.array(z.string()).optional().describe('Names close to what was asked for.'),
})

type Problem = z.output<typeof problemSchema>

/** A failure that belongs to HTTP and not to an operation. */
export class HttpError extends Error {
  readonly code: HttpCode
  readonly hint: string | undefined
  readonly field: string | undefined
  readonly headers: Record<string, string>

  constructor(
    code: HttpCode,
    message: string,
    more: { hint?: string; field?: string; headers?: Record<string, string> } = {},
  ) {
    super(message)
    this.code = code
    this.hint = more.hint
    this.field = more.field
    this.headers = more.headers ?? {}
  }
}

/** The answer to a failure. What nobody foresaw is told to `onUnexpected` and not to the caller. */
export function problemAnswer(
  error: unknown,
  scrub: (text: string) => string,
  onUnexpected: (error: unknown) => void,
): Answer {
  const { headers = {}, ...problem } = problemOf(error, onUnexpected)
  return {
    status: problem.status,
    headers: { 'content-type': 'application/problem+json', ...headers },
    body: scrub(JSON.stringify(problem)),
  }
}

/** What to do where the error itself does not say it. */
const usualHints: Partial<Record<ErrorCode, string>> = {
  invalid: 'See /openapi.json for what it takes.',
  conflict: 'It was changed meanwhile: read it again, then repeat with what you find.',
}

function problemOf(
  thrown: unknown,
  onUnexpected: (error: unknown) => void,
): Problem & { headers?: Record<string, string> } {
  const error = asRefusal(thrown)
  if (error instanceof HttpError) {
    const { message, hint, field, headers } = error
    return { ...about(error.code), detail: message, field, hint, headers }
  }
  if (BatonError.is(error)) {
    const { path } = error as InvalidError
    const { actual, expected } = error as ConflictError
    const { nearest = [] } = error as Partial<NotFoundError>
    const names = nearest.length > 0 ? { nearest: [...nearest] } : {}
    if (error.code === 'storage' || error.code === 'damaged') onUnexpected(error)
    return {
      ...about(error.code),
      detail: error.message,
      // Of what is wrong as a whole, no field is named.
      field: path === '' ? undefined : path,
      hint: error.hint ?? usualHints[error.code],
      actual,
      expected,
      ...names,
    }
  }
  if (error instanceof Error && error.name === 'AbortError') {
    return { ...about('cancelled'), detail: 'The request was cancelled' }
  }
  onUnexpected(error)
  return {
    ...about('internal'),
    detail: 'The server failed unexpectedly',
    hint: 'The log of "baton up" says more. Please report it.',
  }
}

function about(code: ErrorCode | HttpCode): Pick<Problem, 'type' | 'title' | 'status' | 'code'> {
  return { type: `urn:baton:problem:${code}`, title: code.replaceAll('_', ' '), status: statuses[code], code }
}

/** Replaces the folders of this machine in a text of Baton's own. */
export function scrubber({ folder, project, env }: Workspace): (text: string) => string {
  const places: [string, string][] = [
    [folder, 'WORKSPACE'],
    [project, 'PROJECT'],
    [env.HOME ?? os.homedir(), 'HOME'],
    [os.tmpdir(), 'TMP'],
  ]
  const known = places
    .filter(([place]) => place.length > 1)
    .map(([place, word]) => [JSON.stringify(place).slice(1, -1), word] as const)
  return (text) => known.reduce((scrubbed, [place, word]) => scrubbed.replaceAll(place, word), text)
}
