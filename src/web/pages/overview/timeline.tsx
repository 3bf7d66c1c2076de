// The last hours: when each session worked, and where the baton changed hands.

import { memo } from 'react'
import { Panel } from '../../parts/page.tsx'
import { type AnswerOf, useOperation } from '../../data/queries.ts'
import { shortName } from '../../data/titles.ts'
import { countText } from '../../parts/numbers.ts'
import { minuteTime } from '../../parts/time.tsx'
import { Answer, Empty, ListEnd } from '../../parts/states.tsx'
import { Text } from '../../parts/text.tsx'
import { Link, setQuery, tapeAddress, usePlace } from '../../shell/router.tsx'
import type { Running } from './running.ts'

const choices = [1, 6, 24] as const
const shown = 10

type Row = AnswerOf<'activityShow'>['tapes'][number]

export function Timeline({ running }: { running: readonly Running[] }) {
  const wanted = Number(usePlace().query.get('hours') ?? 6)
  const hours = choices.find((each) => each === wanted) ?? 6
  const activity = useOperation('activityShow', { hours, buckets: 72 }, { everyMs: 20_000, keep: true })
  return (
    <Panel
      title="Activity"
      aside={
        <span className="segments">
          {choices.map((each) => (
            <button
              key={each}
              type="button"
              aria-pressed={each === hours}
              onClick={() => setQuery({ hours: each === 6 ? undefined : String(each) })}
            >
              {each} h
            </button>
          ))}
        </span>
      }
    >
      <Answer query={activity}>
        {({ from, to, tapes }) => {
          const lanes = lanesOf(tapes, running, from)
          return lanes.length === 0 ? (
            <Empty title="Nothing happened in this time" />
          ) : (
            <div className="timeline">
              {lanes.slice(0, shown).map((lane) => (
                <Lane key={lane.to} {...lane} from={Date.parse(from)} until={Date.parse(to)} />
              ))}
              <div className="lane lane-axis" aria-hidden="true">
                <span />
                <span className="timeline-axis tiny faint number">
                  {[0, 1, 2, 3].map((part) => (
                    <span key={part}>
                      {minuteTime(Date.parse(from) + ((Date.parse(to) - Date.parse(from)) * part) / 3)}
                    </span>
                  ))}
                </span>
              </div>
              {lanes.length > shown && <ListEnd>{countText(lanes.length - shown)} more worked in this time.</ListEnd>}
            </div>
          )
        }}
      </Answer>
    </Panel>
  )
}

interface LaneRow {
  readonly to: string
  readonly title: string
  readonly row: Row | undefined
  /** When a session was open of which only that is known: its entries are read when it is opened. */
  readonly span: { readonly start: string; readonly end: string } | undefined
}

/** The tapes that were busy, then the sessions that nobody has opened here yet. */
function lanesOf(tapes: readonly Row[], running: readonly Running[], from: string): LaneRow[] {
  const byKey = new Map(running.map((each) => [each.key, each]))
  const known = new Set(tapes.map(({ tape }) => tape))
  const isSession = ({ to }: LaneRow) => to.startsWith('/sessions/')
  const busy = tapes.map((row) => {
    const session = byKey.get(row.tape)
    return {
      to: session?.to ?? tapeAddress(row.tape),
      title: session?.title ?? shortName(row.tape),
      row,
      span: undefined,
    }
  })
  const others = running
    .filter(({ key, updated }) => !known.has(key) && updated >= from)
    .map(({ to, title, started, updated }) => ({
      to,
      title,
      row: undefined,
      span: { start: started ?? updated, end: updated },
    }))
  // Sessions have a title; a tape that only has an id says less.
  const lanes = [...busy, ...others]
  return lanes.toSorted((a, b) => Number(isSession(b)) - Number(isSession(a)))
}

interface LaneProps extends LaneRow {
  readonly from: number
  readonly until: number
}

const Lane = memo(function Lane({ to, title, row, span, from, until }: LaneProps) {
  const { tape = '', counts = [], marks = [] } = row ?? {}
  const most = Math.max(1, ...counts)
  const step = 100 / counts.length
  const place = (date: string) => Math.min(100, Math.max(0, (100 * (Date.parse(date) - from)) / (until - from)))
  return (
    <div className="lane">
      <Link to={to} className="cut small lane-name" title={title}>
        <Text max={80}>{title}</Text>
      </Link>
      <span className="lane-track">
        <svg viewBox="0 0 100 20" preserveAspectRatio="none" aria-hidden="true">
          {counts.map((count, at) => {
            // A single entry is still to be seen.
            const height = count === 0 ? 0 : 3 + 15 * Math.sqrt(count / most)
            return count === 0 ? null : (
              <rect key={at} x={at * step} y={20 - height} width={step * 0.82} height={height} className="lane-bar" />
            )
          })}
        </svg>
        {span !== undefined && (
          <span
            className="lane-span"
            style={{ insetInlineStart: `${place(span.start)}%`, width: `${place(span.end) - place(span.start)}%` }}
          />
        )}
        {marks
          .filter(({ kind }) => kind !== 'document')
          .map(({ id, date, kind, name }) => (
            <Link
              key={`${kind} ${id}`}
              to={tapeAddress(tape, id)}
              className={`lane-mark lane-${kind}`}
              style={{ insetInlineStart: `${place(date)}%` }}
              title={`${kind === 'cycle' ? 'handed over' : name} · ${minuteTime(Date.parse(date))}`}
              aria-label={`${kind === 'cycle' ? 'Handed over' : name} at ${minuteTime(Date.parse(date))}`}
            />
          ))}
      </span>
    </div>
  )
})
