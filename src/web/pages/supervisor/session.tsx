// One supervised session: what it does, its screen, its cycles step by step, its health checks.

import { useState } from 'react'
import { Panel } from '../../parts/page.tsx'
import { type AnswerOf, queryClient, useAction, useOperation } from '../../data/queries.ts'
import { Badge, StateBadge } from '../../parts/badge.tsx'
import { Command } from '../../parts/copy.tsx'
import { Confirm } from '../../parts/dialog.tsx'
import { Gauge } from '../../parts/gauge.tsx'
import { MeterPanel } from '../../parts/meters.tsx'
import { spanText, usdText } from '../../parts/numbers.ts'
import { Answer, Empty } from '../../parts/states.tsx'
import { Text } from '../../parts/text.tsx'
import { Clock } from '../../parts/time.tsx'
import { notify, notifyProblem } from '../../shell/notices.tsx'
import type { PageProps } from '../../shell/pages.ts'
import { documentAddress, Link, tapeAddress } from '../../shell/router.tsx'
import { Screen } from './screen.tsx'
import './supervisor.css'

type Row = AnswerOf<'supervisedShow'>['session']
type Cycle = AnswerOf<'supervisedCycles'>['cycles'][number]

export default function SupervisedSession({ fields }: PageProps) {
  const name = fields['name']!
  const shown = useOperation('supervisedShow', { name })
  const cycles = useOperation('supervisedCycles', { name })
  return (
    <div className="page">
      <Answer query={shown}>
        {({ session, checks }) => (
          <>
            <Head row={session} />
            <div className="supervisor-columns">
              <div className="supervisor-column">
                <Screen name={name} isOver={session.state === 'ended' || session.state === 'dead'} />
                <MeterPanel tape={`session/${name}`} />
                <Health checks={checks} />
              </div>
              <Panel
                title="Cycles"
                aside={
                  <Link className="small" to={tapeAddress(`session/${name}`)}>
                    Its tape
                  </Link>
                }
                body="supervisor-cycles"
              >
                <Answer query={cycles}>
                  {({ cycles }) =>
                    cycles.length === 0 ? (
                      <Empty title="No cycle yet">It begins by itself before the context is full.</Empty>
                    ) : (
                      cycles.map((cycle) => <CycleLine key={cycle.n} name={name} cycle={cycle} />)
                    )
                  }
                </Answer>
              </Panel>
            </div>
          </>
        )}
      </Answer>
    </div>
  )
}

type Check = AnswerOf<'supervisedShow'>['checks'][number]

function Health({ checks }: { checks: readonly Check[] }) {
  return (
    <Panel title="Health">
      <ul className="panel-body supervisor-checks">
        {checks.length === 0 && <li className="muted">No checks yet.</li>}
        {checks.map((check) => (
          <li key={`${check.check_type} ${check.date}`} className="row">
            <Badge tone={check.status === 'ok' ? 'live' : check.status === 'critical' ? 'bad' : 'baton'}>
              {check.status}
            </Badge>
            <span className="grow">
              <Text>{whatOf(check)}</Text>
            </span>
            <span className="faint small">
              <Clock date={check.date} />
            </span>
          </li>
        ))}
      </ul>
    </Panel>
  )
}

function whatOf(check: Check): string {
  const details = check['details'] as { what?: unknown } | undefined
  return typeof details?.what === 'string' ? details.what : check.check_type
}

type Wish = 'pause' | 'unpause' | 'cycle' | 'stop'

