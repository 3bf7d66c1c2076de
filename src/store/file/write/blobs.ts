// Content too large for a line, once per content: the name is the SHA-256 of the bytes.

import { createHash } from 'node:crypto'
import fs from 'node:fs'
import path from 'node:path'
import { Readable } from 'node:stream'
import { DamagedError, InvalidError, NotFoundError } from '../../../errors.ts'
import { makeFolder, replaceFile, syncFolder } from '../../../system/index.ts'
import type { BlobRef } from '../../store.ts'

export function putBlob(folder: string, bytes: Uint8Array): BlobRef {
  const sha256 = createHash('sha256').update(bytes).digest('hex')
  const target = path.join(folder, sha256)
  if (isThere(target, bytes)) {
    // Whoever wrote it may not have made it durable yet.
    syncFolder(folder)
  } else {
    makeFolder(folder)
    replaceFile(target, bytes)
  }
  return { sha256, bytes: bytes.length }
}

function isThere(file: string, bytes: Uint8Array): boolean {
  if (fs.statSync(file, { throwIfNoEntry: false })?.size !== bytes.length) return false
  return fs.readFileSync(file).equals(bytes)
}

/** The bytes from `start` to before `end`. Read as a whole, they are checked against their name. */
export function getBlob(folder: string, sha256: string, range: { start?: number; end?: number } = {}): Readable {
  if (!/^[0-9a-f]{64}$/.test(sha256)) throw new InvalidError(`"${sha256}" is not the name of a blob`)
  const file = path.join(folder, sha256)
  const size = fs.statSync(file, { throwIfNoEntry: false })?.size
  if (size === undefined) throw new NotFoundError(`There is no blob ${sha256} in this workspace`)
  const start = Math.min(Math.max(0, range.start ?? 0), size)
  const end = Math.min(range.end ?? size, size)
  if (start === 0 && end === size) return Readable.from(checked(file, sha256), { objectMode: false })
  return end <= start ? Readable.from([]) : fs.createReadStream(file, { start, end: end - 1 })
}

async function* checked(file: string, sha256: string): AsyncGenerator<Buffer> {
  const hash = createHash('sha256')
  for await (const chunk of fs.createReadStream(file)) {
    const bytes = chunk as Buffer
    hash.update(bytes)
    yield bytes
  }
  if (hash.digest('hex') === sha256) return
  throw new DamagedError(`${file} is not what was stored: its SHA-256 differs`, {
    file,
    offset: 0,
    hint: 'Storing the same content again mends it.',
  })
}
