// How many cycles run at a time, over all supervisors of a workspace: each takes a slot, a lease of its own, and the
// beginnings are staggered. A slot whose holder dies is free again.

import { BatonError } from '../../errors.ts'
import type { Store } from '../../store/index.ts'
import { acquire, type Lease } from '../session/lease.ts'

/** No session has this name. */
const slotsTape = 'session/~cycles'

export class Slots {
  readonly #store: Store
  /** Slots that sessions of this process hold: the leases distinguish processes, not the sessions within one. */
  readonly #taken = new Set<number>()
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
      const lease = await this.#acquire(slot)
      if (lease === undefined) {
        this.#taken.delete(slot)
        continue
      }
      return async () => {
        await lease.release()
        this.#taken.delete(slot)
      }
    }
    this.#last = before
    return undefined
  }

  async #acquire(slot: number): Promise<Lease | undefined> {
    try {
      return await acquire(this.#store, slotsTape, `slot:${slot}`, `Slot ${slot} is held`)
    } catch (error) {
      if (BatonError.is(error) && error.code === 'conflict') return undefined
      throw error
    }
  }
}
