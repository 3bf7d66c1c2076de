// JSON that loses nothing: what `JSON.stringify` would drop or change in silence is refused with its path.

import { types } from 'node:util'
import { BatonError, InvalidError } from '../errors.ts'

/** The JSON text of a value, taken at once, so that nothing the caller mutates later changes it. */
export function toJson(value: unknown, path: string): string {
  try {
    if (!isPlain(value, mostNested)) {
      const problem = findUnserialisable(value, path, [])
      if (problem !== undefined) throw problem
    }
    return JSON.stringify(value)
  } catch (error) {
    if (BatonError.is(error)) throw error
    // Only nesting beyond the stack, or a throwing getter or toJSON, can get here.
    const why = error instanceof RangeError ? 'it is nested too deeply' : String(error)
    throw new InvalidError(`${path} cannot be stored as JSON: ${why}`, { path, cause: error })
  }
}

/** What is nested deeper is looked at with its path: it may contain itself. */
const mostNested = 20

/** Whether the value is JSON as it stands, which nearly all are. What is not is looked at again, for the path of the problem. */
function isPlain(value: unknown, levels: number): boolean {
  if (typeof value === 'string' || typeof value === 'boolean' || value === undefined || value === null) return true
  if (typeof value === 'number') return Number.isFinite(value)
  if (typeof value !== 'object' || levels === 0) return false
  if (Array.isArray(value)) {
    if ('toJSON' in value) return false
    for (let i = 0; i < value.length; i++) if (value[i] === undefined || !isPlain(value[i], levels - 1)) return false
    return true
  }
  if (Object.getPrototypeOf(value) !== Object.prototype || 'toJSON' in value) return false
  for (const key in value) {
    const item: unknown = value[key as keyof typeof value]
    if (typeof item !== 'string' && !isPlain(item, levels - 1)) return false
  }
  return true
}

function findUnserialisable(value: unknown, path: string, parents: object[]): InvalidError | undefined {
  switch (typeof value) {
    case 'string':
    case 'boolean':
    case 'undefined':
      return undefined
    case 'number':
      return Number.isFinite(value) ? undefined : refuse(path, `${value} is not a JSON number`)
    case 'object':
      break
    default:
      return refuse(path, `a ${typeof value} has no JSON form`)
  }
  if (value === null) return undefined
  if (parents.includes(value)) return refuse(path, 'it contains itself')
  if (losesContent(value)) {
    return refuse(path, `a ${value.constructor.name} would lose its content; convert it to plain data first`)
  }
  parents.push(value)
  const problem = 'toJSON' in value ? findInResult(value, path, parents) : findInside(value, path, parents)
  parents.pop()
  return problem
}

/** `JSON.stringify` stores what `toJSON` returns in place of the value. */
function findInResult(value: object, path: string, parents: object[]): InvalidError | undefined {
  const { toJSON } = value as { toJSON: unknown }
  const result: unknown = typeof toJSON === 'function' ? toJSON.call(value, '') : value
  if (result === value) return findInside(value, path, parents)
  return result === undefined ? refuse(path, 'its toJSON returns nothing') : findUnserialisable(result, path, parents)
}

function findInside(value: object, path: string, parents: object[]): InvalidError | undefined {
  if (Array.isArray(value)) {
    for (let i = 0; i < value.length; i++) {
      if (value[i] === undefined) return refuse(`${path}[${i}]`, 'undefined would become null')
      const problem = findUnserialisable(value[i], `${path}[${i}]`, parents)
      if (problem !== undefined) return problem
    }
    return undefined
  }
  for (const key in value) {
    const item: unknown = value[key as keyof typeof value]
    if (typeof item === 'string') continue
    const problem = findUnserialisable(item, `${path}.${key}`, parents)
    if (problem !== undefined) return problem
  }
  return undefined
}

/** Objects that keep what they hold out of reach of `JSON.stringify`. */
function losesContent(value: object): boolean {
  const prototype: unknown = Object.getPrototypeOf(value)
  if (prototype === Object.prototype || prototype === Array.prototype) return false
  return (
    types.isMap(value) ||
    types.isSet(value) ||
    types.isWeakMap(value) ||
    types.isWeakSet(value) ||
    types.isPromise(value) ||
    types.isRegExp(value) ||
    types.isNativeError(value) ||
    types.isAnyArrayBuffer(value) ||
    ArrayBuffer.isView(value) ||
    (types.isDate(value) && Number.isNaN(value.getTime()))
  )
}

function refuse(path: string, why: string): InvalidError {
  return new InvalidError(`${path} cannot be stored as JSON: ${why}`, { path })
}
