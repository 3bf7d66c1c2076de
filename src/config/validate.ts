// Outside data against a schema. What is wrong is said in a sentence that names the field, as in
// `artifacts[2].path is missing`, rather than in the words of the schema library, and with it what belongs there.

import * as z from 'zod'
import { InvalidError, LimitError } from '../errors.ts'

/** How many problems one error names. */
const named = 5
const mostSorted = 100

/** The parsed value; `what` opens the sentence when it is not. */
export function checked<S extends z.ZodType>(schema: S, value: unknown, what: string): z.output<S> {
  const result = schema.safeParse(value)
  if (result.success) return result.data
  const issues = firstOfEach(result.error.issues)
  const message = `${what}: ${sentences(issues, value)}`
  if (issues[0]!.code === 'too_big') throw new LimitError(message)
  throw new InvalidError(message, { path: fieldPath(issues[0]!.path) })
}

/** The parsed input of whoever calls from outside: when it is wrong, the error also says what to send. */
export function checkedInput<S extends z.ZodObject>(schema: S, value: unknown): z.output<S> {
  const result = schema.safeParse(value)
  if (result.success) return result.data
  const issues = firstOfEach(result.error.issues)
  const [first] = issues as [z.core.$ZodIssue]
  const at = first.code === 'unrecognized_keys' ? [...first.path, first.keys[0]!] : first.path
  const hint = whatToSend(z.toJSONSchema(schema, { io: 'input', unrepresentable: 'any' }), first)
  throw new InvalidError(sentences(issues, value, 'the input'), { path: fieldPath(at), hint })
}

/** What is wrong with each field first: whatever else is, follows from that. */
function firstOfEach(issues: readonly z.core.$ZodIssue[]): readonly z.core.$ZodIssue[] {
  // A hostile input can have more mistakes than there is time to sort.
  const sorted = issues.slice(0, mostSorted)
  const first = new Map(sorted.toReversed().map((issue) => [fieldPath(issue.path), issue]))
  return [...sorted.filter((issue) => first.get(fieldPath(issue.path)) === issue), ...issues.slice(mostSorted)]
}

function sentences(issues: readonly z.core.$ZodIssue[], value: unknown, whole = 'it'): string {
  const more = issues.length > named ? `; and ${issues.length - named} more` : ''
  const each = issues.slice(0, named).map((issue) => {
    return `${fieldPath(issue.path) || whole} ${problem(issue, valueAt(value, issue.path))}`
  })
  return `${each.join('; ')}${more}`
}

function valueAt(value: unknown, path: readonly PropertyKey[]): unknown {
  return path.reduce<unknown>(
    (at, part) => (at as Partial<Record<PropertyKey, unknown>> | null | undefined)?.[part],
    value,
  )
}

function fieldPath(parts: readonly PropertyKey[]): string {
  return parts.reduce<string>((path, part) => {
    if (typeof part === 'number') return `${path}[${part}]`
    return path === '' ? String(part) : `${path}.${String(part)}`
  }, '')
}

function problem(issue: z.core.$ZodIssue, input: unknown): string {
  if (input === undefined && ['invalid_type', 'invalid_value', 'invalid_union'].includes(issue.code))
    return 'is missing'
  switch (issue.code) {
    case 'invalid_type':
      return `must be ${article(issue.expected)}, not ${shown(input)}`
    case 'invalid_value':
      return `must be one of ${issue.values.map(String).join(', ')}, not ${shown(input)}`
    case 'invalid_union':
      return `cannot be ${shown(input)}${issue.message === 'Invalid input' ? '' : `: ${issue.message}`}`
    case 'invalid_format':
      if (!issue.message.startsWith('Invalid ')) return `is not valid: ${issue.message}`
      return `must be ${examples[issue.format] ?? 'of another form'}, not ${shown(input)}`
    case 'unrecognized_keys':
      return `has no field ${issue.keys.map((key) => `"${key}"`).join(', ')}`
    case 'too_small':
      if (issue.origin === 'number' || issue.origin === 'int')
        return `must be at least ${issue.minimum}, not ${shown(input)}`
      return isEmpty(input) ? 'is empty' : `is shorter than ${amount(issue.minimum, issue.origin)}`
    case 'too_big':
      return `is ${units[issue.origin] === undefined ? 'larger' : 'longer'} than ${amount(issue.maximum, issue.origin)}`
    default:
      return `is not valid: ${issue.message}`
  }
}

