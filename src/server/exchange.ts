// One request and its answer, on Node's own objects. Operations and streams go this way: the web's Request and Response around
// them would cost several times what an append does.

import type { IncomingMessage, ServerResponse } from 'node:http'
import { parse } from 'hono/utils/cookie'
import { HttpError } from './problem.ts'

export interface Answer {
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
}

/** What every answer carries. */
export const safeHeaders = { 'x-content-type-options': 'nosniff', 'referrer-policy': 'no-referrer' } as const

const ownHeaders = { ...safeHeaders, 'cache-control': 'no-store' }

/** `end` is called when the stream is over, however it ended. */
export interface Streamed {
  readonly status: 200
  readonly headers: Readonly<Record<string, string>>
  readonly texts: AsyncIterable<string>
  /** Says that the stream is alive, and means nothing else. */
  readonly heartbeat?: string
  readonly end: () => void
}

export class Exchange {
  readonly #incoming: IncomingMessage
  readonly #outgoing: ServerResponse
  readonly #search: string
  /** As it was sent: still percent-encoded. */
  readonly path: string
  #gone: AbortController | undefined

  constructor(incoming: IncomingMessage, outgoing: ServerResponse) {
    this.#incoming = incoming
    this.#outgoing = outgoing
    const { url = '' } = incoming
    const mark = url.indexOf('?')
    this.path = mark < 0 ? url : url.slice(0, mark)
    this.#search = mark < 0 ? '' : url.slice(mark + 1)
  }

  /** Asking for the head alone is asking for the same. */
  get method(): string {
    const { method = '' } = this.#incoming
    return method === 'HEAD' ? 'GET' : method
  }

  header(name: string): string | undefined {
    const value = this.#incoming.headers[name]
    return Array.isArray(value) ? value.join(', ') : value
  }

  cookie(name: string): string | undefined {
    const header = this.header('cookie')
    return header === undefined ? undefined : parse(header, name)[name]
  }

  /** The fields of the query, in their order. */
  query(): URLSearchParams {
    return new URLSearchParams(this.#search)
  }

  get wantsEvents(): boolean {
    return this.header('accept')?.startsWith('text/event-stream') === true
  }

  /** Aborted when the caller is gone before it was answered. Made when somebody asks for it: most do not. */
  get signal(): AbortSignal {
    if (this.#gone === undefined) {
      const gone = (this.#gone = new AbortController())
      if (this.#outgoing.closed) gone.abort()
      else this.#outgoing.once('close', () => gone.abort())
    }
    return this.#gone.signal
  }

  /** The body; refused as soon as it is too large. */
  async bytes(most: number): Promise<Buffer> {
    const incoming = this.#incoming
    if (Number(this.header('content-length') ?? 0) > most) throw tooLarge(most)
    return new Promise((resolve, reject) => {
      let only: Buffer | undefined
      let parts: Buffer[] | undefined
      let bytes = 0
      incoming.on('data', (part: Buffer) => {
        bytes += part.length
        if (bytes > most) {
          incoming.pause().removeAllListeners('data')
          return reject(tooLarge(most))
        }
        if (only === undefined) only = part
        else (parts ??= [only]).push(part)
      })
      incoming.on('end', () => resolve(parts === undefined ? (only ?? Buffer.alloc(0)) : Buffer.concat(parts)))
      incoming.on('error', () => reject(new HttpError('invalid', 'The request was cut off')))
    })
  }

  send({ status, headers, body }: Answer): void {
    const outgoing = this.#outgoing
    const length = { 'content-length': Buffer.byteLength(body) }
    // What was not read of a request is in the way of the next one on this connection.
    const rest = this.#incoming.complete ? {} : { connection: 'close' }
    outgoing.writeHead(status, { ...ownHeaders, ...headers, ...length, ...rest })
    outgoing.end(body)
  }

  /**
   * Sends texts as they come, each when the reader has taken those before it, and the heartbeat when there is nothing to send.
   * Resolves when the stream is over.
   */
  async stream({ headers, texts, heartbeat }: Streamed, heartbeatMs: number): Promise<void> {
    const outgoing = this.#outgoing
    outgoing.writeHead(200, { ...ownHeaders, ...headers })
    outgoing.flushHeaders()
    let isQuiet = true
    const beating = setInterval(() => {
      // A reader that has not taken what was sent before needs no more of it.
      if (heartbeat !== undefined && isQuiet && outgoing.writableLength === 0) outgoing.write(heartbeat)
      isQuiet = true
    }, heartbeatMs)
    try {
      for await (const text of texts) {
        if (outgoing.destroyed) break
        isQuiet = false
        if (!outgoing.write(text)) await drained(outgoing)
      }
    } finally {
      clearInterval(beating)
    }
    outgoing.end()
  }
}

function drained(outgoing: ServerResponse): Promise<void> {
  return new Promise((resolve) => {
    const done = () => {
      outgoing.off('drain', done).off('close', done)
      resolve()
    }
    outgoing.on('drain', done).on('close', done)
  })
}

export function tooLarge(most: number): HttpError {
  return new HttpError('too_large', `A body may hold ${most} bytes here`, {
    hint: 'Send it in parts; large content goes to /v1/blobs.',
  })
}
