// How full a context was over time, with the handoffs marked: beside a tape, and on the page of a supervised session.

import { lazy, Suspense } from 'react'
import { Panel } from './page.tsx'
import { useOperation } from '../data/queries.ts'
import { Answer, Loading } from './states.tsx'

const MeterChart = lazy(() => import('./meter-chart.tsx'))

export function MeterPanel({ tape }: { tape: string }) {
  const history = useOperation('meterHistory', { tape }, { keep: true })
  if (history.data !== undefined && history.data.points.length < 2) return null
  return (
    <Panel title="Context over time" body="meter-panel">
      <Answer query={history} rows={3}>
        {({ points, marks }) => (
          <Suspense fallback={<Loading rows={3} />}>
            <MeterChart points={points} marks={marks.filter(({ kind }) => kind !== 'document')} />
          </Suspense>
        )}
      </Answer>
    </Panel>
  )
}
