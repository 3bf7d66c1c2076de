// How many cycles run at a time, over all supervisors of a workspace: each takes a slot, a lease of its own, and the
// beginnings are staggered. A slot whose holder dies is free again.

import { BatonError } from '../../errors.ts'
import type { Store } from '../../store/index.ts'
import { acquire, type Lease } from '../session/records/lease.ts'

/** No session has this name. */
const slotsTape = 'session/~cycles'

export class Slots {
  readonly #store: Store
  /** Slots that sessions of this process hold: the leases distinguish processes, not the sessions within one. */
  readonly #taken = new Set<number>()
  /** Slots that the tape may call this process's although no session of it holds them: writing failed. */
  readonly #unsure = new Set<number>()
  #last = 0

  constructor(store: Store) {
    this.#store = store
  }

  /** Undefined where none is free, or the last cycle began a moment ago. */
  async take(concurrency: number, staggerMs: number, now = Date.now()): Promise<(() => Promise<void>) | undefined> {
    if (now - this.#last < staggerMs) return undefined
    // Set before anything is awaited, because two sessions of this process may ask at the same time.
    const before = this.#last
    this.#last = now
    for (let slot = 1; slot <= concurrency; slot++) {
      if (this.#taken.has(slot)) continue
      this.#taken.add(slot)
      try {
        const isOwn = this.#unsure.has(slot)
        const lease = await acquire(this.#store, slotsTape, `slot:${slot}`, `Slot ${slot} is held`, { isOwn })
        this.#unsure.delete(slot)
        return () => this.#release(slot, lease)
      } catch (error) {
        this.#taken.delete(slot)
        if (BatonError.is(error) && error.code === 'conflict') continue
        this.#unsure.add(slot)
        this.#last = before
        throw error
      }
    }
    this.#last = before
    return undefined
  }

  async #release(slot: number, lease: Lease): Promise<void> {
    try {
      if (!(await lease.release())) this.#unsure.add(slot)
    } finally {
      this.#taken.delete(slot)
    }
  }
}
