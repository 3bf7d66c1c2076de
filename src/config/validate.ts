// Outside data against a schema. What is wrong is said in a sentence that names the field, as in
// `artifacts[2].path is missing`, rather than in the words of the schema library.

import type * as z from 'zod'
import { InvalidError, LimitError } from '../errors.ts'

/** How many problems one error names. */
const named = 5

/** The parsed value; `what` opens the sentence when it is not. */
export function checked<S extends z.ZodType>(schema: S, value: unknown, what: string): z.output<S> {
  const result = schema.safeParse(value)
  if (result.success) return result.data
  // Parsed once more to get at the values that were given: only the sentence needs them, and it costs as much again.
  const { issues } = schema.safeParse(value, { reportInput: true }).error ?? result.error
  const sentences = issues.slice(0, named).map((issue) => `${fieldPath(issue.path) || 'it'} ${problem(issue)}`)
  const more = issues.length > named ? `; and ${issues.length - named} more` : ''
  const message = `${what}: ${sentences.join('; ')}${more}`
  if (issues[0]!.code === 'too_big') throw new LimitError(message)
  throw new InvalidError(message, { path: fieldPath(issues[0]!.path) })
}

function fieldPath(parts: readonly PropertyKey[]): string {
  return parts.reduce<string>((path, part) => {
    if (typeof part === 'number') return `${path}[${part}]`
    return path === '' ? String(part) : `${path}.${String(part)}`
  }, '')
}

function problem(issue: z.core.$ZodIssue): string {
  const { input } = issue
  if (input === undefined && ['invalid_type', 'invalid_value', 'invalid_union'].includes(issue.code))
    return 'is missing'
  switch (issue.code) {
    case 'invalid_type':
      return `must be ${article(issue.expected)}, not ${shown(input)}`
    case 'invalid_value':
      return `must be one of ${issue.values.map(String).join(', ')}, not ${shown(input)}`
    case 'unrecognized_keys':
      return `has no field ${issue.keys.map((key) => `"${key}"`).join(', ')}`
    case 'too_small':
      return issue.origin === 'number' ? `must be at least ${issue.minimum}, not ${shown(input)}` : 'is empty'
    case 'too_big':
      return `is larger than ${issue.maximum.toLocaleString('en-US')}`
    default:
      return `is not valid: ${issue.message}`
  }
}

function article(noun: string): string {
  return /^[aeio]/.test(noun) ? `an ${noun}` : `a ${noun}`
}

function shown(value: unknown): string {
  if (value === null) return 'null'
  if (Array.isArray(value)) return 'a list'
  if (typeof value === 'object') return 'an object'
  const text = typeof value === 'string' ? `"${value}"` : String(value)
  return text.length > 60 ? `${text.slice(0, 60)}…` : text
}
