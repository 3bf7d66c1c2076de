// Private keys in PEM, and what is left of one whose other end was cut.

import type { Found } from './secrets.ts'

const border = /----(?:-| )(BEGIN|END) (?:[A-Z0-9]{1,20} ){0,4}PRIVATE KEY(?: BLOCK)?(?:-| )----/g
const inKey = /[A-Za-z0-9+/=\s\\:,.-]/

/** Whole keys, and what is left of one whose other end was cut. */
export function privateKeys(text: string): Found[] {
  const found: Found[] = []
  let from = 0
  let open: number | undefined
  for (const match of text.matchAll(border)) {
    const end = match.index + match[0].length
    if (match[1] === 'BEGIN') {
      if (open !== undefined) from = close(text, found, open, match.index)
      open = match.index
      continue
    }
    let start = open ?? match.index
    if (open === undefined) while (start > from && inKey.test(text[start - 1]!)) start--
    found.push({ start, end, kind: 'private key' })
    from = end
    open = undefined
  }
  if (open !== undefined) close(text, found, open, text.length)
  return found
}

function close(text: string, found: Found[], open: number, limit: number): number {
  let end = Math.min(limit, text.indexOf('-----', open + 5) + 5)
  while (end < limit && inKey.test(text[end]!)) end++
  found.push({ start: open, end, kind: 'private key' })
  return end
}
