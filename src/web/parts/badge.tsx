// A state in a word, with a dot whose colour says the same.

import type { ReactNode } from 'react'

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

export interface StateFields {
  readonly state: string
  readonly tone: Tone
  /** Something is happening right now. */
  readonly busy: boolean
  readonly ended: boolean
}

/** The states of a session, in words and colours: the same on every page. */
const words: Record<string, { word: string; tone: Tone; busy?: boolean }> = {
  working: { word: 'working', tone: 'live', busy: true },
  starting: { word: 'starting', tone: 'live', busy: true },
  restarting: { word: 'restarting', tone: 'live', busy: true },
  cycling: { word: 'handing over', tone: 'baton', busy: true },
  waiting: { word: 'at its prompt', tone: 'quiet' },
  // Nothing happens in it; whether its agent still runs is not known.
  idle: { word: 'idle', tone: 'quiet' },
  limited: { word: 'out of quota', tone: 'quiet' },
  paused: { word: 'paused', tone: 'quiet' },
  dialog: { word: 'asks you', tone: 'baton' },
  unsupervised: { word: 'left alone', tone: 'bad' },
  dead: { word: 'gone', tone: 'bad' },
  ended: { word: 'ended', tone: 'quiet' },
}

export function stateFields(state: string): StateFields {
  const { word, tone, busy = false } = words[state] ?? { word: state, tone: 'quiet' as const }
  return { state: word, tone, busy, ended: state === 'ended' }
}

/** The state of a session. */
export function StateBadge({ state }: { state: string }) {
  const { state: word, tone, busy } = stateFields(state)
  return (
    <Badge tone={tone} dot pulse={busy}>
      {word}
    </Badge>
  )
}
