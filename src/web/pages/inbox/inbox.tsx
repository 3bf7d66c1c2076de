// What waits for a person: the list by priority on one side, the chosen question with its answer form on the other. Everything can be
// done from the keyboard.

import { useEffect, useMemo } from 'react'
import { type AnswerOf, useOperation } from '../../data/queries.ts'
import { Priority } from '../../parts/badge.tsx'
import { Answer, Empty } from '../../parts/states.tsx'
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
    <div className="page">
      <header className="page-head">
        <div>
          <h1>Inbox</h1>
          <p>Questions that only a person can answer. The agent that asked continues with your answer.</p>
        </div>
      </header>
      <Answer query={waiting}>{({ items }) => <Waiting items={items} />}</Answer>
    </div>
  )
}

function Waiting({ items }: { items: readonly Item[] }) {
  const { query } = usePlace()
  const sorted = useMemo(() => items.toSorted((a, b) => ranks.indexOf(a.priority) - ranks.indexOf(b.priority)), [items])
  const asked = query.get('id')
  const chosen = asked ?? sorted[0]?.id
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
  if (sorted.length === 0 && asked === null) {
    return (
      <section className="panel">
        <Empty icon="check" title="Nothing is waiting for you">
          Questions of agents, approvals of tasks and sessions that are stuck appear here at once.
        </Empty>
      </section>
    )
  }
  const item = sorted.find(({ id }) => id === chosen)
  return (
    <div className="inbox">
      <section className="panel" aria-label="Waiting">
        {sorted.length === 0 && <p className="panel-body muted">Nothing else is waiting for you.</p>}
        <ul className="inbox-list">
          {sorted.map((each) => (
            <li key={`${each.kind} ${each.id}`}>
              <button
                type="button"
                className="inbox-item"
                aria-current={each.id === chosen}
                aria-label={`${each.priority}: ${each.title}`}
                onClick={() => setQuery({ id: each.id })}
              >
                <span className="row">
                  <Priority>{each.priority}</Priority>
                  <span className="grow cut muted small">
                    <Text max={80}>{each.from}</Text>
                  </span>
                  <span className="faint tiny">
                    <Ago date={each.since} />
                  </span>
                </span>
                <span className="inbox-title">
                  <Text max={200}>{each.title}</Text>
                </span>
              </button>
            </li>
          ))}
        </ul>
      </section>
      <section className="panel" aria-label="Question">
        {item?.kind === 'session' ? <Stuck item={item} /> : <Question key={chosen} id={chosen!} />}
      </section>
    </div>
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
