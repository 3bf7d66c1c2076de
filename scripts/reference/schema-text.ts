// JSON schemas in words: what a field takes, as one reads it in TypeScript, and the fields of an object one by one.

import * as z from 'zod'

/** What is read of a JSON schema. */
export interface Schema {
  readonly type?: string | readonly string[]
  readonly description?: string
  readonly default?: unknown
  readonly const?: unknown
  readonly enum?: readonly unknown[]
  readonly items?: Schema | false
  readonly prefixItems?: readonly Schema[]
  readonly properties?: Readonly<Record<string, Schema>>
  readonly required?: readonly string[]
  readonly additionalProperties?: Schema | boolean
  readonly anyOf?: readonly Schema[]
  readonly oneOf?: readonly Schema[]
  readonly allOf?: readonly Schema[]
  readonly $ref?: string
  readonly $defs?: Readonly<Record<string, Schema>>
  readonly minimum?: number
  readonly maximum?: number
  readonly exclusiveMinimum?: number
  readonly exclusiveMaximum?: number
}

export function schemaOf(schema: z.ZodType, io: 'input' | 'output'): Schema {
  return z.toJSONSchema(schema, { io, unrepresentable: 'any', reused: 'inline' }) as Schema
}

/** As TypeScript writes it; objects below `depth` levels are only named, and what lies deeper has no bounds. */
export function typeText(schema: Schema, depth = 3): string {
  if (schema.const !== undefined) return JSON.stringify(schema.const)
  if (schema.enum !== undefined) return schema.enum.map((each) => JSON.stringify(each)).join(' | ')
  const choices = schema.anyOf ?? schema.oneOf
  if (choices !== undefined) return [...new Set(choices.map((each) => typeText(each, depth)))].join(' | ')
  if (schema.allOf !== undefined) return schema.allOf.map((each) => typeText(each, depth)).join(' & ')
  if (schema.type === 'array') return arrayText(schema, depth)
  if (schema.type === 'object') return objectText(schema, depth)
  if (schema.type === 'integer') return `whole number${boundsText(schema)}`
  if (schema.type === 'number') return `number${boundsText(schema)}`
  if (schema.type === undefined) return schema.$ref === undefined ? 'any JSON' : 'the same again'
  return typeof schema.type === 'string' ? schema.type : schema.type.join(' | ')
}

function arrayText({ items, prefixItems }: Schema, depth: number): string {
  if (prefixItems !== undefined) return `[${prefixItems.map((each) => typeText(each, depth)).join(', ')}]`
  const item = items === undefined || items === false ? 'any JSON' : typeText(items, depth)
  return /[ |&]/.test(item) && !item.startsWith('{') ? `(${item})[]` : `${item}[]`
}

function objectText({ properties, required = [], additionalProperties }: Schema, depth: number): string {
  const fields = Object.entries(properties ?? {})
  if (fields.length === 0) {
    return typeof additionalProperties === 'object' ? `{ NAME: ${typeText(additionalProperties, depth)} }` : 'object'
  }
  if (depth === 0) return 'object'
  const inner = fields.map(([name, each]) => {
    const mark = required.includes(name) ? '' : '?'
    return `${name}${mark}: ${typeText(each, depth - 1)}`
  })
  return `{ ${inner.join('; ')} }`
}

function boundsText({ type, minimum, maximum, exclusiveMinimum, exclusiveMaximum }: Schema): string {
  // The largest whole number of the language bounds nothing.
  const meant = (bound: number | undefined) => bound !== undefined && Math.abs(bound) !== Number.MAX_SAFE_INTEGER
  const low = exclusiveMinimum === 0 && type === 'integer' ? { at: 1 } : meant(minimum) ? { at: minimum } : undefined
  const words = [
    low === undefined ? '' : `at least ${low.at}`,
    low === undefined && meant(exclusiveMinimum) ? `more than ${exclusiveMinimum}` : '',
    meant(maximum) ? `at most ${maximum}` : '',
    meant(exclusiveMaximum) ? `less than ${exclusiveMaximum}` : '',
  ].filter((each) => each !== '')
  return words.length === 0 ? '' : `, ${words.join(', ')}`
}
