// What the relay remembers of a trace, and what that allows. It is part of every request's entry, under the trace's own
// key: the next request expects it unchanged, so limits hold whoever asks from wherever, and nobody need fold history.

import { hash } from 'node:crypto'
import type { Refusal } from './routes.ts'
import type { HandoffRequest, Mode } from './schema.ts'
import type { Limits } from './settings.ts'

export interface TraceState {
  /** Attempts, those that were rejected included: of the trace, and by item. */
  readonly hops: number
  readonly items: readonly (readonly [item: string, attempts: number])[]
  /** The paths that were taken. */
  readonly edges: readonly Edge[]
  /** The last three that were taken. */
  readonly recent: readonly (readonly [from: string, to: string, reason: string])[]
  /** What was asked for on which path for which item, as a fingerprint. */
  readonly asked: readonly string[]
  /** Who called whom, and who was given control; see owner.ts. */
  readonly frames: readonly Frame[]
}

interface Edge {
  readonly from: string
  readonly to: string
  readonly uses: number
  /** When it was last taken, in milliseconds, by the clock of whoever took it. */
  readonly last: number
}

/** Of one agent that has or had the trace. The first began; any other was called, or was given control. */
export interface Frame {
  readonly agent: string
  readonly by?: string
  readonly mode?: Mode
  readonly requestId?: string
}

export const newTrace: TraceState = { hops: 0, items: [], edges: [], recent: [], asked: [], frames: [] }

/** An edge that is taken more often than this is a circle, whatever it is called. */
const mostUses = 2
/** Enough for any honest chain of calls; what lies below is forgotten, but for the one who began. */
const mostFrames = 64

const itemOf = (request: HandoffRequest) => request.sourceContext.documentType ?? ''

function attemptsOn(state: TraceState, item: string): number {
  return state.items.find(([name]) => name === item)?.[1] ?? 0
}

function edgeOf(state: TraceState, { sourceAgent, handoffTo }: HandoffRequest): Edge | undefined {
  return state.edges.find(({ from, to }) => from === sourceAgent && to === handoffTo)
}

export function overLimit(state: TraceState, request: HandoffRequest, limits: Limits): Refusal | undefined {
  const { maxHandoffsPerItem, maxHandoffsPerPipeline } = limits
  if (attemptsOn(state, itemOf(request)) >= maxHandoffsPerItem) {
    const item = request.sourceContext.documentType
    const what = item === undefined ? 'This trace' : `"${item}"`
    return { code: 'item_limit', reason: `${what} has had its ${maxHandoffsPerItem} handoffs` }
  }
  if (state.hops >= maxHandoffsPerPipeline) {
    return { code: 'pipeline_limit', reason: `This pipeline has had its ${maxHandoffsPerPipeline} handoffs` }
  }
  return undefined
}

/** Three ways to go in a circle; none of them looks at what the request gives as its reason alone. */
export function circular(state: TraceState, request: HandoffRequest): Refusal | undefined {
  const { sourceAgent, handoffTo, reason } = request
  const refuse = (why: string): Refusal => ({ code: 'circular', reason: `Circular handoff: ${why}` })
  const path = `${sourceAgent} → ${handoffTo}`
  const asking = state.asked.length === 0 ? undefined : fingerprint(request)
  if (asking !== undefined && state.asked.includes(asking)) {
    return refuse(`${path} was asked for the same inputs before`)
  }
  const same = state.recent.filter(
    ([from, to, why]) => from === sourceAgent && to === handoffTo && why === reason,
  ).length
  if (same >= 2) return refuse(`${path} with the reason ${reason} happened twice in the last three handoffs`)
  if ((edgeOf(state, request)?.uses ?? 0) >= mostUses) return refuse(`${path} was taken ${mostUses} times already`)
  return undefined
}

export function coolingDown(
  state: TraceState,
  request: HandoffRequest,
  { handoffCooldownMs }: Limits,
  now: number,
): Refusal | undefined {
  const last = edgeOf(state, request)?.last
  if (last === undefined || handoffCooldownMs === 0) return undefined
  // A clock that went back says nothing about how long ago it was: the path rests from now on (see `attempted`).
  const elapsed = Math.max(0, now - last)
  if (elapsed >= handoffCooldownMs) return undefined
  const path = `${request.sourceAgent} → ${request.handoffTo}`
  return { code: 'cooldown', reason: `${path} was taken just now; try again in ${handoffCooldownMs - elapsed} ms` }
}

/** The trace after an attempt that was rejected: it counts, but it takes no path. */
export function attempted(state: TraceState, request: HandoffRequest, limits: Limits, now: number): TraceState {
  const item = itemOf(request)
  const known = state.items.some(([name]) => name === item)
  const counted = state.items.map(([name, n]) => (name === item ? ([name, n + 1] as const) : ([name, n] as const)))
  // Behind the limit of the pipeline no item can matter any more, so made-up ones are not collected.
  if (!known && state.hops < limits.maxHandoffsPerPipeline) counted.push([item, 1])
  // A path last taken in the future was taken before the clock went back: from now on, this clock counts.
  const edges = state.edges.map((edge) => (edge.last > now ? { ...edge, last: now } : edge))
  return { ...state, hops: state.hops + 1, items: counted, edges }
}

/** The trace after a request that was accepted. */
export function taken(
  state: TraceState,
  request: HandoffRequest,
  limits: Limits,
  now: number,
  { mode, requestId }: { mode: Mode; requestId: string },
): TraceState {
  const after = attempted(state, request, limits, now)
  const { sourceAgent: from, handoffTo: to, reason } = request
  const edge = { from, to, uses: (edgeOf(state, request)?.uses ?? 0) + 1, last: now }
  const asking = fingerprint(request)
  // At rest the trace is whoever's who asks next: that is where the answer returns to.
  const frames = after.frames.length <= 1 ? [{ agent: from }] : after.frames
  return {
    ...after,
    edges: [...after.edges.filter((other) => other.from !== from || other.to !== to), edge],
    recent: [...after.recent, [from, to, reason] as const].slice(-3),
    asked: asking === undefined ? after.asked : [...after.asked, asking],
    frames: bounded([...frames, { agent: to, by: from, mode, requestId }]),
  }
}

export function bounded(frames: readonly Frame[]): readonly Frame[] {
  return frames.length <= mostFrames ? frames : [frames[0]!, ...frames.slice(1 - mostFrames)]
}

/** Of source, target, item and missing inputs; a request that misses nothing can only circle by its path. */
function fingerprint(request: HandoffRequest): string | undefined {
  const missing = request.missingInputs?.map(({ key }) => key).sort()
  if (missing === undefined || missing.length === 0) return undefined
  const about = JSON.stringify([request.sourceAgent, request.handoffTo, itemOf(request), missing])
  return hash('sha256', about, 'base64url').slice(0, 16)
}
