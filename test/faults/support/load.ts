// Appenders on one tape while something breaks: afterwards nothing that was acknowledged is lost, nothing is there twice, and
// ids have no gaps.

import { vi } from 'vitest'
import type { Store } from '../../../src/store/index.ts'

export class Load {
  readonly #acknowledged = new Map<number, { id: number; store: Store }>()
  readonly #over = new AbortController()
  readonly #work: Promise<void>[]
  readonly #tape: string
  #next = 0

  /** Starts so many appenders on each store. */
  constructor(stores: readonly Store[], appenders = 4, tape = 'main') {
    this.#tape = tape
    this.#work = stores.flatMap((store) => Array.from({ length: appenders }, () => this.#append(store)))
  }

  async #append(store: Store): Promise<void> {
    while (!this.#over.signal.aborted) {
      const n = ++this.#next
      const [entry] = await store.append(this.#tape, [{ kind: 'count', payload: { n } }])
      this.#acknowledged.set(n, { id: entry!.id, store })
    }
  }

  #count(store: Store | undefined): number {
    if (store === undefined) return this.#acknowledged.size
    return [...this.#acknowledged.values()].filter((one) => one.store === store).length
  }

  /** Resolves when so many more appends were acknowledged, of one store or of all. */
  async grown(by: number, store?: Store): Promise<void> {
    const wanted = this.#count(store) + by
    await vi.waitUntil(() => this.#count(store) >= wanted, { timeout: 60_000 })
  }

  /** Ends the load and compares the tape with what was acknowledged: what is wrong with it, in words. */
  async problems(reader: Store): Promise<string[]> {
    this.#over.abort()
    await Promise.all(this.#work)
    const found: string[] = []
    const said: number[] = []
    for await (const entry of reader.read(this.#tape)) {
      said.push((entry.payload as { n: number }).n)
      if (entry.id !== said.length) found.push(`entry ${entry.id} stands at place ${said.length}`)
    }
    if (new Set(said).size !== said.length) found.push('an append is there twice')
    for (const [n, { id }] of this.#acknowledged) if (said[id - 1] !== n) found.push(`append ${n} is not entry ${id}`)
    return found
  }
}
