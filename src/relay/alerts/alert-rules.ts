// The conditions under which the relay itself needs attention, computed from what it has counted in the last hour.

import type { Occurrence } from '../journal/activity.ts'
import type { OpenRequests } from '../journal/open-requests.ts'
import type { AlertThresholds } from '../settings.ts'

const minute = 60_000
const hour = 60 * minute

export type AlertName = 'failed' | 'escalated' | 'circular_blocked' | 'duration_p95' | 'dead_letters'

export interface AlertReading {
  readonly name: AlertName
  readonly severity: 'info' | 'warning'
  readonly value: number
  /** The alert is on when the value is greater. */
  readonly threshold: number
  readonly windowMs: number
  /** What was counted, as a sentence. */
  readonly text: string
  readonly advice: string
}

export function isOver({ value, threshold }: AlertReading): boolean {
  return value > threshold
}

/** Fewer durations than this have no slowest 5%. */
const leastDurations = 20

/** The readings now, of what the relay has counted. */
export function alertReadings(
  { activity, deadLetters }: Pick<OpenRequests, 'activity' | 'deadLetters'>,
  now: number,
  thresholds: AlertThresholds,
): AlertReading[] {
  // Events from the future were written before a clock went back, or by a clock that is ahead: they count when their time comes.
  const since = (what: Occurrence, windowMs: number) => activity.since(what, now, windowMs, minute)
  return readingsOf(thresholds, {
    failed: since('failed', 5 * minute).length,
    escalated: since('escalated', hour).length,
    circular: since('circular', hour).length,
    durations: since('duration', hour),
    dead: deadLetters.size,
  })
}

interface Counts {
  readonly failed: number
  readonly escalated: number
  readonly circular: number
  readonly durations: number[]
  readonly dead: number
}

function readingsOf(thresholds: AlertThresholds, counts: Counts): AlertReading[] {
  const { failed, escalated, circular, durations, dead } = counts
  const p95 = durations.length < leastDurations ? 0 : percentile(durations, 0.95)
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
      text:
        durations.length < leastDurations
          ? `${handoffs(durations.length)} in the last hour, too few for a percentile`
          : `the slowest 5% of ${handoffs(durations.length)} took ${p95} ms or more in the last hour`,
      advice: 'See which agents are slow, and give them more workers: baton relay status',
    },
    {
      name: 'dead_letters',
      severity: 'warning',
      value: dead,
      threshold: thresholds.deadLetters,
      windowMs: 0,
      text:
        dead === 1 ? '1 request killed the workers that took it' : `${dead} requests killed the workers that took them`,
      advice: 'See which, and retry or drop them: baton relay dead',
    },
  ]
}

/** By nearest rank, so that it is a value that was measured. */
function percentile(values: number[], share: number): number {
  if (values.length === 0) return 0
  const sorted = values.sort((a, b) => a - b)
  return sorted[Math.ceil(sorted.length * share) - 1]!
}

function handoffs(n: number): string {
  return n === 1 ? '1 handoff' : `${n} handoffs`
}
