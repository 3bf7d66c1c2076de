// Entries with filter, search and jump, and the panel beside them. A session and a plain tape look the same here.

import { type ReactNode, useCallback, useRef, useState } from 'react'
import { Panel } from '../../parts/page.tsx'
import { Badge } from '../../parts/badge.tsx'
import { Icon } from '../../parts/icon.tsx'
import { navigate, setQuery, tapeAddress, usePlace, Link } from '../../shell/router.tsx'
import { useShortcut } from '../../shell/shortcuts.tsx'
import { Entries } from './entries.tsx'
import { Side } from './side.tsx'
import './tape.css'
import { ProblemError } from '../../../client/index.ts'
import { useOperation } from '../../data/queries.ts'
import { Command, shellWord } from '../../parts/copy.tsx'
import { countText } from '../../parts/numbers.ts'
import { Answer, Empty, Failure, ListEnd } from '../../parts/states.tsx'
import type { PageProps } from '../../shell/pages.ts'
import { Text } from '../../parts/text.tsx'
import { Clock } from '../../parts/time.tsx'

export default function TapePage({ fields: { tape = '' } }: PageProps) {
  const info = useOperation('tapeInfo', { tape }, { keep: true })
  const damage = damageIn(info.error)
  if (info.data === undefined && info.isError && damage === undefined)
    return <Failure error={info.error} onRetry={() => void info.refetch()} />
  return (
    <TapeView
      tape={tape}
      damage={damage}
      title={
        <Text className="mono tape-name" max={160}>
          {tape}
        </Text>
      }
      about={
        info.data === undefined ? (
          damage !== undefined && <Badge tone="bad">damaged</Badge>
        ) : (
          <>
            <span className="number">{countText(info.data.entries)} entries</span>
            <span className="number">
              {info.data.anchors === 1 ? '1 phase' : `${countText(info.data.anchors)} phases`}
            </span>
            {info.data.owner !== undefined && (
              <span>
                belongs to <Text max={60}>{info.data.owner}</Text>
              </span>
            )}
          </>
        )
      }
    />
  )
}

/** What is wrong with a damaged tape: the entries around it can be read. */
function damageIn(error: unknown): string | undefined {
  return error instanceof ProblemError && error.problem.code === 'damaged' ? error.problem.detail : undefined
}

const filters = {
  all: undefined,
  talk: ['message'],
  tools: ['tool_call', 'tool_result'],
  phases: ['anchor'],
  events: ['event', 'error', 'system'],
} as const

type Filter = keyof typeof filters
const filterWords: Record<Filter, string> = {
  all: 'All',
  talk: 'Talk',
  tools: 'Tools',
  phases: 'Phases',
  events: 'Events',
}

interface TapeViewProps {
  readonly tape: string
  readonly title: ReactNode
  readonly about: ReactNode
  /** The tape with the meters, if it is another. */
  readonly meters?: string
  /** What is damaged, in words. */
  readonly damage?: string | undefined
}

