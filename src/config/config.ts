// `baton.config.json`: one file for the whole project, found upwards from where the caller is. Each room brings the
// schema of its section and reads only that section, so a mistake in one never stops another. A wrong value becomes a sentence.

import fs from 'node:fs'
import path from 'node:path'
import * as z from 'zod'
import { InvalidError, LimitError } from '../errors.ts'
import { configFile } from './project.ts'

/** The sections that something reads; any other is refused, since a setting without effect misleads. */
const sections = ['store', 'task', 'relay', 'agent', 'supervisor', 'transcripts', 'notify', 'telemetry'] as const

type SectionName = (typeof sections)[number]

export interface Config {
  /** The path of the file; undefined where there is none, and every section has its defaults. */
  readonly file: string | undefined
  /** Parses a section with its schema, which also fills in the defaults. */
  section<S extends z.ZodType>(name: SectionName, schema: S): z.output<S>
}

export function loadConfig(cwd: string = process.cwd()): Config {
  const file = findConfig(path.resolve(cwd))
  const content = file === undefined ? {} : readConfig(file)
  return {
    file,
    section: (name, schema) =>
      checked(z.object({ [name]: schema }), { [name]: content[name] ?? {} }, where(file))[name] as never,
  }
}

function where(file: string | undefined): string {
  return file ?? configFile
}

function findConfig(from: string): string | undefined {
  const file = path.join(from, configFile)
  if (fs.existsSync(file)) return file
  const parent = path.dirname(from)
  return parent === from ? undefined : findConfig(parent)
}

function readConfig(file: string): Record<string, unknown> {
  let content: unknown
  try {
    content = JSON.parse(fs.readFileSync(file, 'utf8'))
  } catch (error) {
    throw new InvalidError(`${file} cannot be read: ${(error as Error).message}`, { hint: 'It must be JSON.' })
  }
  const parsed = checked(z.record(z.string(), z.unknown()), content, file)
  const unknown = Object.keys(parsed).filter((name) => name !== '$schema' && !sections.some((each) => each === name))
  if (unknown.length > 0) {
    throw new InvalidError(`${file}: there is no section "${unknown[0]}"`, {
      path: unknown[0]!,
      hint: `The sections are ${sections.join(', ')}.`,
    })
  }
  return parsed
}

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

const dollars = z.number().nonnegative()

const price = z
  .strictObject({
    input: dollars.describe('of the prompt'),
    output: dollars.describe('of the answer'),
    cacheRead: dollars.optional().describe('of what is read from the cache'),
    cacheWrite: dollars.optional().describe('of what is written to the cache'),
  })
  .describe('dollars for a million tokens')

const model = z.strictObject({
  window: z.int().positive().optional().describe('tokens of its context window'),
  price: price.optional(),
})

/** As in `{ "models": { "my-model": { "window": 32000, "price": { "input": 1, "output": 2 } } } }`. */
export const transcriptsSection = z.strictObject({
  models: z
    .record(z.string(), model)
    .default({})
    .describe('models by name: what Baton does not know about them, or has wrong'),
})
