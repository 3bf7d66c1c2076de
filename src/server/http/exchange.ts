// One request and its answer. A request comes over Node's own objects or, as most do, over a plain connection; what serves it
// cannot tell. The web's Request and Response around them would cost several times what an append does.

import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Writable } from 'node:stream'
import { parse } from 'hono/utils/cookie'
import { HttpError } from './problem.ts'

export interface Answer {
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
}

/** What every answer carries. */
export const safeHeaders = { 'x-content-type-options': 'nosniff', 'referrer-policy': 'no-referrer' } as const

export const ownHeaders = { ...safeHeaders, 'cache-control': 'no-store' }

/** A part of a stream, encoded once for all who are sent it, in the frame that HTTP puts around it. */
export class Chunk {
  readonly framed: Buffer
  readonly #start: number

  constructor(text: string) {
    const size = `${Buffer.byteLength(text).toString(16)}\r\n`
    this.framed = Buffer.from(`${size}${text}\r\n`)
    this.#start = size.length
  }

  get content(): Buffer {
    return this.framed.subarray(this.#start, -2)
  }
}

/** `end` is called when the stream is over, however it ended. */
export interface Streamed {
  readonly status: 200
  readonly headers: Readonly<Record<string, string>>
  readonly parts: AsyncIterable<string | Chunk>
  /** Says that the stream is alive, and means nothing else. */
  readonly heartbeat?: string
  readonly end: () => void
}

/** What a request asks for, by its first line. */
export interface Target {
  /** Asking for the head alone is asking for the same. */
  readonly method: string
  /** As it was sent: still percent-encoded. */
  readonly path: string
  readonly search: string
}

export function targetOf(method: string, url: string): Target {
  const mark = url.indexOf('?')
  return {
    method: method === 'HEAD' ? 'GET' : method,
    path: mark < 0 ? url : url.slice(0, mark),
    search: mark < 0 ? '' : url.slice(mark + 1),
  }
}

/** A stream of events, as browsers read them. */
export function eventStream(parts: AsyncIterable<string | Chunk>, end: () => void): Streamed {
  const headers = {
    'content-type': 'text/event-stream; charset=utf-8',
    // A proxy that collects events before it passes them on would hold them back.
    'x-accel-buffering': 'no',
  }
  return { status: 200, headers, parts, heartbeat: ': alive\n\n', end }
}

export abstract class Exchange {
  readonly #target: Target
  #gone: AbortController | undefined

  constructor(target: Target) {
    this.#target = target
  }

  get method(): string {
    return this.#target.method
  }

  get path(): string {
    return this.#target.path
  }

  abstract header(name: string): string | undefined

  /** The body, at once where it is there already; refused if it is too large. */
  abstract bytes(most: number): Buffer | Promise<Buffer>

  abstract send(answer: Answer): void

  protected abstract readonly outlet: Writable

  /** Calls back when the caller is gone before it was answered. */
  protected abstract whenGone(call: () => void): void

  protected abstract begin(headers: Readonly<Record<string, string>>): void

  /** False: the caller has not taken what was sent before. */
  protected abstract put(part: string | Chunk): boolean

  protected abstract finish(): void

  cookie(name: string): string | undefined {
    const header = this.header('cookie')
    return header === undefined ? undefined : parse(header, name)[name]
  }

  /** The fields of the query, in their order. */
  query(): URLSearchParams {
    return new URLSearchParams(this.#target.search)
  }

  get wantsEvents(): boolean {
    return this.header('accept')?.startsWith('text/event-stream') === true
  }

  /** Aborted when the caller is gone before it was answered. Made when somebody asks for it: most do not. */
  get signal(): AbortSignal {
    if (this.#gone === undefined) {
      const gone = (this.#gone = new AbortController())
      if (this.outlet.closed) gone.abort()
      else this.whenGone(() => gone.abort())
    }
    return this.#gone.signal
  }

  /**
   * Sends parts as they come, each when the reader has taken those before it, and the heartbeat when there is nothing to send.
   * Resolves when the stream is over.
   */
  async stream({ headers, parts, heartbeat }: Streamed, heartbeatMs: number): Promise<void> {
    const { outlet } = this
    this.begin({ ...ownHeaders, ...headers })
    let isQuiet = true
    const beating = setInterval(() => {
      // A reader that has not taken what was sent before needs no more of it.
      if (heartbeat !== undefined && isQuiet && outlet.writableLength === 0) this.put(heartbeat)
      isQuiet = true
    }, heartbeatMs)
    try {
      for await (const part of parts) {
        if (outlet.destroyed) break
        isQuiet = false
        if (!this.put(part)) await drained(outlet)
      }
    } finally {
      clearInterval(beating)
    }
    this.finish()
  }
}

/** Over Node's own objects, which understand everything that HTTP allows. */
export class NodeExchange extends Exchange {
  readonly #incoming: IncomingMessage
  protected readonly outlet: ServerResponse

  constructor(incoming: IncomingMessage, outgoing: ServerResponse) {
    super(targetOf(incoming.method ?? '', incoming.url ?? ''))
    this.#incoming = incoming
    this.outlet = outgoing
  }

  header(name: string): string | undefined {
    const value = this.#incoming.headers[name]
    return Array.isArray(value) ? value.join(', ') : value
  }

  protected whenGone(call: () => void): void {
    this.outlet.once('close', call)
  }

  async bytes(most: number): Promise<Buffer> {
    const incoming = this.#incoming
    if (Number(this.header('content-length') ?? 0) > most) throw tooLarge(most)
    return new Promise((resolve, reject) => {
      const parts: Buffer[] = []
      let bytes = 0
      incoming.on('data', (part: Buffer) => {
        bytes += part.length
        if (bytes > most) {
          incoming.pause().removeAllListeners('data')
          return reject(tooLarge(most))
        }
        parts.push(part)
      })
      incoming.on('end', () => resolve(Buffer.concat(parts)))
      incoming.on('error', () => reject(new HttpError('invalid', 'The request was cut off')))
    })
  }

  send({ status, headers, body }: Answer): void {
    const length = { 'content-length': Buffer.byteLength(body) }
    // What was not read of a request is in the way of the next one on this connection.
    const rest = this.#incoming.complete ? {} : { connection: 'close' }
    this.outlet.writeHead(status, { ...ownHeaders, ...headers, ...length, ...rest })
    this.outlet.end(body)
  }

  protected begin(headers: Readonly<Record<string, string>>): void {
    this.outlet.writeHead(200, headers)
    this.outlet.flushHeaders()
  }

  protected put(part: string | Chunk): boolean {
    return this.outlet.write(typeof part === 'string' ? part : part.content)
  }

  protected finish(): void {
    this.outlet.end()
  }
}

function drained(outlet: Writable): Promise<void> {
  return new Promise((resolve) => {
    const done = () => {
      outlet.off('drain', done).off('close', done)
      resolve()
    }
    outlet.on('drain', done).on('close', done)
  })
}

export function tooLarge(most: number): HttpError {
  return new HttpError('too_large', `A body may hold ${most} bytes here`, {
    hint: 'Send it in parts; large content goes to /v1/blobs.',
  })
}
