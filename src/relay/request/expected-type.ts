// The types that a request may expect of its missing inputs, as schemas to check provided inputs with. An unknown type is an error
// when the request is made; otherwise any value would pass when it is answered.

import * as z from 'zod'
import { InvalidError } from '../../errors.ts'
import { nearest } from '../../tape/index.ts'
import { plainJson } from '../schema.ts'

const builtIn: Readonly<Record<string, z.ZodType>> = {
  string: z.string(),
  text: z.string(),
  number: z.number(),
  integer: z.int(),
  boolean: z.boolean(),
  null: z.null(),
  object: z.record(z.string(), z.unknown()),
  array: z.array(z.unknown()),
  json: plainJson,
  any: plainJson,
  date: z.iso.date(),
  datetime: z.iso.datetime({ offset: true }),
  url: z.url(),
  email: z.email(),
  uuid: z.uuid(),
}

export type NamedTypes = Readonly<Record<string, boolean | Readonly<Record<string, unknown>>>>

/** Reads `string`, `integer[]`, `'yes' | 'no'`, `number | null`, or a name from the settings. */
export class ExpectedTypes {
  readonly #named: NamedTypes
  readonly #known = new Map<string, z.ZodType>()

  constructor(named: NamedTypes) {
    this.#named = named
  }

  /** `path` is the field that names the type, for the error. */
  get(type: string, path: string): z.ZodType {
    let schema = this.#known.get(type)
    if (schema === undefined) {
      schema = this.#parse(type, path)
      // Types also come from requests, so only so many are kept.
      if (this.#known.size >= 1_000) this.#known.clear()
      this.#known.set(type, schema)
    }
    return schema
  }

  #parse(type: string, path: string): z.ZodType {
    const alternatives = splitAlternatives(type)
    if (alternatives.length === 1) return this.#single(alternatives[0]!, type, path)
    return z.union(alternatives.map((one) => this.#single(one, type, path)))
  }

  #single(text: string, whole: string, path: string): z.ZodType {
    const type = text.trim()
    if (type.endsWith('[]')) return z.array(this.#single(type.slice(0, -2), whole, path))
    const literal = /^'([^']*)'$|^"([^"]*)"$/.exec(type)
    if (literal !== null) return z.literal(literal[1] ?? literal[2]!)
    if (Object.hasOwn(this.#named, type)) return fromJsonSchema(type, this.#named[type]!)
    if (Object.hasOwn(builtIn, type)) return builtIn[type]!
    const names = [...Object.keys(this.#named), ...Object.keys(builtIn)]
    const close = nearest(type, names)
    throw new InvalidError(`${path} asks for the type "${whole}", which is unknown`, {
      path,
      hint:
        close.length > 0
          ? `Did you mean ${close.join(', ')}?`
          : `Known are ${names.join(', ')}, TYPE[], A | B and 'a literal'.`,
    })
  }
}

/** Splits at each `|` that is not part of a literal. */
function splitAlternatives(type: string): string[] {
  return type.match(/(?:'[^']*'|"[^"]*"|[^|])+/g) ?? ['']
}

/** A type that the settings name; one that is not valid JSON Schema is an error in the settings. */
function fromJsonSchema(name: string, schema: NamedTypes[string]): z.ZodType {
  try {
    return z.fromJSONSchema(schema)
  } catch (cause) {
    throw new InvalidError(`relay.types.${name} is not a JSON Schema that can be used: ${(cause as Error).message}`, {
      path: `relay.types.${name}`,
      cause,
    })
  }
}
