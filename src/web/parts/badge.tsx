// A state in a word, with a dot whose colour says the same.

import type { ReactNode } from 'react'
import './badge.css'

/** `live`: it runs. `baton`: it waits for a person, or changes hands. `bad`: it failed. */
export type Tone = 'live' | 'baton' | 'bad' | 'quiet'

/** How urgent something is: only what is more urgent than usual has a colour. */
export function Priority({ children }: { children: string }) {
  return <Badge tone={children === 'critical' ? 'bad' : children === 'high' ? 'baton' : 'quiet'}>{children}</Badge>
}

export function Badge({
  tone = 'quiet',
  dot = false,
  pulse = false,
  children,
}: {
  tone?: Tone
  dot?: boolean
  /** Moves while something is happening right now. */
  pulse?: boolean
  children: ReactNode
}) {
  return (
    <span className={`badge badge-${tone}`}>
      {dot && <span className={pulse ? 'badge-dot badge-pulse' : 'badge-dot'} />}
      {children}
    </span>
  )
}
