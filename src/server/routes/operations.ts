// The operations as routes below /v1. One handler serves them all; what is special about an operation stands in the table.

import {
  allows,
  type Call,
  type Caller,
  isLive,
  type LiveOperation,
  type Operation,
  table,
  type Workspace,
} from '../../operations/index.ts'
import { checkedInput } from '../../config/index.ts'
import { callerOf } from '../access/access.ts'
import type { Audit } from '../access/audit.ts'
import { type Answer, eventStream, type Exchange, type Streamed } from '../http/exchange.ts'
import { type Answers, demandSame, fingerprint } from './idempotency.ts'
import type { Life, Lives } from '../live/lives.ts'
import { HttpError } from '../http/problem.ts'
import { type Endpoint, endpointOf, inputOf, mostBytes, takesBody } from './endpoint.ts'
import type { Token } from '../access/tokens.ts'

export interface Served {
  readonly workspace: Workspace
  readonly answers: Answers
  readonly audit: Audit
  readonly lives: Lives
  /** Told after every write, so that streams look at once. */
  readonly onWrite: () => void
  /** The problem document of a failure. */
  readonly problem: (error: unknown) => Answer
}

export const endpoints: readonly Endpoint[] = table.map(endpointOf)

/** A class for its getter: one of an object literal would make a new shape for every request, and the collector work for it. */
class PlainCall implements Call {
  readonly #exchange: Exchange
  readonly caller: Caller

  constructor(exchange: Exchange, caller: Caller) {
    this.#exchange = exchange
    this.caller = caller
  }

  get signal(): AbortSignal {
    return this.#exchange.signal
  }

  progress(): void {}
}

const jsonType = { 'content-type': 'application/json' }

/** Answers a request for an operation. `params` are the fields that stand in the path. */
export async function serveOperation(
  exchange: Exchange,
  endpoint: Endpoint,
  params: Readonly<Record<string, string>>,
  token: Token,
  served: Served,
): Promise<Answer | Streamed> {
  const { operation } = endpoint
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
  const bytes = takesBody(endpoint) ? exchange.bytes(mostBytes(endpoint)) : undefined
  const body = bytes instanceof Promise ? await bytes : bytes
  const given = inputOf(exchange, endpoint, params, body)
  const input = checkedInput(endpoint.schema, given)
  if (isLive(operation) || exchange.wantsEvents) {
    const life = served.lives.begin(token, exchange.signal)
    const call: Call = { signal: life.signal, progress: () => {}, caller }
    if (!isLive(operation)) return progressing(operation, input, call, served, life)
    const records = operation.run(served.workspace, input, call)
    return exchange.wantsEvents
      ? eventStream(recordEvents(records, served), life.end)
      : lines(records, served, life.end)
  }
  const call = new PlainCall(exchange, caller)
  const key = takesBody(endpoint) || endpoint.method === 'DELETE' ? exchange.header('idempotency-key') : undefined
  if (key === undefined) return json(await run(operation, input, call, served))
  demandKey(key)
  const name = fingerprint(token.id, key)
  const request = fingerprint(operation.name, JSON.stringify(given))
  if (operation.once !== undefined) {
    const answer = await run(operation, operation.once.carry(input, `http:${name}`, request), call, served)
    demandSame(operation.once.requestOf(answer), request)
    return json(answer)
  }
  const answered = await served.answers.once(name, request, async () => ({
    status: 200,
    body: JSON.stringify(await run(operation, input, call, served)),
  }))
  const headers = answered.repeated ? { ...jsonType, 'idempotency-replayed': 'true' } : jsonType
  return { status: 200, headers, body: answered.body }
}

/** Without a wait of its own: most answers only pass through. */
function run(operation: Operation, input: object, call: Call, served: Served): Promise<unknown> {
  const work = () => operation.run(served.workspace, input as never, call)
  if (operation.scope === 'read') return work()
  const answer = operation.scope === 'write' ? work() : served.audit.around(operation, input, call, work)
  return answer.then((written) => {
    served.onWrite()
    return written
  })
}

function json(answer: unknown): Answer {
  return { status: 200, headers: jsonType, body: JSON.stringify(answer) }
}

function demandKey(key: string): void {
  if (/^[\x21-\x7e]{1,200}$/.test(key)) return
  throw new HttpError('invalid', 'An Idempotency-Key has 1 to 200 visible characters', {
    field: 'Idempotency-Key',
    hint: 'A random UUID will do.',
  })
}

async function* recordEvents(records: ReturnType<LiveOperation['run']>, served: Served): AsyncGenerator<string> {
  try {
    for await (const record of records) yield `data: ${JSON.stringify(record)}\n\n`
  } catch (error) {
    yield problemEvent(error, served)
  }
}

/** Records as JSON lines. A failure on the way is the last line, since the status has been sent. */
function lines(records: ReturnType<LiveOperation['run']>, served: Served, end: () => void): Streamed {
  async function* parts(): AsyncGenerator<string> {
    try {
      for await (const record of records) yield `${JSON.stringify(record)}\n`
    } catch (error) {
      yield `{"problem":${served.problem(error).body}}\n`
    }
  }
  return { status: 200, headers: { 'content-type': 'application/x-ndjson' }, parts: parts(), end }
}

/** An operation with its progress, for whoever accepts events: `progress` as it goes, then `result` or `problem`. */
function progressing(operation: Operation, input: object, call: Call, served: Served, { end }: Life): Streamed {
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
    if ('error' in answer) yield problemEvent(answer.error, served)
    else yield `event: result\ndata: ${JSON.stringify(answer.value)}\n\n`
  }
  return eventStream(events(), end)
}

function problemEvent(error: unknown, served: Served): string {
  return `event: problem\ndata: ${served.problem(error).body}\n\n`
}
