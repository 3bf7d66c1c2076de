// Requests made from the schemas: valid, broken and hostile. Whatever comes, the answer is an answer.
import fc from 'fast-check'
import { afterAll, beforeAll, expect, it } from 'vitest'
import * as z from 'zod'
import { table } from '../../src/operations/index.ts'
import { isFull } from '../support/full.ts'
import { servedWorkspace } from './served.ts'

let served: Awaited<ReturnType<typeof servedWorkspace>>
beforeAll(async () => {
  served = await servedWorkspace()
})
afterAll(() => served.close())

type Schema = {
  type?: unknown
  enum?: unknown[]
  properties?: Record<string, Schema>
  items?: Schema
  anyOf?: Schema[]
}

const hostile = fc.constantFrom<unknown>(
  '../../../etc/passwd',
  '/etc/passwd',
  '%00',
  '\u0000',
  '\ud800',
  '__proto__',
  'constructor',
  '',
  ' ',
  '🦀'.repeat(300),
  'x'.repeat(5000),
  -1,
  0,
  1.5,
  1e308,
  Number.MAX_SAFE_INTEGER,
  null,
  true,
  [],
  {},
  [[[[]]]],
  { __proto__: null },
  { $ref: '#' },
  'main#1..2',
  "'; DROP TABLE entries; --",
  '$(touch x)',
)

/** A value that fits the schema, mostly. */
function valueOf(schema: Schema): fc.Arbitrary<unknown> {
  const fitting = (): fc.Arbitrary<unknown> => {
    if (schema.enum !== undefined) return fc.constantFrom(...schema.enum)
    if (schema.anyOf !== undefined) return fc.oneof(...schema.anyOf.map(valueOf))
    switch (schema.type) {
      case 'string':
        return fc.oneof(
          fc.constantFrom('main', 'r1', 'PARSER', 'researcher', 'main#1'),
          fc.string({ unit: 'grapheme', maxLength: 30 }),
        )
      case 'integer':
      case 'number':
        return fc.integer({ min: 0, max: 200 })
      case 'boolean':
        return fc.boolean()
      case 'array':
        return fc.array(valueOf(schema.items ?? {}), { maxLength: 3 })
      case 'object':
        return objectOf(schema.properties ?? {})
      default:
        return fc.jsonValue({ maxDepth: 3 })
    }
  }
  return fc.oneof({ weight: 6, arbitrary: fitting() }, { weight: 1, arbitrary: hostile })
}

function objectOf(properties: Record<string, Schema>): fc.Arbitrary<Record<string, unknown>> {
  const fields = Object.fromEntries(Object.entries(properties).map(([name, schema]) => [name, valueOf(schema)]))
  return fc.record(fields, { requiredKeys: [] })
}

/** Nothing here may start an agent, wait for ever or read what this machine has elsewhere. */
const left = new Set([
  'demo.start',
  'doctor.check',
  'relay.watch',
  'session.continue',
  'session.follow',
  'session.import',
  'session.list',
  'session.log',
  'supervised.run',
  'supervised.screen',
  'tape.watch',
  'work.list',
])

const requests = fc.oneof(
  ...table
    .filter(({ name }) => !left.has(name))
    .map(({ route, input }) => {
      const { properties = {} } = z.toJSONSchema(input, { io: 'input' }) as Schema
      return objectOf(properties).map((fields) => ({
        route,
        fields: { ...fields, ...('wait' in properties ? { wait: false } : {}) },
      }))
    }),
)

/** Ten thousand requests take a while on a busy machine. */
const limit = isFull ? { timeout: 1_800_000 } : {}

it('no request gets a 5xx, a stack, a path or a token, and the workspace is sound afterwards [D3]', limit, async () => {
  const secret = await served.token('operate')
  await served.workspace.store.append('main', [{ kind: 'message', payload: { role: 'user', content: 'hello' } }])
  await fc.assert(
    fc.asyncProperty(requests, fc.option(fc.string({ maxLength: 20 })), async ({ route, fields }, key) => {
      const [method = '', template = ''] = route.split(' ')
      const rest: Record<string, unknown> = { ...fields }
      const path = template.replaceAll(/\{(\w+)\}/g, (_, field: string) => {
        const text = (
          typeof rest[field] === 'string' ? rest[field] : (JSON.stringify(rest[field]) ?? 'main')
        ).replaceAll(/[\ud800-\udfff]/g, '?')
        delete rest[field]
        return encodeURIComponent(text)
      })
      const headers: Record<string, string> =
        key !== null && /^[\x21-\x7e]+$/.test(key) ? { 'idempotency-key': key } : {}
      const query = Object.entries(rest).map(
        ([field, value]) => `${field}=${encodeURIComponent(JSON.stringify(value) ?? '').slice(0, 4000)}`,
      )
      const answer =
        method === 'GET'
          ? await served.ask(`GET /v1${path}?${query.join('&')}`, { token: secret })
          : await served.ask(`${method} /v1${path}`, { token: secret, body: rest, headers })
      const text = await answer.text()
      expect([route, fields, answer.status < 500 ? '' : text]).toEqual([route, fields, ''])
      if (answer.status >= 400) {
        expect(text).not.toContain(served.folder)
        expect(text).not.toMatch(/\n\s+at |node_modules|\.ts:\d/)
      }
      expect(text).not.toContain(secret)
    }),
    { numRuns: isFull ? 10_000 : 400 },
  )
  expect(served.problems).toEqual([])
  for await (const { tape } of served.workspace.store.list()) {
    for (const { damage } of await served.workspace.store.verify!(tape)) expect([tape, damage]).toEqual([tape, []])
  }
})
