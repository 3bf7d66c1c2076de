// The text of a handoff document: what code took from the tape and what somebody claims are marked differently, and every fact leads to its
// entries. Beside it stands what has changed between two documents.

import { type AnswerOf, useOperation } from '../../data/queries.ts'
import { countText } from '../../parts/numbers.ts'
import { Answer, Empty } from '../../parts/states.tsx'
import { Text, TextBlock } from '../../parts/text.tsx'
import { Link, tapeAddress } from '../../shell/router.tsx'

type Items = AnswerOf<'documentItems'>
type Item = Items['sections'][number]['items'][number]

const headings: Record<string, string> = {
  status: 'How it stands',
  goal: 'Goal',
  constraints: 'Constraints',
  done: 'Done',
  doing: 'In progress',
  pending: 'Pending',
  decisions: 'Decisions',
  context: 'Critical context',
  next: 'Next steps',
  blockers: 'Blockers',
  failures: 'Open failures',
  files: 'Files',
  notes: 'Notes',
}

export function sectionTitle(section: string): string {
  return headings[section] ?? section
}

export function DocumentText({ found: { sections } }: { found: Items }) {
  return (
    <article className="document panel">
      {sections.map(({ key, items, omitted }) => (
        <section key={key} className={`document-section document-${key}`}>
          <h2>{sectionTitle(key)}</h2>
          <ul>
            {items.map((item, at) => (
              <li key={at} className={`fact fact-${item.status}`}>
                <Fact item={item} />
              </li>
            ))}
          </ul>
          {omitted !== undefined && <p className="small faint">{countText(omitted.count)} more did not fit.</p>}
        </section>
      ))}
      <footer className="document-legend small muted">
        <span className="fact-mark fact-mark-verified" /> taken from the tape by code
        <span className="fact-mark fact-mark-claimed" /> claimed by an agent, a model or a person
      </footer>
    </article>
  )
}

function Fact({ item }: { item: Item }) {
  const { text, status, by, refs, data, why, ruledOut, checked, file } = item
  return (
    <>
      <span className={`fact-mark fact-mark-${status}`} title={status}>
        <span className="unseen">{status}</span>
      </span>
      <div className="fact-body">
        {checked !== undefined && <span className="fact-check">{checked ? '☑' : '☐'} </span>}
        {by === 'user' ? (
          <blockquote className="fact-quote">
            <TextBlock hasCode>{text}</TextBlock>
          </blockquote>
        ) : file === undefined ? (
          <TextBlock hasCode>{text}</TextBlock>
        ) : (
          <span className="row wrap">
            <code className="fact-file">
              <Text max={300}>{text}</Text>
            </code>
            <span className="tiny faint">{file.action}</span>
            {file.added !== undefined && <span className="tiny fact-plus number">+{file.added}</span>}
            {file.removed !== undefined && <span className="tiny fact-minus number">−{file.removed}</span>}
          </span>
        )}
        {why !== undefined && (
          <p className="small muted">
            Because <Text>{why}</Text>
          </p>
        )}
        {ruledOut !== undefined && (
          <p className="small muted">
            Ruled out: <Text>{ruledOut}</Text>
          </p>
        )}
        {data !== undefined && (
          <div className="fact-data">
            <TextBlock mono max={1_200}>
              {data}
            </TextBlock>
          </div>
        )}
      </div>
      <References refs={refs} />
    </>
  )
}

const mostReferences = 3

/** The entries behind a fact, as links to their place on the tape. */
function References({ refs }: { refs: readonly string[] }) {
  return (
    <span className="references">
      {refs.slice(0, mostReferences).map((ref) => {
        const [, tape, id, to] = /^(.+)#(\d+)(?:\.\.(\d+))?$/s.exec(ref) ?? []
        if (tape === undefined) return null
        return (
          <Link key={ref} to={tapeAddress(tape, Number(id))} className="reference number" title={ref}>
            #{id}
            {to !== undefined && `–${to}`}
          </Link>
        )
      })}
      {refs.length > mostReferences && <span className="tiny faint">+{refs.length - mostReferences}</span>}
    </span>
  )
}

/** What has changed between two documents of a tape. */
export function DocumentDiff({ tape, from, to }: { tape: string; from: number; to: number }) {
  const diff = useOperation('documentDiff', { tape, from, to })
  return (
    <article className="document panel">
      <Answer query={diff}>
        {({ text }) =>
          text.trim() === '' ? (
            <Empty title="No differences" />
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
