// Going on with an answer. It resumes one agent, once: whoever works with it holds it, has used it up when the work is
// done, and gives it back when the work fails. If the process dies, the hold ends like any lease, and the next one that
// asks goes on; who asks meanwhile waits.

import { randomUUID } from 'node:crypto'
import { BatonError, CancelledError, ConflictError } from '../errors.ts'
import type { Desk } from './desk.ts'
import { beating } from './heartbeat.ts'
import { factIn, type Hold, type Resumed, type Resuming, resumptionKey } from './record.ts'
import { pause } from './timer.ts'

interface Using {
  readonly requestId: string
  readonly by: string
  readonly signal?: AbortSignal | undefined
}

interface Newest {
  readonly id: number
  readonly date: string
  readonly fact: Resuming | Resumed | undefined
}

export class Resumptions {
  readonly #desk: Desk

  constructor(desk: Desk) {
    this.#desk = desk
  }

  /** Uses the answer of a request up: the first gets it, any other a conflict. */
  async use({ requestId, by, signal }: Using): Promise<void> {
    await this.#take({ requestId, by, signal }, () => ({ type: 'resumed', requestId, by }))
  }

  /** Holds it while the work is done, which uses it up; a failure gives it back. */
  async hold<T>(using: Using, work: () => Promise<T>): Promise<T> {
    const { requestId, by } = using
    const token = randomUUID()
    const holding = (): Resuming => {
      const hold = { token, worker: this.#desk.self, leaseMs: this.#desk.settings.leaseMs, at: this.#desk.now() }
      return { type: 'resuming', requestId, by, hold }
    }
    let head = await this.#take(using, holding)
    /** False when somebody else has it by now. */
    const write = async (fact: () => Resuming | Resumed): Promise<boolean> => {
      for (;;) {
        const id = await this.#append(fact(), head)
        if (id !== undefined) {
          head = id
          return true
        }
        const newest = await this.#newest(requestId)
        if (newest.fact?.type !== 'resuming' || newest.fact.hold?.token !== token) return false
        head = newest.id
      }
    }
    const stop = beating(
      this.#desk.settings.leaseMs,
      () => write(holding),
      () => {},
    )
    let result: T
    try {
      result = await work()
    } catch (error) {
      stop()
      // Where that cannot be written, the hold ends with its lease.
      await write(() => ({ type: 'resuming', requestId, by })).catch(() => {})
      throw error
    }
    stop()
    if (!(await write(() => ({ type: 'resumed', requestId, by })))) throw used(requestId, await this.#newest(requestId))
    return result
  }

  /** The entry that now says whose it is. */
  async #take({ requestId, signal }: Using, fact: () => Resuming | Resumed): Promise<number> {
    let seen = { id: 0, at: 0 }
    for (;;) {
      if (signal?.aborted === true) throw new CancelledError(`No longer waiting for the answer to ${requestId}`)
      const newest = await this.#newest(requestId)
      if (newest.fact?.type === 'resumed') throw used(requestId, newest)
      if (seen.id !== newest.id) seen = { id: newest.id, at: this.#desk.monotonic() }
      const left = newest.fact?.hold === undefined ? 0 : this.#left(newest.fact.hold, seen.at)
      if (left > 0) await pause(left, signal)
      else {
        const id = await this.#append(fact(), newest.id)
        if (id !== undefined) return id
      }
    }
  }

  /** By the wall clock, or since it was seen, whichever is less: a clock that jumps keeps nothing for ever. */
  #left({ at, leaseMs }: Hold, seen: number): number {
    const { now, monotonic } = this.#desk
    return Math.min(at + leaseMs - now(), seen + leaseMs - monotonic())
  }

  async #newest(requestId: string): Promise<Newest> {
    const entry = await this.#desk.journal.latest(resumptionKey(requestId))
    if (entry === undefined) return { id: 0, date: '', fact: undefined }
    return { id: entry.id, date: entry.date, fact: factIn(entry) as Resuming | Resumed }
  }

  /** Undefined if somebody else wrote first. */
  async #append(fact: Resuming | Resumed, head: number): Promise<number | undefined> {
    try {
      const [entry] = await this.#desk.journal.append([fact], { key: resumptionKey(fact.requestId), id: head })
      return entry!.id
    } catch (error) {
      if (BatonError.is(error) && error.code === 'conflict') return undefined
      throw error
    }
  }
}

function used(requestId: string, { id, date, fact }: Newest): ConflictError {
  return new ConflictError(`The answer to ${requestId} was used by ${fact?.by} on ${date}`, {
    actual: id,
    hint: 'An answer resumes one agent, once; look at it with "baton relay status".',
  })
}
