// `baton.config.json`: one file for the whole project, found upwards from where the caller is. Each room brings the
// schema of its section and reads only that section, so a mistake in one never stops another.

import fs from 'node:fs'
import path from 'node:path'
import * as z from 'zod'
import { InvalidError } from '../errors.ts'
import { configFile } from './project.ts'
import { checked } from './validate.ts'

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
