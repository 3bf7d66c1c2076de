// Requests that killed the workers that took them. Each ended as failed, with what was seen, and is kept until somebody tries it
// again or drops it.

import { BatonError, NotFoundError } from '../../errors.ts'
import { beginning } from '../clock.ts'
import { iso, type RelayContext } from '../context.ts'
import { expected, requestKey } from '../journal/events.ts'
import type { DeadLetter } from '../journal/open-requests.ts'

export class DeadLetters {
  readonly #context: RelayContext
  readonly #sweep: () => Promise<void>

  /** `sweep` finds those whose last worker has died since. */
  constructor(context: RelayContext, sweep: () => Promise<void>) {
    this.#context = context
    this.#sweep = sweep
  }

  /** The oldest first. */
  async list(): Promise<DeadLetter[]> {
    await this.#sweep()
    return [...(await this.#context.journal.current()).deadLetters.values()]
  }

  async #find(requestId: string): Promise<DeadLetter> {
    const letter = (await this.#context.journal.current()).deadLetters.get(requestId)
    if (letter !== undefined) return letter
    throw new NotFoundError(`${requestId} is not a dead letter`, { hint: 'See "baton relay dead".' })
  }

  /** Puts it back into its inbox, under its id and with a new deadline. */
  async retry(requestId: string, { by }: { by: string }): Promise<void> {
    const { journal, settings } = this.#context
    for (;;) {
      await journal.current()
      const { archived } = journal.openRequests
      const { traceId, from, to, priority, entry } = await this.#find(requestId)
      const { request } = await journal.envelope(entry)
      const { at, steady } = beginning(this.#context)
      const deadline = iso(at + (request.timeoutMs ?? settings.limits.handoffTimeoutMs))
      const newest = await journal.latest(requestKey(requestId))
      const about = { requestId, traceId, request: entry, from, to, priority }
      try {
        const expect = expected(requestKey(requestId), newest?.id ?? -archived)
        await journal.append([{ type: 'retried', ...about, by, acceptedAt: iso(at), steady, deadline }], expect)
        return
      } catch (error) {
        if (!BatonError.is(error) || error.code !== 'conflict') throw error
      }
    }
  }

  /** Takes it off the list; what happened stays in the history. */
  async drop(requestId: string, { by }: { by: string }): Promise<void> {
    const { traceId } = await this.#find(requestId)
    await this.#context.journal.append([{ type: 'dropped', requestId, traceId, by }])
  }
}
