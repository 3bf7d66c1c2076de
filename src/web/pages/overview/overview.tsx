// What runs, how full it is, what was handed over, what needs a person: answered without a click.

import { useMemo } from 'react'
import { useOperation } from '../../data/queries.ts'
import { countText, usdText } from '../../parts/numbers.ts'
import { Answer } from '../../parts/states.tsx'
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
  if (found.data?.total === 0 && supervised.data?.sessions.length === 0 && documents.data?.documents.length === 0)
    return <FirstRun />
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

function Figures({ running, handoffs }: { running: readonly Running[]; handoffs: readonly { date: string }[] }) {
  const today = new Date(useNow()).toDateString()
  const isToday = (date: string | undefined) => date !== undefined && new Date(date).toDateString() === today
  const spent = running.filter(({ started }) => isToday(started)).reduce((sum, { usd = 0 }) => sum + usd, 0)
  const busy = running.filter(({ busy }) => busy).length
  const open = running.filter(({ ended }) => !ended).length
  return (
    <dl className="figures">
      <Figure name="at work" text={countText(busy)} strong={busy > 0} />
      <Figure name="open" text={countText(open)} />
      <Figure name="handoffs today" text={countText(handoffs.filter(({ date }) => isToday(date)).length)} />
      <Figure name="sessions of today" text={usdText(spent)} />
    </dl>
  )
}

function Figure({ name, text, strong = false }: { name: string; text: string; strong?: boolean }) {
  return (
    <div className={strong ? 'figure figure-strong' : 'figure'}>
      <dt>{name}</dt>
      <dd className="number">{text}</dd>
    </div>
  )
}
