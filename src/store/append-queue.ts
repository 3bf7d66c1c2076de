// Appends to one tape, in the order of the calls. Whatever waits while one write is under way goes out together in the next:
// the server then acknowledges once for all of them. Both engines that speak to a server use it.

import { ConflictError } from '../errors.ts'
import type { Prepared } from './draft.ts'
import type { Entry } from './entry.ts'
import type { Expect } from './store.ts'

export interface Batch {
  readonly prepared: readonly Prepared[]
  readonly expect: Expect | undefined
}

interface Append extends Batch {
  readonly resolve: (entries: Entry[]) => void
  readonly reject: (error: unknown) => void
}

export class AppendQueue {
  readonly #send: (batches: readonly Batch[]) => Promise<readonly (Entry[] | Error)[]>
  readonly #most: { entries: number; bytes: number }
  #waiting: Append[] = []
  #running: Promise<void> | undefined

  /** `send` writes a group and returns the answer to each of its batches; `most` bounds a group of several. */
  constructor(
    send: (batches: readonly Batch[]) => Promise<readonly (Entry[] | Error)[]>,
    most: { entries: number; bytes: number },
  ) {
    this.#send = send
    this.#most = most
  }

  get isIdle(): boolean {
    return this.#running === undefined
  }

  append(prepared: readonly Prepared[], expect: Expect | undefined): Promise<Entry[]> {
    return new Promise((resolve, reject) => {
      this.#waiting.push({ prepared, expect, resolve, reject })
      this.#running ??= this.#run()
    })
  }

  async settled(): Promise<void> {
    while (this.#running !== undefined) await this.#running
  }

  async #run(): Promise<void> {
    // All appends within one turn of the event loop share the first write.
    await Promise.resolve()
    while (this.#waiting.length > 0) {
      const group = this.#takeGroup()
      try {
        const answers = await this.#send(group)
        for (const [at, { resolve, reject }] of group.entries()) {
          const answer = answers[at]!
          if (answer instanceof Error) reject(answer)
          else resolve(answer)
        }
      } catch (error) {
        for (const { reject } of group) reject(error)
      }
    }
    // In the same breath as the last look: an append in between would wait for nobody.
    this.#running = undefined
  }

  #takeGroup(): Append[] {
    let [entries, bytes, size] = [0, 0, 0]
    for (const { prepared } of this.#waiting) {
      entries += prepared.length
      bytes += prepared.reduce((sum, one) => sum + one.bytes, 0)
      if (size > 0 && (entries > this.#most.entries || bytes > this.#most.bytes)) break
      size++
    }
    return this.#waiting.splice(0, size)
  }
}

/** What the expectations of an append are checked against. */
interface Standing {
  /** The first entry of the current segment, or of the one that will come. */
  readonly firstId: number
  readonly lastId: number
  /** The last entry with a key; 0 without one. */
  readonly newest: (key: string) => number
}

/** Why an expectation does not hold; undefined when it does. */
export function findConflict(
  tape: string,
  expect: Expect | undefined,
  { firstId, lastId, newest }: Standing,
): ConflictError | undefined {
  if (expect === undefined) return undefined
  const isWhole = typeof expect === 'number'
  if (!isWhole && isArchivedSince(expect, firstId)) return archivedSince(tape, expect.since!, firstId)
  const actual = isWhole ? lastId : newest(expect.key)
  return actual === (isWhole ? expect : expect.id) ? undefined : conflict(tape, expect, actual)
}

export function isArchivedSince(expect: Expect | undefined, firstId: number): boolean {
  return typeof expect === 'object' && expect.since !== undefined && expect.since < firstId - 1
}

export function archivedSince(tape: string, since: number, firstId: number): ConflictError {
  const message = `${tape} was archived up to entry ${firstId - 1}, which is behind ${since}`
  return new ConflictError(message, { expected: since, actual: firstId - 1 })
}

export function conflict(tape: string, expect: Expect, actual: number): ConflictError {
  if (typeof expect === 'number') {
    return new ConflictError(`${tape} is at entry ${actual}, not ${expect}`, { expected: expect, actual })
  }
  const message = `The last "${expect.key}" of ${tape} is entry ${actual}, not ${expect.id}`
  return new ConflictError(message, { expected: expect.id, actual })
}
