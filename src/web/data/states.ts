// The states of a session, in words and colours: the same on every page.

import type { Tone } from '../parts/badge.tsx'

export interface StateFields {
  readonly state: string
  readonly tone: Tone
  /** Something is happening right now. */
  readonly busy: boolean
  readonly ended: boolean
}

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
