// Those who wait for an answer, in the process that asked or in another one. One listener serves them all.

import { CancelledError } from '../errors.ts'
import type { Answers } from './answers.ts'
import type { Change } from './board.ts'
import type { Desk } from './desk.ts'
import type { Answered } from './record.ts'
import { onAbort } from './on-abort.ts'
import { after } from './timer.ts'

export type Settled =
  | { readonly type: 'answered'; readonly answer: Answered }
  | { readonly type: 'escalated'; readonly escalation: string }

export interface WaitOptions {
  readonly signal?: AbortSignal | undefined
  /** Whether to go on waiting when a person is asked. */
  readonly forPeople: boolean
}

export class Waiting {
  readonly #desk: Desk
  readonly #answers: Answers
  readonly #waiters = new Map<string, Set<(change: Change) => void>>()

  constructor(desk: Desk, answers: Answers) {
    this.#desk = desk
    this.#answers = answers
    desk.journal.board.listen((change) => {
      if (change.type === 'waiting') return
      for (const tell of this.#waiters.get(change.requestId) ?? []) tell(change)
    })
  }

  /** Resolves when the request is answered, or when a person is asked. Its own clock ends it in time. */
  async settled(requestId: string, options: WaitOptions): Promise<Settled> {
    const { journal } = this.#desk
    const { broken, stop } = await journal.follow()
    try {
      const open = journal.board.open.get(requestId)
      if (open === undefined) return { type: 'answered', answer: await this.#answers.settled(requestId) }
      if (options.signal?.aborted === true) throw noLonger(requestId)
      const { escalation, at, deadline } = open
      if (escalation !== undefined && !options.forPeople) return { type: 'escalated', escalation }
      const left = deadline === undefined ? undefined : Math.min(deadline - at, deadline - this.#desk.now())
      return await this.#wait(requestId, { ...options, left, broken })
    } finally {
      stop()
    }
  }

  /** Whoever waited for a person has the answer. */
  async tellResumed({ requestId, request: entry, response, durationMs, escalation }: Answered): Promise<void> {
    if (escalation === undefined) return
    const { request, traceparent } = await this.#desk.journal.envelope(entry)
    this.#desk.observer.resumed({ requestId, request, response, durationMs, traceparent, escalation })
  }

  #wait(
    requestId: string,
    { signal, forPeople, left, broken }: WaitOptions & { left: number | undefined; broken: AbortSignal },
  ): Promise<Settled> {
    return new Promise((resolve, reject) => {
      const finish = (end: () => void) => {
        waiters.delete(tell)
        if (waiters.size === 0) this.#waiters.delete(requestId)
        for (const stop of stops) stop()
        end()
      }
      const tell = (change: Change) => {
        if (change.type === 'answered') finish(() => resolve(change))
        else if (change.type === 'escalated' && !forPeople) finish(() => resolve(change))
      }
      const cancel = () => finish(() => reject(noLonger(requestId)))
      const fail = () => finish(() => reject(broken.reason as Error))
      const waiters = this.#waiters.get(requestId) ?? new Set()
      this.#waiters.set(requestId, waiters.add(tell))
      // A wall clock that jumps must neither end the wait nor make it endless: this timer runs by another one.
      const timeOut = () => this.#answers.timeOut(requestId).catch((error: unknown) => finish(() => reject(error)))
      const stops: (() => void)[] = []
      if (left !== undefined) stops.push(after(left, () => void timeOut()))
      stops.push(onAbort(signal, cancel), onAbort(broken, fail))
    })
  }
}

function noLonger(requestId: string): CancelledError {
  return new CancelledError(`No longer waiting for the answer to ${requestId}`)
}
