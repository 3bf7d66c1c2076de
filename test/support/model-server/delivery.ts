import type { ServerResponse } from 'node:http'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterPieces, type Frame, type HttpFailure } from './protocol.ts'
import type { Reply } from './reply.ts'
import type { Ending } from './request.ts'

/** One answer on its way out: knows when the client is gone and stops there. */
export class Delivery {
  /** Resolves when the exchange is over. */
  readonly ended: Promise<Ending>
  readonly #response: ServerResponse
  readonly #gone = new AbortController()
  #cut = false

  constructor(response: ServerResponse) {
    this.#response = response
    this.ended = new Promise((resolve) => {
      response.once('close', () => {
        this.#gone.abort()
        if (this.#cut) resolve('cut')
        else resolve(response.writableFinished ? 'answered' : 'aborted')
      })
    })
  }

  async stream(frames: readonly Frame[], reply: Reply): Promise<void> {
    const holdAt = reply.holdAfter === undefined ? -1 : afterPieces(frames, reply.holdAfter)
    const cutAt = reply.cut === undefined ? -1 : afterPieces(frames, reply.cut)
    await this.#begin(reply)
    if (this.#isGone) return
    this.#response.writeHead(200, { 'content-type': 'text/event-stream; charset=utf-8', 'cache-control': 'no-cache' })
    this.#response.flushHeaders()
    for (const [at, frame] of frames.entries()) {
      if (at === holdAt) await this.#hold(reply)
      if (at === cutAt) return this.#sever()
      if (frame.piece) await this.#delay(reply)
      if (this.#isGone) return
      await this.#write(frame.data)
    }
    if (cutAt >= frames.length) return this.#sever()
    this.#response.end()
  }

  async whole(body: unknown, reply: Reply): Promise<void> {
    await this.#begin(reply)
    if (reply.holdAfter !== undefined) await this.#hold(reply)
    if (this.#isGone) return
    if (reply.cut === undefined) return this.json(200, body)
    const bytes = Buffer.from(JSON.stringify(body))
    this.#response.writeHead(200, { 'content-type': 'application/json', 'content-length': bytes.length })
    await this.#write(bytes.subarray(0, Math.floor(bytes.length / 2)))
    this.#sever()
  }

  async failure({ status, headers, body }: HttpFailure, reply: Reply = {}): Promise<void> {
    await this.#begin(reply)
    this.json(status, body, headers)
  }

  json(status: number, body: unknown, headers: HttpFailure['headers'] = {}): void {
    if (this.#isGone) return
    const text = JSON.stringify(body)
    this.#response.writeHead(status, {
      'content-type': 'application/json',
      'content-length': Buffer.byteLength(text),
      ...headers,
    })
    this.#response.end(text)
  }

  get #isGone(): boolean {
    return this.#gone.signal.aborted
  }

  async #begin(reply: Reply): Promise<void> {
    if (reply.holdAfter === undefined) await this.#hold(reply)
    await this.#delay(reply)
  }

  async #hold(reply: Reply): Promise<void> {
    await Promise.race([reply.hold, this.ended])
  }

  async #delay(reply: Reply): Promise<void> {
    if (!reply.delayMs || this.#isGone) return
    // Rejects only when the client leaves, and every caller looks for that next.
    await sleep(reply.delayMs, undefined, { signal: this.#gone.signal }).catch(() => undefined)
  }

  /** Resolves when the bytes are with the kernel, so that a cut right after does not take them back. */
  async #write(data: string | Buffer): Promise<void> {
    const written = new Promise<void>((resolve) => this.#response.write(data, () => resolve()))
    await Promise.race([written, this.ended])
  }

  #sever(): void {
    this.#cut = true
    this.#response.destroy()
  }
}
