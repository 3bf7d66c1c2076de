// The records of an SQLite database: how a row is encoded, and what its columns are called.

export type SqliteValue = null | number | bigint | string | Buffer
export type SqliteRow = Record<string, SqliteValue>

/** How many bytes of a record are in its page; the rest is in overflow pages. */
export function localBytes(size: number, usable: number, most: number): number {
  if (size <= most) return size
  const least = Math.floor(((usable - 12) * 32) / 255) - 23
  const fit = least + ((size - least) % (usable - 4))
  return fit <= most ? fit : least
}

export function varint(bytes: Buffer, at: number): [value: number, next: number] {
  let value = 0
  for (let i = 0; i < 8; i++) {
    const byte = bytes[at + i] ?? 0
    value = value * 128 + (byte & 127)
    if (byte < 128) return [value, at + i + 1]
  }
  return [value * 256 + (bytes[at + 8] ?? 0), at + 9]
}

/** The columns of a record; of a truncated one, those that are complete. */
export function decode(bytes: Buffer, columns: readonly string[], rowId: number, cut: boolean): SqliteRow {
  const row: SqliteRow = {}
  const [headerEnd, first] = varint(bytes, 0)
  let at = headerEnd
  for (let head = first, i = 0; head < headerEnd && i < columns.length; i++) {
    const [type, next] = varint(bytes, head)
    head = next
    const length = lengths[type] ?? (type < 12 ? 0 : (type - (type % 2 === 0 ? 12 : 13)) / 2)
    if (cut && at + length > bytes.length) return row
    const value = valueOf(bytes, at, type, length)
    row[columns[i]!] = value ?? (type === 0 && columns[i] === 'rowid' ? rowId : null)
    at += length
  }
  return row
}

const lengths: Record<number, number> = { 0: 0, 1: 1, 2: 2, 3: 3, 4: 4, 5: 6, 6: 8, 7: 8, 8: 0, 9: 0 }

function valueOf(bytes: Buffer, at: number, type: number, length: number): SqliteValue {
  if (type === 0) return null
  if (type <= 5) return bytes.readIntBE(at, length)
  if (type === 6) {
    const wide = bytes.readBigInt64BE(at)
    return Number.isSafeInteger(Number(wide)) ? Number(wide) : wide
  }
  if (type === 7) return bytes.readDoubleBE(at)
  if (type === 8) return 0
  if (type === 9) return 1
  return type % 2 === 0 ? Buffer.from(bytes.subarray(at, at + length)) : bytes.toString('utf8', at, at + length)
}

/** The names in a CREATE TABLE, without its constraints. */
export function columnsOf(sql: string): string[] {
  const body = sql.slice(sql.indexOf('(') + 1, sql.lastIndexOf(')'))
  const columns: string[] = []
  let depth = 0
  let start = 0
  const take = (end: number) => {
    const definition = body.slice(start, end).trim()
    if (!/^(CONSTRAINT|PRIMARY|FOREIGN|UNIQUE|CHECK)\b/i.test(definition)) {
      const name = /^(?:`([^`]+)`|"([^"]+)"|\[([^\]]+)\]|([^\s(]+))/.exec(definition)
      columns.push(name?.[1] ?? name?.[2] ?? name?.[3] ?? name?.[4] ?? '')
    }
    start = end + 1
  }
  for (let i = 0; i < body.length; i++) {
    const character = body[i]
    if (character === '(') depth++
    else if (character === ')') depth--
    else if (character === ',' && depth === 0) take(i)
  }
  take(body.length)
  return columns
}

/** The columns of a CREATE INDEX; undefined for a partial index, or one in another order. */
export function indexedBy(sql: string): string[] | undefined {
  const listed = /^CREATE\s+(?:UNIQUE\s+)?INDEX\s[^(]+\(([^()]+)\)\s*$/i.exec(sql)?.[1]
  const names = listed?.split(',').map((each) => /^\s*(?:`([^`]+)`|"([^"]+)"|(\w+))\s*$/.exec(each))
  if (names === undefined || names.includes(null)) return undefined
  return names.map((name) => name![1] ?? name![2] ?? name![3] ?? '')
}
