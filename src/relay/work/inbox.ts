// The order in which an agent's requests are claimed: by priority, then by age. So that a stream of urgent requests does not
// starve the others, every eighth claim takes the oldest request, if it has waited longer than `patienceMs`.

import { priorities, type Priority } from '../schema.ts'

const everySoOften = 8

export interface InboxEntry {
  readonly requestId: string
  readonly priority: Priority
  /** The entry of the request: a smaller one is older. */
  readonly entry: number
  /** When it was accepted, in milliseconds. */
  readonly at: number
}

/** The requests of one priority, in order of arrival; those that were claimed and came back are kept apart, for they are older. */
class Line<T extends InboxEntry> {
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

  *items(): Generator<T> {
    const returned = this.#returned.size === 0 ? [] : [...this.#returned.values()].sort((a, b) => a.entry - b.entry)
    let next = 0
    for (const item of this.#fresh.values()) {
      while (next < returned.length && returned[next]!.entry < item.entry) yield returned[next++]!
      yield item
    }
    while (next < returned.length) yield returned[next++]!
  }
}

export class Inbox<T extends InboxEntry> {
  readonly #lines = Object.fromEntries(priorities.map((priority) => [priority, new Line<T>()])) as Record<
    Priority,
    Line<T>
  >
  /** How many claims were made, modulo eight; part of the snapshot. */
  turns: number
  /** How many requests have come or come back since this process opened the relay. */
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

  /** The request to claim next. */
  next(now: number, patienceMs: number): T | undefined {
    const [next] = this.inTurn(now, patienceMs)
    return next
  }

  /** The requests in the order in which they are to be claimed. */
  *inTurn(now: number, patienceMs: number): Generator<T> {
    const lines = priorities.map((priority) => {
      const items = this.#lines[priority].items()
      return { items, first: items.next().value as T | undefined }
    })
    for (let { turns } = this; ; turns = (turns + 1) % everySoOften) {
      let best: (typeof lines)[number] | undefined
      let oldest: (typeof lines)[number] | undefined
      for (const line of lines) {
        if (line.first === undefined) continue
        best ??= line
        if (oldest === undefined || line.first.entry < oldest.first!.entry) oldest = line
      }
      if (best === undefined || oldest === undefined) return
      const isDue = turns === everySoOften - 1 && now - oldest.first!.at >= patienceMs
      const line = isDue ? oldest : best
      yield line.first!
      line.first = line.items.next().value as T | undefined
    }
  }

  /** All requests that wait, by priority, then by age. */
  listed(): T[] {
    return priorities.flatMap((priority) => [...this.#lines[priority].items()])
  }
}
