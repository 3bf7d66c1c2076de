// What runs, how full it is, what was handed over, what needs a person: answered without a click.

import type { UseQueryResult } from '@tanstack/react-query'
import { useMemo } from 'react'
import { PageFrame, Panel } from '../../parts/page.tsx'
import { type AnswerOf, sessionsAsked, useOperation } from '../../data/queries.ts'
import { countText, usdText } from '../../parts/numbers.ts'
import { Answer, Empty, ListEnd, Loading } from '../../parts/states.tsx'
import { useNow, Ago } from '../../parts/time.tsx'
import { FirstRun } from './first-run.tsx'
import { type Running, runningOf } from './running.ts'
import { Sessions } from './sessions.tsx'
import { Timeline } from './timeline.tsx'
import './overview.css'
import { Priority } from '../../parts/badge.tsx'
import { Icon } from '../../parts/icon.tsx'
import { Text } from '../../parts/text.tsx'
import { Link, documentAddress } from '../../shell/router.tsx'
import { useTitles, writerText } from '../../data/titles.ts'

/** Of the documents, to count those of today. */
const mostCounted = 50

/** Nothing announces that the files of agents have changed: they are read again and again. */
const lookMs = 3_000

export default function Overview() {
  const found = useOperation('sessionList', sessionsAsked, { everyMs: lookMs })
  const supervised = useOperation('supervisedList', {})
  const documents = useOperation('documentList', { limit: mostCounted })
  const { host } = useOperation('workspaceInfo', {}).data ?? {}
  const running = useMemo(
    () => runningOf(found.data?.sessions ?? [], supervised.data?.sessions ?? [], host),
    [found.data, supervised.data, host],
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
    <PageFrame
      title="Overview"
      actions={<Figures running={running} handoffs={documents.data?.documents ?? []} />}
      className="overview"
    >
      <Waiting />
      <Panel label="Sessions">
        <Answer query={found}>
          {({ sessions, total }) => (
            <>
              <Sessions running={running} />
              {total > sessions.length && (
                <ListEnd>
                  The {countText(sessions.length)} sessions worked on last, of {countText(total)} on this machine.
                </ListEnd>
              )}
            </>
          )}
        </Answer>
      </Panel>
      <div className="overview-columns">
        <Timeline running={running} />
        <RecentHandoffs documents={documents} />
      </div>
    </PageFrame>
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
  const handedOver = handoffs.filter(({ date }) => isToday(date)).length
  const busy = running.filter(({ busy }) => busy).length
  const open = running.filter(({ ended }) => !ended).length
  return (
    <dl className="figures">
      <Figure name="at work" text={countText(busy)} strong={busy > 0} />
      <Figure name="open" text={countText(open)} />
      <Figure
        name={handedOver === 1 ? 'handoff today' : 'handoffs today'}
        text={`${countText(handedOver)}${handedOver === mostCounted ? '+' : ''}`}
      />
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

const mostWaiting = 4

/** What waits for a person, above everything else. */
function Waiting() {
  const items = useOperation('waitingList', {}).data?.items ?? []
  if (items.length === 0) return null
  return (
    <Panel
      title={
        <>
          Waiting for you <span className="waiting-count number">{items.length}</span>
        </>
      }
      aside={items.length > mostWaiting && <Link to="/inbox">All {items.length}</Link>}
      label="Waiting for you"
      className="waiting"
    >
      <ul className="rows">
        {items.slice(0, mostWaiting).map(({ kind, id, title, detail, from, priority, since }) => (
          <li key={`${kind} ${id}`}>
            <Link
              className="row-link waiting-item"
              to={
                kind === 'escalation' ? `/inbox?id=${encodeURIComponent(id)}` : `/supervisor/${encodeURIComponent(id)}`
              }
            >
              <span className="grow">
                <span className="waiting-title">
                  <Text max={160}>{title}</Text>
                </span>
                {detail !== '' && detail !== title && (
                  <span className="waiting-detail">
                    <Text max={240}>{detail}</Text>
                  </span>
                )}
              </span>
              {/^(critical|high)$/.test(priority) && <Priority>{priority}</Priority>}
              <Text className="muted small" max={60}>
                {from}
              </Text>
              <Ago date={since} className="faint small" />
              <Icon name="right" />
            </Link>
          </li>
        ))}
      </ul>
    </Panel>
  )
}

const mostHandoffs = 7

/** The newest handoff documents. */
function RecentHandoffs({ documents }: { documents: UseQueryResult<AnswerOf<'documentList'>> }) {
  const titleOf = useTitles()
  return (
    <Panel
      title="Handed over"
      aside={
        <Link to="/handoffs" className="small">
          All
        </Link>
      }
    >
      <Answer query={documents}>
        {({ documents: found }) =>
          found.length === 0 ? (
            <Empty title="No handoff yet">
              A document is written whenever a context is handed over, or when you ask for one.
            </Empty>
          ) : (
            <ul className="rows">
              {found.slice(0, mostHandoffs).map(({ tape, id, date, goal, profile, writer }) => (
                <li key={`${tape}#${id}`}>
                  <Link to={documentAddress(tape, id)} className="row-link lately-item">
                    <span className="lately-baton" aria-hidden="true" />
                    <span className="grow">
                      <span className="cut lately-title">
                        <Text max={120}>{goal ?? titleOf(tape)}</Text>
                      </span>
                      <span className="tiny faint">
                        {profile === 'cycle' ? 'cycle' : 'document'} · <Text max={40}>{writerText(writer)}</Text>
                      </span>
                    </span>
                    <Ago date={date} className="faint small" />
                  </Link>
                </li>
              ))}
            </ul>
          )
        }
      </Answer>
    </Panel>
  )
}
