// One task: where it stands, what waits for a person, decisions, artifacts and their drift, gates, versions and what changed between them.

import { useState } from 'react'
import { Panel } from '../../parts/page.tsx'
import { type AnswerOf, queryClient, useAction, useOperation } from '../../data/queries.ts'
import { Badge } from '../../parts/badge.tsx'
import { bytesText } from '../../parts/numbers.ts'
import { Answer, Empty } from '../../parts/states.tsx'
import { Text, TextBlock } from '../../parts/text.tsx'
import { Clock } from '../../parts/time.tsx'
import { notify, notifyProblem } from '../../shell/notices.tsx'
import type { PageProps } from '../../shell/pages.ts'
import { Link, setQuery, usePlace } from '../../shell/router.tsx'
import './tasks.css'

type Shown = AnswerOf<'taskShow'>
type State = Shown['state']

export default function Task({ fields }: PageProps) {
  const task = fields['task']!
  const { query } = usePlace()
  const version = query.get('version')
  const shown = useOperation('taskShow', version === null ? { task } : { task, version: Number(version) }, {
    keep: true,
  })
  return (
    <div className="page">
      <Answer query={shown}>
        {(answer) => (
          <>
            <Head {...answer} isOld={version !== null} />
            {version === null && answer.questions.length > 0 && <Decide {...answer} />}
            <div className="tasks-columns">
              <div className="tasks-column">
                <Decisions state={answer.state} />
                <Artifacts {...answer} />
              </div>
              <div className="tasks-column">
                <Gates state={answer.state} />
                <Versions task={task} shown={answer.state.version} />
              </div>
            </div>
          </>
        )}
      </Answer>
    </div>
  )
}

function Head({ state, isOld }: Shown & { isOld: boolean }) {
  return (
    <header className="page-head">
      <div>
        <h1>
          <Text>{state.task_title}</Text>
        </h1>
        <p className="row wrap">
          <Text className="mono">{state.task_id}</Text>
          <Badge tone="live">{state.phase}</Badge>
          <span>version {state.version}</span>
          {state.target_agent !== '' && (
            <span>
              <Text>{state.source_agent}</Text> → <Text>{state.target_agent}</Text>
            </span>
          )}
          <Clock date={state.handoff_timestamp} />
        </p>
      </div>
      {isOld && (
        <button type="button" className="button" onClick={() => setQuery({ version: undefined })}>
          Back to the newest version
        </button>
      )}
    </header>
  )
}

function Decide({ state, questions }: Shown) {
  const [note, setNote] = useState('')
  const decide = useAction('taskDecide', {
    onDone: (_answer, { verdict }) => {
      notify(verdict === 'approve' ? 'Approved. The task can be handed over.' : 'Rejected. The agent can ask again.')
      void queryClient.invalidateQueries({ queryKey: ['taskShow'] })
      void queryClient.invalidateQueries({ queryKey: ['taskHistory'] })
    },
    onError: notifyProblem,
  })
  const say = (verdict: 'approve' | 'reject') =>
    decide.mutate({
      task: state.task_id,
      version: state.version,
      verdict,
      ...(note.trim() === '' ? {} : { note }),
    })
  return (
    <Panel label="Waiting for you" className="tasks-decide" body>
      <p className="label">Waiting for you</p>
      {questions.map((question) => (
        <p key={question.id} className="tasks-title">
          <Text>{question.issue ?? question.id}</Text>
        </p>
      ))}
      <label className="field">
        <span>Remark (optional)</span>
        <input className="input" value={note} onChange={({ target }) => setNote(target.value)} />
      </label>
      <p className="row wrap">
        <button type="button" className="button button-main" disabled={decide.isPending} onClick={() => say('approve')}>
          Approve
        </button>
        <button type="button" className="button button-bad" disabled={decide.isPending} onClick={() => say('reject')}>
          Reject
        </button>
      </p>
    </Panel>
  )
}

function Decisions({ state }: { state: State }) {
  return (
    <Panel title="Decisions" body="tasks-list">
      {state.decisions_made.length === 0 && <Empty title="No decisions yet" />}
      {state.decisions_made.toReversed().map((made) => (
        <article key={`${made.timestamp} ${made.decision}`}>
          <h3>
            <Text>{made.decision}</Text>
          </h3>
          <TextBlock max={600}>{made.rationale}</TextBlock>
          <p className="small faint row wrap">
            <Text>{made.agent}</Text> <Clock date={made.timestamp} />
            {made.alternatives.length > 0 && (
              <span>
                ruled out: <Text>{made.alternatives.join(', ')}</Text>
              </span>
            )}
          </p>
        </article>
      ))}
    </Panel>
  )
}

