// One entry of a tape, by its kind. What is long is folded; what is in it is somebody else's and shown as text.

import { memo, type ReactNode } from 'react'
import { CopyButton } from '../../parts/copy.tsx'
import { Icon } from '../../parts/icon.tsx'
import { bytesText } from '../../parts/numbers.ts'
import { Text, TextBlock } from '../../parts/text.tsx'
import { Clock } from '../../parts/time.tsx'
import { Link, tapeAddress } from '../../shell/router.tsx'
import { callsIn, eventSummary, type Part, partsIn, resultsIn, summaryOf, textOf } from './payload.ts'
import { changesIn, DiffView } from './diff.tsx'
import type { Entry } from './entry-window.ts'

interface EntryProps {
  readonly tape: string
  readonly entry: Entry
  readonly open: boolean
  readonly onToggle: (id: number) => void
  /** The entry that the address names. */
  readonly marked: boolean
}

export const EntryView = memo(function EntryView({ tape, entry, open, onToggle, marked }: EntryProps) {
  const { id, kind, date } = entry
  const payload = fieldsOf(entry.payload)
  const role = kind === 'message' ? String(payload['role'] ?? 'message') : kind
  const toggle = () => onToggle(id)
  return (
    <article
      className={`entry entry-${className(role)}${marked ? ' entry-marked' : ''}`}
      aria-label={`Entry ${id}, ${role}`}
    >
      <header className="entry-head">
        <Link to={tapeAddress(tape, id)} className="entry-id number" title="Link to this entry">
          {id}
        </Link>
        <Text className="entry-role" max={40}>
          {roleWords[role] ?? role}
        </Text>
        <span className="entry-date faint tiny">
          <Clock date={date} />
        </span>
      </header>
      <div className="entry-body">
        <Body kind={kind} payload={payload} open={open} toggle={toggle} />
      </div>
    </article>
  )
})

const roleWords: Record<string, string> = {
  user: 'User',
  assistant: 'Assistant',
  system: 'System',
  tool_call: 'Call',
  tool_result: 'Result',
  anchor: 'Anchor',
  event: 'Event',
  error: 'Error',
}

function className(role: string): string {
  return role in roleWords ? role : 'other'
}

function fieldsOf(payload: unknown): Record<string, unknown> {
  return typeof payload === 'object' && payload !== null ? { ...payload } : { value: payload }
}

interface BodyProps {
  readonly kind: string
  readonly payload: Record<string, unknown>
  readonly open: boolean
  readonly toggle: () => void
}

function Body({ kind, payload, open, toggle }: BodyProps) {
  switch (kind) {
    case 'message':
      return <Parts parts={partsIn(payload['content'])} open={open} toggle={toggle} />
    case 'system':
      return <Folded summary="Instructions" text={textOf(payload['content'])} open={open} toggle={toggle} />
    case 'tool_call':
      return callsIn(payload).map(({ id, name, input }) => (
        <Call key={id} name={name} input={input} open={open} toggle={toggle} />
      ))
    case 'tool_result':
      return resultsIn(payload).map(({ id, name, text, failed }) => (
        <Output key={id} name={name} text={text} failed={failed} open={open} toggle={toggle} />
      ))
    case 'anchor':
      return (
        <Folded
          summary={<span className="entry-anchor-name">{textOf(payload['name'])}</span>}
          detail={summaryOf(payload['state'])}
          text={JSON.stringify(payload['state'], null, 2)}
          open={open}
          toggle={toggle}
        />
      )
    case 'event':
      return (
        <Folded
          summary={textOf(payload['name'])}
          detail={eventSummary(payload['name'], payload['data'])}
          text={JSON.stringify(payload['data'], null, 2) ?? ''}
          open={open}
          toggle={toggle}
        />
      )
    case 'error':
      return <TextBlock mono>{textOf(payload['message'] ?? payload)}</TextBlock>
    default:
      return <Folded summary={kind} text={JSON.stringify(payload, null, 2)} open={open} toggle={toggle} />
  }
}

function Parts({ parts, open, toggle }: { parts: readonly Part[]; open: boolean; toggle: () => void }) {
  return parts.map((part, at) => {
    switch (part.type) {
      case 'text':
        return <TextBlock key={at}>{part.text}</TextBlock>
      case 'reasoning':
        return <Folded key={at} summary="Reasoning" text={part.text} open={open} toggle={toggle} prose />
      case 'image':
        return <img key={at} className="entry-image" src={part.source} alt="Attached to this message" />
      case 'blob':
        return (
          <div key={at}>
            <TextBlock>{part.preview}</TextBlock>
            <p className="small muted">
              The beginning of {bytesText(part.bytes)}.{' '}
              <a href={`/v1/blobs/${part.sha256}`} download={`${part.sha256.slice(0, 12)}.txt`}>
                Download the whole
              </a>
            </p>
          </div>
        )
      case 'other':
        return <Folded key={at} summary={part.name} text={part.text} open={open} toggle={toggle} />
    }
  })
}

interface FoldedProps {
  readonly summary: ReactNode
  readonly detail?: string
  readonly text: string
  readonly open: boolean
  readonly toggle: () => void
  readonly prose?: boolean
}

function Folded({ summary, detail, text, open, toggle, prose = false }: FoldedProps) {
  return (
    <div className="folded">
      <button type="button" className="folded-head" aria-expanded={open} onClick={toggle}>
        <Icon name={open ? 'down' : 'right'} size={12} />
        <span className="folded-name">{typeof summary === 'string' ? <Text max={80}>{summary}</Text> : summary}</span>
        {detail !== undefined && detail !== '' && (
          <span className="cut muted small">
            <Text max={200}>{detail}</Text>
          </span>
        )}
      </button>
      {open && (
        <div className="folded-body">
          <CopyButton text={text} label="Copy" />
          <TextBlock mono={!prose}>{text}</TextBlock>
        </div>
      )}
    </div>
  )
}

function Call({ name, input, open, toggle }: { name: string; input: unknown; open: boolean; toggle: () => void }) {
  const changes = changesIn(input)
  return (
    <>
      <Folded
        summary={
          <Text className="mono" max={60}>
            {name}
          </Text>
        }
        detail={summaryOf(input)}
        text={typeof input === 'string' ? input : JSON.stringify(input, null, 2)}
        open={open}
        toggle={toggle}
      />
      {!open && changes.length > 0 && <DiffView changes={changes} />}
    </>
  )
}

/** Lines of an output that are shown before it is unfolded. Folding must be worth it. */
const linesShown = 4
const fewestFolded = 4

function Output({
  name,
  text,
  failed,
  open,
  toggle,
}: {
  name: string
  text: string
  failed: boolean
  open: boolean
  toggle: () => void
}) {
  const head = text.slice(0, 2_000)
  const lines = head.split('\n')
  const isLong = lines.length >= linesShown + fewestFolded || text.length > 800
  const shown = open || !isLong ? text : lines.slice(0, linesShown).join('\n').slice(0, 800)
  return (
    <div className={failed ? 'output output-failed' : 'output'}>
      {name !== '' && (
        <span className="tiny faint mono">
          <Text max={60}>{name}</Text>
          {failed && ' failed'}
        </span>
      )}
      <TextBlock mono>{shown === '' ? '(no output)' : shown}</TextBlock>
      {isLong && (
        <button type="button" className="text-button" aria-expanded={open} onClick={toggle}>
          {open ? 'Fold' : `Show all ${bytesText(text.length)}`}
        </button>
      )}
    </div>
  )
}
