// What waits for a person, above everything else.

import { useOperation } from '../../data/queries.ts'
import { Priority } from '../../parts/badge.tsx'
import { Icon } from '../../parts/icon.tsx'
import { Text } from '../../parts/text.tsx'
import { Ago } from '../../parts/time.tsx'
import { Link } from '../../shell/router.tsx'

const shown = 4

export function Waiting() {
  const items = useOperation('waitingList', {}).data?.items ?? []
  if (items.length === 0) return null
  return (
    <section className="panel waiting" aria-label="Waiting for you">
      <header className="panel-head">
        <h2>
          Waiting for you <span className="waiting-count number">{items.length}</span>
        </h2>
        {items.length > shown && <Link to="/inbox">All {items.length}</Link>}
      </header>
      <ul className="waiting-list">
        {items.slice(0, shown).map(({ kind, id, title, detail, from, priority, since }) => (
          <li key={`${kind} ${id}`}>
            <Link
              className="waiting-item"
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
              <span className="muted small">
                <Text max={60}>{from}</Text>
              </span>
              <span className="faint small">
                <Ago date={since} />
              </span>
              <Icon name="right" />
            </Link>
          </li>
        ))}
      </ul>
    </section>
  )
}
