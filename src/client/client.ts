// Calls a server of Baton: every operation of the table as a method, and the live stream. It knows the operations by their types
// alone and needs nothing but fetch, so it runs in a browser as well.

import type * as z from 'zod'
import { InvalidError } from '../errors.ts'
import type { Operations } from '../operations/index.ts'
import { checkOptions } from '../options.ts'
import { eventsOf, type LiveEvent, type LiveOptions, liveEvents } from './live.ts'
import { routes } from './routes.ts'
import { linesOf, pause, type Problem, ProblemError, problemOf, UnreachableError } from './transport.ts'

type Name = keyof Operations
/** What an operation takes. */
export type InputOf<N extends Name> = z.input<Operations[N]['input']>
/** What an operation answers. */
export type AnswerOf<N extends Name> = Operations[N] extends { output: infer O extends z.ZodType } ? z.output<O> : never
type RecordOf<N extends Name> = Operations[N] extends { each: infer O extends z.ZodType } ? z.output<O> : never

/** Operations that answer once. */
export type OnceName = { [N in Name]: Operations[N] extends { each: z.ZodType } ? never : N }[Name]
type LiveName = Exclude<Name, OnceName>

export interface CallOptions {
  readonly signal?: AbortSignal
  /** A write with the same key gets the same answer. Each call has its own unless one is given, so that a retry is safe. */
  readonly idempotencyKey?: string
  /** Called with how far the work has come. */
  readonly onProgress?: (text: string) => void
}

type Methods = {
  readonly [N in OnceName]: (input: InputOf<N>, options?: CallOptions) => Promise<AnswerOf<N>>
} & {
  readonly [N in LiveName]: (input: InputOf<N>, options?: CallOptions) => AsyncIterable<RecordOf<N>>
}

export type Client = Methods & {
  /** Follows tapes, activity and what waits; comes back by itself where it was. */
  live(options: LiveOptions): AsyncIterable<LiveEvent>
}

export interface ClientOptions {
  /** As `baton up` prints it; in the dashboard, that of the page. */
  readonly url: string
  /** Without one, the cookie of the page counts. */
  readonly token?: string
  readonly fetch?: typeof fetch
  /** How often a request is sent at most. */
  readonly attempts?: number
}

/** Takes what `baton up --json` and `baton token create --json` print as it is, so what it does not know is left alone. */
export function createClient(options: ClientOptions): Client {
  if (typeof options?.url !== 'string') {
    throw new InvalidError('createClient needs the url of the server', {
      path: 'url',
      hint: 'Give it what "baton up --json" prints: { url, token }.',
    })
  }
  const caller = new Caller(options)
  const methods = Object.entries(routes).map(([name, route]) => {
    const isLive = Object.hasOwn(liveNames, name)
    const method = (input: object = {}, options: CallOptions = {}) => {
      checkOptions(`client.${name}`, options, { signal: true, idempotencyKey: true, onProgress: true })
      return isLive ? caller.records(route, input, options) : caller.answer(route, input, options)
    }
    return [name, method] as const
  })
  const live = (wanted: LiveOptions) =>
    liveEvents((path, headers, signal) => caller.open(path, headers, signal), wanted)
  return { ...Object.fromEntries(methods), live } as unknown as Client
}

/** A table, so that one that is missing here does not compile. */
const liveNames = {
  tapeWatch: true,
  tapeExport: true,
  sessionFollow: true,
  supervisedScreen: true,
  relayInboxWatch: true,
} as const satisfies Record<LiveName, true>

class Caller {
  readonly #options: ClientOptions
  readonly #fetch: typeof fetch

  constructor(options: ClientOptions) {
    this.#options = { ...options, url: options.url.replace(/\/+$/, '') }
    this.#fetch = options.fetch ?? globalThis.fetch.bind(globalThis)
  }

  async answer(route: string, input: object, options: CallOptions): Promise<unknown> {
    const response = await this.#send(route, input, options)
    return options.onProgress === undefined ? response.json() : resultOf(response, options.onProgress)
  }

