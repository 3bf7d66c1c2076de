// Figures of the server in the text form that Prometheus reads.

import type { Store } from '../../store/index.ts'
import type { Live } from '../live/live.ts'

export class Metrics {
  readonly #answered = new Map<number, number>()
  /** Requests that are not answered yet; a stream is answered when it begins. */
  atWork = 0

  /** What it returns is told the status; undefined: somebody else answers, and counts it. */
  begin(): (status: number | undefined) => void {
    this.atWork += 1
    return (status) => {
      this.atWork -= 1
      if (status !== undefined) this.#answered.set(status, (this.#answered.get(status) ?? 0) + 1)
    }
  }

  async text(store: Store, live: Live): Promise<string> {
    const total = { tapes: 0, entries: 0, bytes: 0 }
    for await (const { entries, bytes } of store.list()) {
      total.tapes += 1
      total.entries += entries
      total.bytes += bytes
    }
    const answered = [...this.#answered].map(
      ([status, count]) => `baton_http_requests_total{status="${status}"} ${count}`,
    )
    return [
      '# TYPE baton_http_requests_total counter',
      ...answered,
      ...gauge('baton_http_requests_at_work', this.atWork),
      ...gauge('baton_live_readers', live.readers),
      ...gauge('baton_tapes', total.tapes),
      ...gauge('baton_entries', total.entries),
      ...gauge('baton_tape_bytes', total.bytes),
      ...gauge('process_resident_memory_bytes', process.memoryUsage.rss()),
      ...gauge('process_uptime_seconds', Math.round(process.uptime())),
      '',
    ].join('\n')
  }
}

function gauge(name: string, value: number): string[] {
  return [`# TYPE ${name} gauge`, `${name} ${value}`]
}