export function TapeView({ tape, title, about, meters, damage }: TapeViewProps) {
  const { query } = usePlace()
  const at = /^\d{1,15}$/.exec(query.get('at') ?? '')?.[0]
  const find = query.get('find') ?? ''
  const show = query.get('show') ?? 'all'
  const filter: Filter = show in filters ? (show as Filter) : 'all'
  const [isSideOpen, setSideOpen] = useState(false)
  // What stands beside the entries takes longer to find out: it must not keep the server from the place that a person looks for.
  const [isCalm, setCalm] = useState(false)
  const showSide = useCallback(() => setCalm(true), [])
  const field = useRef<HTMLInputElement>(null)
  useShortcut('f', 'Find on this tape', () => field.current?.focus())
  const search = (text: string) => {
    const id = /^#?(\d{1,15})$/.exec(text.trim())?.[1]
    if (id !== undefined) navigate(tapeAddress(tape, Number(id)))
    else {
      setQuery({ find: text })
      // On a phone what was found takes the place of the entries.
      setSideOpen(true)
    }
  }
  return (
    <div className="tape">
      <header className="tape-head">
        <div className="grow">
          <h1 className="cut">{title}</h1>
          <p className="row wrap small muted tape-about">{about}</p>
        </div>
        <span className="segments" role="group" aria-label="Kinds of entries">
          {(Object.keys(filters) as Filter[]).map((each) => (
            <button
              key={each}
              type="button"
              aria-pressed={each === filter}
              onClick={() => setQuery({ show: each === 'all' ? undefined : each })}
            >
              {filterWords[each]}
            </button>
          ))}
        </span>
        <form
          className="tape-find"
          onSubmit={(event) => {
            event.preventDefault()
            search(field.current!.value)
          }}
        >
          <Icon name="search" size={14} />
          <input
            ref={field}
            key={find}
            type="search"
            defaultValue={find}
            placeholder="Find text, or go to an id"
            aria-label="Find text, or go to an id"
          />
        </form>
        <button
          type="button"
          className="button tape-more"
          aria-pressed={isSideOpen}
          onClick={() => setSideOpen(!isSideOpen)}
        >
          {isSideOpen ? 'Entries' : find !== '' ? 'Found' : damage === undefined ? 'Context' : 'Damage'}
        </button>
      </header>
      <div className={isSideOpen ? 'tape-columns tape-side-open' : 'tape-columns'}>
        <Entries
          key={`${tape} ${filter}`}
          tape={tape}
          at={at === undefined ? undefined : Number(at)}
          kinds={filters[filter]}
          onCalm={showSide}
        />
        {find === '' && damage !== undefined ? (
          <Damaged tape={tape} damage={damage} />
        ) : find === '' ? (
          <Side tape={tape} isWanted={isCalm} {...(meters === undefined ? {} : { meters })} />
        ) : (
          <aside className="side" aria-label="Found">
            <Panel
              title="Found"
              aside={
                <button
                  type="button"
                  className="icon-button"
                  aria-label="End the search"
                  onClick={() => setQuery({ find: undefined })}
                >
                  <Icon name="close" />
                </button>
              }
            >
              <Hits tape={tape} text={find} />
            </Panel>
          </aside>
        )}
      </div>
    </div>
  )
}

/** In the place of what a sound tape tells of itself. */
function Damaged({ tape, damage }: { tape: string; damage: string }) {
  return (
    <aside className="side" aria-label="About this tape">
      <Panel title="Damaged" body="tape-damaged">
        <p role="alert">
          <Text>{damage}</Text>.
        </p>
        <p className="muted small">
          The entries that can be read are shown. These commands list what is missing, and keep what is left of it:
        </p>
        <Command>{`baton tape verify ${shellWord(tape)}`}</Command>
        <Command>{`baton tape repair ${shellWord(tape)}`}</Command>
      </Panel>
    </aside>
  )
}

const around = 60
const mostHits = 50

/** What was found on a tape, newest first. */
function Hits({ tape, text }: { tape: string; text: string }) {
  const hits = useOperation('tapeSearch', { tape, text, limit: mostHits })
  return (
    <Answer query={hits}>
      {({ hits }) =>
        hits.length === 0 ? (
          <Empty icon="search" title="Not found on this tape" />
        ) : (
          <>
            <ul className="rows">
              {hits.map(({ entry, blob }) => (
                <li key={entry.id}>
                  <Link
                    to={`${tapeAddress(tape, entry.id)}&find=${encodeURIComponent(text)}`}
                    className="row-link small hit"
                  >
                    <span className="row tiny faint">
                      <span className="number">#{entry.id}</span> {entry.kind} <Clock date={entry.date} />
                    </span>
                    <Text max={300}>{blob?.excerpt ?? excerpt(entry.payload, text)}</Text>
                  </Link>
                </li>
              ))}
            </ul>
            {hits.length === mostHits && <ListEnd>The newest {mostHits}. More words find fewer entries.</ListEnd>}
          </>
        )
      }
    </Answer>
  )
}

/** The words around what was found: of the first text that holds it, else of the entry as JSON. */
function excerpt(payload: unknown, text: string): string {
  const word = text.toLowerCase()
  const all = textsIn(payload).find((each) => each.toLowerCase().includes(word)) ?? JSON.stringify(payload)
  const at = Math.max(0, all.toLowerCase().indexOf(word))
  const start = Math.max(0, at - around)
  return `${start > 0 ? '…' : ''}${all.slice(start, at + text.length + 2 * around)}`
}

function textsIn(value: unknown): readonly string[] {
  if (typeof value === 'string') return [value]
  return typeof value === 'object' && value !== null ? Object.values(value).flatMap(textsIn) : []
}
