// The operations as routes below /v1. One handler serves them all; what is special about an operation stands in the table.

import type { Context, Hono } from 'hono'
import {
  allows,
  type Call,
  isLive,
  type LiveOperation,
  type Operation,
  table,
  type Workspace,
} from '../operations/index.ts'
import { callerOf } from './access.ts'
import type { Audit } from './audit.ts'
import { type Answers, demandSame, fingerprint } from './idempotency.ts'
import type { Life, Lives } from './lives.ts'
import { HttpError } from './problem.ts'
import { type Endpoint, endpointOf, inputOf, takesBody } from './request.ts'
import { eventStream, lines } from './stream.ts'
import type { Token } from './tokens.ts'

export interface Served {
  readonly workspace: Workspace
  readonly answers: Answers
  readonly audit: Audit
  readonly lives: Lives
  /** Told after every write, so that streams look at once. */
  readonly onWrite: () => void
  /** The problem document of a failure, for streams that have begun already. */
  readonly problem: (error: unknown) => Response
}

export type Variables = { Variables: { token: Token } }

export const endpoints: readonly Endpoint[] = table.map(endpointOf)

export function addRoutes(app: Hono<Variables>, served: Served): void {
  for (const endpoint of endpoints) {
    const path = endpoint.path.replaceAll(/\{(\w+)\}/g, ':$1')
    app.on(endpoint.method, path, (c) => serve(c, endpoint, served))
  }
}

async function serve(c: Context<Variables>, endpoint: Endpoint, served: Served): Promise<Response> {
  const { operation } = endpoint
  const token = c.get('token')
  const caller = callerOf(token)
  if (!allows(caller.scope, operation.scope)) {
    throw new HttpError(
      'forbidden',
      `${operation.name} needs the scope ${operation.scope}; this token has ${caller.scope}`,
      {
        hint: `Make one with: baton token create NAME --scope ${operation.scope}`,
      },
    )
  }
  const given = await inputOf(c, endpoint)
  const input = endpoint.schema.parse(given)
  if (isLive(operation) || wantsEvents(c)) {
    const life = served.lives.begin(token, c.req.raw.signal)
    const call: Call = { signal: life.signal, progress: () => {}, caller }
    if (isLive(operation)) return stream(c, operation.run(served.workspace, input, call), served, life)
    return progressing(operation, input, call, served, life)
  }
  const call: Call = {
    // Made when an operation asks for it: most do not.
    get signal() {
      return c.req.raw.signal
    },
    progress: () => {},
    caller,
  }
  const key = takesBody(endpoint) || endpoint.method === 'DELETE' ? c.req.header('idempotency-key') : undefined
  if (key === undefined) return json(c, await run(operation, input, call, served))
  demandKey(key)
  const name = fingerprint(token.id, key)
  const request = fingerprint(operation.name, JSON.stringify(given))
  if (operation.once !== undefined) {
    const answer = await run(operation, operation.once.carry(input, `http:${name}`, request), call, served)
    demandSame(operation.once.requestOf(answer), request)
    return json(c, answer)
  }
  const { body, repeated } = await served.answers.once(name, request, async () => ({
    status: 200,
    body: JSON.stringify(await run(operation, input, call, served)),
  }))
  if (repeated) c.header('idempotency-replayed', 'true')
  return c.body(body, 200, { 'content-type': 'application/json' })
}

async function run(operation: Operation, input: object, call: Call, served: Served): Promise<unknown> {
  const work = () => operation.run(served.workspace, input as never, call)
  const answer = allows('write', operation.scope)
    ? await work()
    : await served.audit.around(operation, input, call, work)
  if (operation.scope !== 'read') served.onWrite()
  return answer
}

function json(c: Context, answer: unknown): Response {
  return c.body(JSON.stringify(answer), 200, { 'content-type': 'application/json' })
}

function demandKey(key: string): void {
  if (/^[\x21-\x7e]{1,200}$/.test(key)) return
  throw new HttpError('invalid', 'An Idempotency-Key has 1 to 200 visible characters', {
    field: 'Idempotency-Key',
    hint: 'A random UUID will do.',
  })
}

function wantsEvents(c: Context): boolean {
  return c.req.header('accept')?.startsWith('text/event-stream') === true
}

/** Records one after another: as events for a browser, as JSON lines for programs. */
function stream(c: Context, records: ReturnType<LiveOperation['run']>, served: Served, { end }: Life): Response {
  return wantsEvents(c) ? eventStream(recordEvents(records, served), end) : lines(records, served.problem, end)
}

async function* recordEvents(records: AsyncIterable<unknown>, served: Served): AsyncGenerator<string> {
  try {
    for await (const record of records) yield `data: ${JSON.stringify(record)}\n\n`
  } catch (error) {
    yield await problemEvent(error, served)
  }
}

/** An operation with its progress, for whoever accepts events: `progress` as it goes, then `result` or `problem`. */
function progressing(operation: Operation, input: object, call: Call, served: Served, { end }: Life): Response {
  async function* events(): AsyncGenerator<string> {
    const texts: string[] = []
    let wake = () => {}
    const progress = (text: string) => {
      texts.push(text)
      wake()
    }
    const state: { answer?: { value?: unknown; error?: unknown } } = {}
    const work = async () => {
      try {
        state.answer = { value: await run(operation, input, { ...call, progress }, served) }
      } catch (error) {
        state.answer = { error }
      }
      wake()
    }
    const done = work()
    while (state.answer === undefined || texts.length > 0) {
      for (const text of texts.splice(0)) yield `event: progress\ndata: ${JSON.stringify({ text })}\n\n`
      if (state.answer === undefined) await new Promise<void>((resolve) => (wake = resolve))
    }
    await done
    const { answer } = state
    if ('error' in answer) yield await problemEvent(answer.error, served)
    else yield `event: result\ndata: ${JSON.stringify(answer.value)}\n\n`
  }
  return eventStream(events(), end)
}

async function problemEvent(error: unknown, served: Served): Promise<string> {
  return `event: problem\ndata: ${await served.problem(error).text()}\n\n`
}
