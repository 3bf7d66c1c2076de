// When the relay itself needs attention: the four conditions, read from what happened lately.

import type { HistoryQuery, HistoryRow } from './outcome.ts'
import { human } from './schema.ts'
import type { AlertThresholds } from './settings.ts'

const minute = 60_000
const hour = 60 * minute

export type AlertName = 'failed' | 'escalated' | 'circular_blocked' | 'duration_p95'

export interface Reading {
  readonly name: AlertName
  readonly severity: 'info' | 'warning'
  readonly value: number
  /** More than this is too much. */
  readonly threshold: number
  readonly windowMs: number
  /** What was counted, as a sentence. */
  readonly text: string
  readonly advice: string
}

export function isOver({ value, threshold }: Reading): boolean {
  return value > threshold
}

/** One thing that counts, for as long as it counts. */
interface Fact {
  readonly at: number
  readonly type: 'failed' | 'escalated' | 'circular' | 'duration'
  readonly ms: number
}

/** The last hour. Evaluated again, it reads only what is new. */
export class AlertWindow {
  readonly #history: (query: HistoryQuery) => AsyncIterable<HistoryRow>
  readonly #thresholds: AlertThresholds
  #facts: Fact[] = []
  /** The newest entry that was read. */
  #read = 0

  constructor(history: (query: HistoryQuery) => AsyncIterable<HistoryRow>, thresholds: AlertThresholds) {
    this.#history = history
    this.#thresholds = thresholds
  }

  async readings(now: number): Promise<Reading[]> {
    const fresh: Fact[] = []
    let newest = this.#read
    for await (const row of this.#history({ since: now - hour })) {
      if (row.entry <= this.#read) break
      newest = Math.max(newest, row.entry)
      fresh.push(...factsOf(row))
    }
    this.#read = newest
    this.#facts = [...this.#facts, ...fresh].filter(({ at }) => at >= now - hour)
    // What lies ahead was written before a clock went back, or by one that is ahead: it counts when its time comes.
    const since = (type: Fact['type'], ms: number) =>
      this.#facts.filter((fact) => fact.type === type && fact.at >= now - ms && fact.at <= now + minute)
    return readingsOf(this.#thresholds, {
      failed: since('failed', 5 * minute).length,
      escalated: since('escalated', hour).length,
      circular: since('circular', hour).length,
      durations: since('duration', hour).map(({ ms }) => ms),
    })
  }
}

function* factsOf(row: HistoryRow): Generator<Fact> {
  const at = Date.parse(row.date)
  if (row.type === 'escalated') yield { at, type: 'escalated', ms: 0 }
  if (row.type !== 'answered') return
  if (row.response.status === 'failed') yield { at, type: 'failed', ms: 0 }
  if (row.rejection === 'circular') yield { at, type: 'circular', ms: 0 }
  // People take their time, and refusals take none: neither says anything about the agents.
  if (row.rejection === undefined && row.response.respondingAgent !== human) {
    yield { at, type: 'duration', ms: row.durationMs }
  }
}

interface Counts {
  readonly failed: number
  readonly escalated: number
  readonly circular: number
  readonly durations: number[]
}

function readingsOf(thresholds: AlertThresholds, { failed, escalated, circular, durations }: Counts): Reading[] {
  const p95 = percentile(durations, 0.95)
  return [
    {
      name: 'failed',
      severity: 'warning',
      value: failed,
      threshold: thresholds.failed,
      windowMs: 5 * minute,
      text: `${handoffs(failed)} failed in the last 5 minutes`,
      advice: 'See which agents fail, and whether they are running: baton relay status',
    },
    {
      name: 'escalated',
      severity: 'info',
      value: escalated,
      threshold: thresholds.escalated,
      windowMs: hour,
      text: `${handoffs(escalated)} went to a person in the last hour`,
      advice: 'See what people are asked for, and whether an agent could know it: baton escalations ls',
    },
    {
      name: 'circular_blocked',
      severity: 'warning',
      value: circular,
      threshold: thresholds.circularBlocked,
      windowMs: hour,
      text: `${handoffs(circular)} in a circle stopped in the last hour`,
      advice: 'See which agents hand work back and forth, and change what they do: baton relay routes',
    },
    {
      name: 'duration_p95',
      severity: 'warning',
      value: p95,
      threshold: thresholds.durationP95Ms,
      windowMs: hour,
      text: `the slowest 5% of ${handoffs(durations.length)} took ${p95} ms or more in the last hour`,
      advice: 'See which agents are slow, and give them more workers: baton relay status',
    },
  ]
}

/** Nearest rank: a value that was really measured. */
function percentile(values: number[], share: number): number {
  if (values.length === 0) return 0
  const sorted = values.sort((a, b) => a - b)
  return sorted[Math.ceil(sorted.length * share) - 1]!
}

function handoffs(n: number): string {
  return n === 1 ? '1 handoff' : `${n} handoffs`
}
