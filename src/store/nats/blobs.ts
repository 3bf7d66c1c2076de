// Blobs as parts under their checksum. The size is stored last, so a blob that is there is whole.

import { createHash } from 'node:crypto'
import type { Readable } from 'node:stream'
import { type BlobParts, inParts, readParts } from '../blob-parts.ts'
import type { BlobRef } from '../store.ts'
import type { NatsStream } from './stream.ts'

const partBytes = 700 * 1024

export class NatsBlobs {
  readonly #stream: NatsStream
  readonly #parts: BlobParts

  constructor(stream: NatsStream) {
    this.#stream = stream
    this.#parts = {
      partBytes,
      place: stream.place,
      size: async (sha256) => {
        const size = await stream.get(this.#subject(sha256, 'size'))
        return size === undefined ? undefined : Number(size.toString())
      },
      part: (sha256, number) => stream.get(this.#subject(sha256, number)),
    }
  }

  async put(bytes: Uint8Array): Promise<BlobRef> {
    const content = Buffer.from(bytes)
    const sha256 = createHash('sha256').update(content).digest('hex')
    const size = this.#subject(sha256, 'size')
    if ((await this.#stream.get(size)) === undefined) {
      for (const [part, piece] of inParts(content, partBytes)) {
        // One that is there is the same: its name is its content.
        await this.#stream.create(this.#subject(sha256, part), piece)
      }
      await this.#stream.create(size, Buffer.from(String(content.length)))
    }
    return { sha256, bytes: content.length }
  }

  get(sha256: string, range: { start?: number; end?: number }): Promise<Readable> {
    return readParts(this.#parts, sha256, range)
  }

  async names(): Promise<string[]> {
    const subjects = await this.#stream.subjects(this.#subject('*', 'size'))
    return subjects.map((subject) => subject.split('.').at(-2)!)
  }

  #subject(sha256: string, part: number | 'size'): string {
    return `${this.#stream.prefix}.b.${sha256}.${part}`
  }
}
