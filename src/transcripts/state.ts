// Whether a session works, waits for a person, is held by a limit, or has ended. A transcript only tells of the past: that
// a process is still there is taken from what the agent says, else from how long it has been silent.

import type { Tally } from './tally.ts'

export type State =
  | { readonly state: 'working' | 'waiting' | 'ended' }
  | { readonly state: 'limited'; readonly until?: string }

/** What the agent's own program says of itself, if it does. */
export type Live = 'busy' | 'idle' | 'gone'

/** A turn that has said nothing for so long was cut off. */
const silentTurn = 15 * 60_000
/** Nobody waits at a prompt for longer. */
const silentPrompt = 12 * 3_600_000

/** What the state is told by. */
type Signs = Pick<Tally, 'turn' | 'limit' | 'quotas' | 'last'>

export function stateOf(tally: Signs, changed: number, now: number, live?: Live): State {
  const limit = limitOf(tally, now)
  if (limit !== undefined) return limit
  if (live === 'gone') return { state: 'ended' }
  if (live === 'busy') return { state: 'working' }
  if (live === 'idle') return { state: 'waiting' }
  const silent = now - Math.max(changed, Date.parse(tally.last ?? '') || 0)
  if (tally.turn === undefined || tally.turn.to === 'idle')
    return { state: silent > silentPrompt ? 'ended' : 'waiting' }
  return { state: silent > silentTurn ? 'ended' : 'working' }
}

/** Held until a time that is still to come. */
function limitOf(tally: Signs, now: number): State | undefined {
  const full = tally.quotas?.quotas.filter((quota) => quota.usedPercent >= 100) ?? []
  const resets = full.flatMap(({ resetsAt }) => (resetsAt === undefined ? [] : [resetsAt])).sort()
  const until = tally.limit?.until ?? resets.at(-1)
  if (tally.limit === undefined && full.length === 0) return undefined
  if (until === undefined) return tally.limit === undefined ? undefined : { state: 'limited' }
  return Date.parse(until) > now ? { state: 'limited', until } : undefined
}
