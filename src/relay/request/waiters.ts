// Callers that wait for an answer, in the process that made the request or in another. One listener serves them all.

import { CancelledError } from '../../errors.ts'
import type { Answers } from './answers.ts'
import type { RequestChange } from '../journal/open-requests.ts'
import type { RelayContext } from '../context.ts'
import { asProgress, type HandoffProgress, type HandoffQuestion } from '../journal/status.ts'
import type { Answered } from '../journal/events.ts'
import { after, onAbort } from '../timers.ts'

export type Settled =
  | { readonly type: 'answered'; readonly answer: Answered }
  | { readonly type: 'escalated'; readonly escalation: string }

export interface WaitOptions {
  readonly signal?: AbortSignal | undefined
  /** Whether to keep waiting when a person is asked. */
  readonly forPeople: boolean
}

/** The callbacks for what a worker reports about a request. */
export interface Told {
  readonly onProgress?: ((progress: HandoffProgress) => void) | undefined
  /** Called with each question that the worker asks back. */
  readonly onQuestion: (question: HandoffQuestion) => void
}

/**
 * Collects what workers report about a request. It begins before the request is handed over, because a worker may be faster than the
 * acknowledgement, and keeps the reports until the callbacks are known: the id may turn out to be that of another request.
 */
export class Hearing {
  #kept: Extract<RequestChange, { type: 'progress' | 'question' }>[] = []
  #told: Told | undefined
  readonly stop: () => void

  constructor(listen: (listener: (change: RequestChange) => void) => () => void) {
    this.stop = listen((change) => this.#hear(change))
  }

  tell(told: Told): void {
    this.#told = told
    for (const change of this.#kept.splice(0)) this.#hear(change)
  }

  #hear(change: RequestChange): void {
    if (change.type === 'progress' || change.type === 'question') {
      if (this.#told === undefined) this.#kept.push(change)
      else if (change.type === 'progress') this.#told.onProgress?.(asProgress(change.progress))
      else this.#told.onQuestion(change.question)
    } else if (change.type === 'reply' || change.type === 'answered') {
      // Nobody waits for a reply to the question any more.
      this.#kept = this.#kept.filter(({ type }) => type === 'progress')
    }
  }
}

export class Waiters {
  readonly #context: RelayContext
  readonly #answers: Answers
  readonly #waiters = new Map<string, Set<(change: RequestChange) => void>>()
  #stopLooking: (() => void) | undefined

  constructor(context: RelayContext, answers: Answers) {
    this.#context = context
    this.#answers = answers
    context.journal.openRequests.listen((change) => {
      if (change.type === 'waiting') return
      if (change.type === 'reloaded') return context.inBackground(this.#lookAgain())
      for (const listener of this.#waiters.get(change.requestId) ?? []) listener(change)
    })
  }

  /** Finds the answers that came while everything was read again. */
  async #lookAgain(): Promise<void> {
    const { byId } = this.#context.journal.openRequests
    for (const [requestId, listeners] of this.#waiters) {
      if (byId.has(requestId)) continue
      const newest = await this.#context.journal.newestOf(requestId)
      if (newest?.event.type !== 'answered') continue
      for (const listener of listeners)
        listener({ type: 'answered', requestId, answer: newest.event, entry: newest.entry })
    }
  }

  /** Resolves when the request is answered, or when a person is asked. A timer of its own ends the request when it is overdue. */
  async settled(requestId: string, options: WaitOptions): Promise<Settled> {
    const { journal } = this.#context
    const { broken, stop } = await journal.follow()
    try {
      // What another process wrote may not have been folded in yet.
      const open = journal.openRequests.byId.get(requestId) ?? (await journal.current()).byId.get(requestId)
      if (open === undefined) return { type: 'answered', answer: await this.#answers.settled(requestId) }
      if (options.signal?.aborted === true) throw noLonger(requestId)
      const { escalation } = open
      if (escalation !== undefined && !options.forPeople) return { type: 'escalated', escalation }
      const left = this.#answers.timeLeft(open)
      const settled = await this.#wait(requestId, { ...options, left, broken })
      return settled.type === 'answered' ? { ...settled, answer: await journal.whole(settled.answer) } : settled
    } finally {
      stop()
    }
  }

  /** Until it is stopped. */
  hear(requestId: string): Hearing {
    return new Hearing((listener) => this.#listen(requestId, listener))
  }

  #listen(requestId: string, listener: (change: RequestChange) => void): () => void {
    const waiters = this.#waiters.get(requestId) ?? new Set()
    this.#waiters.set(requestId, waiters.add(listener))
    this.#stopLooking ??= this.#lookSoon()
    return () => {
      waiters.delete(listener)
      if (waiters.size === 0 && this.#waiters.get(requestId) === waiters) this.#waiters.delete(requestId)
      if (this.#waiters.size > 0) return
      this.#stopLooking?.()
      this.#stopLooking = undefined
    }
  }

  /** Once in a lease, looks for requests that killed their last worker: if no other worker comes, nobody else would find out. */
  #lookSoon(): () => void {
    return after(this.#context.settings.leaseMs, () => {
      const { byId } = this.#context.journal.openRequests
      const open = [...this.#waiters.keys()].flatMap((requestId) => byId.get(requestId) ?? [])
      this.#context.inBackground(this.#answers.buryForsaken(open))
      this.#stopLooking = this.#lookSoon()
    })
  }

  /** Reports to the observer that a caller has the answer of a person. */
  async reportResumed({ request: entry, response, durationMs, escalation }: Answered): Promise<void> {
    if (escalation === undefined) return
    const envelope = await this.#context.journal.envelope(entry)
    this.#context.observer.resumed({ ...envelope, response, durationMs, escalation })
  }

  #wait(
    requestId: string,
    { signal, forPeople, left, broken }: WaitOptions & { left: number | undefined; broken: AbortSignal },
  ): Promise<Settled> {
    return new Promise((resolve, reject) => {
      const finish = (end: () => void) => {
        for (const stop of stops) stop()
        end()
      }
      const listener = (change: RequestChange) => {
        if (change.type === 'answered') finish(() => resolve(change))
        else if (change.type === 'escalated' && !forPeople) finish(() => resolve(change))
      }
      const cancel = () => finish(() => reject(noLonger(requestId)))
      const fail = () => finish(() => reject(broken.reason as Error))
      // A wall clock that jumps must neither end the wait nor make it endless: this timer runs by another one.
      const timeOut = () => this.#answers.timeOut(requestId).catch((error: unknown) => finish(() => reject(error)))
      const stops = [this.#listen(requestId, listener)]
      if (left !== undefined) stops.push(after(left, () => void timeOut()))
      stops.push(onAbort(signal, cancel), onAbort(broken, fail))
    })
  }
}

function noLonger(requestId: string): CancelledError {
  return new CancelledError(`No longer waiting for the answer to ${requestId}`)
}
