// A session of an agent: brought onto its tape when it is opened, and kept up to date while it is looked at.

import { useEffect } from 'react'
import { sessionsAsked, useAction, useOperation } from '../../data/queries.ts'
import { Badge } from '../../parts/badge.tsx'
import { Gauge } from '../../parts/gauge.tsx'
import { usdText } from '../../parts/numbers.ts'
import { Empty, Failure, Loading } from '../../parts/states.tsx'
import { Text } from '../../parts/text.tsx'
import { Ago } from '../../parts/time.tsx'
import type { PageProps } from '../../shell/pages.ts'
import { Link } from '../../shell/router.tsx'
import { folderName, type Running, runningOf } from '../overview/running.ts'
import { TapeView } from './tape.tsx'

const lookMs = 3_000

export default function SessionPage({ fields: { agent = '', id = '' } }: PageProps) {
  return agent === 'supervised' ? <SupervisedSession name={id} /> : <OwnSession agent={agent} id={id} />
}

function OwnSession({ agent, id }: { agent: string; id: string }) {
  const { data } = useOperation('sessionList', sessionsAsked, { everyMs: lookMs })
  const supervised = useOperation('supervisedList', { all: true }).data?.sessions ?? []
  const { host } = useOperation('workspaceInfo', {}).data ?? {}
  const running = runningOf(data?.sessions ?? [], supervised, host).find((each) => each.key === `${agent}:${id}`)
  const updated = running?.updated
  const bring = useAction('sessionImport')
  const { mutate, isPending } = bring
  useEffect(() => {
    if (!isPending) mutate({ session: id })
    // Again whenever the agent has written more.
    // oxlint-disable-next-line react/exhaustive-deps
  }, [id, updated, mutate])
  if (bring.isError && bring.data === undefined)
    return <Failure error={bring.error} onRetry={() => mutate({ session: id })} />
  const tape = bring.data?.tape ?? `${agent}:${id}`
  if (bring.data === undefined) return <Loading rows={8} />
  return (
    <TapeView tape={tape} title={<Text max={120}>{running?.title ?? id}</Text>} about={<About running={running} />} />
  )
}

/** What a supervised session says is on the tape of the agent's session that is open now. */
function SupervisedSession({ name }: { name: string }) {
  const { data } = useOperation('supervisedList', { all: true })
  const row = data?.sessions.find((each) => each.name === name)
  const tapes = useOperation('tapeList', { limit: 1000 }).data?.tapes ?? []
  if (data === undefined) return <Loading rows={8} />
  if (row === undefined) return <Empty icon="supervisor" title="There is no such session" />
  const own = `session/${name}`
  const session = row['session']
  const tape = typeof session === 'string' ? tapes.find((each) => each.tape.endsWith(`:${session}`))?.tape : undefined
  const [running] = runningOf([], [row], undefined)
  return (
    <TapeView
      key={tape ?? own}
      tape={tape ?? own}
      meters={own}
      title={<Text max={120}>{name}</Text>}
      about={<About running={running} />}
    />
  )
}

function About({ running }: { running: Running | undefined }) {
  if (running === undefined) return null
  const { agent, project, branch, model, state, tone, busy, usd, updated, supervised, share, threshold, compaction } =
    running
  return (
    <>
      <Badge tone={tone} dot pulse={busy}>
        {state}
      </Badge>
      <span>{agent}</span>
      <span title={project}>
        <Text max={60}>{folderName(project)}</Text>
      </span>
      {branch !== undefined && (
        <Text className="mono" max={60}>
          {branch}
        </Text>
      )}
      {model !== undefined && <Text max={60}>{model}</Text>}
      {usd !== undefined && <span className="number">{usdText(usd)}</span>}
      <Ago date={updated} />
      {supervised !== undefined && <Link to={`/supervisor/${encodeURIComponent(supervised)}`}>Supervision</Link>}
      {share !== undefined && (
        <span className="tape-gauge">
          <Gauge
            share={share}
            {...(threshold === undefined ? {} : { threshold })}
            {...(compaction === undefined ? {} : { compaction })}
          />
        </span>
      )}
    </>
  )
}
