// The tapes of the workspace.

import { useVirtualizer } from '@tanstack/react-virtual'
import { memo, useDeferredValue, useMemo, useRef } from 'react'
import { PageFrame, Panel } from '../../parts/page.tsx'
import { type AnswerOf, useOperation } from '../../data/queries.ts'
import { useTitles } from '../../data/titles.ts'
import { bytesText, countText } from '../../parts/numbers.ts'
import { Answer, Empty, ListEnd } from '../../parts/states.tsx'
import { Text } from '../../parts/text.tsx'
import { Ago } from '../../parts/time.tsx'
import { Link, setQuery, tapeAddress, usePlace } from '../../shell/router.tsx'
import './tapes.css'

const mostListed = 1000

type Row = AnswerOf<'tapeList'>['tapes'][number]

export default function Tapes() {
  const { query } = usePlace()
  const own = query.get('own') === '1'
  const text = query.get('find') ?? ''
  const tapes = useOperation('tapeList', { limit: mostListed, ...(own ? { own } : {}) }, { keep: true })
  return (
    <PageFrame
      title="Tapes"
      about="Everything an agent did, line by line. Sessions appear here once they are opened."
      actions={
        <>
          <input
            className="input tapes-find"
            type="search"
            placeholder="Find a tape"
            aria-label="Find a tape"
            defaultValue={text}
            onChange={(event) => setQuery({ find: event.target.value })}
          />
          <label className="row small">
            <input type="checkbox" checked={own} onChange={() => setQuery({ own: own ? undefined : '1' })} />
            Baton's own
          </label>
        </>
      }
      className="tapes"
    >
      <Panel>
        <Answer query={tapes}>
          {({ tapes }) => (
            <>
              <Table tapes={tapes} text={text} />
              {tapes.length === mostListed && (
                <ListEnd>There are more than {countText(mostListed)} tapes: the others are not listed here.</ListEnd>
              )}
            </>
          )}
        </Answer>
      </Panel>
    </PageFrame>
  )
}

const searched = (tape: string, title: string) => `${tape} ${title}`.toLowerCase()

function Table({ tapes, text: typed }: { tapes: readonly Row[]; text: string }) {
  const text = useDeferredValue(typed.toLowerCase())
  const scroller = useRef<HTMLDivElement>(null)
  const titleOf = useTitles()
  const rows = useMemo(
    () =>
      tapes
        .filter(({ tape }) => searched(tape, titleOf(tape)).includes(text))
        .sort((a, b) => ((a.date ?? '') < (b.date ?? '') ? 1 : -1)),
    [tapes, text, titleOf],
  )
  const virtual = useVirtualizer({
    count: rows.length,
    getScrollElement: () => scroller.current,
    estimateSize: () => 54,
    overscan: 6,
  })
  if (rows.length === 0)
    return <Empty icon="tapes" title={tapes.length === 0 ? 'No tape yet' : 'No tape of that name'} />
  return (
    <div ref={scroller} className="tapes-scroller">
      <ul style={{ height: virtual.getTotalSize() }}>
        {virtual.getVirtualItems().map(({ index, start }) => (
          <li key={rows[index]!.tape} style={{ transform: `translateY(${start}px)` }}>
            <TapeRow row={rows[index]!} title={titleOf(rows[index]!.tape)} />
          </li>
        ))}
      </ul>
    </div>
  )
}

const TapeRow = memo(function TapeRow({ row, title }: { row: Row; title: string }) {
  const { tape, entries, lastAnchor, bytes, date } = row
  // Every tape begins with that anchor: it says nothing about the work.
  const phase = lastAnchor?.name === 'session/start' ? undefined : lastAnchor?.name
  return (
    <Link to={tapeAddress(tape)} className="row-link tapes-row">
      <span className="tapes-name">
        <span className="cut tapes-title">
          <Text max={160}>{title}</Text>
        </span>
        {title !== tape && (
          <span className="cut tiny faint mono">
            <Text max={160}>{tape}</Text>
          </span>
        )}
      </span>
      <span className="cut tapes-anchor small">{phase !== undefined && <Text max={80}>{phase}</Text>}</span>
      <span className="number small muted tapes-entries">
        {entries === 1 ? '1 entry' : `${countText(entries)} entries`}
      </span>
      <span className="number small faint tapes-bytes">{bytesText(bytes)}</span>
      <span className="small faint tapes-date">{date !== undefined && <Ago date={date} />}</span>
    </Link>
  )
})
