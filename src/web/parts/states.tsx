// What a page shows when there is nothing to show: still loading, nothing there yet, or a failure with a way out of it.

import type { UseQueryResult } from '@tanstack/react-query'
import type { ReactNode } from 'react'
import { problemText } from '../data/queries.ts'
import { Icon, type IconName } from './icon.tsx'
import { Text } from './text.tsx'

interface EmptyProps {
  readonly icon?: IconName
  readonly title: string
  readonly children?: ReactNode
}

export function Empty({ icon, title, children }: EmptyProps) {
  return (
    <div className="state">
      {icon !== undefined && (
        <span className="state-icon">
          <Icon name={icon} size={20} />
        </span>
      )}
      <p className="state-title">{title}</p>
      {children !== undefined && <div className="state-more">{children}</div>}
    </div>
  )
}

export function Loading({ rows = 4 }: { rows?: number }) {
  return (
    <div className="state-loading" role="status" aria-label="Loading">
      {Array.from({ length: rows }, (_, at) => (
        <span key={at} className="state-bar" />
      ))}
    </div>
  )
}

export function Failure({ error, onRetry }: { error: unknown; onRetry?: () => void }) {
  const { what, hint } = problemText(error)
  return (
    <div className="state" role="alert">
      <span className="state-icon state-bad">
        <Icon name="warning" size={20} />
      </span>
      <p className="state-title">
        <Text>{what}</Text>
      </p>
      {hint !== undefined && (
        <div className="state-more">
          <Text>{hint}</Text>
        </div>
      )}
      {onRetry !== undefined && (
        <button type="button" className="button" onClick={onRetry}>
          Try again
        </button>
      )}
    </div>
  )
}

/** Below a list that does not show everything. */
export function ListEnd({ children }: { children: ReactNode }) {
  return <p className="list-end small muted">{children}</p>
}

interface AnswerProps<T> {
  readonly query: UseQueryResult<T>
  readonly children: (answer: T) => ReactNode
  /** Lines of the placeholder. */
  readonly rows?: number
}

/** A query as whatever it is now. An answer stays on the screen while it is refreshed, also when that fails. */
export function Answer<T>({ query, children, rows }: AnswerProps<T>) {
  if (query.data !== undefined) return children(query.data)
  if (query.isError) return <Failure error={query.error} onRetry={() => void query.refetch()} />
  return <Loading {...(rows === undefined ? {} : { rows })} />
}
