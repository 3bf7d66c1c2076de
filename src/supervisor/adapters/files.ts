// Settings of the agents themselves, read where they lie and never written.

import fs from 'node:fs'

type Fields = Readonly<Record<string, unknown>>

/** An object within a file of JSON; empty where there is none. */
export function fieldsIn(file: string, ...path: readonly string[]): Fields {
  let value: unknown
  try {
    value = JSON.parse(fs.readFileSync(file, 'utf8'))
  } catch {
    return {}
  }
  for (const name of path) value = (value as Fields | undefined)?.[name]
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Fields) : {}
}
