// Reads a session from where the last reading stopped: its facts line by line, with a cursor to continue from. Whether the file
// is still the same is decided by a checksum of its beginning and of the bytes right before the cursor.

import { createHash } from 'node:crypto'
import fs from 'node:fs'
import {
  type Agent,
  type Fact,
  fields,
  type Fields,
  isFields,
  type Parser,
  type SessionFile,
  text,
} from '../agents/index.ts'
import { type Line, linesOf } from './lines.ts'

/** Plain JSON. */
export interface Cursor {
  readonly offset?: number
  readonly line?: number
  readonly check?: string
  /** The last record that was read, for sessions that are not kept as lines. */
  readonly after?: string
  readonly memory: Fields
}

export interface ReadStep {
  readonly facts: readonly Fact[]
  /** The size of the line, as an upper bound for its facts. */
  readonly bytes: number
}

/** A file that has not changed for so many milliseconds is considered complete. */
const settled = 60_000

export class TranscriptReader {
  readonly file: SessionFile
  readonly #parser: Parser
  readonly #agent: Agent
  #offset: number
  #line: number
  #after: string | undefined
  readonly #fd: number | undefined
  readonly #limit: number | undefined

  /** Continues from the cursor; check `isSame` first. `limit`: reads as if the file ended at that offset. */
  constructor(agent: Agent, file: SessionFile, cursor?: Cursor, limit?: number) {
    this.file = file
    this.#agent = agent
    this.#parser = agent.parser(cursor === undefined ? undefined : structuredClone(cursor.memory))
    this.#offset = cursor?.offset ?? 0
    this.#line = cursor?.line ?? 0
    this.#after = cursor?.after
    this.#limit = limit
    this.#fd = isRecords(agent, file) ? undefined : fs.openSync(file.path, 'r')
  }

  *steps(): Generator<ReadStep> {
    if (this.#fd === undefined) {
      yield* this.#records()
      return
    }
    const start = this.#line
    for (const line of linesOf(this.#fd, this.#offset, this.#limit)) {
      const facts = factsOf(this.#parser, line, this.file.path, start + line.number)
      this.#offset = line.end
      this.#line = start + line.number
      yield { facts, bytes: line.end - line.offset }
    }
    // While the file is being written, the lines that the parser waits for may still come.
    if (this.#limit !== undefined || Date.now() - this.file.changed < settled) return
    const facts = this.#parser.rest?.() ?? []
    if (facts.length > 0) yield { facts, bytes: 0 }
  }

  *#records(): Generator<ReadStep> {
    const after = this.#after ?? ''
    for (const { value, place } of this.#agent.records!(this.file, after)) {
      if (place !== '' && place <= after) continue
      const facts = this.#parser.facts(value)
      if (place !== '') this.#after = place
      yield { facts, bytes: JSON.stringify(value).length }
    }
  }

  /** Where the next reading continues: after the last step that was taken. */
  get cursor(): Cursor {
    const memory = structuredClone(this.#parser.memory)
    if (this.#fd === undefined) return { ...(this.#after === undefined ? {} : { after: this.#after }), memory }
    return { offset: this.#offset, line: this.#line, check: checksum(this.#fd, this.#offset), memory }
  }

  close(): void {
    if (this.#fd !== undefined) fs.closeSync(this.#fd)
  }
}

function isRecords(agent: Agent, file: SessionFile): boolean {
  return agent.recordsNotLines?.(file.path) === true
}

/** Whether the file up to the cursor is the one that was read. */
export function isSame(agent: Agent, file: SessionFile, cursor: Cursor): boolean {
  if (isRecords(agent, file)) return true
  const { offset = 0 } = cursor
  const fd = fs.openSync(file.path, 'r')
  try {
    return fs.fstatSync(fd).size >= offset && checksum(fd, offset) === text(cursor.check)
  } finally {
    fs.closeSync(fd)
  }
}

const checked = 512

function checksum(fd: number, offset: number): string {
  const head = Buffer.alloc(Math.min(checked, offset))
  const tail = Buffer.alloc(Math.min(checked, offset))
  fs.readSync(fd, head, 0, head.length, 0)
  fs.readSync(fd, tail, 0, tail.length, offset - tail.length)
  return createHash('sha256').update(head).update(tail).digest('hex').slice(0, 16)
}

/** The facts of a line. A line that is not a JSON object is reported as damage, and reading continues after it. */
function factsOf(parser: Parser, line: Line, file: string, number = line.number): Fact[] {
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
