// The metrics of handoffs, named by the conventions: no `total`, no unit in a name, seconds. The older names come along
// for those who ask for them.

import type { Attributes, Counter, Histogram, Meter } from '@opentelemetry/api'

export interface Instruments {
  requests(attributes: Attributes): void
  resolved(attributes: Attributes): void
  failed(attributes: Attributes): void
  escalated(attributes: Attributes): void
  circularBlocked(attributes: Attributes): void
  duration(milliseconds: number, attributes: Attributes): void
  ignored(attributes: Attributes): void
}

/** Seconds; agents answer in some, the slowest before their timeout, people in days. */
const boundaries = [0.005, 0.01, 0.05, 0.1, 0.5, 1, 2.5, 5, 10, 30, 60, 300, 3_600, 86_400]

export function instruments(meter: Meter, seedNames: boolean): Instruments {
  const counted = (description: string, name: string, alias?: string) => {
    const options = { description, unit: '{handoff}' }
    const counters: Counter[] = [meter.createCounter(name, options)]
    if (seedNames && alias !== undefined) counters.push(meter.createCounter(alias, options))
    return (attributes: Attributes) => counters.forEach((counter) => counter.add(1, attributes))
  }
  const timed = (name: string, unit: string, advice: number[]): Histogram =>
    meter.createHistogram(name, {
      description: 'Time from a handoff request to its answer',
      unit,
      advice: { explicitBucketBoundaries: advice },
    })
  const seconds = timed('handoff.duration', 's', boundaries)
  const alias = seedNames
    ? timed(
        'handoff.duration_ms',
        'ms',
        boundaries.map((each) => each * 1000),
      )
    : undefined
  return {
    requests: counted('Handoffs attempted', 'handoff.requests', 'handoff.total'),
    resolved: counted('Handoffs that brought all that was asked for', 'handoff.resolved', 'handoff.success'),
    failed: counted('Handoffs that failed or were refused', 'handoff.failed'),
    escalated: counted('Handoffs that a person has to answer', 'handoff.escalated'),
    circularBlocked: counted('Handoffs refused because they went in a circle', 'handoff.circular_blocked'),
    ignored: counted('Answers that came too late or once more', 'handoff.ignored'),
    duration(milliseconds, attributes) {
      seconds.record(milliseconds / 1000, attributes)
      alias?.record(milliseconds, attributes)
    },
  }
}
