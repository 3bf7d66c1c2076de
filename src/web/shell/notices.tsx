// Short notices about what was done, in a corner, read out by screen readers.

import { useValue, value } from '../data/store.ts'
import { problemText } from '../data/queries.ts'
import { Text } from '../parts/text.tsx'
import { Icon } from '../parts/icon.tsx'

interface Notice {
  readonly id: number
  readonly text: string
  readonly hint?: string
  readonly tone: 'plain' | 'bad'
}

const notices = value<readonly Notice[]>([])
let made = 0

export function notify(text: string, { hint, tone = 'plain' }: { hint?: string; tone?: Notice['tone'] } = {}): void {
  const id = ++made
  notices.set([...notices.get().slice(-3), { id, text, tone, ...(hint === undefined ? {} : { hint }) }])
  window.setTimeout(() => dismiss(id), tone === 'bad' ? 12_000 : 5_000)
}

/** For `onError` of an action. */
export function notifyProblem(error: unknown): void {
  const { what, hint } = problemText(error)
  notify(what, { tone: 'bad', ...(hint === undefined ? {} : { hint }) })
}

function dismiss(id: number): void {
  notices.set(notices.get().filter((each) => each.id !== id))
}

export function Notices() {
  const shown = useValue(notices)
  return (
    <div className="notices" role="status" aria-live="polite">
      {shown.map(({ id, text, hint, tone }) => (
        <div key={id} className={`notice notice-${tone}`}>
          <div>
            <Text>{text}</Text>
            {hint !== undefined && (
              <p className="notice-hint">
                <Text>{hint}</Text>
              </p>
            )}
          </div>
          <button type="button" className="icon-button" aria-label="Dismiss" onClick={() => dismiss(id)}>
            <Icon name="close" />
          </button>
        </div>
      ))}
    </div>
  )
}
