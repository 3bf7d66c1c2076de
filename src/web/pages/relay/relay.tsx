// The relay: who asks whom, what is open, how requests ended, and those that nobody could finish.

import { useMemo } from 'react'
import { PageFrame, Panel } from '../../parts/page.tsx'
import { type AnswerOf, queryClient, useAction, useOperation } from '../../data/queries.ts'
import { Badge, type Tone } from '../../parts/badge.tsx'
import { Command } from '../../parts/copy.tsx'
import { Graph, type GraphBox, type GraphLine } from '../../parts/graph.tsx'
import { countText, spanText } from '../../parts/numbers.ts'
import { Answer, Empty } from '../../parts/states.tsx'
import { Text } from '../../parts/text.tsx'
import { Ago } from '../../parts/time.tsx'
import { notify, notifyProblem } from '../../shell/notices.tsx'
import { Link, tapeAddress } from '../../shell/router.tsx'
import './relay.css'

/** What the page looks at. */
const mostRequests = 200

type Request = AnswerOf<'relayRecent'>['requests'][number]
type Status = AnswerOf<'relayStatus'>

export default function Relay() {
  const status = useOperation('relayStatus', {})
  const recent = useOperation('relayRecent', { limit: mostRequests })
  return (
    <PageFrame title="Relay" about="Requests between agents, and to people.">
      <Answer query={status}>{(answer) => <Figures status={answer} />}</Answer>
      <Alerts />
      {status.data && <Limits limits={status.data.limits} requests={recent.data?.requests ?? []} />}
      <Answer query={recent}>
        {({ requests }) =>
          requests.length === 0 ? (
            <Panel>
              <Empty icon="relay" title="No requests yet">
                <Command>baton relay ask writer human "Which licence?"</Command>
              </Empty>
            </Panel>
          ) : (
            <>
              <Panel
                title="Who asks whom"
                label="Topology"
                aside={
                  requests.length === mostRequests && (
                    <span className="muted small">of the newest {countText(mostRequests)} requests</span>
                  )
                }
                className="relay-topology"
              >
                <Topology
                  requests={requests}
                  agents={status.data?.agents ?? {}}
                  escalated={status.data?.escalated ?? 0}
                />
              </Panel>
              <Dead />
              <Requests requests={requests} />
            </>
          )
        }
      </Answer>
    </PageFrame>
  )
}

function Figures({ status }: { status: Status }) {
  const { counters } = status
  const figures: [string, number | undefined, Tone?][] = [
    ['waiting', status.pending],
    ['at work', status.claimed],
    ['with a person', status.escalated, 'baton'],
    ['dead letters', status.deadLetters, 'bad'],
    ['resolved', counters['resolved']],
    ['partial', counters['partial']],
    ['failed', counters['failed']],
    ['over a limit', counters['rejected']],
    ['loops stopped', counters['circularBlocked']],
  ]
  return (
    <dl className="panel relay-figures">
      {figures.map(([name, value = 0, tone]) => (
        <div key={name} data-tone={value > 0 ? tone : undefined}>
          <dt className="muted small">{name}</dt>
          <dd className="number">{countText(value)}</dd>
        </div>
      ))}
    </dl>
  )
}

interface LimitsProps {
  readonly limits: Status['limits']
  readonly requests: readonly Request[]
}

/** What is configured, and how much of it the open requests have used. */
function Limits({ limits, requests }: LimitsProps) {
  const open = new Set(requests.filter(isOpen).map(({ traceId }) => traceId))
  // A later request of the same trace counts for it, even where that one has ended.
  const used = requests.filter(({ traceId }) => open.has(traceId)).map((request) => request.used)
  const most = (of: keyof Request['used']) => Math.max(0, ...used.map((each) => each[of]))
  const counted: [string, number, number][] = [
    ['handoffs per item', most('perItem'), limits.maxHandoffsPerItem],
    ['handoffs per pipeline', most('perPipeline'), limits.maxHandoffsPerPipeline],
    ['questions to people', most('people'), limits.maxHumanRequestsPerPipeline],
  ]
  const times: [string, number][] = [
    ['timeout', limits.handoffTimeoutMs],
    ['cooldown', limits.handoffCooldownMs],
  ]
  return (
    <Panel
      title="Limits"
      aside={
        <span className="muted small">
          {open.size === 0 ? 'No pipeline is open' : 'The most that an open pipeline has used'}
          {requests.length === mostRequests && `, among the newest ${countText(mostRequests)} requests`}
        </span>
      }
    >
      <dl className="relay-figures">
        {counted.map(([name, use, limit]) => (
          <div key={name} data-tone={use >= limit ? 'bad' : undefined}>
            <dt className="muted small">{name}</dt>
            <dd className="number">
              {open.size > 0 && `${countText(use)} of `}
              {countText(limit)}
            </dd>
          </div>
        ))}
        {times.map(([name, ms]) => (
          <div key={name}>
            <dt className="muted small">{name}</dt>
            <dd className="number">{spanText(ms)}</dd>
          </div>
        ))}
      </dl>
    </Panel>
  )
}

const isOpen = ({ status }: Request) => status === 'open' || status === 'claimed' || status === 'escalated'

function Alerts() {
  const alerts = useOperation('relayAlerts', {}, { everyMs: 15_000 })
  const on = alerts.data?.alerts.filter((alert) => alert.on) ?? []
  return on.map(({ name, text }) => (
    <p key={name} className="panel panel-body relay-alert" role="alert">
      <Text>{text}</Text>
    </p>
  ))
}