/** What is to be in a certain form, where the schema does not say it itself. */
const examples: Partial<Record<string, string>> = {
  date: 'a day such as 2026-01-31',
  datetime: 'a date and time such as 2026-01-31T12:00:00Z',
}

/** What the size of a value counts, where it is not the value itself. */
const units: Partial<Record<string, string>> = { string: ' characters', array: ' items' }

function amount(count: number | bigint, origin: string): string {
  return `${count.toLocaleString('en-US')}${units[origin] ?? ''}`
}

function isEmpty(value: unknown): boolean {
  return value === '' || (Array.isArray(value) && value.length === 0)
}

type JsonSchema = z.core.JSONSchema.BaseSchema

function whatToSend(root: JsonSchema, { code, path }: z.core.$ZodIssue): string {
  const wanted = schemaAt(root, path) ?? {}
  if (code === 'unrecognized_keys') {
    const known = Object.keys(wanted.properties ?? {})
    return known.length === 0 ? 'Leave it out.' : `Leave it out. Known are ${known.join(', ')}.`
  }
  const meaning = wanted.description === undefined ? '' : ` ${wanted.description}`
  return `Send ${path.length === 0 ? '' : `${fieldPath(path)} as `}${kindOf(wanted)}.${meaning}`
}

/** What belongs at a place; undefined where the schema does not know it. */
function schemaAt(root: JsonSchema, path: readonly PropertyKey[]): JsonSchema | undefined {
  let at: JsonSchema | boolean | undefined = root
  for (const part of path) {
    if (typeof at !== 'object') return undefined
    const { properties, items, additionalProperties }: JsonSchema = at
    at =
      typeof part === 'number'
        ? (items as JsonSchema | undefined)
        : (properties?.[String(part)] ?? additionalProperties)
  }
  return typeof at === 'object' ? at : undefined
}

/** In words, as in `a whole number from 1 to 1,000`. */
function kindOf(schema: JsonSchema): string {
  if (schema.enum !== undefined) return `one of ${schema.enum.map(String).join(', ')}`
  if (schema.const !== undefined) return JSON.stringify(schema.const)
  if (schema.anyOf !== undefined) return schema.anyOf.map((each) => kindOf(each)).join(', or ')
  switch (schema.type) {
    case 'integer':
      return `a whole number${range(schema.minimum, schema.maximum)}`
    case 'number':
      return `a number${range(schema.minimum, schema.maximum)}`
    case 'boolean':
      return 'true or false'
    case 'string':
      return `a string${range(schema.minLength, schema.maxLength, ' characters')}`
    case 'array': {
      const { items } = schema
      const each = typeof items === 'object' && !Array.isArray(items) ? `, each ${kindOf(items)}` : ''
      return `a list${range(schema.minItems, schema.maxItems, ' items')}${each}`
    }
    case 'object': {
      const required = schema.required ?? []
      return required.length === 0 ? 'an object' : `an object with ${required.join(' and ')}`
    }
    default:
      return 'any JSON value'
  }
}

/** ` from 1 to 9`; of what has a unit, ` of 1 to 9 items`. */
function range(least: number | undefined, most: number | undefined, unit = ''): string {
  const [from, to] = [bound(least), bound(most)]
  if (from === undefined && to === undefined) return ''
  if (from === undefined) return ` of at most ${to}${unit}`
  if (to === undefined) return from === '1' && unit !== '' ? ' that is not empty' : ` of at least ${from}${unit}`
  return ` ${unit === '' ? 'from' : 'of'} ${from} to ${to}${unit}`
}

/** Nobody needs to be told the limits of the numbers themselves. */
function bound(value: number | undefined): string | undefined {
  return value === undefined || Math.abs(value) === Number.MAX_SAFE_INTEGER ? undefined : value.toLocaleString('en-US')
}

/** What the schema library calls otherwise. */
const nouns: Partial<Record<string, string>> = { array: 'list', int: 'whole number', record: 'object' }

function article(type: string): string {
  const noun = nouns[type] ?? type
  return /^[aeio]/.test(noun) ? `an ${noun}` : `a ${noun}`
}

function shown(value: unknown): string {
  if (value === null) return 'null'
  if (Array.isArray(value)) return 'a list'
  if (typeof value === 'object') return 'an object'
  const text = typeof value === 'string' ? `"${value}"` : String(value)
  return text.length > 60 ? `${text.slice(0, 60)}…` : text
}
