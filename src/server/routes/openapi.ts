// The description of the REST interface, made from the schemas that validate.

import { OpenAPIHono } from '@hono/zod-openapi'
import * as z from 'zod'
import manifest from '../../../package.json' with { type: 'json' }
import { isLive } from '../../operations/index.ts'
import { problemSchema } from '../http/problem.ts'
import { type Endpoint, takesBody } from './endpoint.ts'

type Registry = OpenAPIHono['openAPIRegistry']
type RouteDescription = Parameters<Registry['registerPath']>[0]

export function openApi(endpoints: readonly Endpoint[], url: string): object {
  const described = new OpenAPIHono()
  const registry = described.openAPIRegistry
  registry.registerComponent('securitySchemes', 'token', { type: 'http', scheme: 'bearer' })
  for (const endpoint of endpoints) registry.registerPath(describe(endpoint))
  for (const own of ownRoutes) registry.registerPath(own)
  return described.getOpenAPI31Document({
    openapi: '3.1.0',
    info: {
      title: 'Baton',
      version: manifest.version,
      description: 'Every operation on a workspace. Errors are problem documents; writes take an Idempotency-Key.',
    },
    servers: [{ url }],
    security: [{ token: [] }],
  })
}

const problem = {
  default: { description: 'A problem document.', content: { 'application/problem+json': { schema: problemSchema } } },
}

const idempotencyKey = z.object({
  'idempotency-key': z.string().min(1).max(200).optional().describe('The same key gets the same answer for 24 hours.'),
})

function describe(endpoint: Endpoint): RouteDescription {
  const { operation, method, path, inPath, schema } = endpoint
  const fields = Object.keys(schema.shape)
  const only = (names: readonly string[]) =>
    z.object(Object.fromEntries(Object.entries(schema.shape).filter(([name]) => names.includes(name))))
  const rest = fields.filter((field) => !inPath.includes(field))
  const params = inPath.length === 0 ? {} : { params: only(inPath) }
  const more = only(rest).strict()
  const body = takesBody(endpoint)
  const place = body
    ? { headers: idempotencyKey, body: { required: true, content: { 'application/json': { schema: more } } } }
    : rest.length === 0
      ? {}
      : { query: more }
  const content = isLive(operation)
    ? { 'application/x-ndjson': { schema: operation.each }, 'text/event-stream': { schema: operation.each } }
    : { 'application/json': { schema: operation.output } }
  return {
    method: method.toLowerCase() as 'get',
    path,
    operationId: operation.name,
    summary: operation.summary,
    description: `Needs the scope \`${operation.scope}\`.`,
    tags: [operation.name.split('.')[0]!],
    request: { ...params, ...place },
    responses: { 200: { description: 'Done.', content }, ...problem },
  }
}

const sha256 = z.string().regex(/^[0-9a-f]{64}$/)

/** What is not JSON in and JSON out, and so is this door's own. */
const ownRoutes: readonly RouteDescription[] = [
  {
    method: 'get',
    path: '/v1/live',
    operationId: 'live',
    summary: 'Follow tapes, the activity of the workspace and what waits for a person, on one connection.',
    description: 'Needs the scope `read`. Resumes with `Last-Event-ID`, or with `after`.',
    tags: ['live'],
    request: {
      query: z.object({
        tapes: z
          .string()
          .optional()
          .describe('Names, separated by commas; main#12 begins behind entry 12, main at what is new.'),
        activity: z.enum(['1']).optional().describe('Which tapes have changed.'),
        waiting: z.enum(['1']).optional().describe('What waits for a person.'),
        after: z.string().optional().describe('The id of the last event that you have seen.'),
      }),
    },
    responses: {
      200: {
        description: 'Events: entry, activity, waiting.',
        content: { 'text/event-stream': { schema: z.string() } },
      },
      ...problem,
    },
  },
  {
    method: 'get',
    path: '/v1/blobs/{sha256}',
    operationId: 'blob.get',
    summary: 'The bytes of a blob; takes a Range.',
    description: 'Needs the scope `read`.',
    tags: ['blob'],
    request: { params: z.object({ sha256 }) },
    responses: {
      200: { description: 'The bytes.', content: { 'application/octet-stream': { schema: z.string() } } },
      206: { description: 'Part of them.', content: { 'application/octet-stream': { schema: z.string() } } },
      ...problem,
    },
  },
  {
    method: 'post',
    path: '/v1/blobs',
    operationId: 'blob.put',
    summary: 'Keep bytes under their own hash; they are durable when this answers.',
    description: 'Needs the scope `write`.',
    tags: ['blob'],
    request: { body: { content: { 'application/octet-stream': { schema: z.string() } } } },
    responses: {
      200: {
        description: 'Done.',
        content: { 'application/json': { schema: z.object({ sha256: z.string(), bytes: z.int() }) } },
      },
      ...problem,
    },
  },
]
