// A store in memory that is nothing but the promises: what any engine is compared with.

import type { AppendOptions, Draft, Meta, Range } from '../../src/store/index.ts'

export type Outcome = { ids: number[] } | { conflict: number }

/** An entry as far as an engine does not choose it by itself. */
export interface Plain {
  readonly id: number
  readonly kind: string
  readonly payload: unknown
  readonly meta: Meta
}

export class Model {
  readonly #tapes = new Map<string, Plain[][]>()

  #segments(tape: string): Plain[][] {
    const segments = this.#tapes.get(tape) ?? [[]]
    this.#tapes.set(tape, segments)
    return segments
  }

  #current(tape: string): Plain[] {
    return this.#segments(tape).at(-1)!
  }

  lastId(tape: string): number {
    return this.#segments(tape).flat().at(-1)?.id ?? 0
  }

  append(tape: string, drafts: readonly Draft[], { expect }: AppendOptions = {}): Outcome {
    const job = drafts.find((draft) => draft.meta?.idempotency !== undefined)?.meta?.idempotency
    const before = this.#current(tape).findLast((entry) => job !== undefined && entry.meta.idempotency === job)
    if (before !== undefined) return { ids: this.#batches.get(before)! }
    const lastId = this.lastId(tape)
    const actual = typeof expect === 'object' ? (this.latest(tape, expect.key)?.id ?? 0) : lastId
    if (expect !== undefined && actual !== (typeof expect === 'object' ? expect.id : expect))
      return { conflict: actual }
    return { ids: this.#add(tape, drafts) }
  }

  readonly #batches = new Map<Plain, number[]>()

  #add(tape: string, drafts: readonly Draft[]): number[] {
    const lastId = this.lastId(tape)
    const entries = drafts.map((draft, i) => ({ meta: {}, ...draft, id: lastId + 1 + i }))
    const ids = entries.map((entry) => entry.id)
    for (const entry of entries) this.#batches.set(entry, ids)
    this.#current(tape).push(...entries)
    return ids
  }

  archive(tape: string, first: readonly Draft[]): boolean {
    if (this.#current(tape).length === 0) return false
    this.#segments(tape).push([])
    this.#add(tape, first)
    return true
  }

  purge(tape: string): void {
    this.#segments(tape).splice(0, this.#segments(tape).length - 1)
  }

  create(tape: string, batches: readonly (readonly Draft[])[]): boolean {
    if (this.lastId(tape) > 0) return false
    for (const batch of batches) this.#add(tape, batch)
    return true
  }

  read(tape: string, range: Range = {}): Plain[] {
    const { after = 0, before = Number.MAX_SAFE_INTEGER, kinds, limit, reverse = false, archived = false } = range
    const entries = (archived ? this.#segments(tape).flat() : [...this.#current(tape)]).filter(
      ({ id, kind }) => id > after && id < before && (kinds?.includes(kind) ?? true),
    )
    return (reverse ? entries.reverse() : entries).slice(0, limit)
  }

  anchors(tape: string, { name, limit = 1_000, ...range }: Range & { name?: string }): number[] {
    const found = this.read(tape, { ...range, kinds: ['anchor'] }).filter(
      (entry) => name === undefined || (entry.payload as { name: string }).name === name,
    )
    return found.slice(Math.max(0, found.length - limit)).map((entry) => entry.id)
  }

  latest(tape: string, key: string): Plain | undefined {
    return this.#current(tape).findLast((entry) => entry.meta.key === key)
  }
}
