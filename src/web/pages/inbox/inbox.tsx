// What waits for a person: the list by priority on one side, the chosen question with its answer form on the other. Everything can be
// done from the keyboard.

import { type ReactNode, useEffect, useMemo } from 'react'
import { PageFrame, Panel } from '../../parts/page.tsx'
import { type AnswerOf, useOperation } from '../../data/queries.ts'
import { Priority } from '../../parts/badge.tsx'
import { Answer, Empty, ListEnd } from '../../parts/states.tsx'
import { Text } from '../../parts/text.tsx'
import { Ago } from '../../parts/time.tsx'
import { Link, setQuery, usePlace } from '../../shell/router.tsx'
import { useShortcut } from '../../shell/shortcuts.tsx'
import { Question } from './question.tsx'
import './inbox.css'

type Item = AnswerOf<'waitingList'>['items'][number]

const ranks = ['critical', 'high', 'medium', 'low']

export default function Inbox() {
  const waiting = useOperation('waitingList', {})
  return (
    <PageFrame
      title="Inbox"
      about="Questions that only a person can answer. The agent that asked continues with your answer."
    >
      <Answer query={waiting}>{({ items }) => <Waiting items={items} />}</Answer>
    </PageFrame>
  )
}

function Waiting({ items }: { items: readonly Item[] }) {
  const { query } = usePlace()
  const sorted = useMemo(() => items.toSorted((a, b) => ranks.indexOf(a.priority) - ranks.indexOf(b.priority)), [items])
  const asked = query.get('id')
  const chosen = asked ?? sorted[0]?.id
  const history = useOperation('escalationList', { answered: true, limit: mostAnswered }).data?.escalations ?? []
  // What is on the screen stays there, also when somebody else answers it.
  useEffect(() => {
    if (asked === null && chosen !== undefined) setQuery({ id: chosen })
  }, [asked, chosen])
  const step = (by: number) => {
    const at = sorted.findIndex(({ id }) => id === chosen)
    const next = sorted[Math.min(Math.max(at + by, 0), sorted.length - 1)]
    if (next !== undefined) setQuery({ id: next.id })
  }
  useShortcut('j', 'Next question', () => step(1))
  useShortcut('k', 'Previous question', () => step(-1))
  const item = sorted.find(({ id }) => id === chosen)
  const none = (
    <Empty icon="check" title="Nothing is waiting for you">
      Questions of agents, approvals of tasks and sessions that are stuck appear here at once.
    </Empty>
  )
  if (chosen === undefined && history.length === 0) return <Panel>{none}</Panel>
  return (
    <div className="inbox">
      <div className="inbox-column">
        {sorted.length > 0 && (
          <Panel label="Waiting">
            <ul className="rows inbox-list">
              {sorted.map(({ kind, id, priority, title, from, since }) => (
                <li key={`${kind} ${id}`}>
                  <Line
                    label={`${priority}: ${title}`}
                    id={id}
                    isChosen={id === chosen}
                    from={from}
                    title={title}
                    date={since}
                    mark={<Priority>{priority}</Priority>}
                  />
                </li>
              ))}
            </ul>
          </Panel>
        )}
        {history.length > 0 && (
          <Panel title="Answered" className="inbox-answered">
            <ul className="rows inbox-list">
              {history.map(({ id, from, reasonDetail, summary, answer, askedAt }) => {
                const title = reasonDetail === '' ? summary : reasonDetail
                const { by = '', at = askedAt } = answer ?? {}
                return (
                  <li key={id}>
                    <Line
                      label={title}
                      id={id}
                      isChosen={id === chosen}
                      from={`${from}, by ${by}`}
                      title={title}
                      date={at}
                    />
                  </li>
                )
              })}
            </ul>
            {history.length === mostAnswered && <ListEnd>The newest {mostAnswered}.</ListEnd>}
          </Panel>
        )}
      </div>
      <Panel label="Question">
        {item?.kind === 'session' ? (
          <Stuck item={item} />
        ) : chosen === undefined ? (
          none
        ) : (
          <Question key={chosen} id={chosen} />
        )}
      </Panel>
    </div>
  )
}

const mostAnswered = 50

interface LineProps {
  readonly label: string
  readonly id: string
  readonly isChosen: boolean
  readonly mark?: ReactNode
  readonly from: string
  readonly title: string
  readonly date: string
}

function Line({ label, id, isChosen, mark, from, title, date }: LineProps) {
  return (
    <button
      type="button"
      className="inbox-item"
      aria-current={isChosen}
      aria-label={label}
      onClick={() => setQuery({ id })}
    >
      <span className="row">
        {mark}
        <span className="grow cut muted small">
          <Text max={80}>{from}</Text>
        </span>
        <Ago date={date} className="faint tiny" />
      </span>
      <Text className="inbox-title" max={200}>
        {title}
      </Text>
    </button>
  )
}

function Stuck({ item }: { item: Item }) {
  return (
    <div className="panel-body inbox-question">
      <h2>
        <Text>{item.title}</Text>
      </h2>
      {item.detail !== '' && (
        <p className="muted">
          <Text>{item.detail}</Text>
        </p>
      )}
      <p>
        <Link className="button button-main" to={`/supervisor/${encodeURIComponent(item.id)}`}>
          Look at its screen
        </Link>
      </p>
    </div>
  )
}
