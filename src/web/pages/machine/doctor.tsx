// Whether everything that Baton needs is there and works: what is wrong first, each with what to do about it.

import { PageFrame, Panel } from '../../parts/page.tsx'
import { useOperation } from '../../data/queries.ts'
import { Badge } from '../../parts/badge.tsx'
import { Answer } from '../../parts/states.tsx'
import { Text } from '../../parts/text.tsx'
import './machine.css'

const tones = { problem: 'bad', warning: 'baton', ok: 'live' } as const
const order = ['problem', 'warning', 'ok']

export default function Doctor() {
  const doctor = useOperation('doctorCheck', {})
  return (
    <PageFrame
      title="Doctor"
      about="What Baton needs on this machine, and what it found."
      actions={
        <button type="button" className="button" disabled={doctor.isFetching} onClick={() => void doctor.refetch()}>
          {doctor.isFetching ? 'Checking…' : 'Check again'}
        </button>
      }
    >
      <Panel label="Findings">
        <Answer query={doctor} rows={8}>
          {({ findings }) => (
            <ul className="rows machine-findings">
              {findings
                .toSorted((a, b) => order.indexOf(a.is) - order.indexOf(b.is))
                .map(({ about, is, text, advice }) => (
                  <li key={`${about} ${text}`}>
                    <Badge tone={tones[is]}>{is}</Badge>
                    <span>
                      <Text>{text}</Text>
                      {advice !== undefined && (
                        <span className="muted">
                          {' '}
                          <Text>{advice}</Text>
                        </span>
                      )}
                    </span>
                  </li>
                ))}
            </ul>
          )}
        </Answer>
      </Panel>
    </PageFrame>
  )
}
