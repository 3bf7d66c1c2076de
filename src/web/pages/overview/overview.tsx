// What runs, how full it is, what was handed over, what needs a person: answered without a click.

import type { UseQueryResult } from '@tanstack/react-query'
import { useMemo } from 'react'
import { useOperation } from '../../data/queries.ts'
import { countText, usdText } from '../../parts/numbers.ts'
import { Answer, Loading } from '../../parts/states.tsx'
import { useNow } from '../../parts/time.tsx'
import { FirstRun } from './first-run.tsx'
import { Lately } from './lately.tsx'
import { type Running, runningOf } from './running.ts'
import { Sessions } from './sessions.tsx'
import { Timeline } from './timeline.tsx'
import { Waiting } from './waiting.tsx'
import './overview.css'

/** The files of agents tell nobody that they have changed: they are looked at again and again. */
const lookMs = 3_000

export default function Overview() {
  const found = useOperation('sessionList', { limit: 300 }, { everyMs: lookMs })
  const supervised = useOperation('supervisedList', {})
  const documents = useOperation('documentList', { limit: 50 })
  const running = useMemo(
    () => runningOf(found.data?.sessions ?? [], supervised.data?.sessions ?? []),
    [found.data, supervised.data],
  )
  // Which page it is becomes known with the first of these that is not empty, or when all of them are.
  const counts = [
    countIn(found, ({ total }) => total),
    countIn(supervised, ({ sessions }) => sessions.length),
    countIn(documents, (answer) => answer.documents.length),
  ]
  if (counts.every((count) => count === 0)) return <FirstRun />
  if (!counts.some((count) => count === 'failed' || Number(count) > 0)) return <Loading rows={8} />
  return (
    <div className="page overview">
      <header className="page-head">
        <h1>Overview</h1>
        <Figures running={running} handoffs={documents.data?.documents ?? []} />
      </header>
      <Waiting />
      <section className="panel" aria-label="Sessions">
        <Answer query={found}>{() => <Sessions running={running} />}</Answer>
      </section>
      <div className="overview-columns">
        <Timeline running={running} />
        <Lately documents={documents} />
      </div>
    </div>
  )
}

function countIn<T>(query: UseQueryResult<T>, count: (answer: T) => number): number | 'failed' | undefined {
  if (query.data !== undefined) return count(query.data)
  return query.isError ? 'failed' : undefined
}

function Figures({ running, handoffs }: { running: readonly Running[]; handoffs: readonly { date: string }[] }) {
  const today = new Date(useNow()).setHours(0, 0, 0, 0)
  const isToday = (date: string) => Date.parse(date) >= today
  const spent = useOperation(
    'spendingShow',
    { since: new Date(today).toISOString() },
    { everyMs: 15_000, keep: true },
  ).data
  const busy = running.filter(({ busy }) => busy).length
  const open = running.filter(({ ended }) => !ended).length
  return (
    <dl className="figures">
      <Figure name="at work" text={countText(busy)} strong={busy > 0} />
      <Figure name="open" text={countText(open)} />
      <Figure name="handoffs today" text={countText(handoffs.filter(({ date }) => isToday(date)).length)} />
      <Figure
        name="spent today"
        text={spent === undefined ? '–' : usdText(spent.usd)}
        {...(spent !== undefined && spent.unpriced > 0
          ? { title: `Without ${countText(spent.unpriced)} of ${countText(spent.sessions)}, whose cost is not known` }
          : {})}
      />
    </dl>
  )
}

interface FigureProps {
  readonly name: string
  readonly text: string
  readonly strong?: boolean
  readonly title?: string
}

function Figure({ name, text, strong = false, title }: FigureProps) {
  return (
    <div className={strong ? 'figure figure-strong' : 'figure'} title={title}>
      <dt>{name}</dt>
      <dd className="number">{text}</dd>
    </div>
  )
}
