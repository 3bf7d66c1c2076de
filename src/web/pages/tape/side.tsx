// Beside a tape: what the model sees now, how full its context was over time, and the documents about it.

import { Panel } from '../../parts/page.tsx'
import { useOperation } from '../../data/queries.ts'
import { MeterPanel } from '../../parts/meters.tsx'
import { countText, tokensText } from '../../parts/numbers.ts'
import { Answer, Loading } from '../../parts/states.tsx'
import { Text } from '../../parts/text.tsx'
import { Ago } from '../../parts/time.tsx'
import { documentAddress, Link, tapeAddress } from '../../shell/router.tsx'

const kindWords: Record<string, string> = {
  state: 'State of the anchor',
  system: 'Instructions',
  user: 'User',
  assistant: 'Assistant',
  tool_call: 'Calls',
  tool_result: 'Results',
}

/** `meters`: the tape that records how full the context was; for a supervised session not the agent's own. */
export function Side({ tape, isWanted, meters = tape }: { tape: string; isWanted: boolean; meters?: string }) {
  return (
    <aside className="side" aria-label="About this tape">
      {isWanted ? <Panels tape={tape} meters={meters} /> : <Loading rows={6} />}
    </aside>
  )
}

function Panels({ tape, meters }: { tape: string; meters: string }) {
  return (
    <>
      <InContext tape={tape} />
      <MeterPanel tape={meters} />
      <Documents tape={meters} />
    </>
  )
}

function InContext({ tape }: { tape: string }) {
  const tokens = useOperation('tapeTokens', { tape }, { keep: true })
  return (
    <Panel
      title="The model sees"
      aside={
        <span className="number muted small">{tokens.data && `about ${tokensText(tokens.data.total)} tokens`}</span>
      }
      label="What the model sees now"
      body
    >
      <Answer query={tokens} rows={3}>
        {({ total, parts, anchor, from }) => (
          <>
            <div className="shares" aria-hidden="true">
              {parts.map(({ kind, tokens }) => (
                <span key={kind} className={`share share-${kind}`} style={{ flexGrow: tokens }} />
              ))}
            </div>
            <dl className="share-list">
              {parts.map(({ kind, tokens, entries }) => (
                <div key={kind}>
                  <dt>
                    <span className={`share-dot share-${kind}`} />
                    {kindWords[kind]}{' '}
                    {entries !== undefined && (
                      <span className="faint tiny">{entries === 1 ? '1 entry' : `${countText(entries)} entries`}</span>
                    )}
                  </dt>
                  <dd className="number">{tokensText(tokens)}</dd>
                </div>
              ))}
            </dl>
            {total > 0 && (
              <p className="small muted">
                From <Link to={tapeAddress(tape, from)}>#{from}</Link>
                {anchor !== undefined && (
                  <>
                    , at the anchor <Text max={60}>{anchor.name}</Text>
                  </>
                )}
                .
              </p>
            )}
          </>
        )}
      </Answer>
    </Panel>
  )
}

function Documents({ tape }: { tape: string }) {
  const found = useOperation('documentList', { tape, limit: 5 }).data?.documents ?? []
  return (
    <Panel
      title="Handoffs"
      aside={
        <Link to={`/handoffs?write=${encodeURIComponent(tape)}`} className="small">
          Write one
        </Link>
      }
    >
      {found.length === 0 ? (
        <p className="panel-body small muted">Nobody has handed this over yet.</p>
      ) : (
        <ul className="rows">
          {found.map(({ id, date, goal, profile }) => (
            <li key={id}>
              <Link to={documentAddress(tape, id)} className="row-link small">
                <span className="cut grow">
                  <Text max={80}>{goal ?? profile}</Text>
                </span>
                <Ago date={date} className="faint small" />
              </Link>
            </li>
          ))}
        </ul>
      )}
    </Panel>
  )
}
