// Whether a session works, waits for a person, is held by a limit, or has ended. A transcript only describes the past: whether
// the process still runs is known from the agent's status files, or else guessed from how long the session has been silent.

import type { Live } from '../agents/index.ts'
import type { SessionStats } from './session-stats.ts'

export type State =
  | { readonly state: 'working' | 'ended' }
  /** Its last turn is over. `guessed`: whether its agent still runs, and so waits for anybody, is not known. */
  | { readonly state: 'waiting'; readonly guessed?: true }
  /** `chosen`: the agent names no time that is still to come, and Baton asks it again then. */
  | { readonly state: 'limited'; readonly until?: string; readonly chosen?: true }

/** A turn that has been silent for longer was cut off. */
const silentTurn = 15 * 60_000
/** An agent that has been silent at its prompt for longer was closed. */
const silentPrompt = 12 * 3_600_000

/** The figures that decide the state. */
type Signs = Pick<SessionStats, 'turn' | 'limit' | 'quotas' | 'last'>

export function stateOf(stats: Signs, changed: number, now: number, live?: Live): State {
  const limit = limitOf(stats, now)
  if (limit !== undefined) return limit
  if (live === 'gone') return { state: 'ended' }
  if (live === 'busy') return { state: 'working' }
  if (live === 'idle') return { state: 'waiting' }
  const silent = now - Math.max(changed, Date.parse(stats.last ?? '') || 0)
  if (stats.turn === undefined || stats.turn.to === 'idle')
    return silent > silentPrompt ? { state: 'ended' } : { state: 'waiting', guessed: true }
  return { state: silent > silentTurn ? 'ended' : 'working' }
}

/** The limit that holds the session, if it has not been reset yet. */
function limitOf(stats: Signs, now: number): State | undefined {
  const full = stats.quotas?.quotas.filter((quota) => quota.usedPercent >= 100) ?? []
  const resets = full.flatMap(({ resetsAt }) => (resetsAt === undefined ? [] : [resetsAt])).sort()
  const until = stats.limit?.until ?? resets.at(-1)
  if (stats.limit === undefined && full.length === 0) return undefined
  if (until === undefined) return stats.limit === undefined ? undefined : { state: 'limited' }
  return Date.parse(until) > now ? { state: 'limited', until } : undefined
}
