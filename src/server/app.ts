// What answers requests: who is at the door, then the route. Operations and streams are served on Node's own objects; pages, sign-in,
// blobs and MCP by hono. What listens on a port is serve.ts.

import type { IncomingMessage, ServerResponse } from 'node:http'
import { getRequestListener } from '@hono/node-server'
import { type Context, Hono } from 'hono'
import { getCookie, setCookie } from 'hono/cookie'
import * as z from 'zod'
import { checkedInput } from '../config/index.ts'
import type { Workspace } from '../operations/index.ts'
import { Addresses, cookieName, demand, type Knock, tokenOf } from './access/access.ts'
import { Audit } from './access/audit.ts'
import { addBlobs, readBytes } from './routes/blobs.ts'
import {
  type Answer,
  eventStream,
  type Exchange,
  NodeExchange,
  safeHeaders,
  type Streamed,
  type Target,
} from './http/exchange.ts'
import { Answers } from './routes/idempotency.ts'
import { Live } from './live/live.ts'
import { Lives } from './live/lives.ts'
import { Metrics } from './routes/metrics.ts'
import { openApi } from './routes/openapi.ts'
import { addPages } from './routes/pages.ts'
import type { Serve } from './http/plain.ts'
import { HttpError, problemAnswer, scrubber } from './http/problem.ts'
import { type Matched, Router } from './http/router.ts'
import { endpoints, type Served, serveOperation } from './routes/operations.ts'
import { SignIn } from './access/sign-in.ts'
import type { Token, Tokens } from './access/tokens.ts'

export type Variables = { Variables: { token: Token } }

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
  /** How long a stream of events is silent before it says that it is alive. */
  readonly heartbeatMs?: number
}

/** How many requests may be at work at once; more are asked to come back. Streams do not count. */
const mostAtWork = 512
/** Proxies, and clients that watch over their connection, take a longer silence for the end. */
const usualHeartbeatMs = 10_000
const signInSchema = z.object({
  code: z.string().max(100).describe('The code in the address that "baton up" printed.'),
})
const browserLifeMs = 30 * 24 * 60 * 60 * 1000

export interface App {
  readonly answers: Answers
  readonly listener: (incoming: IncomingMessage, outgoing: ServerResponse) => void
  /** What answers the requests over a plain connection that have the same head; undefined where it is nothing for them. */
  readonly servePlain: (target: Target) => Serve | undefined
}

/** Answers a request whose sender is known. */
type Route = (exchange: Exchange, params: Readonly<Record<string, string>>, token: Token) => Promise<Answer | Streamed>

export function createApp(options: AppOptions): App {
  const { workspace, tokens, signIn, closing, onProblem } = options
  const { hosts, port, scheme } = options
  const url = `${scheme}://${hosts[0]}:${port}`
  const addresses = new Addresses(hosts, port, scheme)
  const scrub = scrubber(workspace)
  const problem = (error: unknown) => problemAnswer(error, scrub, onProblem)
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
  const router = new Router<Route>()
  for (const endpoint of endpoints) {
    router.add(endpoint.method, endpoint.path, (exchange, params, token) =>
      serveOperation(exchange, endpoint, params, token, served),
    )
  }
  router.add('GET', '/v1/live', async (exchange, _params, token) => {
    demand(token, 'read')
    const life = lives.begin(token, exchange.signal)
    const query = Object.fromEntries(exchange.query())
    return eventStream(await live.events(query, exchange.header('last-event-id'), life.signal), life.end)
  })

  const demandRoom = () => {
    if (metrics.atWork <= mostAtWork) return
    throw new HttpError('unavailable', 'Too many requests are at work', {
      hint: 'Try again.',
      headers: { 'retry-after': '1' },
    })
  }
  const serve = async (exchange: Exchange, answer: (exchange: Exchange) => Promise<Answer | Streamed>) => {
    const done = metrics.begin()
    let reply: Answer | Streamed
    try {
      reply = await answer(exchange)
    } catch (error) {
      reply = problem(error)
    }
    done(reply.status)
    if ('body' in reply) return exchange.send(reply)
    await exchange.stream(reply, options.heartbeatMs ?? usualHeartbeatMs).catch(onProblem)
    reply.end()
  }
  /** Serves requests with the same head: whose they are is looked up for the first of them, and again when the tokens have changed. */
  const servingOf = ({ route, params }: Matched<Route>): Serve => {
    let token: Token | undefined
    const answer = (exchange: Exchange) => {
      demandRoom()
      if (token === undefined || !tokens.has(token)) {
        addresses.check(exchange)
        token = tokenOf(exchange, tokens)
      }
      return route(exchange, params(), token)
    }
    return (exchange) => serve(exchange, answer)
  }

  const app = new Hono<Variables>()
  const refuse = (error: unknown) => {
    const { body, ...rest } = problem(error)
    return new Response(body, rest)
  }
  app.onError(refuse)
  app.notFound((c) => refuse(noRoute(c, router)))

  app.use(async (c, next) => {
    const done = metrics.begin()
    try {
      await next()
    } finally {
      for (const [name, value] of Object.entries(safeHeaders)) c.header(name, value)
      if (c.req.path.startsWith('/v1')) c.header('cache-control', 'no-store')
      done(c.res.status)
    }
  })
  app.get('/healthz', (c) => c.json({ status: 'ok' }))
  app.post('/v1/sign-in', async (c) => {
    const body = checkedInput(signInSchema, await smallJson(c))
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
    demandRoom()
    c.set('token', tokenOf(knockOf(c), tokens))
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
  app.all('/mcp', async (c) => {
    const { name, scope } = c.get('token')
    demand(c.get('token'), 'read')
    return (await import('../mcp/index.ts')).answerMcp(workspace, { name, scope }, c.req.raw)
  })
  addBlobs(app, workspace.store)
  const others = getRequestListener((request) => app.fetch(request), { overrideGlobalObjects: false })
  return {
    answers: served.answers,
    listener: (incoming, outgoing) => {
      const exchange = new NodeExchange(incoming, outgoing)
      const matched = router.match(exchange.method, exchange.path)
      if (matched !== undefined) return void servingOf(matched)(exchange)
      try {
        addresses.check(exchange)
      } catch (error) {
        return void serve(exchange, () => Promise.reject(error))
      }
      void others(incoming, outgoing)
    },
    servePlain: ({ method, path }) => {
      const matched = router.match(method, path)
      return matched && servingOf(matched)
    },
  }
}

function knockOf(c: Context): Knock {
  return {
    method: c.req.method,
    header: (name) => c.req.header(name),
    cookie: (name) => getCookie(c, name),
  }
}

async function smallJson(c: Context): Promise<unknown> {
  try {
    return JSON.parse(Buffer.from(await readBytes(c, 10_000)).toString()) as unknown
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error
    throw new HttpError('invalid', 'The body is not JSON')
  }
}

function noRoute(c: Context, router: Router<unknown>): HttpError {
  const { path, method } = c.req
  const methods = router.methods(path)
  // Also for an address with scheme and host, as only proxies are asked: it is none of ours, whatever its path.
  if (methods.length === 0 || methods.includes(method))
    return new HttpError('no_route', 'There is nothing at this address', { hint: 'See /docs.' })
  const allow = methods.join(', ')
  return new HttpError('method', `This address takes ${allow}, not ${method}`, {
    hint: 'See /docs.',
    headers: { allow },
  })
}