function Artifacts({ state, drift }: Shown) {
  const [changed, missing] = [new Set(drift?.changed), new Set(drift?.missing)]
  return (
    <Panel title="Artifacts" body="tasks-list">
      {state.artifacts.length === 0 && <Empty title="No artifacts yet" />}
      <table className="tasks-table">
        <tbody>
          {state.artifacts.map(({ path, artifact_type, size_bytes }) => (
            <tr key={path}>
              <td className="mono">
                <Text>{path}</Text>
              </td>
              <td className="muted">{artifact_type}</td>
              <td className="number muted">{bytesText(size_bytes)}</td>
              <td>
                {changed.has(path) && <Badge tone="baton">changed since</Badge>}
                {missing.has(path) && <Badge tone="bad">missing</Badge>}
                {drift !== undefined && !changed.has(path) && !missing.has(path) && (
                  <Badge tone="live">as handed over</Badge>
                )}
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </Panel>
  )
}

function Gates({ state }: { state: State }) {
  const { quality_gates_passed: passed, quality_gates_failed: failed, blocking_issues: issues, warnings } = state
  return (
    <Panel title="Gates and issues" body="tasks-list">
      <p className="row wrap">
        {failed.map((gate) => (
          <Badge key={gate} tone="bad">
            <Text>{gate}</Text>
          </Badge>
        ))}
        {passed.map((gate) => (
          <Badge key={gate} tone="live">
            <Text>{gate}</Text>
          </Badge>
        ))}
        {passed.length + failed.length === 0 && <span className="muted">No gate has run yet.</span>}
      </p>
      {issues.map(({ issue, severity, suggested_action, requires_human }) => (
        <article key={issue}>
          <h3 className="row wrap">
            <Badge tone={severity === 'blocker' ? 'bad' : 'quiet'}>{severity}</Badge>
            <Text>{issue}</Text>
            {requires_human && <Badge tone="baton">needs a person</Badge>}
          </h3>
          {suggested_action !== '' && <TextBlock max={400}>{suggested_action}</TextBlock>}
        </article>
      ))}
      {warnings.map((warning) => (
        <p key={warning} className="muted">
          <Text>{warning}</Text>
        </p>
      ))}
    </Panel>
  )
}

function Versions({ task, shown }: { task: string; shown: number }) {
  const history = useOperation('taskHistory', { task })
  return (
    <Panel title="Versions" body="tasks-list">
      <Answer query={history}>
        {({ versions }) => (
          <ol className="tasks-versions" reversed>
            {versions.toReversed().map((each) => (
              <li key={each.version} aria-current={each.version === shown}>
                {each.lost === true ? (
                  <span className="muted">Version {each.version} was lost to damage.</span>
                ) : (
                  <>
                    <p className="row wrap">
                      <button
                        type="button"
                        className="button"
                        onClick={() => setQuery({ version: String(each.version) })}
                      >
                        {each.version}
                      </button>
                      <span>{each.phase}</span>
                      {each.target_agent !== undefined && each.target_agent !== '' && (
                        <Text className="muted">{`${each.source_agent} → ${each.target_agent}`}</Text>
                      )}
                      {each.date !== undefined && (
                        <span className="faint small">
                          <Clock date={each.date} />
                        </span>
                      )}
                    </p>
                    {[...each.approvals, ...each.rejections, ...each.withdrawals].map(({ verdict, by, date, note }) => (
                      <p key={date} className="small muted">
                        {verdict} by <Text>{by}</Text>
                        {note !== undefined && (
                          <>
                            : <Text>{note}</Text>
                          </>
                        )}
                      </p>
                    ))}
                    {each.version === shown && each.version > 1 && <Difference task={task} to={each.version} />}
                  </>
                )}
              </li>
            ))}
          </ol>
        )}
      </Answer>
      <Link className="small" to={`/tapes/${encodeURIComponent(`task/${task}`)}`}>
        Its tape
      </Link>
    </Panel>
  )
}

/** Fields that change with every version because others do. */
const followsFromOthers = new Set(['context_summary', 'handoff_timestamp', 'previous_phase'])

function valueText(value: unknown): string {
  if (typeof value === 'string') return value === '' ? 'none' : value
  if (Array.isArray(value) && value.every((each) => typeof each === 'string'))
    return value.length === 0 ? 'none' : value.join(', ')
  return value === undefined || value === null ? 'none' : JSON.stringify(value)
}

function Difference({ task, to }: { task: string; to: number }) {
  const diff = useOperation('taskDiff', { task, from: to - 1, to })
  return (
    <Answer query={diff} rows={1}>
      {({ fields, artifacts, decisions_made, blocking_issues }) => (
        <ul className="tasks-diff small">
          {Object.entries(fields)
            .filter(([name]) => !followsFromOthers.has(name))
            .map(([name, { from, to: now }]) => (
              <li key={name}>
                <Text className="muted">{name.replaceAll('_', ' ')}</Text> <Text max={200}>{valueText(from)}</Text> →{' '}
                <Text max={200}>{valueText(now)}</Text>
              </li>
            ))}
          {artifacts.added.map(({ path }) => (
            <li key={`+${path}`}>
              added <Text>{path}</Text>
            </li>
          ))}
          {artifacts.changed.map(({ to: { path } }) => (
            <li key={`~${path}`}>
              changed <Text>{path}</Text>
            </li>
          ))}
          {artifacts.removed.map(({ path }) => (
            <li key={`-${path}`}>
              removed <Text>{path}</Text>
            </li>
          ))}
          {decisions_made.added.map(({ decision }) => (
            <li key={decision}>
              decided: <Text>{decision}</Text>
            </li>
          ))}
          {blocking_issues.added.map(({ issue }) => (
            <li key={issue}>
              new issue: <Text>{issue}</Text>
            </li>
          ))}
          {blocking_issues.removed.map(({ issue }) => (
            <li key={issue}>
              settled: <Text>{issue}</Text>
            </li>
          ))}
        </ul>
      )}
    </Answer>
  )
}
