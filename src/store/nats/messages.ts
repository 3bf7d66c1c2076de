// The messages of a tape by their position, from the server or from what was read lately.

import { StorageError } from '../../errors.ts'
import { pause } from '../../system/index.ts'
import { decodeMessage, type Message } from './message.ts'
import type { NatsStream } from './stream.ts'

const cachedBytes = 8 * 1024 * 1024
/** How many are requested before the first has arrived. */
const ahead = 32

export class MessageCache {
  readonly #found = new Map<string, { message: Message; bytes: number }>()
  #bytes = 0

  get(subject: string): Message | undefined {
    const known = this.#found.get(subject)
    if (known === undefined) return undefined
    this.#found.delete(subject)
    this.#found.set(subject, known)
    return known.message
  }

  set(subject: string, message: Message, bytes: number): void {
    this.delete(subject)
    this.#found.set(subject, { message, bytes })
    this.#bytes += bytes
    for (const oldest of this.#found.keys()) {
      if (this.#bytes <= cachedBytes) break
      this.delete(oldest)
    }
  }

  delete(subject: string): void {
    const known = this.#found.get(subject)
    if (known === undefined) return
    this.#bytes -= known.bytes
    this.#found.delete(subject)
  }

  clear(): void {
    this.#found.clear()
    this.#bytes = 0
  }
}

export class Messages {
  readonly #stream: NatsStream
  readonly #cache: MessageCache

  constructor(stream: NatsStream, cache: MessageCache) {
    this.#stream = stream
    this.#cache = cache
  }

  /** The message under a subject, if there is one. */
  async find(subject: string): Promise<Message | undefined> {
    const known = this.#cache.get(subject)
    if (known !== undefined) return known
    const data = await this.#stream.get(subject)
    if (data === undefined) return undefined
    const message = decodeMessage(data, subject)
    // A damaged one may be repaired by another process.
    if (message.damage === undefined) this.#cache.set(subject, message, data.length)
    return message
  }

  /** A message that must be there. A leader that was just elected may need a moment to know of it. */
  async at(subject: string): Promise<Message> {
    for (let tries = 0; ; tries++) {
      const found = await this.find(subject)
      if (found !== undefined) return found
      if (tries === 10) break
      await pause(100)
    }
    throw new StorageError(`The message ${subject} is gone from ${this.#stream.place}`, {
      hint: 'Someone deleted it, or the stream was replaced. Restore the stream from a backup.',
    })
  }

  /** The messages of several subjects in order, requested ahead of their use. */
  async *each(subjects: readonly string[]): AsyncGenerator<Message> {
    const coming: Promise<Message>[] = []
    for (let at = 0; at < subjects.length; at++) {
      while (coming.length < ahead && at + coming.length < subjects.length) {
        const next = this.at(subjects[at + coming.length]!)
        next.catch(() => {}) // the loop below awaits it in turn, and throws then
        coming.push(next)
      }
      yield await coming.shift()!
    }
  }

  /** What this process has just stored. */
  remember(subject: string, message: Message, bytes: number): void {
    this.#cache.set(subject, message, bytes)
  }
}
