// How full a context was over time, with the handoffs marked: beside a tape, and on the page of a supervised session.

import { Panel } from './page.tsx'
import { useOperation } from '../data/queries.ts'
import { later } from './later.tsx'
import { Answer } from './states.tsx'

const MeterChart = later(() => import('./meter-chart.tsx'), 3)

export function MeterPanel({ tape }: { tape: string }) {
  const history = useOperation('meterHistory', { tape }, { keep: true })
  if (history.data !== undefined && history.data.points.length < 2) return null
  return (
    <Panel title="Context over time" body="meter-panel">
      <Answer query={history} rows={3}>
        {({ points, marks }) => <MeterChart points={points} marks={marks.filter(({ kind }) => kind !== 'document')} />}
      </Answer>
    </Panel>
  )
}
