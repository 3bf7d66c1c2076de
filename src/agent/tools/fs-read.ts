// Reads a file by lines, a page at a time, however large it is.

import type { FileHandle } from 'node:fs/promises'
import * as z from 'zod'
import { InvalidError } from '../../errors.ts'
import { imagePart, isImage, maxImageBytes } from '../model/images.ts'
import type { ToolOutcome } from './tool.ts'
import { defineTool } from './tool.ts'
import { accessTo, fileError, isText, mediaType, notAFile, openReal, targetOf } from './open-file.ts'

/** A page is smaller than a result that the tape would move to a blob, so that the model can read it. */
const pageBytes = 24 * 1024
const lineBytes = 4 * 1024
/** In a larger file, the lines behind the page are not counted. */
const countedBytes = 32 * 1024 * 1024

export const fsRead = defineTool('fs.read', {
  description:
    'Read a text file by lines. A long file comes in pages: the last line says how to read on. Images are shown; other binary files are named with their type and size.',
  input: z.object({
    path: z.string(),
    offset: z.int().min(1).default(1).describe('First line'),
    limit: z.int().min(1).max(5_000).default(2_000).describe('How many lines at most'),
  }),
  access: accessTo('read'),
  async run(input, context): Promise<ToolOutcome> {
    const place = targetOf(input, context)
    try {
      const file = await openReal(place.real)
      try {
        return await read(file, place.shown, input, context.signal)
      } finally {
        await file.close()
      }
    } catch (error) {
      throw fileError(place.shown, error)
    }
  },
})

interface Wanted {
  offset: number
  limit: number
}

async function read(file: FileHandle, shown: string, wanted: Wanted, signal: AbortSignal): Promise<ToolOutcome> {
  const stats = await file.stat()
  const problem = notAFile(stats)
  if (problem !== undefined) throw new InvalidError(`${shown} ${problem}`)
  const head = Buffer.alloc(8 * 1024)
  const { bytesRead } = await file.read(head, 0, head.length, 0)
  const start = head.subarray(0, bytesRead)
  if (!isText(start)) return binary(file, shown, mediaType(start), stats.size)
  const page = await readPage(file, wanted, stats.size, signal)
  if (page.lines.length === 0) {
    if (page.seen === 0) return { output: '[the file is empty]' }
    throw new InvalidError(`${shown} has ${page.seen} lines; there is no line ${wanted.offset}`)
  }
  const text = page.lines.join('\n')
  const last = wanted.offset + page.lines.length - 1
  if (page.atEnd && last === page.seen && wanted.offset === 1) return { output: text }
  const total = page.atEnd ? `of ${page.seen}` : `of a file of ${stats.size} bytes`
  const next = page.atEnd && last === page.seen ? 'the end' : `continue with offset ${last + 1}`
  return { output: `${text}\n[lines ${wanted.offset}-${last} ${total}; ${next}]` }
}

/** An image is given to the model as one. */
async function binary(file: FileHandle, shown: string, type: string, size: number): Promise<ToolOutcome> {
  const named = `[${isImage(type) ? 'image' : 'binary file'}: ${type}, ${size} bytes]`
  if (!isImage(type)) return { output: named }
  if (size > maxImageBytes) return { output: `${named.slice(0, -1)}; it is too large to be shown]` }
  const bytes = Buffer.alloc(size)
  const { bytesRead } = await file.read(bytes, 0, size, 0)
  return { output: [{ type: 'text', text: named }, imagePart(bytes.subarray(0, bytesRead), shown)] }
}

interface Page {
  readonly lines: string[]
  /** Lines counted, also behind the page. */
  readonly seen: number
  readonly atEnd: boolean
}

async function readPage(file: FileHandle, { offset, limit }: Wanted, size: number, signal: AbortSignal): Promise<Page> {
  const lines: string[] = []
  let bytes = 0
  let seen = 0
  let isFull = false
  let begun: Buffer[] = []
  let begunBytes = 0
  const isWanted = () => seen + 1 >= offset && !isFull
  const keep = (part: Buffer) => {
    // Only the part of a long line that will be shown is kept.
    if (isWanted() && begunBytes <= lineBytes) begun.push(Buffer.from(part.subarray(0, lineBytes + 1)))
    begunBytes += part.length
  }
  const endLine = () => {
    if (isWanted()) {
      const line = shownLine(Buffer.concat(begun), begunBytes)
      bytes += line.length + 1
      if (lines.length > 0 && bytes > pageBytes) isFull = true
      else isFull = lines.push(line) >= limit
    }
    seen += 1
    begun = []
    begunBytes = 0
  }
  const chunk = Buffer.alloc(64 * 1024)
  for (;;) {
    signal.throwIfAborted()
    const { bytesRead } = await file.read(chunk)
    if (bytesRead === 0) break
    let from = 0
    for (let end = chunk.indexOf(10); end >= 0 && end < bytesRead; end = chunk.indexOf(10, from)) {
      keep(chunk.subarray(from, end))
      endLine()
      from = end + 1
    }
    keep(chunk.subarray(from, bytesRead))
    if (isFull && size > countedBytes) return { lines, seen, atEnd: false }
  }
  if (begunBytes > 0) endLine()
  return { lines, seen, atEnd: true }
}

function shownLine(kept: Buffer, bytes: number): string {
  if (bytes <= lineBytes) return kept.toString()
  // A letter that is cut in the middle is left out.
  const text = kept
    .subarray(0, lineBytes)
    .toString()
    .replace(/\ufffd+$/, '')
  return `${text} [… ${bytes - Buffer.byteLength(text)} more bytes in this line]`
}
