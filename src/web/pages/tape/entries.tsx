// The entries on the screen. Only what can be seen is drawn, whatever the length of the tape; the rail beside it stands for the
// whole of it.

import { useVirtualizer } from '@tanstack/react-virtual'
import { useCallback, useEffect, useLayoutEffect, useRef, useState } from 'react'
import { Empty, Failure, Loading } from '../../parts/states.tsx'
import { countText } from '../../parts/numbers.ts'
import { useEntries } from '../../data/live.ts'
import { useValue } from '../../data/store.ts'
import { useShortcut } from '../../shell/shortcuts.tsx'
import { EntryView } from './entry.tsx'
import { type Entry, EntryReader } from './entry-window.ts'
import { Rail } from './rail.tsx'

/** One tape and one choice of kinds: the element needs a key made of both. */
interface EntriesProps {
  readonly tape: string
  /** The entry that the address names. */
  readonly at: number | undefined
  readonly kinds: readonly string[] | undefined
  /** Called when the entries that were asked for are there, and no others have been asked for since. */
  readonly onCalm: () => void
}

/** Nearer to an end of what is in memory than this, more is read. */
const nearEnd = 20

/** Whoever looks for a place presses again within this time. */
const calmMs = 150

/** A fifth of a second. */
const framesToSettle = 12

/** Browsers keep scrolling for a while after the wheel, the finger or the key. */
const handMs = 1_000

