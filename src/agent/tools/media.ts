// Text or not, and if not, what.

const signatures: readonly (readonly [hex: string, type: string])[] = [
  ['89504e470d0a1a0a', 'image/png'],
  ['ffd8ff', 'image/jpeg'],
  ['47494638', 'image/gif'],
  ['25504446', 'application/pdf'],
  ['504b0304', 'application/zip'],
  ['1f8b', 'application/gzip'],
  ['28b52ffd', 'application/zstd'],
  ['425a68', 'application/x-bzip2'],
  ['fd377a585a00', 'application/x-xz'],
  ['7f454c46', 'application/x-executable'],
  ['cffaedfe', 'application/x-mach-binary'],
  ['0061736d', 'application/wasm'],
  ['53514c69746520666f726d6174', 'application/vnd.sqlite3'],
]

export function mediaType(bytes: Buffer): string {
  if (bytes.toString('latin1', 0, 4) === 'RIFF' && bytes.toString('latin1', 8, 12) === 'WEBP') return 'image/webp'
  const head = bytes.toString('hex', 0, 16)
  const known = signatures.find(([hex]) => head.startsWith(hex))
  if (known !== undefined) return known[1]
  return isText(bytes) ? 'text/plain' : 'application/octet-stream'
}

/** Whether bytes, which may begin or end within a letter, are text: no null byte, and hardly anything that is no UTF-8. */
export function isText(bytes: Buffer): boolean {
  if (bytes.includes(0)) return false
  const text = bytes.toString('utf8')
  let broken = 0
  for (let at = text.indexOf('\ufffd'); at >= 0; at = text.indexOf('\ufffd', at + 1)) broken += 1
  return broken <= 2 ? broken * 2 <= text.length : broken * 20 < text.length
}
