// The whole tape as a bar: its phases, the part that is on the screen, and a way to any place of it.

import { type KeyboardEvent, type PointerEvent, useRef } from 'react'
import { useOperation } from '../../data/queries.ts'
import { countText } from '../../parts/numbers.ts'

interface RailProps {
  readonly tape: string
  readonly lastId: number
  /** The entries that are on the screen. */
  readonly from: number | undefined
  readonly to: number | undefined
  readonly onJump: (id: number) => void
}

/** More of them could not be distinguished. */
const mostAnchors = 300

export function Rail({ tape, lastId, from = 1, to = 1, onJump }: RailProps) {
  const anchors = useOperation('tapeAnchors', { tape, limit: mostAnchors }, { keep: true }).data?.anchors ?? []
  const bar = useRef<HTMLDivElement>(null)
  const place = (id: number) => `${Math.min(100, (100 * (id - 1)) / Math.max(1, lastId - 1))}%`
  const idAt = (event: PointerEvent) => {
    const { top, height } = bar.current!.getBoundingClientRect()
    const share = Math.min(1, Math.max(0, (event.clientY - top) / height))
    return Math.max(1, Math.round(1 + share * (lastId - 1)))
  }
  const keys: Record<string, number> = {
    Home: 1,
    End: lastId,
    PageUp: Math.max(1, from - Math.round(lastId / 20)),
    PageDown: Math.min(lastId, from + Math.round(lastId / 20)),
    ArrowUp: Math.max(1, from - 10),
    ArrowDown: Math.min(lastId, from + 10),
  }
  return (
    <div
      ref={bar}
      className="rail-bar"
      role="slider"
      tabIndex={0}
      aria-label="Place on the tape"
      aria-orientation="vertical"
      aria-valuemin={1}
      aria-valuemax={Math.max(1, lastId)}
      aria-valuenow={from}
      aria-valuetext={`entry ${countText(from)} of ${countText(lastId)}`}
      onPointerDown={(event) => {
        event.currentTarget.setPointerCapture(event.pointerId)
        onJump(idAt(event))
      }}
      onPointerMove={(event) => {
        if (event.buttons === 1) onJump(idAt(event))
      }}
      onKeyDown={(event: KeyboardEvent) => {
        const wanted = keys[event.key]
        if (wanted === undefined) return
        event.preventDefault()
        onJump(wanted)
      }}
    >
      {anchors.map(({ id, name }) => (
        <span key={id} className="rail-anchor" style={{ insetBlockStart: place(id) }} title={`${name} #${id}`} />
      ))}
      {to - from + 1 < lastId && (
        <span
          className="rail-thumb"
          style={{ insetBlockStart: place(from), height: `max(10px, ${(100 * (to - from)) / Math.max(1, lastId)}%)` }}
        />
      )}
    </div>
  )
}
