// JSON that loses nothing: what `JSON.stringify` would drop or change in silence is refused with its path.

import { BatonError, InvalidError } from '../errors.ts'

/** The JSON text of a value, taken at once, so that nothing the caller mutates later changes it. */
export function toJson(value: unknown, path: string): string {
  try {
    const problem = findUnserialisable(value, path, [])
    if (problem !== undefined) throw problem
    return JSON.stringify(value)
  } catch (error) {
    if (BatonError.is(error)) throw error
    // Only nesting beyond the stack, or a throwing getter or toJSON, can get here.
    const why = error instanceof RangeError ? 'it is nested too deeply' : String(error)
    throw new InvalidError(`${path} cannot be stored as JSON: ${why}`, { path, cause: error })
  }
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
  if (value === null || 'toJSON' in value) return undefined
  if (parents.includes(value)) return refuse(path, 'it contains itself')
  parents.push(value)
  if (Array.isArray(value)) {
    for (let i = 0; i < value.length; i++) {
      if (value[i] === undefined) return refuse(`${path}[${i}]`, 'undefined would become null')
      const problem = findUnserialisable(value[i], `${path}[${i}]`, parents)
      if (problem !== undefined) return problem
    }
  } else {
    const prototype: unknown = Object.getPrototypeOf(value)
    if (typeof prototype === 'object' && prototype !== null && prototype !== Object.prototype && isForeign(prototype)) {
      return refuse(path, `a ${value.constructor.name} would lose its content; convert it to plain data first`)
    }
    for (const key in value) {
      const item: unknown = value[key as keyof typeof value]
      if (typeof item === 'string') continue
      const problem = findUnserialisable(item, `${path}.${key}`, parents)
      if (problem !== undefined) return problem
    }
  }
  parents.pop()
  return undefined
}

/** Collections keep their content out of reach of `JSON.stringify`; plain objects of another realm do not. */
function isForeign(prototype: object): boolean {
  const name = prototype.constructor?.name
  return (
    name === 'Map' ||
    name === 'Set' ||
    name === 'WeakMap' ||
    name === 'WeakSet' ||
    ArrayBuffer.isView(prototype) ||
    name === 'ArrayBuffer' ||
    name === 'Promise' ||
    name === 'Error' ||
    name === 'RegExp' ||
    isTypedArray(prototype)
  )
}

function isTypedArray(prototype: object): boolean {
  return Object.getPrototypeOf(prototype) === Object.getPrototypeOf(Uint8Array.prototype)
}

function refuse(path: string, why: string): InvalidError {
  return new InvalidError(`${path} cannot be stored as JSON: ${why}`, { path })
}
