// Where a line goes that a person typed: `,name key=value` is a command on the tape, `/name rest` a command of the door,
// everything else is for the model. A space in front sends even a comma to the model. Only what people type comes here:
// the text that a model writes is never a command.

import { InvalidError } from '../errors.ts'
import { type Json, Reader } from './relaxed.ts'

export type Route =
  | { readonly to: 'command'; readonly name: string; readonly args: Arguments }
  | { readonly to: 'slash'; readonly name: string; readonly rest: string }
  | { readonly to: 'model'; readonly text: string }
  | { readonly to: 'nowhere' }

export interface Arguments {
  /** `key=value`. Plain values are text; `{…}` and `[…]` hold data. */
  readonly named: Readonly<Record<string, Json>>
  /** What stands without a key, in order. */
  readonly words: readonly string[]
}

const command = /^,([a-zA-Z][\w.-]*)(?=\s|$)/
const slash = /^\/([a-zA-Z][\w-]*)(?:\s+([\s\S]*))?$/
const key = /[a-zA-Z_][\w.-]*=/y

/** Throws `InvalidError` where a command is begun but cannot be read: a quote that never ends, say. */
export function route(input: string): Route {
  if (input.trim() === '') return { to: 'nowhere' }
  const named = command.exec(input)
  if (named !== null) return { to: 'command', name: named[1]!, args: argumentsIn(input, named[0].length) }
  const slashed = slash.exec(input.trimEnd())
  if (slashed !== null) return { to: 'slash', name: slashed[1]!, rest: slashed[2] ?? '' }
  return { to: 'model', text: input }
}

function argumentsIn(input: string, from: number): Arguments {
  const named: Record<string, Json> = {}
  const words: string[] = []
  const reader = new Reader(input, from)
  for (reader.skipSpace(); !reader.done; reader.skipSpace()) {
    key.lastIndex = reader.at
    const found = key.exec(input)?.[0]
    if (found === undefined) {
      words.push(reader.word())
      continue
    }
    const name = found.slice(0, -1)
    if (Object.hasOwn(named, name)) throw new InvalidError(`"${name}" is given twice`, { path: name })
    reader.at += found.length
    // Defined rather than assigned: `__proto__` is a name like any other.
    Object.defineProperty(named, name, { value: reader.argument(), enumerable: true })
  }
  return { named, words }
}
