// Observes the agent of a session: what its observer sees reaches the mailbox, and the session's state when it is its turn.

import { Clock } from '../cycle/clock.ts'
import type { Observation } from '../observe/observation.ts'
import type { AgentHandle } from '../run.ts'
import { type LimitPatience, LimitWatch } from './limit-watch.ts'
import type { Mailbox } from './mailbox.ts'
import type { SessionState } from './session-state.ts'

export interface Observed {
  readonly observation: Observation
  /** The turn has just come to its end. */
  readonly isTurnOver: boolean
  /** A context has been left for another. */
  readonly isNewContext: boolean
}

export class Observing {
  readonly #session: SessionState
  readonly #mailbox: Mailbox
  readonly #signal: AbortSignal
  readonly #limitWatch = new LimitWatch()
  readonly #clock = new Clock()
  #watching: AbortController | undefined

  constructor(session: SessionState, mailbox: Mailbox, signal: AbortSignal) {
    this.#session = session
    this.#mailbox = mailbox
    this.#signal = signal
  }

  /** Observes and drives the agent through this handle from now on. */
  hold(handle: AgentHandle): void {
    this.letGo()
    const watching = new AbortController()
    this.#watching = watching
    this.#session.handle = handle
    this.#session.heldAt = Date.now()
    void this.#watch(handle, AbortSignal.any([watching.signal, this.#signal]))
  }

  letGo(): void {
    this.#watching?.abort()
  }

  async #watch(handle: AgentHandle, signal: AbortSignal): Promise<void> {
    try {
      for await (const observation of handle.observer.watch(signal)) {
        if (!signal.aborted)
          this.#mailbox.post({ type: 'observation', observation, handle }, ({ type }) => type === 'observation')
      }
    } catch (error) {
      if (!signal.aborted) this.#mailbox.post({ type: 'broken', error })
    }
  }

  /** Whether no limit holds the agent back, and no try to find that out is under way. */
  get isLimitOver(): boolean {
    return this.#limitWatch.isOver
  }

  /** Whether the agent is to keep trying now at its limit. */
  keepTrying(now: number): boolean {
    return this.#limitWatch.keepTrying(now, this.#patience)
  }

  get #patience(): LimitPatience {
    const { limitSeconds, errorSeconds } = this.#session.settings()
    return { graceMs: limitSeconds * 1000, backoffMs: errorSeconds * 1000 }
  }

  /** By how many milliseconds the clock of the machine was set since this was asked last. */
  leap(): number {
    return this.#clock.leap()
  }

  /** Takes what was seen into the session's state, or looks anew. Undefined before there is an agent. */
  async observe(seen?: {
    readonly observation: Observation
    readonly handle: AgentHandle
  }): Promise<Observed | undefined> {
    const { handle, observation: before } = this.#session
    if (handle === undefined) return undefined
    // An observation of an agent that has been replaced says nothing about the one that runs now.
    const isCurrent = seen !== undefined && seen.handle === handle
    const looked = isCurrent ? seen.observation : await handle.observer.observe()
    const observation = this.#limitWatch.apply(looked, this.#patience)
    const isNewContext = this.#session.update(observation)
    return { observation, isNewContext, isTurnOver: observation.turn === 'idle' && before?.turn !== 'idle' }
  }
}
