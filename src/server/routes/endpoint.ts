// From an HTTP request to the input of an operation: fields from the path, the query or the body, checked by its schema.

import { isUtf8 } from 'node:buffer'
import * as z from 'zod'
import type { AnyOperation } from '../../operations/index.ts'
import type { Exchange } from '../http/exchange.ts'
import { HttpError } from '../http/problem.ts'

/** What one request may carry: the largest batch of entries, as JSON that escapes generously. */
const bodyBytes = 4 * 1024 * 1024

/** What an export or a blob may carry. */
export const largeBodyBytes = 64 * 1024 * 1024

/** The route of an operation as this door serves it. */
export interface Endpoint {
  readonly operation: AnyOperation
  readonly method: string
  /** With fields in braces, as OpenAPI writes it. */
  readonly path: string
  /** The fields that stand in the path. */
  readonly inPath: readonly string[]
  readonly schema: z.ZodObject
  /** Field: how its text in a query is read. */
  readonly types: ReadonlyMap<string, string>
}

export function endpointOf(operation: AnyOperation): Endpoint {
  const [method = '', path = ''] = operation.route.split(' ')
  const inPath = [...path.matchAll(/\{(\w+)\}/g)].map(([, field]) => field!)
  const json = z.toJSONSchema(operation.input, { io: 'input' })
  const types = Object.entries(json.properties ?? {}).map(
    ([field, schema]) => [field, typeof schema === 'object' ? String(schema.type ?? 'any') : 'any'] as const,
  )
  return { operation, method, path: `/v1${path}`, inPath, schema: operation.input.strict(), types: new Map(types) }
}

export function takesBody({ method }: Endpoint): boolean {
  return method === 'POST' || method === 'PUT'
}

/** How many bytes the body of a request may hold. */
export function mostBytes({ operation }: Endpoint): number {
  return operation.name === 'tape.import' ? largeBodyBytes : bodyBytes
}

/** The input as the caller gave it; parsing it is the schema's. `body` is given where the endpoint takes one. */
export function inputOf(
  exchange: Exchange,
  endpoint: Endpoint,
  params: Readonly<Record<string, string>>,
  body: Buffer | undefined,
): Record<string, unknown> {
  const input = body === undefined ? queryOf(exchange, endpoint) : fieldsIn(body, exchange, endpoint)
  Object.assign(input, params)
  const expect = exchange.header('if-match')
  if (expect !== undefined && endpoint.types.has('expect')) input.expect ??= expectationIn(expect)
  return input
}

/** `"12"`: the last id; `"key=12"`: the last id with a key. */
function expectationIn(header: string): unknown {
  const match = /^"(?:(.+)=)?(\d+)"$/.exec(header)
  if (match === null) {
    throw new HttpError('invalid', 'If-Match must be "ID" or "KEY=ID"', {
      field: 'If-Match',
      hint: 'For example: If-Match: "12".',
    })
  }
  const id = Number(match[2])
  return match[1] === undefined ? id : { key: match[1], id }
}

function queryOf(exchange: Exchange, { types, inPath }: Endpoint): Record<string, unknown> {
  const input: Record<string, unknown> = {}
  const query = exchange.query()
  for (const [field, text] of query) {
    if (inPath.includes(field)) continue
    switch (types.get(field)) {
      case 'integer':
      case 'number':
        input[field] = /^-?\d+(\.\d+)?$/.test(text) ? Number(text) : text
        break
      case 'boolean':
        input[field] =
          text === '' || text === '1' || text === 'true' ? true : text === '0' || text === 'false' ? false : text
        break
      case 'array':
        input[field] = query
          .getAll(field)
          .flatMap((value) => value.split(','))
          .filter((word) => word !== '')
        break
      default:
        input[field] = text
    }
  }
  return input
}

function fieldsIn(bytes: Buffer, exchange: Exchange, { operation }: Endpoint): Record<string, unknown> {
  if (bytes.length === 0) return {}
  const type = exchange.header('content-type')
  if (type === undefined || !/^application\/(.+\+)?json\s*(;|$)/i.test(type)) {
    throw new HttpError('media_type', 'The body must be JSON', { hint: 'Send "Content-Type: application/json".' })
  }
  if (!isUtf8(bytes)) throw new HttpError('invalid', 'The body is not UTF-8', { hint: 'Encode the JSON as UTF-8.' })
  let body: unknown
  try {
    body = JSON.parse(bytes.toString())
  } catch {
    throw new HttpError('invalid', 'The body is not JSON', { hint: 'Send one JSON object.' })
  }
  if (typeof body !== 'object' || body === null || Array.isArray(body)) {
    throw new HttpError('invalid', 'The body must be a JSON object', {
      hint: `See /openapi.json for ${operation.name}.`,
    })
  }
  return body as Record<string, unknown>
}
