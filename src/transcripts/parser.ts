// One agent's dialect: lines in, facts out. What a parser has to remember between two lines is a plain value, so that an
// import can go on later where it stopped.

import type { Fact } from './fact.ts'
import { fields, type Fields, isFields } from './fields.ts'
import type { Line } from './lines.ts'

export interface Parser {
  /** Facts of one parsed line. */
  facts(line: Fields): Fact[]
  /** Facts that it held back for a line which will not come any more. */
  rest?(): Fact[]
  /** What it remembers, as JSON. */
  readonly memory: Fields
}

export type MakeParser = (memory?: Fields) => Parser

/** The facts of a line; one that is no JSON object is damage, and reading goes on behind it. */
export function factsOf(parser: Parser, line: Line, file: string, number = line.number): Fact[] {
  if (line.text.trim() === '') return []
  let value: unknown
  try {
    value = JSON.parse(line.text)
  } catch (error) {
    return [damaged(line, file, number, (error as Error).message)]
  }
  if (!isFields(value)) return [damaged(line, file, number, 'not a JSON object')]
  return parser.facts(fields(value))
}

function damaged(line: Line, file: string, number: number, message: string): Fact {
  const damage = { file, line: number, offset: line.offset, bytes: line.end - line.offset, message }
  return { type: 'damaged', damage }
}
