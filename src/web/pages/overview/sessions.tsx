// Every session in a line: who, where, in which state, how full, until when, at what cost. Only the lines that can be seen are drawn.

import { useVirtualizer } from '@tanstack/react-virtual'
import { memo, useRef, useState, useCallback, useSyncExternalStore } from 'react'
import { Badge } from '../../parts/badge.tsx'
import { Gauge } from '../../parts/gauge.tsx'
import { countText, spanText, tokensText, usdText } from '../../parts/numbers.ts'
import { Empty } from '../../parts/states.tsx'
import { Text } from '../../parts/text.tsx'
import { Ago, useNow } from '../../parts/time.tsx'
import { Link } from '../../shell/router.tsx'
import { folderName, type Quota, type Running, timeLeft } from './running.ts'

const rowHeight = { wide: 58, narrow: 96, narrowWithQuota: 120 }

export function Sessions({ running }: { running: readonly Running[] }) {
  const [all, setAll] = useState(false)
  const isNarrow = useMedia('(max-width: 900px)')
  const open = running.filter(({ ended }) => !ended)
  const rows = all || open.length === 0 ? running : open
  const hasQuotas = rows.some(({ quotas }) => quotas.length > 0)
  const scroller = useRef<HTMLDivElement>(null)
  const height = rowHeight[!isNarrow ? 'wide' : hasQuotas ? 'narrowWithQuota' : 'narrow']
  const virtual = useVirtualizer({
    count: rows.length,
    getScrollElement: () => scroller.current,
    estimateSize: () => height,
    overscan: 4,
    getItemKey: (at) => rows[at]!.key,
  })
  return (
    <>
      <header className="panel-head">
        <h2>Sessions</h2>
        {open.length > 0 && running.length > open.length && (
          <button type="button" className="button" aria-pressed={all} onClick={() => setAll(!all)}>
            {all ? 'Hide' : 'Show'} {countText(running.length - open.length)} ended
          </button>
        )}
      </header>
      {rows.length === 0 ? (
        <Empty icon="supervisor" title="No agent is open">
          Start one in any project, or under supervision, and it appears here.
        </Empty>
      ) : (
        <div ref={scroller} className="sessions-scroller">
          <ul
            className={hasQuotas ? 'sessions' : 'sessions sessions-no-quota'}
            style={{ height: virtual.getTotalSize() }}
          >
            {virtual.getVirtualItems().map(({ index, key, start }) => (
              <li key={key} className="sessions-place" style={{ transform: `translateY(${start}px)`, height }}>
                <Row running={rows[index]!} />
              </li>
            ))}
          </ul>
        </div>
      )}
    </>
  )
}

const Row = memo(function Row({ running }: { running: Running }) {
  const {
    to,
    title,
    agent,
    project,
    branch,
    state,
    tone,
    busy,
    step,
    supervised,
    cycles = 0,
    host,
    usd,
    updated,
  } = running
  const { share, tokens, window, threshold, compaction, quotas } = running
  return (
    <Link to={to} className="session">
      <span className="session-who">
        <span className="session-title cut">
          <Text max={120}>{title}</Text>
        </span>
        <span className="session-where cut">
          <Text className="session-agent" max={30}>
            {agent}
          </Text>
          <span title={project}>
            <Text max={60}>{folderName(project)}</Text>
          </span>
          {branch !== undefined && (
            <Text className="mono" max={40}>
              {branch}
            </Text>
          )}
          {host !== undefined && <Text max={40}>{host}</Text>}
        </span>
      </span>
      <span className="session-state" title={step}>
        <Badge tone={tone} dot pulse={busy}>
          {state}
        </Badge>
        {supervised !== undefined && (
          <span className="tiny faint">
            {cycles === 0 ? 'supervised' : cycles === 1 ? '1 handoff' : `${countText(cycles)} handoffs`}
          </span>
        )}
      </span>
      <span className="session-gauge">
        <Gauge
          share={share}
          {...(tokens === undefined ? {} : { tokens })}
          {...(window === undefined ? {} : { window })}
          {...(threshold === undefined ? {} : { threshold })}
          {...(compaction === undefined ? {} : { compaction })}
        />
        <Prediction running={running} />
      </span>
      <span className="session-quota">
        <Quotas quotas={quotas} />
      </span>
      <span className="session-cost number">{usd === undefined ? <span className="faint">–</span> : usdText(usd)}</span>
      <Ago date={updated} className="session-updated faint small" />
    </Link>
  )
})

/** How soon the context will be full: by time if that is known, else in turns. */
function Prediction({ running }: { running: Running }) {
  const now = useNow()
  const { growth, turnsLeft, tokens, threshold, busy } = running
  const left = timeLeft(running, now)
  const parts: string[] = []
  if (tokens !== undefined) parts.push(`${tokensText(tokens)} tokens`)
  if (growth !== undefined && growth > 0) parts.push(`+${tokensText(growth)} a turn`)
  const what = threshold === undefined ? 'full' : 'handoff'
  if (busy && left !== undefined && left < 86_400_000) parts.push(`${what} in about ${spanText(left)}`)
  else if (turnsLeft !== undefined)
    parts.push(`${what} in ${turnsLeft === 1 ? '1 turn' : `${countText(turnsLeft)} turns`}`)
  return <span className="tiny faint cut">{parts.join(' · ')}</span>
}

function Quotas({ quotas }: { quotas: readonly Quota[] }) {
  const [worst] = [...quotas].sort((a, b) => b.usedPercent - a.usedPercent)
  if (worst === undefined) return null
  const title = quotas.map(({ name, usedPercent }) => `${name}: ${Math.round(usedPercent)}% used`).join('\n')
  return (
    <span title={title} className="quota">
      <span className="number">{Math.max(0, Math.round(100 - worst.usedPercent))}% of quota left</span>
      {worst.resetsAt !== undefined && (
        <span className="tiny faint">
          resets <Ago date={worst.resetsAt} />
        </span>
      )}
    </span>
  )
}

/** Whether a media query holds, for what style sheets cannot decide. */
function useMedia(query: string): boolean {
  const subscribe = useCallback(
    (listener: () => void) => {
      const media = window.matchMedia(query)
      media.addEventListener('change', listener)
      return () => media.removeEventListener('change', listener)
    },
    [query],
  )
  return useSyncExternalStore(subscribe, () => window.matchMedia(query).matches)
}
