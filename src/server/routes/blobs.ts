// Blobs are bytes, not JSON: they have routes of their own, with ranges.

import { Readable } from 'node:stream'
import type { Context, Hono } from 'hono'
import type { Store } from '../../store/index.ts'
import { demand } from '../access/access.ts'
import type { Variables } from '../app.ts'
import { tooLarge } from '../http/exchange.ts'
import { HttpError } from '../http/problem.ts'
import { largeBodyBytes } from './endpoint.ts'

export function addBlobs(app: Hono<Variables>, store: Store): void {
  app.post('/v1/blobs', async (c) => {
    demand(c.get('token'), 'write')
    return c.json(await store.putBlob(await readBytes(c, largeBodyBytes)))
  })
  app.get('/v1/blobs/:sha256', async (c) => {
    demand(c.get('token'), 'read')
    const sha256 = c.req.param('sha256')
    if (!/^[0-9a-f]{64}$/.test(sha256)) {
      throw new HttpError('invalid', 'A blob is named by its SHA-256: 64 hex digits', { field: 'sha256' })
    }
    const range = c.req.header('range')
    const part = range === undefined ? undefined : rangeIn(range)
    const content = await store.getBlob(sha256, part)
    const headers = {
      'content-type': 'application/octet-stream',
      'content-disposition': 'attachment',
      'accept-ranges': 'bytes',
      etag: `"${sha256}"`,
    }
    const body = Readable.toWeb(content) as ReadableStream<Uint8Array>
    return new Response(body, { status: part === undefined ? 200 : 206, headers })
  })
}

/** `bytes=0-99` or `bytes=100-`. The end is excluded here, as the store takes it. */
function rangeIn(header: string): { start: number; end?: number } {
  const match = /^bytes=(\d{1,15})-(\d{0,15})$/.exec(header)
  const start = Number(match?.[1])
  const end = match?.[2] === undefined || match[2] === '' ? undefined : Number(match[2]) + 1
  if (match === null || (end !== undefined && end <= start)) {
    throw new HttpError('invalid', 'This Range is not supported', {
      field: 'Range',
      hint: 'Use "bytes=START-END" or "bytes=START-".',
    })
  }
  return end === undefined ? { start } : { start, end }
}

/** Reads the body, and stops as soon as it is too large. */
export async function readBytes(c: Context, most: number): Promise<Uint8Array> {
  const announced = c.req.header('content-length')
  if (announced !== undefined && Number(announced) > most) throw tooLarge(most)
  // The server holds a sender to what it has announced.
  if (announced !== undefined) return new Uint8Array(await c.req.arrayBuffer())
  const parts: Uint8Array[] = []
  let bytes = 0
  for await (const part of (c.req.raw.body ?? []) as AsyncIterable<Uint8Array>) {
    bytes += part.length
    if (bytes > most) throw tooLarge(most)
    parts.push(part)
  }
  return Buffer.concat(parts)
}
