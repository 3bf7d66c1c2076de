// Search and commands: pages, tapes, sessions and what the open page offers, found by typing.

import { useEffect, useId, useRef, useState } from 'react'
import { signOut } from '../data/access.ts'
import { sessionsAsked, useOperation } from '../data/queries.ts'
import { useValue, value } from '../data/store.ts'
import { ModalFrame } from '../parts/dialog.tsx'
import { Icon, type IconName } from '../parts/icon.tsx'
import { countText } from '../parts/numbers.ts'
import { Text } from '../parts/text.tsx'
import { pages } from './pages.ts'
import { navigate, tapeAddress } from './router.tsx'
import { setTheme } from './theme.ts'

export interface Command {
  readonly label: string
  /** What it belongs to, in a word. */
  readonly detail?: string
  readonly icon: IconName
  readonly run: () => void
}

const offered = value<ReadonlyMap<string, readonly Command[]>>(new Map())

/** Commands that count while the component is on the screen. Keep the list with `useMemo`. */
export function useCommands(list: readonly Command[]): void {
  const id = useId()
  useEffect(() => {
    offered.set(new Map(offered.get()).set(id, list))
    return () => {
      const rest = new Map(offered.get())
      rest.delete(id)
      offered.set(rest)
    }
  }, [id, list])
}

/** More than anybody reads: whoever looks for one of them types. */
const mostShown = 100
/** How many tapes, and how many sessions, are listed while nothing is typed. */
const mostRecent = 5

export function Palette({ onClose, onKeys }: { onClose: () => void; onKeys: () => void }) {
  const [text, setText] = useState('')
  const [at, setAt] = useState(0)
  const hits = useFound(text, onKeys)
  const found = hits.slice(0, mostShown)
  const chosen = Math.min(at, found.length - 1)
  const list = useRef<HTMLDivElement>(null)
  const id = useId()
  useEffect(() => {
    list.current?.children[chosen]?.scrollIntoView({ block: 'nearest' })
  }, [chosen])
  const run = (command: Command | undefined) => {
    if (command === undefined) return
    onClose()
    command.run()
  }
  return (
    <ModalFrame label="Search and commands" className="palette" onClose={onClose}>
      <div className="palette-input">
        <Icon name="search" />
        <input
          value={text}
          placeholder="A page, a tape, main#12, a command"
          aria-label="Search and commands"
          role="combobox"
          aria-expanded="true"
          aria-controls={id}
          aria-activedescendant={`${id}-${chosen}`}
          autoComplete="off"
          spellCheck={false}
          onChange={(event) => {
            setText(event.target.value)
            setAt(0)
          }}
          onKeyDown={(event) => {
            if (event.key === 'ArrowDown') setAt((chosen + 1) % Math.max(1, found.length))
            else if (event.key === 'ArrowUp') setAt((chosen + found.length - 1) % Math.max(1, found.length))
            else if (event.key === 'Enter') run(found[chosen])
            else return
            event.preventDefault()
          }}
        />
      </div>
      <div ref={list} id={id} role="listbox" aria-label="Found" className="palette-list">
        {found.map((command, n) => (
          // The keyboard is handled by the field above, which keeps the focus.
          // oxlint-disable-next-line jsx-a11y/click-events-have-key-events
          <div
            key={`${n} ${command.label}`}
            id={`${id}-${n}`}
            role="option"
            tabIndex={-1}
            aria-selected={n === chosen}
            className="palette-item"
            onClick={() => run(command)}
            onPointerMove={() => setAt(n)}
          >
            <Icon name={command.icon} />
            <span className="grow cut">
              <Text max={120}>{command.label}</Text>
            </span>
            <span className="faint tiny">{command.detail}</span>
          </div>
        ))}
      </div>
      {found.length < hits.length && (
        <p className="palette-none">{countText(hits.length - found.length)} more: type to find them</p>
      )}
      {found.length === 0 && <p className="palette-none">Nothing found</p>}
    </ModalFrame>
  )
}

function useFound(text: string, onKeys: () => void): readonly Command[] {
  const own = [...useValue(offered).values()].flat()
  const recent = text.trim() === '' ? mostRecent : undefined
  const tapes = useOperation('tapeList', { limit: 1000 }).data?.tapes ?? []
  const sessions = useOperation('sessionList', sessionsAsked).data?.sessions ?? []
  // What people come for stands above what they seldom need.
  const all: Command[] = [
    ...own,
    ...tapes
      .toSorted((a, b) => ((a.date ?? '') < (b.date ?? '') ? 1 : -1))
      .slice(0, recent)
      .map(({ tape }) => ({
        label: tape,
        detail: 'tape',
        icon: 'tapes' as const,
        run: () => navigate(tapeAddress(tape)),
      })),
    ...sessions.slice(0, recent).map(({ agent, id, title }) => ({
      label: title ?? id,
      detail: `session of ${agent}`,
      icon: 'supervisor' as const,
      run: () => navigate(`/sessions/${encodeURIComponent(agent)}/${encodeURIComponent(id)}`),
    })),
    ...pages
      .filter(({ nav }) => nav !== undefined)
      .map(({ title, path, nav }) => ({ label: title, detail: 'page', icon: nav!.icon, run: () => navigate(path) })),
    { label: 'Start an agent', icon: 'play', run: () => navigate('/supervisor?start=1') },
    { label: 'Write a handoff document', icon: 'handoffs', run: () => navigate('/handoffs?write=newest') },
    { label: 'Keyboard', icon: 'more', run: onKeys },
    { label: 'Dark colours', icon: 'moon', run: () => setTheme('dark') },
    { label: 'Light colours', icon: 'sun', run: () => setTheme('light') },
    { label: 'Colours of the system', icon: 'system', run: () => setTheme('system') },
    { label: 'Sign out', icon: 'close', run: () => void signOut() },
  ]
  const words = text
    .toLowerCase()
    .split(/\s+/)
    .filter((word) => word !== '')
  const hits = all.filter(({ label, detail = '' }) => {
    const where = `${label} ${detail}`.toLowerCase()
    return words.every((word) => where.includes(word))
  })
  const [, tape, entry] = /^(.+)#(\d+)$/.exec(text.trim()) ?? []
  if (tape !== undefined) {
    const goTo = () => navigate(tapeAddress(tape, Number(entry)))
    hits.unshift({ label: `${tape}#${entry}`, detail: 'entry', icon: 'anchor', run: goTo })
  }
  return hits
}
