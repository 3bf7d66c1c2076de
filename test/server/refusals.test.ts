// Who is turned away, by walking the table: nothing that is added to it can be forgotten here.
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { scopes, table } from '../../src/operations/index.ts'
import { problemIn, servedWorkspace } from './served.ts'

let served: Awaited<ReturnType<typeof servedWorkspace>>
beforeAll(async () => {
  served = await servedWorkspace()
})
afterAll(() => served.close())

const own = [
  ['live', 'GET /v1/live', 'read'],
  ['blob.get', `GET /v1/blobs/${'0'.repeat(64)}`, 'read'],
  ['blob.put', 'POST /v1/blobs', 'write'],
  ['metrics', 'GET /metrics', 'read'],
  ['openapi', 'GET /openapi.json', 'read'],
  ['sign-in code', 'POST /v1/sign-in-codes', 'admin'],
  ['sign-out', 'POST /v1/sign-out', 'read'],
  ['me', 'GET /v1/me', 'read'],
] as const
const routes = [
  ...table.map(({ name, route, scope }) => {
    const [method, path] = route.split(' ')
    return [name, `${method} /v1${path!.replaceAll(/\{\w+\}/g, 'x')}`, scope] as const
  }),
  ...own,
]

describe.each(routes)('%s is refused [D8]', (_name, route, scope) => {
  it('without a token, and with one that does not count', async () => {
    const none = await served.ask(route, { headers: { authorization: '' } })
    expect([none.status, (await problemIn(none)).code]).toEqual([401, 'unauthenticated'])
    const wrong = await served.ask(route, { token: 'baton_wrong' })
    expect(wrong.status).toBe(401)
    const inQuery = await served.ask(`${route}?token=${await served.token('admin')}`, {
      headers: { authorization: '' },
    })
    expect(inQuery.status).toBe(401)
  })

  it('with every scope below its own', async () => {
    for (const weaker of scopes.slice(0, scopes.indexOf(scope))) {
      const answer = await served.ask(route, { token: await served.token(weaker) })
      expect([weaker, answer.status, (await problemIn(answer)).code]).toEqual([weaker, 403, 'forbidden'])
    }
  })

  it.each(['evil.example', '127.0.0.1', '127.0.0.1:4748', 'localhost:80', '127.0.0.1:4747.evil.example', ''])(
    'for the host "%s"',
    async (host) => {
      const answer = await served.ask(route, { headers: { host } })
      expect([answer.status, (await problemIn(answer)).code]).toEqual([421, 'foreign_host'])
    },
  )

  it.each(['http://evil.example', 'http://127.0.0.1:4748', 'https://127.0.0.1:4747', 'http://localhost', 'null'])(
    'for the origin %s',
    async (origin) => {
      const answer = await served.ask(route, { headers: { origin } })
      expect([answer.status, (await problemIn(answer)).code]).toEqual([403, 'foreign_origin'])
    },
  )
})

it('only /healthz, the pages without data and the sign-in answer without a token [D8]', async () => {
  const open = async (route: string) => (await served.ask(route, { headers: { authorization: '' } })).status
  expect(await open('GET /healthz')).toBe(200)
  expect(await open('GET /')).toBe(200)
  expect(await open('GET /docs')).toBe(200)
  for (const other of ['GET /v1', 'GET /v1/nothing', 'GET /mcp', 'POST /v1/anything', 'GET /etc/passwd'])
    expect([other, await open(other)]).toEqual([other, 401])
})
