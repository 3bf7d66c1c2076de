// The sessions under supervision, and a form to start one more.

import { type FormEvent, useState } from 'react'
import { PageFrame, Panel } from '../../parts/page.tsx'
import { type AnswerOf, queryClient, useAction, useOperation } from '../../data/queries.ts'
import { StateBadge } from '../../parts/badge.tsx'
import { Command } from '../../parts/copy.tsx'
import { Dialog } from '../../parts/dialog.tsx'
import { Gauge } from '../../parts/gauge.tsx'
import { usdText } from '../../parts/numbers.ts'
import { Answer, Empty } from '../../parts/states.tsx'
import { Text } from '../../parts/text.tsx'
import { Ago } from '../../parts/time.tsx'
import { notifyProblem } from '../../shell/notices.tsx'
import { Link, navigate, setQuery, usePlace } from '../../shell/router.tsx'
import { useShortcut } from '../../shell/shortcuts.tsx'
import './supervisor.css'

type Row = AnswerOf<'supervisedList'>['sessions'][number]

export default function Supervisor() {
  const { query } = usePlace()
  const all = query.get('all') === '1'
  const sessions = useOperation('supervisedList', all ? { all } : {})
  const start = () => setQuery({ start: '1' })
  useShortcut('n', 'Start an agent', start)
  return (
    <PageFrame
      title="Supervisor"
      about="Agents that Baton keeps running: it hands each over to itself before its context is full."
      actions={
        <>
          <label className="row small">
            <input type="checkbox" checked={all} onChange={() => setQuery({ all: all ? undefined : '1' })} /> Show ended
            sessions
          </label>
          <button type="button" className="button button-main" onClick={start}>
            Start an agent
          </button>
        </>
      }
    >
      <Panel label="Supervised sessions">
        <Answer query={sessions}>
          {({ sessions }) =>
            sessions.length === 0 ? (
              <Empty icon="supervisor" title="No agent is supervised in this workspace">
                <Command>baton run claude --task job.md --until 'npm test'</Command>
              </Empty>
            ) : (
              <ul className="rows">
                {sessions.map((row) => (
                  <li key={row.name}>
                    <SessionLine row={row} />
                  </li>
                ))}
              </ul>
            )
          }
        </Answer>
      </Panel>
      {query.get('start') === '1' && <StartDialog onClose={() => setQuery({ start: undefined })} />}
    </PageFrame>
  )
}

function SessionLine({ row }: { row: Row }) {
  const { name, agent, project, state, step, context_usage: usage, threshold, cycles, last_check, usd } = row
  return (
    <Link className="row-link supervisor-line" to={`/supervisor/${encodeURIComponent(name)}`}>
      <span className="supervisor-name">
        <strong>
          <Text max={80}>{name}</Text>
        </strong>
        <span className="muted small">
          <Text max={40}>{agent}</Text> in <Text max={100}>{project.split('/').at(-1) ?? project}</Text>
        </span>
      </span>
      <span className="row wrap">
        <StateBadge state={state} />
        {step !== undefined && (
          <Text className="muted small" max={120}>
            {step}
          </Text>
        )}
      </span>
      <Gauge share={usage} threshold={typeof threshold === 'number' ? threshold : undefined} />
      <span className="number small muted">
        {cycles === 1 ? '1 cycle' : `${cycles} cycles`}
        {usd !== undefined && `, ${usdText(usd)}`}
      </span>
      <Ago date={last_check} className="faint small" />
    </Link>
  )
}

/** The agents that can be started: those that Baton knows, and those that the configuration adds. */
function useAgentNames(): readonly string[] {
  const { agents: known = [] } = useOperation('workspaceInfo', {}).data ?? {}
  const { sections = [] } = useOperation('settingsShow', {}).data ?? {}
  const configured = sections
    .find(({ name }) => name === 'supervisor')
    ?.values.find(({ name }) => name === 'agents')?.value
  return [...new Set([...known, ...Object.keys(JSON.parse(configured ?? '{}') as object)])]
}

function StartDialog({ onClose }: { onClose: () => void }) {
  const agents = useAgentNames()
  const [fields, setFields] = useState({
    agent: '',
    name: '',
    task: '',
    until: '',
    hours: '8',
    usd: '',
    driver: 'tmux',
  })
  const set = (name: keyof typeof fields) => (event: { target: { value: string } }) =>
    setFields({ ...fields, [name]: event.target.value })
  const run = useAction('supervisedRun', {
    onDone: ({ name }) => {
      void queryClient.invalidateQueries({ queryKey: ['supervisedList'] })
      navigate(`/supervisor/${encodeURIComponent(name)}`)
    },
    onError: notifyProblem,
  })
  const start = (event: FormEvent) => {
    event.preventDefault()
    run.mutate({
      agent: fields.agent || agents[0]!,
      name: fields.name,
      driver: fields.driver === 'headless' ? 'headless' : 'tmux',
      ...(fields.task.trim() === '' ? {} : { task: fields.task }),
      ...(fields.until.trim() === '' ? {} : { until: fields.until }),
      bounds: {
        ...(fields.hours === '' ? {} : { maxHours: Number(fields.hours) }),
        ...(fields.usd === '' ? {} : { maxUsd: Number(fields.usd) }),
      },
    })
  }
  return (
    <Dialog title="Start an agent" wide onClose={onClose}>
      <form className="supervisor-form" onSubmit={start}>
        <label className="field">
          <span>Agent</span>
          <select className="input" value={fields.agent || agents[0]} onChange={set('agent')}>
            {agents.map((name) => (
              <option key={name}>{name}</option>
            ))}
          </select>
        </label>
        <label className="field">
          <span>Name</span>
          <input
            className="input"
            required
            pattern="[\w.\-]+"
            maxLength={60}
            value={fields.name}
            onChange={set('name')}
          />
        </label>
        <label className="field supervisor-whole">
          <span>Task</span>
          <textarea className="input" rows={6} value={fields.task} onChange={set('task')} />
        </label>
        <label className="field supervisor-whole">
          <span>Done when this command succeeds (optional)</span>
          <input className="input mono" placeholder="npm test" value={fields.until} onChange={set('until')} />
        </label>
        <label className="field">
          <span>Hours, at most</span>
          <input className="input" type="number" min="0.1" step="any" value={fields.hours} onChange={set('hours')} />
        </label>
        <label className="field">
          <span>Dollars, at most</span>
          <input className="input" type="number" min="0.01" step="any" value={fields.usd} onChange={set('usd')} />
        </label>
        <label className="field supervisor-whole">
          <span>Runs</span>
          <select className="input" value={fields.driver} onChange={set('driver')}>
            <option value="tmux">on a screen you can attach to</option>
            <option value="headless">without a screen</option>
          </select>
        </label>
        <p className="row supervisor-whole">
          <button type="submit" className="button button-main" disabled={run.isPending}>
            {run.isPending ? 'Starting…' : 'Start'}
          </button>
        </p>
      </form>
    </Dialog>
  )
}