export function Entries({ tape, at, kinds, onCalm }: EntriesProps) {
  const [following, setFollowing] = useState(at === undefined)
  const [reader] = useState(() => new EntryReader(tape, kinds))
  const { entries, lastId, hasBefore, hasAfter, loading, error, jump } = useValue(reader.state)
  useEffect(() => {
    reader.goTo(at ?? 'end')
    return () => reader.stop()
  }, [reader, at])
  useEffect(() => {
    reader.following = following
  }, [reader, following])
  useEffect(() => {
    if (loading) return undefined
    const timer = window.setTimeout(onCalm, calmMs)
    return () => window.clearTimeout(timer)
  }, [loading, jump, onCalm])
  // From where the tape ended when it was first read.
  const isRead = jump.n > 0
  useEntries(tape, isRead ? lastId : undefined, (entry) => reader.receive(entry))
  const [open, setOpen] = useState<ReadonlySet<number>>(new Set())
  const toggle = useCallback((id: number) => {
    setOpen((before) => {
      const next = new Set(before)
      if (!next.delete(id)) next.add(id)
      return next
    })
  }, [])
  const scroller = useRef<HTMLDivElement>(null)
  const virtual = useVirtualizer({
    count: entries.length,
    getScrollElement: () => scroller.current,
    estimateSize: (index) => heightOf(entries[index]),
    getItemKey: (index) => entries[index]!.id,
    overscan: 6,
  })
  const items = virtual.getVirtualItems()
  const first = items[0]
  const last = items.at(-1)

  // After a jump, its place is shown.
  const shownJump = useRef(0)
  const [, setSettled] = useState(0)
  /** The jump whose place is not on the screen yet. */
  const awaited = useRef<number>(undefined)
  const held = useRef<{ id: number; offset: number }>(undefined)
  useLayoutEffect(() => {
    if (jump.n === shownJump.current || entries.length === 0) return
    shownJump.current = jump.n
    const found = jump.at === 'end' ? -1 : entries.findIndex(({ id }) => id >= Number(jump.at))
    const wanted = found < 0 ? entries.length - 1 : found
    const align = jump.at === 'end' ? 'end' : 'start'
    awaited.current = jump.n
    held.current = { id: entries[wanted]!.id, offset: 0 }
    // Rows have their true heights only once they are drawn: the place moves for some frames.
    const settle = (frames: number) => {
      if (awaited.current !== jump.n) return
      virtual.scrollToIndex(wanted, { align })
      if (frames > 0) requestAnimationFrame(() => settle(frames - 1))
      else {
        awaited.current = undefined
        setSettled(jump.n)
      }
    }
    settle(framesToSettle)
  }, [jump, entries, virtual])

  // Entries that came in above must not move those that are read.
  const firstId = entries[0]?.id
  const firstBefore = useRef(firstId)
  useLayoutEffect(() => {
    const isSame = firstBefore.current === firstId
    firstBefore.current = firstId
    const anchor = held.current
    if (isSame || anchor === undefined || following || awaited.current !== undefined) return
    const index = entries.findIndex(({ id }) => id === anchor.id)
    if (index > 0) virtual.scrollToOffset(virtual.measurementsCache[index]!.start + anchor.offset)
  }, [firstId, entries, following, virtual])
  useEffect(() => {
    if (first === undefined || last === undefined) return
    // What is drawn on the way to the place of a jump is not what is read.
    if (awaited.current !== undefined) return
    const top = items.find(({ end }) => end > (virtual.scrollOffset ?? 0)) ?? first
    held.current = { id: Number(top.key), offset: (virtual.scrollOffset ?? 0) - top.start }
    // A person who follows is not reading what came before: those entries would push the end out of memory.
    if (!following && first.index < nearEnd && hasBefore) reader.readBefore()
    if (last.index > entries.length - nearEnd && hasAfter) reader.readAfter()
  })

  // The end stays on the screen while it grows.
  const lastEntry = entries.at(-1)?.id
  useLayoutEffect(() => {
    if (following && !hasAfter && entries.length > 0) virtual.scrollToIndex(entries.length - 1, { align: 'end' })
    if (following && hasAfter) reader.goTo('end')
  }, [reader, following, hasAfter, lastEntry, entries.length, virtual])
  // Rows that come in also move what is shown: only a person who scrolls away leaves the end.
  const lastHand = useRef(Number.NEGATIVE_INFINITY)
  const noteHand = () => {
    lastHand.current = performance.now()
  }
  const noteScroll = () => {
    // The end is still on the screen while the place of a jump is read; a late scroll event must not bring it back.
    if (reader.isJumping) return
    const { scrollTop, scrollHeight, clientHeight } = scroller.current!
    if (!hasAfter && scrollHeight - scrollTop - clientHeight < 48) setFollowing(true)
    else if (performance.now() - lastHand.current < handMs) setFollowing(false)
  }
  const toEnd = () => {
    setFollowing(true)
    reader.goTo('end')
  }
  const jumpTo = (id: number) => {
    setFollowing(false)
    reader.goTo(id)
  }
  useShortcut('G', 'To the end, and follow', toEnd)
  useShortcut('g g', 'To the beginning', () => jumpTo(1))
  const firstSeen = first === undefined ? undefined : entries[first.index]?.id
  const lastSeen = last === undefined ? undefined : entries[last.index]?.id
  if (error !== undefined && entries.length === 0) return <Failure error={error} onRetry={toEnd} />
  if (entries.length === 0) {
    return loading ? (
      <Loading rows={8} />
    ) : (
      <Empty icon="tapes" title="No entries">
        {kinds === undefined ? 'New ones appear here by themselves.' : 'None of these kinds.'}
      </Empty>
    )
  }
  return (
    <div className="entries">
      {/* A region that scrolls is reachable by keyboard; what is listened to is only whether a person scrolls. */}
      {/* oxlint-disable-next-line jsx-a11y/no-noninteractive-element-interactions */}
      <div
        ref={scroller}
        className="entries-scroller"
        onScroll={noteScroll}
        onWheel={({ deltaY }) => deltaY < 0 && noteHand()}
        onTouchMove={noteHand}
        onPointerDown={noteHand}
        onKeyDown={({ key }) => /^(ArrowUp|PageUp|Home| )$/.test(key) && noteHand()}
        // oxlint-disable-next-line jsx-a11y/no-noninteractive-tabindex
        tabIndex={0}
        role="region"
        aria-label="Entries"
      >
        <div className="entries-all" style={{ height: virtual.getTotalSize() }}>
          {items.map(({ index, key, start }) => (
            <div
              key={key}
              ref={virtual.measureElement}
              data-index={index}
              className="entries-row"
              style={{ transform: `translateY(${start}px)` }}
            >
              <EntryView
                tape={tape}
                entry={entries[index]!}
                open={open.has(entries[index]!.id)}
                onToggle={toggle}
                marked={entries[index]!.id === at}
              />
            </div>
          ))}
        </div>
      </div>
      <Rail tape={tape} lastId={lastId} from={firstSeen} to={lastSeen} onJump={jumpTo} />
      {!following && (
        <button type="button" className="button entries-follow" onClick={toEnd}>
          {lastSeen !== undefined && lastId > lastSeen ? `${countText(lastId - lastSeen)} below · follow` : 'Follow'}
        </button>
      )}
    </div>
  )
}

function heightOf(entry: Entry | undefined): number {
  switch (entry?.kind) {
    case 'event':
    case 'tool_call':
    case 'system':
      return 38
    case 'anchor':
      return 52
    default:
      return 84
  }
}
