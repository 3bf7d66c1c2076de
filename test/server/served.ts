// The server without a port: requests go straight to its app.
import { createApp } from '../../src/server/app.ts'
import { SignIn } from '../../src/server/sign-in.ts'
import { type TokenKind, Tokens } from '../../src/server/tokens.ts'
import type { Scope } from '../../src/operations/index.ts'
import { temporaryWorkspace } from '../operations/workspace.ts'

const origin = 'http://127.0.0.1:4747'

export async function servedWorkspace() {
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
  })
  const token = async (scope: Scope, kind: TokenKind = 'program') =>
    (await tokens.create({ name: `${scope}-${Math.random()}`, scope, kind })).token
  const admin = await token('admin')
  /** A request as admin, unless it says otherwise; a body is sent as JSON. */
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
    const body = options.body === undefined ? {} : { body: JSON.stringify(options.body) }
    return app.fetch(new Request(`${origin}${path}`, { method, headers, ...body }))
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
      await opened.close()
    },
  }
}

export async function problemIn(
  answer: Response,
): Promise<{ code: string; field?: string; hint?: string; detail: string }> {
  return (await answer.json()) as { code: string; detail: string }
}
