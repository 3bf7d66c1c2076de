// Reads a session from where it was left: its facts line by line, and with each the place to go on from. Whether the file
// is still the one that was being read is told by a checksum of its beginning and of what lies right before that place.

import { createHash } from 'node:crypto'
import fs from 'node:fs'
import type { Agent, SessionFile } from './agent.ts'
import type { Fact } from './fact.ts'
import { type Fields, text } from './fields.ts'
import { linesOf } from './lines.ts'
import { factsOf, type Parser } from './parser.ts'

/** Plain JSON. */
export interface Cursor {
  readonly offset?: number
  readonly line?: number
  readonly check?: string
  /** For sessions that are not kept as lines. */
  readonly after?: string
  readonly memory: Fields
}

export interface Step {
  readonly facts: readonly Fact[]
  /** Size of the line, as a measure of what its facts hold. */
  readonly bytes: number
}

/** Milliseconds after which a file that has not changed is taken for whole. */
const settled = 60_000

export class Reading {
  readonly file: SessionFile
  readonly #parser: Parser
  readonly #agent: Agent
  #offset: number
  #line: number
  #after: string | undefined
  readonly #fd: number | undefined
  readonly #limit: number | undefined

  /** Goes on from the cursor. Check `isSame` first if there is one. `limit`: as if the file ended there. */
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

  *steps(): Generator<Step> {
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
    // While the file is being written, what a line waits for may still come.
    if (this.#limit !== undefined || Date.now() - this.file.changed < settled) return
    const facts = this.#parser.rest?.() ?? []
    if (facts.length > 0) yield { facts, bytes: 0 }
  }

  *#records(): Generator<Step> {
    const after = this.#after ?? ''
    for (const { value, place } of this.#agent.records!(this.file, after) ?? []) {
      if (place !== '' && place <= after) continue
      const facts = this.#parser.facts(value)
      if (place !== '') this.#after = place
      yield { facts, bytes: JSON.stringify(value).length }
    }
  }

  /** Where the next reading goes on: behind the last step that was taken. */
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
  return agent.name === 'opencode' || /\.(json|zst)$/.test(file.path)
}

/** Whether the file still begins and goes on as it did when the cursor was made. */
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
