// Finding text on a tape, newest first.

import { useOperation } from '../../data/queries.ts'
import { Answer, Empty } from '../../parts/states.tsx'
import { Text } from '../../parts/text.tsx'
import { Clock } from '../../parts/time.tsx'
import { Link, tapeAddress } from '../../shell/router.tsx'

const around = 60

export function Hits({ tape, text }: { tape: string; text: string }) {
  const hits = useOperation('tapeSearch', { tape, text, limit: 50 })
  return (
    <Answer query={hits}>
      {({ hits }) =>
        hits.length === 0 ? (
          <Empty icon="search" title="Not found on this tape" />
        ) : (
          <ul className="hits">
            {hits.map(({ entry, blob }) => (
              <li key={entry.id}>
                <Link to={`${tapeAddress(tape, entry.id)}&find=${encodeURIComponent(text)}`} className="hit">
                  <span className="row tiny faint">
                    <span className="number">#{entry.id}</span> {entry.kind} <Clock date={entry.date} />
                  </span>
                  <Text max={300}>{blob?.excerpt ?? excerpt(JSON.stringify(entry.payload), text)}</Text>
                </Link>
              </li>
            ))}
          </ul>
        )
      }
    </Answer>
  )
}

function excerpt(all: string, text: string): string {
  const at = Math.max(0, all.toLowerCase().indexOf(text.toLowerCase()))
  const start = Math.max(0, at - around)
  return `${start > 0 ? '…' : ''}${all.slice(start, at + text.length + 2 * around)}`
}
