// Keys of the page: one listener, and a sheet that lists what counts now. A shortcut is one key (`?`), one with a modifier
// (`mod+k`; Cmd on a Mac, Ctrl elsewhere) or two keys one after the other (`g o`).

import { useEffect, useEffectEvent, useId } from 'react'
import { useValue, value } from '../data/store.ts'
import { Dialog } from '../parts/dialog.tsx'

interface Shortcut {
  readonly keys: string
  readonly label: string
  readonly group: string
  readonly run: () => void
}

const shortcuts = value<ReadonlyMap<string, Shortcut>>(new Map())

/** Counts while the component is on the screen. The group is its heading in the sheet. */
export function useShortcut(keys: string, label: string, run: () => void, group = 'This page'): void {
  const id = useId()
  const current = useEffectEvent(run)
  useEffect(() => {
    shortcuts.set(new Map(shortcuts.get()).set(id, { keys, label, group, run: () => current() }))
    return () => {
      const rest = new Map(shortcuts.get())
      rest.delete(id)
      shortcuts.set(rest)
    }
  }, [id, keys, label, group])
}

const sequenceMs = 1_200

/** Calls what the keys stand for; keys typed into a field or dialog are the field's. */
export function listenToKeys(): () => void {
  let first: { key: string; at: number } | undefined
  const onKey = (event: KeyboardEvent) => {
    const key = nameOf(event)
    const typing = isTyping(event.target)
    const sequence = first !== undefined && event.timeStamp - first.at < sequenceMs ? `${first.key} ${key}` : undefined
    first = undefined
    const all = [...shortcuts.get().values()].reverse()
    const found = all.find(({ keys }) => keys === sequence) ?? all.find(({ keys }) => keys === key)
    if (typing && !key.startsWith('mod+')) return
    if (found !== undefined) {
      event.preventDefault()
      found.run()
    } else if (all.some(({ keys }) => keys.startsWith(`${key} `))) first = { key, at: event.timeStamp }
  }
  window.addEventListener('keydown', onKey)
  return () => window.removeEventListener('keydown', onKey)
}

function nameOf(event: KeyboardEvent): string {
  return event.metaKey || event.ctrlKey ? `mod+${event.key.toLowerCase()}` : event.key
}

function isTyping(target: EventTarget | null): boolean {
  if (!(target instanceof HTMLElement)) return false
  return target.matches('input, textarea, select') || target.isContentEditable || target.closest('dialog') !== null
}

const isMac = navigator.userAgent.includes('Mac')

/** `mod+k` as its keys are labelled. */
export function Keys({ keys }: { keys: string }) {
  const parts = keys
    .split(' ')
    .flatMap((part) => part.split('+'))
    .flatMap((part) => (/^[A-Z]$/.test(part) ? ['Shift', part] : [part]))
  return (
    <span className="keys">
      {parts.map((part, at) => (
        <kbd key={at}>
          {part === 'mod' ? (isMac ? '⌘' : 'Ctrl') : part.replace(/^./, (first) => first.toUpperCase())}
        </kbd>
      ))}
    </span>
  )
}

/** What several keys do is listed once. */
function byLabel(all: readonly Shortcut[]): Map<string, readonly string[]> {
  const found = new Map<string, readonly string[]>()
  for (const { label, keys } of all) found.set(label, [...(found.get(label) ?? []), keys])
  return found
}

export function ShortcutSheet({ onClose }: { onClose: () => void }) {
  const all = [...useValue(shortcuts).values()]
  const groups = [...new Set(all.map(({ group }) => group))].sort()
  return (
    <Dialog title="Keyboard" onClose={onClose}>
      <div className="shortcut-groups">
        {groups.map((group) => (
          <section key={group}>
            <h3>{group}</h3>
            <dl className="shortcut-list">
              {[...byLabel(all.filter((each) => each.group === group))].map(([label, keys]) => (
                <div key={label}>
                  <dt>{label}</dt>
                  <dd className="row">
                    {keys.map((each) => (
                      <Keys key={each} keys={each} />
                    ))}
                  </dd>
                </div>
              ))}
            </dl>
          </section>
        ))}
      </div>
    </Dialog>
  )
}
