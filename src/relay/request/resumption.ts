// Continuing with an answer. An answer resumes one agent, once: the agent holds it while it works, has used it up when the work is
// done, and gives it back when the work fails. If its process dies, the hold ends like any lease, and the next agent that
// asks gets it; an agent that asks meanwhile waits.

import { randomUUID } from 'node:crypto'
import { BatonError, CancelledError, ConflictError } from '../../errors.ts'
import { beginning } from '../clock.ts'
import { leaseLeft, type RelayContext } from '../context.ts'
import { expected, type Resumed, type Resuming, resumptionKey } from '../journal/events.ts'
import { keepLease, pause } from '../timers.ts'

interface Using {
  readonly requestId: string
  readonly by: string
  readonly signal?: AbortSignal | undefined
}

interface Newest {
  /** What the next entry expects, see `expected`. */
  readonly id: number
  readonly date: string
  readonly event: Resuming | Resumed | undefined
}

export class Resumptions {
  readonly #context: RelayContext

  constructor(context: RelayContext) {
    this.#context = context
  }

  /** Uses up the answer to a request: the first caller gets it, any other a conflict. */
  async use({ requestId, by, signal }: Using): Promise<void> {
    await this.#take({ requestId, by, signal }, () => ({ type: 'resumed', requestId, by }))
  }

  /** Holds the answer during the work and uses it up at the end; if the work fails, the answer is given back. */
  async hold<T>(using: Using, work: () => Promise<T>): Promise<T> {
    const { requestId, by } = using
    const token = randomUUID()
    const holding = (): Resuming => {
      const hold = {
        token,
        worker: this.#context.self,
        leaseMs: this.#context.settings.leaseMs,
        ...beginning(this.#context),
      }
      return { type: 'resuming', requestId, by, hold }
    }
    let head = await this.#take(using, holding)
    /** False when another agent holds the answer by now. */
    const write = async (event: () => Resuming | Resumed): Promise<boolean> => {
      for (;;) {
        const id = await this.#append(event(), head)
        if (id !== undefined) {
          head = id
          return true
        }
        const newest = await this.#newest(requestId)
        if (newest.event?.type !== 'resuming' || newest.event.hold?.token !== token) return false
        head = newest.id
      }
    }
    const stop = keepLease(
      this.#context.settings.leaseMs,
      () => write(holding),
      () => {},
    )
    let result: T
    try {
      result = await work()
    } catch (error) {
      stop()
      // When this cannot be written, the hold ends with its lease.
      await write(() => ({ type: 'resuming', requestId, by })).catch(() => {})
      throw error
    }
    stop()
    if (!(await write(() => ({ type: 'resumed', requestId, by })))) throw used(requestId, await this.#newest(requestId))
    return result
  }

  /** Waits until the answer is free and takes it; returns the entry that says so. */
  async #take({ requestId, signal }: Using, event: () => Resuming | Resumed): Promise<number> {
    let seen = { id: 0, at: 0 }
    for (;;) {
      if (signal?.aborted === true) throw new CancelledError(`No longer waiting for the answer to ${requestId}`)
      const newest = await this.#newest(requestId)
      if (newest.event?.type === 'resumed') throw used(requestId, newest)
      if (seen.id !== newest.id) seen = { id: newest.id, at: this.#context.monotonic() }
      const left =
        newest.event?.hold === undefined ? 0 : leaseLeft(this.#context, { ...newest.event.hold, seen: seen.at })
      if (left > 0) await pause(left, signal)
      else {
        const id = await this.#append(event(), newest.id)
        if (id !== undefined) return id
      }
    }
  }

  async #newest(requestId: string): Promise<Newest> {
    const { journal } = this.#context
    await journal.segment()
    const { archived } = journal.openRequests
    const newest = await journal.newest('resumed', requestId)
    if (newest === undefined) return { id: -archived, date: '', event: undefined }
    return { id: newest.head, date: newest.entry.date, event: newest.event as Resuming | Resumed }
  }

  /** Undefined if another process wrote first. */
  async #append(event: Resuming | Resumed, head: number): Promise<number | undefined> {
    try {
      const [entry] = await this.#context.journal.append([event], expected(resumptionKey(event.requestId), head))
      return entry!.id
    } catch (error) {
      if (BatonError.is(error) && error.code === 'conflict') return undefined
      throw error
    }
  }
}

function used(requestId: string, { id, date, event }: Newest): ConflictError {
  return new ConflictError(`The answer to ${requestId} was used by ${event?.by} on ${date}`, {
    actual: id,
    hint: 'An answer resumes one agent, once; look at it with "baton relay status".',
  })
}