interface TopologyProps {
  readonly requests: readonly Request[]
  readonly agents: Status['agents']
  /** How many requests wait for people. */
  readonly escalated: number
}

function Topology({ requests, agents, escalated }: TopologyProps) {
  const { boxes, lines } = useMemo(() => layOut(requests), [requests])
  const drawn: GraphBox[] = boxes.map(({ name, ...place }) => {
    const { pending = 0, claimed = 0 } = agents[name] ?? {}
    const asked = name === 'human' ? escalated : 0
    return {
      id: name,
      ...place,
      isMarked: name === 'human',
      content: (
        <>
          <strong className="cut">
            <Text max={60}>{name}</Text>
          </strong>
          <span className="tiny muted number">
            {asked > 0
              ? `${countText(asked)} to answer`
              : pending + claimed === 0
                ? 'nothing open'
                : `${countText(pending)} waiting, ${countText(claimed)} at work`}
          </span>
        </>
      ),
    }
  })
  return <Graph boxes={drawn} lines={lines} label="Who asks whom" boxWidth={180} rowHeight={76} labelAt={0.32} />
}

/** An agent stands right of those that ask it; in a circle, the first one seen is on the left. */
function layOut(requests: readonly Request[]) {
  const pairs = new Map<string, { from: string; to: string; count: number; open: number }>()
  for (const request of requests.toReversed()) {
    const { from, to } = request
    const key = `${from}\n${to}`
    const pair = pairs.get(key) ?? { from, to, count: 0, open: 0 }
    pair.count += 1
    if (isOpen(request)) pair.open += 1
    pairs.set(key, pair)
  }
  const columns = new Map<string, number>()
  for (const { from, to } of pairs.values()) {
    if (!columns.has(from)) columns.set(from, 0)
    if (!columns.has(to)) columns.set(to, columns.get(from)! + 1)
  }
  const rows = new Map<string, number>()
  // Each column in the order of those that ask, so that few lines cross.
  for (let column = 0; column <= Math.max(0, ...columns.values()); column++) {
    const askedBy = (name: string) =>
      [...pairs.values()].filter(({ to }) => to === name).map(({ from }) => rows.get(from) ?? 0)
    const middle = (name: string) => mean(askedBy(name))
    const inColumn = [...columns].filter(([, place]) => place === column).map(([name]) => name)
    const ordered = column === 0 ? inColumn : inColumn.toSorted((a, b) => middle(a) - middle(b))
    for (const [row, name] of ordered.entries()) rows.set(name, row)
  }
  const boxes = [...columns].map(([name, column]) => ({ name, column, row: rows.get(name)! }))
  const lines: GraphLine[] = [...pairs.values()].map(({ from, to, count, open }) => ({
    from,
    to,
    label:
      open === 0
        ? countText(count)
        : open === count
          ? `${countText(open)} open`
          : `${countText(open)} of ${countText(count)} open`,
    isLive: open > 0,
  }))
  return { boxes, lines }
}

const mean = (numbers: readonly number[]) => numbers.reduce((sum, each) => sum + each, 0) / Math.max(1, numbers.length)

function Dead() {
  const dead = useOperation('relayDead', {})
  const refresh = () => void queryClient.invalidateQueries({ queryKey: ['relayDead'] })
  const retry = useAction('relayDeadRetry', {
    onDone: () => {
      notify('It is back in its inbox.')
      refresh()
    },
    onError: notifyProblem,
  })
  const letters = dead.data?.letters ?? []
  if (letters.length === 0) return null
  return (
    <Panel
      title="Dead letters"
      aside={<span className="muted small">Requests whose workers died with them, again and again.</span>}
    >
      <ul className="panel-body relay-dead">
        {letters.map(({ requestId, from, to, lost }) => (
          <li key={requestId} className="row wrap">
            <Text className="mono small" max={60}>
              {requestId}
            </Text>
            <span>
              <Text>{`${from} → ${to}`}</Text>
            </span>
            <span className="muted">{lost.length === 1 ? '1 worker lost' : `${lost.length} workers lost`}</span>
            <button
              type="button"
              className="button"
              disabled={retry.isPending}
              onClick={() => retry.mutate({ requestId })}
            >
              Try again
            </button>
          </li>
        ))}
      </ul>
    </Panel>
  )
}

function toneOf(status: Request['status']): Tone {
  if (status === 'resolved') return 'live'
  if (status === 'failed' || status === 'rejected') return 'bad'
  return status === 'escalated' ? 'baton' : 'quiet'
}

function Requests({ requests }: { requests: readonly Request[] }) {
  return (
    <Panel
      title="Requests"
      aside={
        requests.length === mostRequests && <span className="muted small">the newest {countText(mostRequests)}</span>
      }
    >
      <ul className="rows relay-requests">
        {requests.map((request) => (
          <li key={request.requestId}>
            <span className="row wrap">
              <Badge tone={toneOf(request.status)}>{request.status}</Badge>
              <strong>
                <Text max={100}>{`${request.from} → ${request.to}`}</Text>
              </strong>
              <span className="faint small">{request.priority}</span>
              {request.durationMs !== undefined && (
                <span className="number faint small">{spanText(request.durationMs)}</span>
              )}
              <span className="grow" />
              <Link className="small faint" to={tapeAddress('relay/handoffs', request.entry)}>
                <Ago date={request.date} />
              </Link>
            </span>
            <Text className="small" max={300}>
              {request.summary}
            </Text>
            {request.why !== undefined && (
              <Text className="small relay-why" max={300}>
                {request.why}
              </Text>
            )}
          </li>
        ))}
      </ul>
    </Panel>
  )
}
