// Pages through what was too large for the context, byte for byte.

import * as z from 'zod'
import { defineTool } from './define.ts'

const pageBytes = 24 * 1024

export const blobRead = defineTool({
  name: 'blob.read',
  description:
    'Read a part of stored content by its SHA-256, as given with a preview. Offsets are bytes; the pages together are the content byte for byte.',
  input: z.object({
    sha256: z.string().regex(/^[0-9a-f]{64}$/, 'a SHA-256 has 64 hexadecimal digits'),
    offset: z.int().min(0).default(0).describe('First byte'),
    length: z.int().min(1).max(pageBytes).default(8_000).describe('How many bytes at most'),
    encoding: z.enum(['utf8', 'base64']).optional().describe('How bytes are shown; text where they are text'),
  }),
  async run({ sha256, offset, length, encoding }, { tape }) {
    // One byte more tells whether this is the end; three more, whether a letter is cut.
    const bytes = await tape.readBlob(sha256, { start: offset, end: offset + length + 4 })
    const page = bytes.subarray(0, length)
    const letters = page.subarray(0, wholeLetters(page, bytes.length > page.length))
    // What does not come back byte for byte is no text.
    const shown = encoding ?? (Buffer.from(letters.toString()).equals(letters) ? 'utf8' : 'base64')
    const whole = shown === 'utf8' ? letters : page
    const next = offset + whole.length
    const rest = bytes.length > whole.length ? { next_offset: next } : { end: true }
    return { output: { offset, bytes: whole.length, ...rest, encoding: shown, content: whole.toString(shown) } }
  },
})

/** Where a letter of several bytes is cut by the end of a page, the page ends before it. */
function wholeLetters(page: Buffer, goesOn: boolean): number {
  if (!goesOn) return page.length
  for (let back = 1; back <= Math.min(4, page.length); back += 1) {
    const byte = page[page.length - back]!
    if ((byte & 0xc0) === 0x80) continue
    const letterBytes = byte >= 0xf0 ? 4 : byte >= 0xe0 ? 3 : byte >= 0xc0 ? 2 : 1
    // A page that is smaller than its first letter is given as it is.
    return letterBytes > back && page.length > back ? page.length - back : page.length
  }
  return page.length
}
