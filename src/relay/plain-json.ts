// What may be kept and merged: values that JSON writes and reads back as they are. Anything else (instances, functions,
// `undefined`, NaN, a `toJSON`, a `__proto__`) would change on the way, or bring behaviour along.

import type { Json } from '../store/index.ts'

/** Deeper than any honest data, and shallow enough for the stack. */
const deepest = 200

export function isPlainJson(value: unknown, depth = 0): value is Json {
  if (depth > deepest) return false
  switch (typeof value) {
    case 'string':
    case 'boolean':
      return true
    case 'number':
      return Number.isFinite(value)
    case 'object':
      break
    default:
      return false
  }
  if (value === null) return true
  if (Array.isArray(value)) {
    for (let i = 0; i < value.length; i++) if (!isPlainJson(value[i], depth + 1)) return false
    return true
  }
  const prototype: unknown = Object.getPrototypeOf(value)
  if (prototype !== Object.prototype && prototype !== null) return false
  for (const [key, item] of Object.entries(value)) {
    if (key === '__proto__' || key === 'toJSON' || !isPlainJson(item, depth + 1)) return false
  }
  return true
}
