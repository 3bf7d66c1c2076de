// What has changed between two documents of a tape.

import { useOperation } from '../../data/queries.ts'
import { Answer, Empty } from '../../parts/states.tsx'
import { Text } from '../../parts/text.tsx'

export function DocumentDiff({ tape, from, to }: { tape: string; from: number; to: number }) {
  const diff = useOperation('documentDiff', { tape, from, to })
  return (
    <article className="document panel">
      <Answer query={diff}>
        {({ text }) =>
          text.trim() === '' ? (
            <Empty title="The two say the same" />
          ) : (
            <div className="document-diff">
              {text.split('\n').map((line, at) => (
                <p key={at} className={lineClass(line)}>
                  <Text>{line}</Text>
                </p>
              ))}
            </div>
          )
        }
      </Answer>
    </article>
  )
}

function lineClass(line: string): string {
  if (line.startsWith('+')) return 'line-added'
  if (line.startsWith('-')) return 'line-removed'
  return /^#|^\S/.test(line) ? 'line-head' : ''
}
