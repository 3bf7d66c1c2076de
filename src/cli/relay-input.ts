// What is typed for a relay: inputs as KEY=JSON, and what is missing as KEY:TYPE.

import { InvalidError } from '../errors.ts'

/** Types whose values are text, so that nobody has to type quotes around quotes. */
const textual = new Set(['string', 'text', 'date', 'datetime', 'url', 'email', 'uuid'])

/** `KEY=JSON`; words that are no JSON are taken as they are, and so is everything where text is expected. */
export function parseInputs(
  given: readonly string[],
  missing: readonly { readonly key: string; readonly expectedType: string }[] = [],
): Record<string, unknown> {
  const inputs: Record<string, unknown> = {}
  for (const each of given) {
    const at = each.indexOf('=')
    if (at <= 0) {
      throw new InvalidError(`"${each}" is no input: it must be KEY=JSON`, { hint: 'For example: --input budget=1000' })
    }
    const key = each.slice(0, at)
    if (Object.hasOwn(inputs, key)) throw new InvalidError(`The input "${key}" is given twice`)
    // An object would take it for its prototype, and lose it.
    if (key === '__proto__') throw new InvalidError('"__proto__" is no name of an input')
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
    // What begins like an object or a list was meant to be one.
    if (isText || !/^\s*[[{"]/.test(text)) return text
    throw new InvalidError(`The input "${key}" is not JSON: ${(error as Error).message}`, { path: key })
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

/** The fields that were given. */
export function given(fields: Record<string, unknown>): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries(fields).filter(([, value]) => value !== undefined && !(Array.isArray(value) && value.length === 0)),
  )
}
