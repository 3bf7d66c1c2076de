// What happened in the last hour, as far as the alerts count it. It is folded along with the open requests and kept in their
// snapshot, so an evaluation reads no history.

const hour = 3_600_000
/** Of each kind, at most so many of the newest are kept: far more than any threshold, and enough for a percentile. */
const most = 1_000

export type Occurrence = 'failed' | 'escalated' | 'circular' | 'duration'

/** When, and for a duration how many milliseconds. */
type Row = readonly [at: number, ms: number]

export type ActivityRows = Readonly<Partial<Record<Occurrence, readonly Row[]>>>

export class Activity {
  readonly #rows: Record<Occurrence, Row[]> = { failed: [], escalated: [], circular: [], duration: [] }

  add(what: Occurrence, at: number, ms = 0): void {
    const rows = this.#rows[what]
    rows.push([at, ms])
    // Not at each call: dropping the oldest moves all others.
    if (rows.length >= 2 * most) this.#rows[what] = rows.slice(-most)
  }

  /** The values of the last `windowMs` before `now`; what lies in the future counts when its time comes. */
  since(what: Occurrence, now: number, windowMs: number, toleranceMs: number): number[] {
    return this.#rows[what].flatMap(([at, ms]) => (at >= now - windowMs && at <= now + toleranceMs ? [ms] : []))
  }

  rows(now: number): ActivityRows {
    const recent = (rows: readonly Row[]) => rows.slice(-most).filter(([at]) => at >= now - hour)
    return Object.fromEntries(Object.entries(this.#rows).map(([what, rows]) => [what, recent(rows)]))
  }

  load(rows: ActivityRows): void {
    for (const what of Object.keys(this.#rows) as Occurrence[]) this.#rows[what] = [...(rows[what] ?? [])]
  }
}
