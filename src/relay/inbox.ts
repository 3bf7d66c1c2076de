// The order in which an agent's requests are taken: by priority, then by age. So that a stream of urgent ones does not
// starve the others, every eighth turn goes to whoever has waited longest, if that is longer than anyone should.

import { priorities, type Priority } from './schema.ts'

const everySoOften = 8

export interface Waiting {
  readonly requestId: string
  readonly priority: Priority
  /** The entry of the request: a smaller one is older. */
  readonly entry: number
  /** When it was accepted, in milliseconds. */
  readonly at: number
}

/** One of the four lines of an inbox: in order of arrival, with those that came back apart, for they go in front. */
class Line<T extends Waiting> {
  readonly #fresh = new Map<string, T>()
  readonly #returned = new Map<string, T>()

  get size(): number {
    return this.#fresh.size + this.#returned.size
  }

  add(item: T, returned: boolean): void {
    ;(returned ? this.#returned : this.#fresh).set(item.requestId, item)
  }

  delete(requestId: string): void {
    if (!this.#fresh.delete(requestId)) this.#returned.delete(requestId)
  }

  first(): T | undefined {
    let [first] = this.#fresh.values()
    for (const item of this.#returned.values()) if (first === undefined || item.entry < first.entry) first = item
    return first
  }

  *items(): Generator<T> {
    const returned = [...this.#returned.values()].sort((a, b) => a.entry - b.entry)
    let next = 0
    for (const item of this.#fresh.values()) {
      while (next < returned.length && returned[next]!.entry < item.entry) yield returned[next++]!
      yield item
    }
    while (next < returned.length) yield returned[next++]!
  }
}

export class Inbox<T extends Waiting> {
  readonly #lines = Object.fromEntries(priorities.map((priority) => [priority, new Line<T>()])) as Record<
    Priority,
    Line<T>
  >
  /** How many turns were taken, counted up to the one that may go by age; part of the snapshot. */
  turns: number
  /** How many have come or come back since this process looks. */
  arrivals = 0

  constructor(turns = 0) {
    this.turns = turns
  }

  get size(): number {
    return priorities.reduce((sum, priority) => sum + this.#lines[priority].size, 0)
  }

  add(item: T, returned = false): void {
    this.#lines[item.priority].add(item, returned)
    this.arrivals++
  }

  delete(item: T): void {
    this.#lines[item.priority].delete(item.requestId)
  }

  tookTurn(): void {
    this.turns = (this.turns + 1) % everySoOften
  }

  /** Whose turn it is. */
  next(now: number, patienceMs: number): T | undefined {
    let best: T | undefined
    let oldest: T | undefined
    for (const priority of priorities) {
      const first = this.#lines[priority].first()
      best ??= first
      if (first !== undefined && (oldest === undefined || first.entry < oldest.entry)) oldest = first
    }
    const isDue = this.turns === everySoOften - 1 && oldest !== undefined && now - oldest.at >= patienceMs
    return isDue ? oldest : best
  }

  /** All that wait, in order, as they are now. */
  listed(): T[] {
    return priorities.flatMap((priority) => [...this.#lines[priority].items()])
  }
}
