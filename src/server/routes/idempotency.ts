// A write that is sent again with the same Idempotency-Key gets the answer of the first, for 24 hours and over restarts. An
// operation that can carry the key itself (an append) needs nothing else. For the others a tape of the day holds first that the
// work began and then what was answered, so that work a crash has cut off is not done twice behind the caller's back.

import { createHash } from 'node:crypto'
import { BatonError, UnknownOutcomeError } from '../../errors.ts'
import type { Store } from '../../store/index.ts'
import { HttpError } from '../http/problem.ts'

const prefix = 'server/answers-'
const dayMs = 24 * 60 * 60 * 1000

interface Answered {
  readonly status: number
  readonly body: string
}

interface Kept {
  /** Tells requests that differ apart. */
  readonly request: string
  readonly answer?: Answered
}

export class Answers {
  readonly #store: Store
  readonly #now: () => number
  /** Key: what is under way in this process. */
  readonly #running = new Map<string, { request: string; answer: Promise<Answered> }>()

  constructor(store: Store, now: () => number = Date.now) {
    this.#store = store
    this.#now = now
  }

  /** Answers once for a key; `request` must be the same each time. */
  async once(key: string, request: string, work: () => Promise<Answered>): Promise<Answered & { repeated: boolean }> {
    const running = this.#running.get(key)
    if (running !== undefined) {
      demandSame(running.request, request)
      return { ...(await running.answer), repeated: true }
    }
    let fresh = false
    const answer = (async () => {
      const kept = await this.#find(key)
      if (kept !== undefined) {
        demandSame(kept.request, request)
        if (kept.answer !== undefined) return kept.answer
        throw new UnknownOutcomeError('The first request with this key was cut off while it was at work', {
          hint: 'Look whether it took effect; then send it with another Idempotency-Key if it did not.',
        })
      }
      fresh = true
      await this.#keep(key, { request })
      const made = await work()
      await this.#keep(key, { request, answer: made })
      return made
    })()
    this.#running.set(key, { request, answer })
    try {
      return { ...(await answer), repeated: !fresh }
    } finally {
      this.#running.delete(key)
    }
  }

  async #find(key: string): Promise<Kept | undefined> {
    for (const day of [this.#now(), this.#now() - dayMs]) {
      const entry = await this.#store.latest(tapeOf(day), key)
      if (entry?.kind === 'event') return entry.payload.data as Kept
    }
    return undefined
  }

  async #keep(key: string, data: Kept): Promise<void> {
    const draft = { kind: 'event', payload: { name: 'answer', data }, meta: { key, context: false } }
    try {
      await this.#store.append(tapeOf(this.#now()), [draft])
    } catch (error) {
      // An answer beyond what an entry holds is not repeated: the caller is told so when it asks again.
      if (data.answer === undefined || !BatonError.is(error) || error.code !== 'limit') throw error
    }
  }

  /** Deletes what is older than a day. */
  async sweep(): Promise<void> {
    const oldest = tapeOf(this.#now() - dayMs)
    const old: string[] = []
    for await (const { tape } of this.#store.list(prefix)) if (tape < oldest) old.push(tape)
    for (const tape of old) {
      await this.#store.remove(tape)
      await this.#store.purge(tape)
    }
  }
}

function tapeOf(time: number): string {
  return prefix + new Date(time).toISOString().slice(0, 10)
}

export function fingerprint(...parts: readonly string[]): string {
  return createHash('sha256').update(JSON.stringify(parts)).digest('base64url').slice(0, 22)
}

export function demandSame(first: string | undefined, now: string): void {
  if (first === now) return
  throw new HttpError('key_reused', 'This Idempotency-Key was used for another request', {
    field: 'Idempotency-Key',
    hint: 'Use a new key for each request, and the same one only to repeat it.',
  })
}
