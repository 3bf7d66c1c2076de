// Reads values of unknown form: a line of a transcript may contain anything.

export type Fields = Readonly<Record<string, unknown>>

export function isFields(value: unknown): value is Fields {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

export function fields(value: unknown): Fields {
  return isFields(value) ? value : {}
}

export function list(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : []
}

export function text(value: unknown): string | undefined {
  return typeof value === 'string' && value !== '' ? value : undefined
}

export function number(value: unknown): number | undefined {
  return typeof value === 'number' && Number.isFinite(value) ? value : undefined
}

/** An ISO date of a string or of milliseconds; undefined for what is neither. */
export function date(value: unknown): string | undefined {
  if (typeof value === 'string') {
    // The date of a line is parsed several times in a row.
    if (value === lastDate) return value
    if (!isoDate.test(value) || Number.isNaN(Date.parse(value))) return undefined
    lastDate = value
    return value
  }
  if (typeof value !== 'number' || !Number.isFinite(value) || Math.abs(value) > 8.64e15) return undefined
  return new Date(value).toISOString()
}

let lastDate: string | undefined
const isoDate = /^\d{4}-\d\d-\d\d(T\d\d:\d\d(:\d\d(\.\d+)?)?(Z|[+-]\d\d:?\d\d)?)?$/

/** Leaves out the fields that are undefined. */
export function given<T extends object>(values: T): { [K in keyof T]: Exclude<T[K], undefined> } {
  const result: Record<string, unknown> = {}
  for (const key in values) if (values[key] !== undefined) result[key] = values[key]
  return result as { [K in keyof T]: Exclude<T[K], undefined> }
}

/** The value of a JSON text, or the text itself if it is not JSON. */
export function json(value: string): unknown {
  try {
    return JSON.parse(value) as unknown
  } catch {
    return value // a model may have written anything; it is kept as it stands
  }
}
