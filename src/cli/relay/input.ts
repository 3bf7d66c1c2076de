// Parses what is typed for a relay: inputs as KEY=JSON, and missing inputs as KEY:TYPE.

import { InvalidError } from '../../errors.ts'
import type { Json } from '../../store/index.ts'

/** Types whose values are text, which may be typed without JSON's quotes. */
const textual = new Set(['string', 'text', 'date', 'datetime', 'url', 'email', 'uuid'])

/** `KEY=JSON`; a value that is not JSON is taken as text, and so is every value where text is expected. */
export function parseInputs(
  given: readonly string[],
  missing: readonly { readonly key: string; readonly expectedType: string }[] = [],
): Record<string, unknown> {
  const inputs: Record<string, unknown> = {}
  for (const each of given) {
    const at = each.indexOf('=')
    if (at <= 0) {
      throw new InvalidError(`"${each}" is not an input: it must be KEY=JSON`, {
        hint: 'For example: --input budget=1000',
      })
    }
    const key = each.slice(0, at)
    if (Object.hasOwn(inputs, key)) throw new InvalidError(`The input "${key}" is given twice`)
    // Assigning it would set the object's prototype instead of a key.
    if (key === '__proto__') throw new InvalidError('"__proto__" cannot be the name of an input')
    const type = missing.find((input) => input.key === key)?.expectedType
    inputs[key] = parseValue(key, each.slice(at + 1), type)
  }
  return inputs
}

function parseValue(key: string, text: string, type: string | undefined): unknown {
  const isText = type !== undefined && textual.has(type)
  try {
    const value = JSON.parse(text) as unknown
    return typeof value !== 'string' && isText ? text : value
  } catch (error) {
    // A value that begins like an object, a list or a quoted text was meant as JSON.
    if (isText || !/^\s*[[{"]/.test(text)) return text
    throw new InvalidError(`The input "${key}" is not JSON: ${(error as Error).message}`, { path: key })
  }
}

/** JSON, or else the text itself. */
export function parseAnswer(text: string): Json {
  try {
    return JSON.parse(text) as Json
  } catch {
    return text
  }
}

/** `KEY:TYPE[:DESCRIPTION]` */
export function parseMissing(text: string): { key: string; expectedType: string; description: string } {
  const [key, expectedType, ...rest] = text.split(':')
  if (key === undefined || key === '' || expectedType === undefined || expectedType === '') {
    throw new InvalidError(`"${text}" is not KEY:TYPE`, { hint: 'For example: --missing budget:number' })
  }
  return { key, expectedType, description: rest.join(':') }
}

/** Drops the fields that were not given. */
export function given(fields: Record<string, unknown>): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries(fields).filter(([, value]) => value !== undefined && !(Array.isArray(value) && value.length === 0)),
  )
}
