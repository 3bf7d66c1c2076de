// Blobs of an engine that keeps them in numbered parts, because its server bounds the size of a value.

import { createHash } from 'node:crypto'
import { Readable } from 'node:stream'
import { DamagedError, InvalidError, NotFoundError } from '../errors.ts'

/** How an engine finds a blob and its parts. All parts but the last have `partBytes` bytes. */
export interface BlobParts {
  readonly partBytes: number
  /** Where the blobs are, as errors name it. */
  readonly place: string
  /** The bytes of the whole blob; undefined where there is none of that name. */
  size(sha256: string): Promise<number | undefined>
  part(sha256: string, number: number): Promise<Uint8Array | undefined>
}

export function* inParts(content: Buffer, partBytes: number): Generator<[number: number, part: Buffer]> {
  for (let part = 0; part * partBytes < content.length; part++) {
    yield [part, content.subarray(part * partBytes, (part + 1) * partBytes)]
  }
}

export async function readParts(
  blobs: BlobParts,
  sha256: string,
  range: { start?: number; end?: number },
): Promise<Readable> {
  if (!/^[0-9a-f]{64}$/.test(sha256)) throw new InvalidError(`"${sha256}" is not the name of a blob`)
  const size = await blobs.size(sha256)
  if (size === undefined) throw new NotFoundError(`There is no blob ${sha256} in this workspace`)
  const start = Math.min(Math.max(0, range.start ?? 0), size)
  const end = Math.min(range.end ?? size, size)
  return Readable.from(bytesOf(blobs, sha256, start, end, start === 0 && end === size), { objectMode: false })
}

/** When the whole blob is read, its bytes are checked against its name. */
async function* bytesOf(
  blobs: BlobParts,
  sha256: string,
  start: number,
  end: number,
  isWhole: boolean,
): AsyncGenerator<Uint8Array> {
  const { partBytes, place } = blobs
  const hash = createHash('sha256')
  for (let at = start; at < end;) {
    const number = Math.floor(at / partBytes)
    const part = await blobs.part(sha256, number)
    if (part === undefined) break
    const piece = part.subarray(at - number * partBytes, end - number * partBytes)
    hash.update(piece)
    yield piece
    at = (number + 1) * partBytes
  }
  if (!isWhole || hash.digest('hex') === sha256) return
  throw new DamagedError(`The blob ${sha256} in ${place} is not what was stored`, { file: place, offset: 0 })
}
