// What a run has spent, over all of its contexts, agents, restarts and resumes. Each context is known by the agent's own id
// of it and counts with its last reading: one that is reopened is not counted twice, and none is forgotten when it is left.

import type { Observation } from '../../observe/observation.ts'

interface ContextSpending {
  /** Undefined while the agent does not tell. */
  readonly usd?: number
  readonly turns: number
  /** What had been spent in it before this run took it over. */
  readonly before?: { readonly usd: number; readonly turns: number }
}

/** Plain JSON: it is kept on the session's tape. */
export interface SpendingRecord {
  readonly contexts: Readonly<Record<string, ContextSpending>>
}

export class Spending {
  readonly #contexts: Map<string, ContextSpending>
  readonly #takesOver: boolean

  /** `takesOver`: its first context was begun by somebody else, and what that had cost by then is not this run's. */
  constructor(record: SpendingRecord | undefined, takesOver: boolean) {
    this.#contexts = new Map(Object.entries(record?.contexts ?? {}))
    this.#takesOver = takesOver
  }

  /** Returns true when a context has been added: then the record is worth writing down. */
  update(agent: string, { session, meter, turns }: Observation): boolean {
    if (session === undefined) return false
    const key = `${agent}:${session}`
    const known = this.#contexts.get(key)
    const isFirst = this.#contexts.size === 0
    const before = isFirst && this.#takesOver ? { usd: meter.cost?.usd ?? 0, turns } : known?.before
    // A transcript that was cut short or deleted takes nothing back.
    const usd = meter.cost === undefined ? known?.usd : Math.max(meter.cost.usd, known?.usd ?? 0)
    this.#contexts.set(key, {
      ...(usd === undefined ? {} : { usd }),
      turns: Math.max(turns, known?.turns ?? 0),
      ...(before === undefined ? {} : { before }),
    })
    return known === undefined
  }

  /** Undefined while no context has told what it cost. */
  get usd(): number | undefined {
    const told = [...this.#contexts.values()].filter(({ usd }) => usd !== undefined)
    return told.length === 0 ? undefined : told.reduce((sum, { usd, before }) => sum + usd! - (before?.usd ?? 0), 0)
  }

  get turns(): number {
    return [...this.#contexts.values()].reduce((sum, { turns, before }) => sum + turns - (before?.turns ?? 0), 0)
  }

  get record(): SpendingRecord {
    return { contexts: Object.fromEntries(this.#contexts) }
  }
}
