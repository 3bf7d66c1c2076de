// Reads values of unknown form: a line of a transcript may contain anything.

import { isDate } from '../store/index.ts'

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
  if (isDate(value)) return value
  if (typeof value !== 'number' || !Number.isFinite(value) || Math.abs(value) > 8.64e15) return undefined
  return new Date(value).toISOString()
}

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
