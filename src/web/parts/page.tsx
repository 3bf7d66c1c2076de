// What pages are laid out with: a heading with what can be done there, and panels below it.

import type { ReactNode } from 'react'

interface PageFrameProps {
  readonly title: ReactNode
  /** A sentence below the title. */
  readonly about?: ReactNode
  /** Buttons and fields beside the title. */
  readonly actions?: ReactNode
  readonly className?: string
  readonly children: ReactNode
}

export function PageFrame({ title, about, actions, className, children }: PageFrameProps) {
  return (
    <div className={className === undefined ? 'page' : `page ${className}`}>
      <header className="page-head">
        <div>
          <h1>{title}</h1>
          {about !== undefined && <p>{about}</p>}
        </div>
        {actions !== undefined && <div className="row wrap">{actions}</div>}
      </header>
      {children}
    </div>
  )
}

interface PanelProps {
  readonly title?: ReactNode
  /** What screen readers call it, if that is not its title. */
  readonly label?: string
  /** At the end of the line of the title. */
  readonly aside?: ReactNode
  readonly className?: string
  /** Puts the content into margins; a text is for further classes there. */
  readonly body?: string | true
  readonly children?: ReactNode
}

export function Panel({ title, label, aside, className, body, children }: PanelProps) {
  const name = label ?? (typeof title === 'string' ? title : undefined)
  return (
    <section className={className === undefined ? 'panel' : `panel ${className}`} aria-label={name}>
      {title !== undefined && (
        <header className="panel-head">
          <h2>{title}</h2>
          {aside}
        </header>
      )}
      {body === undefined ? children : <div className={`panel-body ${body === true ? '' : body}`}>{children}</div>}
    </section>
  )
}