  async *records(route: string, input: object, options: CallOptions): AsyncGenerator {
    const response = await this.#send(route, input, options)
    for await (const line of linesOf(response)) {
      const record = JSON.parse(line) as { problem?: Problem }
      if (record.problem?.type !== undefined) throw new ProblemError(record.problem)
      yield record
    }
  }

  /** A request without retries, for streams. */
  async open(path: string, headers: Record<string, string>, signal: AbortSignal | undefined): Promise<Response> {
    const { url, token } = this.#options
    const authorization: Record<string, string> = token === undefined ? {} : { authorization: `Bearer ${token}` }
    const response = await this.#request(`${url}${path}`, { headers: { ...headers, ...authorization }, signal })
    if (!response.ok) throw new ProblemError(await problemOf(response))
    return response
  }

  async #request(address: string, init: RequestInit): Promise<Response> {
    try {
      return await this.#fetch(address, init)
    } catch (error) {
      throw init.signal?.aborted === true ? error : new UnreachableError(this.#options.url, error)
    }
  }

  async #send(route: string, input: object, { signal, idempotencyKey, onProgress }: CallOptions): Promise<Response> {
    const { url, token, attempts = 4 } = this.#options
    const [method = 'GET', template = ''] = route.split(' ')
    const { path, rest } = filled(template, input)
    const headers: Record<string, string> = token === undefined ? {} : { authorization: `Bearer ${token}` }
    if (onProgress !== undefined) headers['accept'] = 'text/event-stream'
    const isRead = method === 'GET'
    const init: RequestInit = { method, headers, signal }
    if (!isRead) {
      headers['content-type'] = 'application/json'
      headers['idempotency-key'] = idempotencyKey ?? crypto.randomUUID()
      init.body = JSON.stringify(rest)
    }
    const address = `${url}/v1${path}${isRead ? queryOf(rest) : ''}`
    for (let attempt = 1; ; attempt++) {
      const last = attempt >= attempts
      try {
        const response = await this.#request(address, init)
        if (response.ok) return response
        if (!isPassing(response.status) || last) throw new ProblemError(await problemOf(response))
        await response.body?.cancel()
      } catch (error) {
        // Reading is safe to repeat, and a write carries its key.
        if (error instanceof ProblemError || signal?.aborted === true || last) throw error
      }
      await pause(100 * 2 ** attempt, signal)
    }
  }
}

/** The server, or a proxy before it, cannot answer just now. */
function isPassing(status: number): boolean {
  return status === 502 || status === 503 || status === 504
}

/** The answer at the end of a stream that reports how far the work has come. */
async function resultOf(response: Response, onProgress: (text: string) => void): Promise<unknown> {
  for await (const { type, data } of eventsOf(response)) {
    if (type === 'result') return JSON.parse(data) as unknown
    if (type === 'problem') throw new ProblemError(JSON.parse(data) as Problem)
    if (type === 'progress') onProgress((JSON.parse(data) as { text: string }).text)
  }
  throw new TypeError('The connection ended before the answer')
}

/** Puts fields into the path; the others are left. */
function filled(template: string, input: object): { path: string; rest: Record<string, unknown> } {
  const rest: Record<string, unknown> = { ...input }
  const path = template.replaceAll(/\{(\w+)\}/g, (_, field: string) => {
    const value = rest[field]
    if (value === undefined || value === null) {
      throw new InvalidError(`${field} is missing`, { path: field, hint: `It stands in the path ${template}.` })
    }
    delete rest[field]
    return encodeURIComponent(String(value))
  })
  return { path, rest }
}

function queryOf(fields: Record<string, unknown>): string {
  const query = new URLSearchParams()
  for (const [field, value] of Object.entries(fields)) if (value !== undefined) query.set(field, String(value))
  return query.size === 0 ? '' : `?${query.toString()}`
}
