// The server as a function from requests to answers: who is at the door, then the route. What listens on a port is serve.ts.

import { type Context, Hono } from 'hono'
import { setCookie } from 'hono/cookie'
import * as z from 'zod'
import type { Workspace } from '../operations/index.ts'
import { Addresses, cookieName, demand, tokenOf } from './access.ts'
import { Audit } from './audit.ts'
import { addBlobs } from './blobs.ts'
import { Answers } from './idempotency.ts'
import { Live } from './live.ts'
import { Lives } from './lives.ts'
import { Metrics } from './metrics.ts'
import { openApi } from './openapi.ts'
import { addPages } from './pages.ts'
import { HttpError, problemResponse, scrubber } from './problem.ts'
import { readBytes } from './request.ts'
import { addRoutes, endpoints, type Served, type Variables } from './routes.ts'
import { SignIn } from './sign-in.ts'
import { eventStream } from './stream.ts'
import type { Tokens } from './tokens.ts'

export interface AppOptions {
  readonly workspace: Workspace
  readonly tokens: Tokens
  readonly signIn: SignIn
  /** The names by which the server may be asked for, without a port. */
  readonly hosts: readonly string[]
  readonly port: number
  readonly scheme: 'http' | 'https'
  /** The folder of the dashboard, if it was built. */
  readonly web: string | undefined
  /** What waits for a person. */
  readonly waiting: () => Promise<unknown>
  /** Aborted when the server closes: streams end. */
  readonly closing: AbortSignal
  readonly onProblem: (error: unknown) => void
}

/** How many requests may be at work at once; more are asked to come back. Streams do not count. */
const mostAtWork = 512
const browserLifeMs = 30 * 24 * 60 * 60 * 1000

export interface App {
  readonly fetch: (request: Request, env?: object) => Response | Promise<Response>
  readonly answers: Answers
}

export function createApp(options: AppOptions): App {
  const { workspace, tokens, signIn, closing, onProblem } = options
  const { hosts, port, scheme } = options
  const url = `${scheme}://${hosts[0]}:${port}`
  const addresses = new Addresses(hosts, port, scheme)
  const scrub = scrubber(workspace)
  const problem = (error: unknown) => problemResponse(error, scrub, onProblem)
  const live = new Live(workspace.store, options.waiting, onProblem)
  const metrics = new Metrics()
  const audit = new Audit(workspace.store)
  const lives = new Lives(tokens, closing)
  const served: Served = {
    workspace,
    answers: new Answers(workspace.store),
    audit,
    lives,
    onWrite: () => live.nudge(),
    problem,
  }
  const app = new Hono<Variables>()
  app.onError((error) => problem(error))
  app.notFound((c) => problem(noRoute(c)))

  app.use(async (c, next) => {
    const done = metrics.begin()
    try {
      addresses.check(c.req.raw.headers)
      await next()
    } finally {
      c.header('x-content-type-options', 'nosniff')
      c.header('referrer-policy', 'no-referrer')
      if (c.req.path.startsWith('/v1')) c.header('cache-control', 'no-store')
      done(c.res.status)
    }
  })
  app.get('/healthz', (c) => c.json({ status: 'ok' }))
  app.post('/v1/sign-in', async (c) => {
    const body = z.object({ code: z.string().max(100) }).parse(await smallJson(c))
    signIn.redeem(body.code)
    const { token } = await tokens.create({ name: 'browser', scope: 'admin', kind: 'browser', lifeMs: browserLifeMs })
    setCookie(c, cookieName, token, {
      httpOnly: true,
      sameSite: 'Strict',
      path: '/',
      secure: scheme === 'https',
      maxAge: browserLifeMs / 1000,
    })
    return c.json({ signedIn: true })
  })
  addPages(app, options.web)

  app.use(async (c, next) => {
    if (metrics.atWork > mostAtWork) {
      throw new HttpError('unavailable', 'Too many requests are at work', {
        hint: 'Try again.',
        headers: { 'retry-after': '1' },
      })
    }
    c.set('token', tokenOf(c, tokens))
    await next()
  })
  app.post('/v1/sign-out', async (c) => {
    const token = c.get('token')
    if (token.kind === 'browser') await tokens.revoke(token.id)
    setCookie(c, cookieName, '', { httpOnly: true, sameSite: 'Strict', path: '/', maxAge: 0 })
    return c.json({ signedIn: false })
  })
  app.post('/v1/sign-in-codes', (c) => {
    demand(c.get('token'), 'admin')
    return c.json({ code: signIn.newCode() })
  })
  app.get('/v1/me', (c) => {
    const { name, scope, kind } = c.get('token')
    return c.json({ name, scope, kind })
  })
  app.get('/openapi.json', (c) => c.json(openApi(endpoints, url)))
  app.get('/metrics', async (c) => {
    demand(c.get('token'), 'read')
    return c.text(await metrics.text(workspace.store, live), 200, { 'content-type': 'text/plain; version=0.0.4' })
  })
  app.get('/v1/live', async (c) => {
    const life = lives.begin(c.get('token'), c.req.raw.signal)
    const events = await live.events(c.req.query(), c.req.header('last-event-id'), life.signal)
    return eventStream(events, life.end)
  })
  app.all('/mcp', async (c) => {
    const { name, scope } = c.get('token')
    demand(c.get('token'), 'read')
    return (await import('../mcp/index.ts')).answerMcp(workspace, { name, scope }, c.req.raw)
  })
  addBlobs(app, workspace.store)
  addRoutes(app, served)
  return { fetch: (request, env) => app.fetch(request, env), answers: served.answers }
}

async function smallJson(c: Context): Promise<unknown> {
  try {
    return JSON.parse(Buffer.from(await readBytes(c, 10_000)).toString()) as unknown
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error
    throw new HttpError('invalid', 'The body is not JSON')
  }
}

function noRoute(c: Context): HttpError {
  const { path, method } = c.req
  const same = endpoints.filter((each) => new RegExp(`^${each.path.replaceAll(/\{\w+\}/g, '[^/]+')}$`).test(path))
  if (same.length === 0) return new HttpError('no_route', 'There is nothing at this address', { hint: 'See /docs.' })
  const allow = same.map((each) => each.method).join(', ')
  return new HttpError('method', `This address takes ${allow}, not ${method}`, {
    hint: 'See /docs.',
    headers: { allow },
  })
}
