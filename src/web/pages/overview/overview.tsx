// What runs, how full it is, what was handed over, what needs a person: answered without a click.

import { useOperation } from '../../data/queries.ts'
import { Answer, Empty } from '../../parts/states.tsx'

export default function Overview() {
  const sessions = useOperation('sessionList', { limit: 200 }, { everyMs: 3_000 })
  return (
    <div className="page">
      <header className="page-head">
        <h1>Overview</h1>
      </header>
      <Answer query={sessions}>
        {({ sessions, total }) => (total === 0 ? <Empty title="No sessions" /> : <p>{sessions.length}</p>)}
      </Answer>
    </div>
  )
}