function Head({ row }: { row: Row }) {
  const [stopping, setStopping] = useState(false)
  const control = useAction('supervisedControl', {
    onDone: ({ supervised }, { command }) => {
      notify(supervised ? `${words[command]}.` : 'Noted. Nobody supervises it now; "baton watch" will carry it out.')
      void queryClient.invalidateQueries({ queryKey: ['supervisedShow'] })
    },
    onError: notifyProblem,
  })
  const wish = (command: Wish) => control.mutate({ name: row.name, command })
  const isOver = row.state === 'ended'
  return (
    <header className="page-head">
      <div>
        <h1>
          <Text>{row.name}</Text>
        </h1>
        <p className="row wrap">
          <StateBadge state={row.state} />
          <Text>{row.agent}</Text> in <Text>{row.project}</Text>
          {row.usd !== undefined && <span className="number">{usdText(row.usd)}</span>}
          {row.ended !== undefined && <Text>{row.ended}</Text>}
          {row.step !== undefined && <Text>{row.step}</Text>}
        </p>
        <Gauge
          share={row.context_usage}
          threshold={typeof row['threshold'] === 'number' ? row['threshold'] : undefined}
        />
      </div>
      {!isOver && (
        <div className="row wrap">
          <button
            type="button"
            className="button button-baton"
            disabled={control.isPending}
            onClick={() => wish('cycle')}
          >
            Hand over now
          </button>
          <button
            type="button"
            className="button"
            disabled={control.isPending}
            onClick={() => wish(row.state === 'paused' ? 'unpause' : 'pause')}
          >
            {row.state === 'paused' ? 'Resume' : 'Pause'}
          </button>
          <button
            type="button"
            className="button button-bad"
            disabled={control.isPending}
            onClick={() => setStopping(true)}
          >
            Stop
          </button>
          <Command>{`baton attach ${row.name}`}</Command>
        </div>
      )}
      {stopping && (
        <Confirm
          title={`Stop ${row.name}?`}
          action="Stop it"
          onConfirm={() => wish('stop')}
          onClose={() => setStopping(false)}
        >
          The agent is ended and not started again. What it has done stays on its tape and in the project.
        </Confirm>
      )}
    </header>
  )
}

const words: Record<Wish, string> = {
  pause: 'Paused: Baton watches and does nothing',
  unpause: 'Resumed',
  cycle: 'It hands over at the end of its turn',
  stop: 'It is being stopped',
}

const stepWords: Record<string, string> = {
  asked: 'asked for the document',
  documented: 'document stored',
  clearing: 'context cleared',
  resuming: 'asked to resume',
  verifying: 'resumption checked',
  done: 'carried on',
  failed: 'failed',
}

function CycleLine({ name, cycle }: { name: string; cycle: Cycle }) {
  const { n, outcome, steps, percentBefore, percentAfter, totalMs, ownMs, document, reason } = cycle
  const first = Date.parse(steps[0]?.date ?? '')
  return (
    <article className="supervisor-cycle">
      <h3 className="row wrap">
        Cycle {n}
        <Badge tone={outcome === 'done' ? 'live' : outcome === 'failed' ? 'bad' : 'baton'}>{outcome}</Badge>
        {percentBefore !== undefined && (
          <span className="number muted">
            {Math.round(percentBefore)}%{percentAfter !== undefined && ` → ${Math.round(percentAfter)}%`}
          </span>
        )}
        {totalMs !== undefined && <span className="number muted">{spanText(totalMs)}</span>}
        {ownMs !== undefined && (
          <span className="number faint" title="Baton's own part of the cycle">
            Baton {(ownMs / 1000).toFixed(1)} s
          </span>
        )}
        {document !== undefined && (
          <Link className="small supervisor-document" to={documentAddress(`session/${name}`, document.id)}>
            document
          </Link>
        )}
      </h3>
      {reason !== undefined && (
        <p className="supervisor-reason">
          <Text>{reason}</Text>
        </p>
      )}
      <ol className="supervisor-steps">
        {steps.map(({ step, id, date, proof }) => (
          <li key={id}>
            <Link to={tapeAddress(`session/${name}`, id)} className="row">
              <span className="grow">{stepWords[step] ?? step}</span>
              <span className="number faint tiny">+{((Date.parse(date) - first) / 1000).toFixed(1)} s</span>
            </Link>
            {step !== 'failed' && <Proof name={name} proof={proof} />}
          </li>
        ))}
      </ol>
    </article>
  )
}

/** What proved a step; it leads to the entry that recorded it, and to what the agent's own tape shows. */
function Proof({ name, proof }: { name: string; proof: Cycle['steps'][number]['proof'] }) {
  if (proof === undefined) return <p className="faint tiny">Proof unknown: nothing is recorded.</p>
  return (
    <p className="tiny muted">
      <Text>{proof.text}</Text>{' '}
      <Link to={tapeAddress(`session/${name}`, proof.id)} className="faint">
        <Clock date={proof.date} />
      </Link>
      {proof.seen !== undefined && (
        <>
          {' · '}
          <Link to={tapeAddress(proof.seen.tape, proof.seen.id)}>in its transcript</Link>
        </>
      )}
    </p>
  )
}
