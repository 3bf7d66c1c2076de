// The newest handoff documents.

import type { UseQueryResult } from '@tanstack/react-query'
import type { AnswerOf } from '../../data/queries.ts'
import { useTitles, writerText } from '../../data/titles.ts'
import { Badge } from '../../parts/badge.tsx'
import { Answer, Empty } from '../../parts/states.tsx'
import { Text } from '../../parts/text.tsx'
import { Ago } from '../../parts/time.tsx'
import { documentAddress, Link } from '../../shell/router.tsx'

const shown = 7

export function Lately({ documents }: { documents: UseQueryResult<AnswerOf<'documentList'>> }) {
  const titleOf = useTitles()
  return (
    <section className="panel" aria-label="Handed over">
      <header className="panel-head">
        <h2>Handed over</h2>
        <Link to="/handoffs" className="small">
          All
        </Link>
      </header>
      <Answer query={documents}>
        {({ documents: found }) =>
          found.length === 0 ? (
            <Empty title="No handoff yet">
              A document is written whenever a context is handed over, or when you ask for one.
            </Empty>
          ) : (
            <ul className="lately">
              {found.slice(0, shown).map(({ tape, id, date, goal, profile, writer }) => (
                <li key={`${tape}#${id}`}>
                  <Link to={documentAddress(tape, id)} className="lately-item">
                    <span className="lately-baton" aria-hidden="true" />
                    <span className="grow">
                      <span className="cut lately-title">
                        <Text max={120}>{goal ?? titleOf(tape)}</Text>
                      </span>
                      <span className="tiny faint">
                        {profile === 'cycle' ? 'cycle' : 'document'} · <Text max={40}>{writerText(writer)}</Text>
                      </span>
                    </span>
                    <span className="faint small">
                      <Ago date={date} />
                    </span>
                  </Link>
                </li>
              ))}
            </ul>
          )
        }
      </Answer>
      {documents.data !== undefined && documents.data.documents.length > shown && (
        <p className="lately-more small">
          <Badge>{documents.data.documents.length - shown} more</Badge>
        </p>
      )}
    </section>
  )
}
