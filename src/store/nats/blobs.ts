// Blobs as parts under their checksum. The size is stored last, so a blob that is there is whole.

import { createHash } from 'node:crypto'
import { Readable } from 'node:stream'
import { DamagedError, InvalidError, NotFoundError } from '../../errors.ts'
import type { BlobRef } from '../store.ts'
import type { NatsStream } from './stream.ts'

const partBytes = 700 * 1024

export class NatsBlobs {
  readonly #stream: NatsStream

  constructor(stream: NatsStream) {
    this.#stream = stream
  }

  async put(bytes: Uint8Array): Promise<BlobRef> {
    const content = Buffer.from(bytes)
    const sha256 = createHash('sha256').update(content).digest('hex')
    const size = this.#subject(sha256, 'size')
    if ((await this.#stream.get(size)) === undefined) {
      for (let part = 0; part * partBytes < content.length; part++) {
        const piece = content.subarray(part * partBytes, (part + 1) * partBytes)
        // One that is there is the same: its name is its content.
        await this.#stream.create(this.#subject(sha256, part), piece)
      }
      await this.#stream.create(size, Buffer.from(String(content.length)))
    }
    return { sha256, bytes: content.length }
  }

  async get(sha256: string, range: { start?: number; end?: number }): Promise<Readable> {
    if (!/^[0-9a-f]{64}$/.test(sha256)) throw new InvalidError(`"${sha256}" is not the name of a blob`)
    const known = await this.#stream.get(this.#subject(sha256, 'size'))
    if (known === undefined) throw new NotFoundError(`There is no blob ${sha256} in this workspace`)
    const size = Number(known.toString())
    const start = Math.min(Math.max(0, range.start ?? 0), size)
    const end = Math.min(range.end ?? size, size)
    return Readable.from(this.#parts(sha256, start, end, start === 0 && end === size), { objectMode: false })
  }

  async names(): Promise<string[]> {
    const subjects = await this.#stream.subjects(this.#subject('*', 'size'))
    return subjects.map((subject) => subject.split('.').at(-2)!)
  }

  /** Read as a whole, the bytes are checked against their name. */
  async *#parts(sha256: string, start: number, end: number, isWhole: boolean): AsyncGenerator<Buffer> {
    const hash = createHash('sha256')
    for (let at = start; at < end;) {
      const part = Math.floor(at / partBytes)
      const content = await this.#stream.get(this.#subject(sha256, part))
      if (content === undefined) break
      const piece = content.subarray(at - part * partBytes, end - part * partBytes)
      hash.update(piece)
      yield piece
      at = (part + 1) * partBytes
    }
    if (!isWhole || hash.digest('hex') === sha256) return
    throw new DamagedError(`The blob ${sha256} in ${this.#stream.place} is not what was stored`, {
      file: this.#stream.place,
      offset: 0,
    })
  }

  #subject(sha256: string, part: number | 'size'): string {
    return `${this.#stream.prefix}.b.${sha256}.${part}`
  }
}
