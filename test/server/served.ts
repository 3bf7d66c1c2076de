// The server of a workspace in this process. It believes that its port is 4747; requests reach it wherever it listens.
import http from 'node:http'
import type { AddressInfo } from 'node:net'
import { Readable } from 'node:stream'
import { createApp } from '../../src/server/app.ts'
import { PlainConnections } from '../../src/server/http/plain.ts'
import { SignIn } from '../../src/server/access/sign-in.ts'
import { type TokenKind, Tokens } from '../../src/server/access/tokens.ts'
import type { Scope } from '../../src/operations/index.ts'
import { temporaryWorkspace } from '../operations/workspace.ts'

export async function servedWorkspace({ heartbeatMs }: { heartbeatMs?: number } = {}) {
  const opened = await temporaryWorkspace()
  const { workspace } = opened
  const tokens = new Tokens(workspace.folder)
  const signIn = new SignIn()
  const closing = new AbortController()
  const problems: unknown[] = []
  const app = createApp({
    workspace,
    tokens,
    signIn,
    hosts: ['127.0.0.1', 'localhost'],
    port: 4747,
    scheme: 'http',
    web: undefined,
    waiting: async () => ({ items: [] }),
    closing: closing.signal,
    onProblem: (error) => problems.push(error),
    ...(heartbeatMs === undefined ? {} : { heartbeatMs }),
  })
  const server = http.createServer({ requireHostHeader: false }, app.listener)
  const plain = new PlainConnections(server, app.servePlain)
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  const token = async (scope: Scope, kind: TokenKind = 'program') =>
    (await tokens.create({ name: `${scope}-${Math.random()}`, scope, kind })).token
  const admin = await token('admin')
  /** A request as admin, unless it says otherwise; a body is sent as JSON, and bytes as they are. */
  const ask = async (
    route: string,
    options: { token?: string; headers?: Record<string, string>; body?: unknown } = {},
  ) => {
    const [method = '', path = ''] = route.split(' ')
    const headers = new Headers({ host: '127.0.0.1:4747', authorization: `Bearer ${options.token ?? admin}` })
    if (options.body !== undefined) headers.set('content-type', 'application/json')
    for (const [name, value] of Object.entries(options.headers ?? {})) {
      if (value === '') headers.delete(name)
      else headers.set(name, value)
    }
    const json = options.body === undefined ? '' : JSON.stringify(options.body)
    const body = Buffer.isBuffer(options.body) ? options.body : Buffer.from(json)
    if (body.length > 0) headers.set('content-length', String(body.length))
    return new Promise<Response>((resolve, reject) => {
      const given = Object.fromEntries(headers)
      const sent = http.request({ port, method, path, headers: given, setHost: false }, (answer) => {
        const got = new Headers()
        for (let i = 0; i < answer.rawHeaders.length; i += 2)
          got.append(answer.rawHeaders[i]!, answer.rawHeaders[i + 1]!)
        const { statusCode = 0 } = answer
        const isEmpty = statusCode === 204 || statusCode === 304
        const content = isEmpty ? null : (Readable.toWeb(answer) as ReadableStream<Uint8Array>)
        resolve(new Response(content, { status: statusCode, headers: got }))
      })
      sent.on('error', reject).end(body)
    })
  }
  return {
    ...opened,
    tokens,
    signIn,
    problems,
    token,
    ask,
    close: async () => {
      closing.abort()
      server.close()
      plain.closeAll()
      server.closeAllConnections()
      await opened.close()
    },
  }
}

export async function problemIn(
  answer: Response,
): Promise<{ code: string; field?: string; hint?: string; detail: string }> {
  return (await answer.json()) as { code: string; detail: string }
}
